"""Validate arguments of the public functions and convert them to arrays of floats.

Every message is one line: the argument's name, what it must be, what was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_LONGEST_SHOWN = 60
"""Characters of a value that a message quotes."""


def quote_value(value: object) -> str:
    """Return the repr of a value for a message, on one line and shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"


def check_points(name: str, value: npt.ArrayLike, dimension: int | None = None) -> Array:
    """Return points as rows, shape (m, d); a 1-d array is m points on the line.

    Examples
    --------
    >>> check_points("X", [0.0, 0.5, 1.0]).shape
    (3, 1)
    >>> check_points("X_new", [[0.0, 1.0]], dimension=1)
    Traceback (most recent call last):
    ...
    ValueError: X_new must have 1 column as X has, got shape (1, 2)
    """
    x = check_finite(name, value)
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim != 2:
        raise ValueError(f"{name} must be of shape (points, dimension), got shape {x.shape}")
    if x.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {x.shape}")
    if dimension is not None and x.shape[1] != dimension:
        columns = "1 column" if dimension == 1 else f"{dimension} columns"
        hint = " (one point is [[…]])" if np.ndim(value) == 1 else ""
        raise ValueError(f"{name} must have {columns} as X has, got shape {np.shape(value)}{hint}")
    return np.array(x, order="C")  # a copy, so that later changes by the caller do not affect a fit


def check_values(name: str, value: npt.ArrayLike, count: int, of: str) -> Array:
    """Return one number for each of the `count` rows of the array named `of`, shape (count,)."""
    y = check_finite(name, value)
    if y.shape != (count,):
        hint = f" (try {name}.ravel())" if y.shape == (count, 1) else ""
        raise ValueError(f"{name} must be of shape ({count},), one for each row of {of}, got shape {y.shape}{hint}")
    return np.array(y)


def check_columns(name: str, value: npt.ArrayLike, count: int, of: str) -> Array:
    """Return targets as columns, shape (count, t); a 1-d array is one target."""
    y = check_finite(name, value)
    if y.ndim == 1:
        y = y[:, None]
    if y.ndim != 2 or y.shape[0] != count or y.shape[1] == 0:
        raise ValueError(
            f"{name} must be of shape ({count}, targets), one row for each row of {of}, got shape {np.shape(value)}"
        )
    return y


def check_positive(name: str, value: object) -> float:
    """Return a finite number above 0 as a float; raise ValueError for anything else.

    Examples
    --------
    >>> check_positive("lam", 0.0)
    Traceback (most recent call last):
    ...
    ValueError: lam must be a finite number > 0, got 0.0
    """
    number = np.asarray(value)
    if number.ndim == 0 and number.dtype.kind in "iuf" and 0 < number < np.inf:
        return float(number)
    raise ValueError(f"{name} must be a finite number > 0, got {quote_value(value)}")


def check_noise_sd(value: object) -> float | None:
    """Return a known standard deviation of noise as a float, or None for an unknown one."""
    return None if value is None else check_positive("noise_sd", value)


def check_noise_sds(value: Any, count: int) -> Array:
    """Return the standard deviation of the noise of each of `count` targets, shape (count,).

    Examples
    --------
    >>> check_noise_sds(0.1, 2)
    array([0.1, 0.1])
    """
    given = check_finite("noise_sd", value if hasattr(value, "__len__") else [value])
    if given.shape not in ((1,), (count,)) or not (given > 0).all():
        raise ValueError(f"noise_sd must be a number > 0, or {count}, one for each target, got {quote_value(value)}")
    return np.broadcast_to(given, (count,))


def check_choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of the `allowed` names; the error suggests the nearest one."""
    names = list(allowed)
    if isinstance(value, str):
        if value in names:
            return value
        folded = {each.casefold(): each for each in names}
        near = get_close_matches(value.casefold(), folded, n=1)
        hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
    else:
        hint = ""
    raise ValueError(f"{name} must be one of {', '.join(names)}, got {quote_value(value)}{hint}")


def check_choices(name: str, value: str | Sequence[str], allowed: Iterable[str]) -> tuple[str, ...]:
    """Return one or several different names out of `allowed` as a tuple."""
    names = list(allowed)
    given = (value,) if isinstance(value, str) else tuple(value)
    chosen = tuple(check_choice(name, each, names) for each in given)
    if not chosen:
        raise ValueError(f"{name} must name at least one of {', '.join(names)}, got none")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"{name} must not repeat a name, got {quote_value(list(chosen))}")
    return chosen


def check_finite(name: str, value: npt.ArrayLike) -> Array:
    """Return an array of finite numbers, of any shape but that of a single one."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(
            f"{name} must be an array of numbers, got rows of unequal length: {quote_value(value)}"
        ) from None
    if isinstance(value, np.ma.MaskedArray) and value.mask.any():
        raise ValueError(f"{name} must not have masked values, got {value.mask.sum()} of them")
    if array.dtype.kind == "O":
        array = _convert_objects(name, value, array)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be an array of real numbers, got {quote_value(value)}")
    if array.ndim == 0:
        raise ValueError(f"{name} must be an array, got the single value {quote_value(value)}")
    array = array.astype(np.float64, copy=False)
    finite = np.isfinite(array)
    if not finite.all():
        bad = np.argwhere(~finite)
        where = ", ".join(str(i) for i in bad[0])
        raise ValueError(f"{name} must be finite, got {array[tuple(bad[0])]} at {name}[{where}] ({len(bad)} such)")
    return array


def _convert_objects(name: str, value: npt.ArrayLike, array: npt.NDArray[np.object_]) -> Array:
    """Convert decimals, fractions and other Python numbers to floats; raise ValueError for anything else."""
    if all(isinstance(each, (Real, Decimal)) for each in array.ravel()):
        return array.astype(np.float64)
    raise ValueError(f"{name} must be an array of real numbers, got {quote_value(value)}")
