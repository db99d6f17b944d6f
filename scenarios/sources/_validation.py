"""Validate the keyword arguments of sources.

Every function returns the checked value or raises a `ValueError` of one line: the keyword, what it must be, and the
value it got.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from math import isfinite
from numbers import Integral, Real
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from scenarios.sources.types import LAYOUTS, Array, Layout

Name = TypeVar("Name", bound=str)

_LONGEST_SHOWN = 60


def quote_value(value: object) -> str:
    """Return the repr of a value for an error message, on one line and shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"


def check_integer(name: str, value: object, least: int, most: int | None = None) -> int:
    """Return `value` as an int, or raise ValueError unless it is an integer from `least` to `most`.

    Examples
    --------
    >>> check_integer("test_points", 0, least=1)
    Traceback (most recent call last):
    ...
    ValueError: test_points must be an integer >= 1, got 0
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    limits = f">= {least}" if most is None else f"from {least} to {most}"
    raise ValueError(f"{name} must be an integer {limits}, got {quote_value(value)}")


def check_positive(name: str, value: object) -> float:
    """Return `value` as a float, or raise ValueError unless it is a finite number above 0."""
    number = _to_finite(value)
    if number is not None and number > 0:
        return number
    raise ValueError(f"{name} must be a finite number > 0, got {quote_value(value)}")


def check_real(name: str, value: object, but_zero: bool = False) -> float:
    """Return `value` as a float, or raise ValueError unless it is finite and, with `but_zero`, other than 0."""
    number = _to_finite(value)
    if number is not None and not (but_zero and number == 0):
        return number
    raise ValueError(f"{name} must be a finite number{' other than 0' if but_zero else ''}, got {quote_value(value)}")


def check_bool(name: str, value: object) -> bool:
    """Return `value`, or raise ValueError unless it is a bool; 0 and 1 are not accepted."""
    if isinstance(value, bool):
        return value
    raise ValueError(f"{name} must be true or false, got {quote_value(value)}")


def check_interval(name: str, value: object) -> tuple[float, float]:
    """Return `value` as two floats, or raise ValueError unless it is two finite numbers, the lower one first.

    Examples
    --------
    >>> check_interval("domain", [0, 1])
    (0.0, 1.0)
    >>> check_interval("domain", (1.0, 1.0))
    Traceback (most recent call last):
    ...
    ValueError: domain must be two finite numbers, the lower first, got (1.0, 1.0)
    """
    ends = [_to_finite(each) for each in value] if isinstance(value, (tuple, list)) else []
    if len(ends) == 2:
        low, high = ends
        if low is not None and high is not None and low < high and isfinite(high - low):
            return low, high
    raise ValueError(f"{name} must be two finite numbers, the lower first, got {quote_value(value)}")


def check_layout(name: str, value: object) -> Layout:
    """Return `value`, or raise ValueError unless it is "grid" or "iid"."""
    return check_choice(name, value, LAYOUTS)


def check_choice(name: str, value: object, known: tuple[Name, ...]) -> Name:
    """Return `value`, or raise ValueError, with a suggestion, unless it is one of the `known` names."""
    for each in known:
        if isinstance(value, str) and value == each:
            return each
    raise ValueError(f"{name} must be one of {', '.join(known)}, got {quote_value(value)}{suggest_name(value, known)}")


def check_inputs_and_targets(X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Array, Array]:
    """Return float copies of the inputs, shape (rows, columns), and the targets, shape (rows,).

    A one-dimensional X becomes one column.

    Raises
    ------
    ValueError
        If the shapes don't match, or an entry isn't a finite real number.

    Examples
    --------
    >>> check_inputs_and_targets([1, 2, 3], [1, 2])
    Traceback (most recent call last):
    ...
    ValueError: y must be of shape (3,), one for each row of X, got shape (2,)
    """
    inputs, targets = _check_finite("X", X), _check_finite("y", y)
    if inputs.ndim == 1:
        inputs = inputs[:, None]
    if inputs.ndim != 2 or inputs.size == 0:
        raise ValueError(f"X must be of shape (rows, columns) and not empty, got shape {inputs.shape}")
    if targets.shape != (len(inputs),):
        raise ValueError(f"y must be of shape ({len(inputs)},), one for each row of X, got shape {targets.shape}")
    return np.array(inputs, order="C"), np.array(targets)


def suggest_name(value: object, names: Iterable[str]) -> str:
    """Return a hint, in brackets, with the known name nearest to a misspelt one; an empty string if none is near.

    Examples
    --------
    >>> suggest_name("gird", ["grid", "iid"])
    " (did you mean 'grid'?)"
    """
    folded = {each.casefold(): each for each in names}
    near = get_close_matches(value.casefold(), folded, n=1) if isinstance(value, str) else []
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


def _to_finite(value: object) -> float | None:
    """Convert a real number to a float; return None if it isn't a finite one."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer too large for a float
        return None
    return number if isfinite(number) else None


def _check_finite(name: str, value: npt.ArrayLike) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be an array of real numbers, got the type {array.dtype}")
    array = array.astype(np.float64, copy=False)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = ", ".join(str(i) for i in bad[0])
        raise ValueError(f"{name} must be finite, got {array[tuple(bad[0])]} at {name}[{where}] ({len(bad)} such)")
    return array
