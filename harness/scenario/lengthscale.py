"""Read length scales in a scenario as values of θ: `lengthscale` in place of `theta` in [grid] and [[exclude]].

The axis of a study is θ = 1/(2ℓ²), so scenarios with ℓ and with that θ are the same study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from harness.core.text import shorten_repr
from harness.scenario.errors import Complaint

LENGTHSCALE, THETA = "lengthscale", "theta"
_LEAST, _MOST = 1e-150, 1e150


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
