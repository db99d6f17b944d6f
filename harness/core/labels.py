"""How values are written: in coordinates, receipts and messages."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.types import Grid, Theta


def number(value: float) -> str:
    """The shortest decimal that is this number, without a trailing ".0".

    Examples
    --------
    >>> number(10.0), number(1e-06), number(0.1)
    ('10', '1e-06', '0.1')
    """
    return repr(float(value)).removesuffix(".0")


def theta_label(theta: Theta) -> str:
    """θ as text: "10", "100", "ml".

    Examples
    --------
    >>> theta_label(1000.0), theta_label("ml")
    ('1000', 'ml')
    """
    return theta if isinstance(theta, str) else number(theta)


def is_number(theta: str) -> bool:
    """Whether a θ, as text, is a given one; else it is the name of a search.

    Examples
    --------
    >>> is_number("1e-06"), is_number("ml")
    (True, False)
    """
    try:
        float(theta)
    except ValueError:
        return False
    return True


def label(value: object) -> str:
    """Any value of any axis as text."""
    return number(value) if isinstance(value, float) else str(value)


def axis_values(grid: Grid, axis: str) -> Sequence[object]:
    """The values of an axis as its coordinate has them: θ as text."""
    values: Sequence[object] = getattr(grid, axis)
    return [theta_label(each) for each in grid.theta] if axis == "theta" else values


def theta_of(text: str) -> Theta:
    """θ from the command line: a number, or the name of a search."""
    try:
        return float(text)
    except ValueError:
        return text
