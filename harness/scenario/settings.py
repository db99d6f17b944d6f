"""Change a scenario before it is checked: by `--set`, `--until` and `--budget`, and length scales into values of θ.

The axis of a study is θ = 1/(2ℓ²), so scenarios with `lengthscale` and with that `theta` are the same study.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from harness.core.errors import UserError
from harness.core.text import escape_line, shorten_repr
from harness.parsing.toml import DEEPEST, parse_toml
from harness.scenario.errors import Complaint

_WORD = re.compile(r"[A-Za-z0-9_.:/-]+")
"""Strings that need no quotes as the value of a `--set` option."""
_LONGEST_TYPED = 100
"""Maximum number of characters of user input that a message repeats."""
LENGTHSCALE, THETA = "lengthscale", "theta"
_LEAST, _MOST = 1e-150, 1e150


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


def convert_lengthscale(plain: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Complaint]]:
    """Return a scenario with θ in place of length scales, and complaints about these."""
    return replace_lengthscale(plain), list(check_lengthscale(plain))


def check_lengthscale(plain: Mapping[str, Any]) -> Iterator[Complaint]:
    """Yield complaints about length scales that aren't numbers, or that are given beside θ."""
    for key, table in _list_tables(plain):
        if LENGTHSCALE not in table:
            continue
        if THETA in table:
            yield Complaint(f"{key}.{LENGTHSCALE}", f"must be left out where {key}.{THETA} is given: θ = 1/(2ℓ²)")
            continue
        values = _get_values(table)
        if not values:
            yield Complaint(f"{key}.{LENGTHSCALE}", "must have at least 1 value")
        for i, value in enumerate(values):
            if not _is_length(value):
                text = f"must be a number from {_LEAST:g} to {_MOST:g}, got {shorten_repr(value)}"
                yield Complaint(f"{key}.{LENGTHSCALE}[{i}]", text)
            elif any(value == other for other in values[:i]):
                yield Complaint(f"{key}.{LENGTHSCALE}", f"must not have a value twice: {shorten_repr(value)}")


def replace_lengthscale(plain: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the scenario with θ in place of length scales; those that `check_lengthscale` refuses become θ = 1, 2, ….

    Examples
    --------
    >>> replace_lengthscale({"grid": {"lengthscale": [0.5, 1], "n": 25}})
    {'grid': {'theta': [2.0, 0.5], 'n': 25}}
    """
    if not any(LENGTHSCALE in table for _, table in _list_tables(plain)):
        return plain
    changed = dict(plain)
    if isinstance(plain.get("grid"), dict):
        changed["grid"] = _replace(plain["grid"])
    if isinstance(plain.get("exclude"), list):
        changed["exclude"] = [_replace(rule) if isinstance(rule, dict) else rule for rule in plain["exclude"]]
    return changed


def _list_tables(plain: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the tables that may have length scales, with their keys."""
    rules = plain.get("exclude")
    tables = [("grid", plain.get("grid"))]
    tables += [(f"exclude[{i}]", rule) for i, rule in enumerate(rules if isinstance(rules, list) else [])]
    return [(key, table) for key, table in tables if isinstance(table, dict)]


def _replace(table: Mapping[str, Any]) -> dict[str, Any]:
    if LENGTHSCALE not in table:
        return dict(table)
    rest = {key: value for key, value in table.items() if key != LENGTHSCALE}
    values = _get_values(table)
    valid = bool(values) and all(map(_is_length, values)) and len(set(values)) == len(values)
    found = [compute_theta(value) if valid else 1.0 + i for i, value in enumerate(values or [1])]
    return {THETA: found} | rest  # where both are given, which is refused, θ is the one that is checked


def compute_theta(lengthscale: float) -> float:
    """Return θ = 1/(2ℓ²) of a length scale, which is read as the decimal that was written.

    Examples
    --------
    >>> compute_theta(0.2)
    12.5
    """
    return float(1 / (2 * Fraction(repr(float(lengthscale))) ** 2))


def _get_values(table: Mapping[str, Any]) -> list[Any]:
    value = table[LENGTHSCALE]
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_length(value: object) -> bool:
    """Return whether a value is a number whose θ is a finite number above 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and _LEAST <= value <= _MOST
