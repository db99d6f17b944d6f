"""Change a scenario by what a command line or a call asks for: `--set`, `--until` and `--budget`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness.core.errors import UserError
from harness.core.text import escape_line
from harness.parsing.toml import DEEPEST, parse_toml

_WORD = re.compile(r"[A-Za-z0-9_.:/-]+")
"""Strings that need no quotes as the value of a `--set` option."""
_LONGEST_TYPED = 100
"""Maximum number of characters of user input that a message repeats."""


def apply_setting(plain: dict[str, Any], setting: str) -> str:
    """Override one value of a scenario with a `--set` option.

    Parameters
    ----------
    plain : dict
        The scenario as read from its file; changed in place.
    setting : str
        For example `grid.n=[25,50]`; a value that is not TOML is taken as a string.

    Returns
    -------
    str
        The key that was set.
    """
    key, equals, text = setting.partition("=")
    *folders, last = parts = key.strip().split(".")
    if not equals or not all(parts):
        raise UserError(f"--set {quote_input(setting)}: must be key=value, as in grid.n=[25,50]")
    if len(parts) > DEEPEST:
        raise UserError(f"--set {quote_input(setting)}: the key has more than {DEEPEST} parts")
    value = _parse_value(text, setting)
    for folder in folders:
        plain = plain.setdefault(folder, {})
        if not isinstance(plain, dict):
            raise UserError(f"--set {quote_input(setting)}: {quote_input(folder)} is no table")
    plain[last] = value
    return key.strip()


def _parse_value(text: str, setting: str) -> Any:
    """Parse the value of a `--set` option: TOML, or a word without quotes."""
    try:
        found = parse_toml(f"value = {text}")
    except ValueError as error:
        if _WORD.fullmatch(text.strip()):
            return text.strip()
        reason, hint = str(error).partition(":")[0], "lists are written [25,50], strings in them need quotes"
        raise UserError(f"--set {quote_input(setting)}: the value {reason}: {hint}") from None
    if len(found) > 1:
        raise UserError(f"--set {quote_input(setting)}: must be one value, got several keys")
    return found["value"]


def apply_until(plain: dict[str, Any], until: str | None, budget: int | None) -> None:
    """Let a scenario run until something is reached, in place of its number of paths; changed in place."""
    if until is None and budget is None:
        return
    table = plain.setdefault("replications", {})
    if not isinstance(table, dict):
        return  # the check of the whole scenario reports that
    if until is not None:
        table["until"] = _parse_until(until)
        table.pop("paths", None)
    if budget is not None:
        table["budget"] = {**_get_table(table, "budget"), "paths": budget}


def _get_table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}


def _parse_until(text: str) -> dict[str, float]:
    """Parse the value of `--until`.

    Examples
    --------
    >>> _parse_until("verdict"), _parse_until("se=0.002,width=0.02")
    ({'verdict': 0.95}, {'se': 0.002, 'width': 0.02})
    """
    found = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        try:
            found[name] = 0.95 if name == "verdict" and not value else float(value)
        except ValueError:
            how = "it must be verdict, verdict=0.99, se=0.002 or width=0.02, or several separated by commas"
            raise UserError(f"--until {quote_input(text)}: {how}") from None
    return found


def quote_input(text: str) -> str:
    """Return user input shortened and escaped for a one-line message."""
    return escape_line(text, _LONGEST_TYPED)
