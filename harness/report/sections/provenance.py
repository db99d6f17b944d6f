"""How it was made: runs, machines, versions, seed, failures, and the command that makes it again."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from harness.backends.base import place
from harness.core.labels import label
from harness.core.text import counted, duration
from harness.report.html.markup import Markup, joined, pairs, plain_table, tag
from harness.report.sections.facts import Facts
from harness.scenario.dump import written
from harness.store.manifest import FILES, digest
from harness.store.requests import everything

_LONGEST_FILE = 50_000
"""Characters of a source's text that are shown."""
_MESSAGES = 20
"""Groups of failures that are told."""


def made(facts: Facts) -> Markup:
    """The section."""
    return joined([_numbers(facts), _history(facts), _machines(facts), _again(facts), _files(facts)])


def _numbers(facts: Facts) -> Markup:
    record, state = facts.record, facts.state
    numerics = record.fingerprint.get("numerics", {})
    units, done = (sum(one[key] for one in state["sizes"]) for key in ("units", "done"))
    return pairs(
        class_="ademp",
        rows=[
            ("Seed", str(record.scenario.get("seed", "?"))),
            ("Fingerprint", joined([tag("code", digest(record.fingerprint)), " of seed, source and arithmetic"])),
            ("Arithmetic", ", ".join(f"{key} version {value}" for key, value in numerics.items()) or "?"),
            ("Units", f"{done} of {units} are done"),
            ("Store", tag("code", facts.url)),
        ],
    )


def _history(facts: Facts) -> Markup:
    rows = [
        [
            _time(one.get("start", "?")),
            _end(one, facts, one is facts.record.history[-1]),
            str(one.get("host", "?")),
            tag("code", str(one.get("command", "?"))),
            _commit(one),
            _versions(one),
        ]
        for one in facts.record.history
    ]
    heads = ("start", "end", "host", "command", "commit", "versions")
    return (
        plain_table("Runs into this store (times are UTC).", heads, rows) if rows else tag("p", "No run is on record.")
    )


def _end(one: Mapping[str, Any], facts: Facts, last: bool) -> str:
    if one.get("end"):
        seconds = one.get("seconds")
        return f"{_time(one['end'])}{f' ({duration(seconds)})' if isinstance(seconds, int | float) else ''}"
    if one.get("broke"):
        return f"{_time(one['broke'])}, broke off"
    if one.get("stopped"):
        return f"{_time(one['stopped'])}, stopped by hand"
    return "at work" if last and facts.driver is not None else "not ended"


def _time(text: object) -> str:
    """As people write it."""
    return str(text).removesuffix("+00:00").replace("T", " ")


def _commit(one: Mapping[str, Any]) -> Markup:
    """Of ckrr; a plus says that files were changed."""
    text = str(one.get("commit") or "")
    return tag("code", text[:12] + "+" * text.endswith("+")) if text else Markup("–")


def _versions(one: Mapping[str, Any]) -> str:
    named = one.get("versions") or {}
    return ", ".join([f"Python {one.get('python', '?')}", *(f"{name} {number}" for name, number in named.items())])


def _machines(facts: Facts) -> Markup:
    rows = [[str(one["host"]), ", ".join(map(str, one.get("blas") or ["?"])), _versions(one)] for one in facts.machines]
    text = "Machines that computed, from receipts. The bits of a result depend on the BLAS and its core type."
    return plain_table(text, ("host", "BLAS", "versions"), rows) if rows else Markup("")


def _again(facts: Facts) -> Markup:
    text = written(everything(facts.record)) + "\n"
    name = f"{facts.record.scenario.get('name', 'scenario')}.toml"
    link = "data:application/toml;base64," + b64encode(text.encode()).decode()
    files = list(facts.record.fingerprint.get("files", {}))
    beside = f" with {', '.join(files)} where [source] says" if files else ""
    return tag(
        "div",
        tag("h3", "Make it again"),
        tag(
            "p",
            "Save this as ",
            tag("a", name, href=link, download=name),
            beside,
            " and type ",
            tag("code", f"ckrr run {name}"),
            ":",
        ),
        tag("pre", tag("code", text)),
        tag("p", "The same numbers come out, bit for bit, on CPUs of the same BLAS core type with the same versions."),
        _mended(facts),
    )


def _mended(facts: Facts) -> Markup:
    """That a source's file was changed between runs."""
    times = [entry for entry in facts.record.history if entry.get("mended")]
    if not times:
        return Markup("")
    names = ", ".join(sorted({name for entry in times for name in entry["mended"]}))
    text = (
        f"{names} was changed between runs (the older text is in the store, too): what had failed was computed with "
        "the new text, and a few replications that hadn't were seen to give the same numbers with both."
    )
    return tag("p", text)


def _files(facts: Facts) -> Markup:
    """What the source needs: text of programs is shown, data are named."""
    there = place(facts.url)
    hashes: Mapping[str, str] = facts.record.fingerprint.get("files", {})
    return joined([_file(name, sha, there.get(f"{FILES}/{name}")) for name, sha in hashes.items()])


def _file(name: str, sha: str, data: bytes | None) -> Markup:
    said = tag("p", tag("b", name), " (SHA-256 ", tag("code", sha[:16], "…"), ")", " is kept in the store.")
    if data is None or not name.endswith(".py") or len(data) > _LONGEST_FILE:
        return said
    inside = tag("pre", tag("code", data.decode("utf-8", "replace")))
    return joined([said, tag("details", tag("summary", f"The text of {name}"), inside)])


def failures(facts: Facts) -> Markup:
    """What failed, by message."""
    if not facts.failures:
        return Markup("")
    total = sum(one["count"] for one in facts.failures)
    rows = [
        [str(one["count"]), str(one["kind"]).lower(), str(one["message"]), _example(facts, one["example"])]
        for one in facts.failures[:_MESSAGES]
    ]
    more = len(facts.failures) - _MESSAGES
    note = tag("p", f"{counted(more, 'other message')}: ckrr errors {facts.url}") if more > 0 else Markup("")
    caption = (
        f"{counted(total, 'replication')} of cells failed. They are left out of all numbers but the share that failed."
    )
    return joined([plain_table(caption, ("count", "kind", "message", "shows it again"), rows), note])


def _example(facts: Facts, example: Mapping[str, Any]) -> Markup:
    cell = " ".join(f"--{key} {label(example[key])}" for key in ("n", "path", "draw", "theta", "lam", "gamma"))
    return tag("code", f"ckrr replay {facts.url} {cell}")
