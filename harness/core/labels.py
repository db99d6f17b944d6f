"""Format axis values as text for coordinates, receipts and messages, and parse them back."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.types import Grid, Theta


def format_number(value: float) -> str:
    """Return the shortest decimal that round-trips to this number, without a trailing ".0".

    Examples
    --------
    >>> format_number(10.0), format_number(1e-06), format_number(0.1)
    ('10', '1e-06', '0.1')
    """
    return repr(float(value)).removesuffix(".0")


def format_theta(theta: Theta) -> str:
    """Return θ as text: "10", "100", "ml".

    Examples
    --------
    >>> format_theta(1000.0), format_theta("ml")
    ('1000', 'ml')
    """
    return theta if isinstance(theta, str) else format_number(theta)


def is_number(theta: str) -> bool:
    """Return whether the label of a θ is a number; otherwise it names a search for θ.

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


def format_label(value: object) -> str:
    """Return any value of any axis as text."""
    return format_number(value) if isinstance(value, float) else str(value)


def format_values(axis: str, values: Sequence[object]) -> str:
    """Format an axis with some of its values.

    Examples
    --------
    >>> format_values("theta", [1.0, "ml"])
    'theta 1, ml'
    """
    return f"{axis} {', '.join(map(format_label, values))}"


def list_axis_values(grid: Grid, axis: str) -> Sequence[object]:
    """Return the values of an axis as stored in its coordinate: θ as text, all others unchanged."""
    values: Sequence[object] = getattr(grid, axis)
    return [format_theta(each) for each in grid.theta] if axis == "theta" else values


def parse_theta(text: str) -> Theta:
    """Parse θ from the command line: a number, or the name of a search."""
    try:
        return float(text)
    except ValueError:
        return text
