"""Read suites: TOML files that list scenarios, which `ckrr run`, `plan` and `status` take one after another.

Imports nothing heavy, so that `ckrr status` starts fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.errors import UserError
from harness.core.text import shorten_repr, suggest_name
from harness.parsing.toml import read_toml
from harness.store.locate import SUITE, lookup_scenario_file

KEYS = ("name", "description", SUITE)
"""Keys of a suite."""
MOST_SCENARIOS = 256
"""Largest number of scenarios in a suite."""


@dataclass(frozen=True)
class Selection:
    """The scenarios or stores that a command is given, with those of suites in the place of the suites."""

    references: tuple[str, ...]
    has_suite: bool
    """Whether a suite is among them: then an error in one scenario doesn't keep the command from the others."""


def expand_suites(references: Iterable[str]) -> Selection:
    """Replace each suite, given by its path or bundled name, by its scenarios; other references stay as they are.

    Raises
    ------
    UserError
        If a suite has mistakes.
    """
    lists = [(each, _read_suite(each)) for each in references]
    found = [one for each, entries in lists for one in ([each] if entries is None else entries)]
    return Selection(tuple(found), any(entries is not None for _, entries in lists))


def _read_suite(reference: str) -> list[str] | None:
    """Return the scenarios of a suite; None if the reference is something else, or a file that can't be read."""
    path, plain = _read(reference)
    if path is None or SUITE not in plain:
        return None
    _check_suite(plain, path)
    entries = [str(path.parent / entry) if entry.endswith(".toml") else entry for entry in plain[SUITE]]
    for i, entry in enumerate(entries):
        if SUITE in _read(entry)[1]:
            raise UserError(f"{path}: {SUITE}[{i}] must be a scenario, got the suite {shorten_repr(entry)}")
    return entries


def _read(reference: str) -> tuple[Path | None, Mapping[str, Any]]:
    """Return the file of a scenario or suite, and its content; empty if whoever loads it will report a mistake."""
    try:
        path = lookup_scenario_file(reference)
        return path, {} if path is None else read_toml(path)
    except (OSError, ValueError):
        return None, {}


def _check_suite(plain: Mapping[str, Any], path: Path) -> None:
    """Raise UserError unless a suite has only known keys, and a list of different names and paths."""
    strange = next((key for key in plain if key not in KEYS), None)
    if strange is not None:
        hint = suggest_name(strange, KEYS)
        raise UserError(f"{path}: {shorten_repr(strange)} is unknown{hint}: a suite has only {', '.join(KEYS)}")
    entries = plain[SUITE]
    if not isinstance(entries, list) or not entries or not all(isinstance(each, str) for each in entries):
        example = '["data/diabetes", "my.toml"]'
        raise UserError(f"{path}: {SUITE} must be a list of scenarios, such as {example}, got {shorten_repr(entries)}")
    if len(entries) > MOST_SCENARIOS:
        raise UserError(f"{path}: {SUITE} must have at most {MOST_SCENARIOS} values, got {len(entries)}")
    twice = next((each for each in entries if entries.count(each) > 1), None)
    if twice is not None:
        raise UserError(f"{path}: {SUITE} must not have a value twice: {shorten_repr(twice)}")
