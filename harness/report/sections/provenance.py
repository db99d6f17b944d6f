"""Show how results were computed: runs, machines, versions, seed, failures, and how to reproduce them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

from markupsafe import Markup

from harness.backends.base import open_backend
from harness.core.labels import format_label
from harness.core.text import format_count, format_duration
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import Facts
from harness.scenario.dump import dump_scenario
from harness.store.manifest import FILES, hash_fingerprint
from harness.store.requests import get_full_scenario
from harness.store.rounds import get_target

_LONGEST_FILE = 50_000
"""Length up to which a source's code is shown, in bytes."""
_MESSAGES = 20
"""Maximal number of groups of failures in the table."""


@dataclass(frozen=True)
class Run:
    """Row of the table of runs."""

    start: str
    end: str
    host: str
    command: str
    commit: str
    """Commit of ckrr; a plus means uncommitted changes."""
    versions: str


@dataclass(frozen=True)
class Machine:
    """Row of the table of machines."""

    host: str
    blas: str
    versions: str


@dataclass(frozen=True)
class ScenarioFile:
    """Scenario file that reproduces the study."""

    file: str
    link: str
    text: str
    needed: str
    """Names of the files that the source needs."""


@dataclass(frozen=True)
class SourceFile:
    """File that the source needs."""

    name: str
    sha: str
    code: str | None
    """Text of the file, if it is code and not too long."""


@dataclass(frozen=True)
class Failure:
    """Row of the table of failures."""

    count: int
    kind: str
    message: str
    replay: str
    """Command that repeats one of the replications that failed."""


def render_provenance(facts: Facts) -> Markup:
    """Render the section."""
    manifest, sizes = facts.manifest, facts.state["sizes"]
    numerics = manifest.fingerprint.get("numerics", {})
    return TEMPLATES.render(
        "provenance.html",
        seed=manifest.scenario.get("seed", "?"),
        fingerprint=hash_fingerprint(manifest.fingerprint),
        arithmetic=", ".join(f"{key} version {value}" for key, value in numerics.items()) or "?",
        units=sum(one["units"] for one in sizes),
        done=sum(one["done"] for one in sizes),
        store=facts.url,
        runs=_list_runs(facts),
        machines=_list_machines(facts),
        scenario=_make_scenario_file(facts),
        is_mixed=facts.manifest.had_rounds and (facts.manifest.fixed_paths > 0 or get_target(facts.manifest) is None),
        changed=_format_changed_files(facts),
        files=_list_source_files(facts),
    )


def _list_runs(facts: Facts) -> list[Run]:
    history = facts.manifest.history
    return [
        Run(
            start=_format_time(one.get("start", "?")),
            end=_format_end(one, facts, one is history[-1]),
            host=str(one.get("host", "?")),
            command=str(one.get("command", "?")),
            commit=_format_commit(one),
            versions=_format_versions(one),
        )
        for one in history
    ]


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


def _format_commit(one: Mapping[str, Any]) -> str:
    text = str(one.get("commit") or "")
    return text[:12] + "+" * text.endswith("+")


def _format_versions(one: Mapping[str, Any]) -> str:
    named = one.get("versions") or {}
    return ", ".join([f"Python {one.get('python', '?')}", *(f"{name} {number}" for name, number in named.items())])


def _list_machines(facts: Facts) -> list[Machine]:
    return [
        Machine(str(one["host"]), ", ".join(map(str, one.get("blas") or ["?"])), _format_versions(one))
        for one in facts.machines
    ]


def _make_scenario_file(facts: Facts) -> ScenarioFile:
    text = dump_scenario(get_full_scenario(facts.manifest)) + "\n"
    return ScenarioFile(
        file=f"{facts.manifest.scenario.get('name', 'scenario')}.toml",
        link="data:application/toml;base64," + b64encode(text.encode()).decode(),
        text=text,
        needed=_format_needed_files(facts),
    )


def _format_needed_files(facts: Facts) -> str:
    """Name the files that the scenario needs next to it, and say if one of them is needed in several versions."""
    found: dict[str, set[str]] = {}
    files = [facts.manifest.fingerprint.get("files", {}), *(one.files for one in facts.manifest.families.values())]
    for name, hashed in (pair for each in files for pair in each.items()):
        found.setdefault(name, set()).add(hashed)
    many = " (in several versions, see below: one scenario can have one of them, so reproduce their families apart)"
    return ", ".join(f"{name}{many * (len(hashes) > 1)}" for name, hashes in found.items())


def _format_changed_files(facts: Facts) -> str:
    """Format the names of the source's files that changed between runs."""
    return ", ".join(sorted({name for entry in facts.manifest.history for name in entry.get("mended") or ()}))


def _list_source_files(facts: Facts) -> list[SourceFile]:
    """List the files that the source and the families need: code with its text, data by name."""
    backend, manifest = open_backend(facts.url), facts.manifest
    families = manifest.families.items()
    keys = {key: f"{name} (family {family})" for family, one in families for name, key in one.file_keys.items()}
    return [
        SourceFile(
            keys.get(key, key), sha.removeprefix("sha256:")[:16], _decode_code(key, backend.get(f"{FILES}/{key}"))
        )
        for key, sha in manifest.files.items()
    ]


def _decode_code(name: str, data: bytes | None) -> str | None:
    if data is None or not name.endswith(".py") or len(data) > _LONGEST_FILE:
        return None
    return data.decode("utf-8", "replace")


def render_failures(facts: Facts) -> Markup:
    """Render a table of failures by message, or nothing if there are none."""
    count = format_count(sum(one["count"] for one in facts.failures), "replication")
    more = len(facts.failures) - _MESSAGES
    return TEMPLATES.render(
        "failures.html",
        caption=f"{count} of cells failed. They are left out of all numbers except the share that failed.",
        failures=[_make_failure(facts, one) for one in facts.failures[:_MESSAGES]],
        more=f"{format_count(more, 'other message')}: ckrr errors {quote(facts.url)}" if more > 0 else "",
    )


def _make_failure(facts: Facts, one: Mapping[str, Any]) -> Failure:
    example = one["example"]
    cell = " ".join(f"--{key} {format_label(example[key])}" for key in ("n", "path", "draw", "theta", "lam", "gamma"))
    replay = f"ckrr replay {quote(facts.url)} {cell}"
    return Failure(one["count"], str(one["kind"]).lower(), str(one["message"]), replay)
