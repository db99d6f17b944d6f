"""Read the key `family` of a scenario: the name of a family, or a list of names and tables with parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.core.text import shorten_repr
from harness.scenario.code import has_date, normalise_name
from harness.scenario.errors import Complaint, ScenarioError

DEFAULT = "FAMILY"
"""Object of a .py file that is used if the scenario names the file alone."""
REGRESSORS = "sklearn"
"""Prefix of the name of a family around one of scikit-learn's regressors."""
_MOST_FAMILIES = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]{0,60}")
_HOW = 'a name, or a list such as ["krr", "mine.py:forest", { use = "sklearn:Ridge", alpha = 0.1 }]'


@dataclass(frozen=True)
class FamilyEntry:
    """A family as a scenario names it."""

    use: str
    """Name of its code, without folders."""
    name: str
    """Name of the family in the study: as `name` says, or that of its code."""
    prefix: str | None = None
    """What the names of its procedures begin with; None if they are the family's own."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    """Name of its code as written, with the folder of a file."""
    key: str = "family"
    """Key of the scenario, for error messages."""


def parse_entries(value: object) -> list[FamilyEntry]:
    """Read the value of the key `family`.

    Raises
    ------
    ScenarioError
        If it isn't a name, a table, or a list of these, or a name stands there twice.

    Examples
    --------
    >>> [(one.use, one.prefix) for one in parse_entries(["krr", {"use": "sklearn:Ridge", "name": "ridge"}])]
    [('krr', None), ('sklearn:Ridge', 'ridge')]
    """
    if isinstance(value, list | tuple):
        if not 1 <= len(value) <= _MOST_FAMILIES:
            raise ScenarioError(Complaint("family", f"must have 1 to {_MOST_FAMILIES} families, got {len(value)}"))
        found = [_parse_entry(each, f"family[{i}]") for i, each in enumerate(value)]
    else:
        found = [_parse_entry(value, "family")]
    for i, one in enumerate(found):
        if one.name in [other.name for other in found[:i]]:
            how = f'give one another name: {{ use = "{one.use}", name = "other" }}'
            raise ScenarioError(Complaint(one.key, f"is {one.name!r}, which stands there twice: {how}"))
    return found


def _parse_entry(value: object, key: str) -> FamilyEntry:
    table = {"use": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise ScenarioError(Complaint(key, f"must be {_HOW}, got {shorten_repr(value)}"))
    if not isinstance(table.get("use"), str) or not table["use"]:
        text = f"must have use, the name of a family, got {shorten_repr(dict(table))}"
        raise ScenarioError(Complaint(key, text))
    name = table.get("name")
    if name is not None and (not isinstance(name, str) or not _NAME.fullmatch(name)):
        how = "must begin with a letter or digit, and have letters, digits, spaces and . _ + - only"
        raise ScenarioError(Complaint(f"{key}.name", f"{how}, got {shorten_repr(name)}"))
    parameters = {each: table[each] for each in table if each not in ("use", "name")}
    for each, one in parameters.items():
        if has_date(one):
            text = "must not be or contain a date or time: write it as a string"
            raise ScenarioError(Complaint(f"{key}.{each}", text))
    use = normalise_name(table["use"], DEFAULT)
    module, _, attribute = use.partition(":")
    prefix = name if name is not None else attribute if module == REGRESSORS else None
    return FamilyEntry(use, name or use, prefix, parameters, table["use"], key)
