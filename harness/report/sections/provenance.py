"""Show how results were computed: runs, machines, versions, seed, failures, and how to reproduce them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from harness.backends.base import open_backend
from harness.core.labels import format_label
from harness.core.text import format_count, format_duration
from harness.report.html.markup import Markup, join_markup, render_definitions, render_plain_table, tag
from harness.report.sections.facts import Facts
from harness.scenario.dump import dump_scenario
from harness.store.manifest import FILES, hash_fingerprint
from harness.store.requests import get_full_scenario

_LONGEST_FILE = 50_000
"""Length up to which a source's code is shown, in bytes."""
_MESSAGES = 20
"""Maximal number of groups of failures in the table."""


def render_provenance(facts: Facts) -> Markup:
    """Render the section."""
    return join_markup(
        [
            _render_numbers(facts),
            _render_history(facts),
            _render_machines(facts),
            _render_reproduction(facts),
            _render_files(facts),
        ]
    )


def _render_numbers(facts: Facts) -> Markup:
    manifest, state = facts.manifest, facts.state
    numerics = manifest.fingerprint.get("numerics", {})
    units, done = (sum(one[key] for one in state["sizes"]) for key in ("units", "done"))
    return render_definitions(
        class_="ademp",
        rows=[
            ("Seed", str(manifest.scenario.get("seed", "?"))),
            (
                "Fingerprint",
                join_markup([tag("code", hash_fingerprint(manifest.fingerprint)), " of seed, source and arithmetic"]),
            ),
            ("Arithmetic", ", ".join(f"{key} version {value}" for key, value in numerics.items()) or "?"),
            ("Units", f"{done} of {units} are done"),
            ("Store", tag("code", facts.url)),
        ],
    )


def _render_history(facts: Facts) -> Markup:
    rows = [
        [
            _format_time(one.get("start", "?")),
            _format_end(one, facts, one is facts.manifest.history[-1]),
            str(one.get("host", "?")),
            tag("code", str(one.get("command", "?"))),
            _render_commit(one),
            _format_versions(one),
        ]
        for one in facts.manifest.history
    ]
    heads = ("start", "end", "host", "command", "commit", "versions")
    return (
        render_plain_table("Runs into this store (times are UTC).", heads, rows)
        if rows
        else tag("p", "No run has been recorded.")
    )


def _format_end(one: Mapping[str, Any], facts: Facts, last: bool) -> str:
    if one.get("end"):
        seconds = one.get("seconds")
        return (
            f"{_format_time(one['end'])}{f' ({format_duration(seconds)})' if isinstance(seconds, int | float) else ''}"
        )
    if one.get("broke"):
        return f"{_format_time(one['broke'])}, broke off"
    if one.get("stopped"):
        return f"{_format_time(one['stopped'])}, stopped by hand"
    return "running" if last and facts.driver is not None else "not ended"


def _format_time(text: object) -> str:
    """Format an ISO time without T and offset."""
    return str(text).removesuffix("+00:00").replace("T", " ")


def _render_commit(one: Mapping[str, Any]) -> Markup:
    """Render the commit of ckrr; a plus means uncommitted changes."""
    text = str(one.get("commit") or "")
    return tag("code", text[:12] + "+" * text.endswith("+")) if text else Markup("–")


def _format_versions(one: Mapping[str, Any]) -> str:
    named = one.get("versions") or {}
    return ", ".join([f"Python {one.get('python', '?')}", *(f"{name} {number}" for name, number in named.items())])


def _render_machines(facts: Facts) -> Markup:
    rows = [
        [str(one["host"]), ", ".join(map(str, one.get("blas") or ["?"])), _format_versions(one)]
        for one in facts.machines
    ]
    text = "Machines that computed, from receipts. The last bits of a result depend on the BLAS and its core type."
    return render_plain_table(text, ("host", "BLAS", "versions"), rows) if rows else Markup("")


def _render_reproduction(facts: Facts) -> Markup:
    text = dump_scenario(get_full_scenario(facts.manifest)) + "\n"
    name = f"{facts.manifest.scenario.get('name', 'scenario')}.toml"
    link = "data:application/toml;base64," + b64encode(text.encode()).decode()
    files = list(facts.manifest.fingerprint.get("files", {}))
    beside = f" with {', '.join(files)} where [source] says" if files else ""
    return tag(
        "div",
        tag("h3", "Reproduce it"),
        tag(
            "p",
            "Save this as ",
            tag("a", name, href=link, download=name),
            beside,
            " and run ",
            tag("code", f"ckrr run {name}"),
            ":",
        ),
        tag("pre", tag("code", text)),
        tag("p", "The same numbers come out, bit for bit, on CPUs of the same BLAS core type with the same versions."),
        _render_source_changes(facts),
    )


def _render_source_changes(facts: Facts) -> Markup:
    """Mention changes of a source's files between runs."""
    times = [entry for entry in facts.manifest.history if entry.get("mended")]
    if not times:
        return Markup("")
    names = ", ".join(sorted({name for entry in times for name in entry["mended"]}))
    text = (
        f"{names} was changed between runs (the older text is in the store, too): what had failed was computed with "
        "the new text, and a few other replications were checked to give the same numbers with both."
    )
    return tag("p", text)


def _render_files(facts: Facts) -> Markup:
    """Show the files that the source needs: code as text, data by name."""
    backend = open_backend(facts.url)
    hashes: Mapping[str, str] = facts.manifest.fingerprint.get("files", {})
    return join_markup([_render_file(name, sha, backend.get(f"{FILES}/{name}")) for name, sha in hashes.items()])


def _render_file(name: str, sha: str, data: bytes | None) -> Markup:
    said = tag("p", tag("b", name), " (SHA-256 ", tag("code", sha[:16], "…"), ")", " is kept in the store.")
    if data is None or not name.endswith(".py") or len(data) > _LONGEST_FILE:
        return said
    inside = tag("pre", tag("code", data.decode("utf-8", "replace")))
    return join_markup([said, tag("details", tag("summary", f"The text of {name}"), inside)])


def render_failures(facts: Facts) -> Markup:
    """Render a table of failures by message, or nothing if there are none."""
    if not facts.failures:
        return Markup("")
    total = sum(one["count"] for one in facts.failures)
    rows = [
        [
            str(one["count"]),
            str(one["kind"]).lower(),
            str(one["message"]),
            _render_replay_command(facts, one["example"]),
        ]
        for one in facts.failures[:_MESSAGES]
    ]
    more = len(facts.failures) - _MESSAGES
    note = tag("p", f"{format_count(more, 'other message')}: ckrr errors {facts.url}") if more > 0 else Markup("")
    count = format_count(total, "replication")
    caption = f"{count} of cells failed. They are left out of all numbers except the share that failed."
    return join_markup([render_plain_table(caption, ("count", "kind", "message", "replay"), rows), note])


def _render_replay_command(facts: Facts, example: Mapping[str, Any]) -> Markup:
    cell = " ".join(f"--{key} {format_label(example[key])}" for key in ("n", "path", "draw", "theta", "lam", "gamma"))
    return tag("code", f"ckrr replay {facts.url} {cell}")
