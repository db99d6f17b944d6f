"""How values stand in pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, log10

from harness.core.labels import label

SYMBOLS = {"gamma": "γ", "theta": "θ", "lam": "λ", "alpha": "α", "n": "n", "procedure": "procedure"}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def written(value: object) -> str:
    """A value, with powers of ten where a decimal would be long.

    Examples
    --------
    >>> written(0.1), written(1e-06), written(2.5e-05), written(400), written("ml"), written(0.0)
    ('0.1', '10⁻⁶', '2.5·10⁻⁵', '400', 'ml', '0')
    """
    if not isinstance(value, float) or value == 0 or 1e-3 <= abs(value) < 1e5:
        return label(value)
    power = floor(log10(abs(value)) + 1e-12)
    front = f"{value / 10.0**power:.6g}"
    raised = f"10{str(power).translate(_RAISED)}"
    return raised if front == "1" else f"{front}·{raised}"


def named(axis: str, value: object) -> str:
    """A value with its letter; a procedure needs none.

    Examples
    --------
    >>> named("lam", 0.1), named("procedure", "CRR")
    ('λ = 0.1', 'CRR')
    """
    return written(value) if axis == "procedure" else f"{SYMBOLS[axis]} = {written(value)}"


def place(at: Mapping[str, object]) -> str:
    """Several values with their letters.

    Examples
    --------
    >>> place({"theta": "100", "alpha": 0.1})
    'θ = 100, α = 0.1'
    """
    return ", ".join(named(axis, value) for axis, value in at.items())


def values(axis: str, several: Iterable[object]) -> str:
    """Several values of one axis.

    Examples
    --------
    >>> values("alpha", [0.01, 0.05])
    'α = 0.01, 0.05'
    """
    return f"{SYMBOLS[axis]} = {', '.join(written(each) for each in several)}"
