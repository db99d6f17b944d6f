"""Format values and cells for axes, headings and legends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, log10

from harness.core.labels import format_label
from harness.core.procedures import format_procedure

SYMBOLS = {"gamma": "γ", "theta": "θ", "lam": "λ", "alpha": "α", "n": "n", "procedure": "procedure"}
"""Letter of each axis of the cube."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_with_powers(value: object) -> str:
    """Format a value, with powers of ten where a decimal would be long.

    Examples
    --------
    >>> tuple(map(format_with_powers, (0.1, 1e-06, 2.5e-05, 400, "ml", 0.0)))
    ('0.1', '10⁻⁶', '2.5·10⁻⁵', '400', 'ml', '0')
    """
    if not isinstance(value, float) or value == 0 or 1e-3 <= abs(value) < 1e5:
        return format_label(value)
    power = floor(log10(abs(value)) + 1e-12)
    front = f"{value / 10.0**power:.6g}"
    raised = f"10{str(power).translate(_RAISED)}"
    return raised if front == "1" else f"{front}·{raised}"


def format_axis_value(axis: str, value: object) -> str:
    """Format a value with the letter of its axis; procedures need none.

    Examples
    --------
    >>> format_axis_value("lam", 0.1), format_axis_value("procedure", "CRR")
    ('λ = 0.1', 'CRR')
    """
    return format_procedure(str(value)) if axis == "procedure" else f"{SYMBOLS[axis]} = {format_with_powers(value)}"


def format_cell(at: Mapping[str, object]) -> str:
    """Format the values of several axes with their letters.

    Examples
    --------
    >>> format_cell({"theta": "100", "alpha": 0.1})
    'θ = 100, α = 0.1'
    """
    return ", ".join(format_axis_value(axis, value) for axis, value in at.items())


def format_axis_values(axis: str, several: Iterable[object]) -> str:
    """Format several values of one axis.

    Examples
    --------
    >>> format_axis_values("alpha", [0.01, 0.05])
    'α = 0.01, 0.05'
    """
    texts = (format_procedure(str(each)) if axis == "procedure" else format_with_powers(each) for each in several)
    return f"{SYMBOLS[axis]} = {', '.join(texts)}"
