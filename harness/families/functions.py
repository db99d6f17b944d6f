"""Turn a function that computes intervals into a family of one procedure.

The function is called once for each replication and γ, with all levels at once. What it returns is checked every time::

    from ckrr import study

    @study.procedure
    def forest_split(X, y, X_new, alpha, rng):
        ...
        return lower, upper        # arrays of shape (len(X_new), len(alpha))
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan
from numbers import Real
from typing import Any, Self, overload

import numpy as np

from harness.core.text import shorten_repr, suggest_name
from harness.core.types import Array
from harness.families.intervals import Ends, IntervalFamily, Task

IntervalFunction = Callable[..., Any]
"""Function of X, y, X_new, alpha and rng, and of parameters that have defaults; it returns lower and upper ends."""
LevelFunction = Callable[[int, float], float | None]
"""Function of n and α: the exact coverage for exchangeable training and test points, or None if it isn't known."""

_ARGUMENTS = "X, y, X_new, alpha, rng"


@dataclass(frozen=True)
class FunctionFamily(IntervalFamily):
    """Family of one procedure, which a function computes. It can be called as the function itself."""

    function: IntervalFunction
    name: str
    exact_level: LevelFunction | None = None
    version: int | str = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values of the function's parameters that differ from their defaults."""

    @property
    def procedures(self) -> Sequence[str]:
        """The name of the procedure."""
        return (self.name,)

    @property
    def __wrapped__(self) -> IntervalFunction:
        """The function, for tools that look for its file and signature."""
        return self.function

    def __call__(self, *values: Any, **parameters: Any) -> Any:
        """Call the function."""
        return self.function(*values, **{**self.parameters, **parameters})

    def with_parameters(self, **parameters: Any) -> Self:
        """Return the family with other values of the function's parameters.

        Raises
        ------
        ValueError
            If the function has no such parameter, or if a value is of another kind than the default; the message is
            one line that begins with the key.
        """
        for key, value in parameters.items():
            if key not in self._defaults:
                known = ", ".join(self._defaults) or "none"
                hint = suggest_name(key, self._defaults)
                raise ValueError(f"{key} is not a parameter of {self.name}{hint}: it has {known}")
            _check_kind(key, value, self._defaults[key])
        return replace(self, parameters={**self.parameters, **parameters})

    @cached_property
    def _defaults(self) -> Mapping[str, Any]:
        """Defaults of the parameters that a scenario may set."""
        return {each.name: each.default for each in list(inspect.signature(self.function).parameters.values())[5:]}

    def compute_ends(self, procedure: str, task: Task) -> Ends:
        """Call the function on copies, with a new generator, and check what it returns."""
        rng = task.streams(f"procedure {self.name}")
        found = self(task.X.copy(), task.y.copy(), task.X_test.copy(), np.array(task.alpha), rng)
        return check_ends(found, self.name, len(task.X_test), task.alpha)

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """Return the exact level, if there is one; raise ValueError if it isn't a number from 0 to 1."""
        found = None if self.exact_level is None else self.exact_level(n, alpha)
        if found is None or (isinstance(found, Real) and isnan(found)):
            return None
        if isinstance(found, Real) and not isinstance(found, bool) and 0 <= found <= 1:
            return float(found)
        expected = "a number from 0 to 1, or None if it isn't known"
        raise ValueError(
            f"{self.name}: level must return {expected}, got {shorten_repr(found)} for n = {n} and alpha = {alpha:g}"
        )


@overload
def procedure(function: IntervalFunction, /) -> FunctionFamily: ...


@overload
def procedure(
    *, name: str | None = None, level: LevelFunction | None = None, version: int | str = 1
) -> Callable[[IntervalFunction], FunctionFamily]: ...


def procedure(
    function: IntervalFunction | None = None,
    /,
    *,
    name: str | None = None,
    level: LevelFunction | None = None,
    version: int | str = 1,
) -> FunctionFamily | Callable[[IntervalFunction], FunctionFamily]:
    """Make a function a procedure that scenarios can name: `family = "mine.py:forest_split"`.

    Parameters
    ----------
    function : callable
        Function of X (n, d), y (n,), X_new (m, d), alpha (k,) and rng, a `numpy.random.Generator`. It returns the lower
        and the upper ends of intervals, float arrays of shape (m, k): ±inf if unbounded, NaN in both if the interval is
        empty. Further parameters need defaults; a scenario may set them.
    name : str, optional
        Name of the procedure. Default: the name of the function.
    level : callable, optional
        Function of n and α that returns the exact coverage for exchangeable training and test points, a number from 0
        to 1, or None where it isn't known. Verdicts compare coverage with it.
        Default: none is known, and coverage is compared with 1 − α.
    version : int or str
        Change it with every change that alters a number.

    Examples
    --------
    >>> @procedure
    ... def flat(X, y, X_new, alpha, rng, margin=0.0):
    ...     low, high = np.quantile(y, [alpha / 2, 1 - alpha / 2])
    ...     return np.tile(low - margin, (len(X_new), 1)), np.tile(high + margin, (len(X_new), 1))
    >>> flat.procedures, flat.with_parameters(margin=0.1).parameters
    (('flat',), {'margin': 0.1})
    """

    def make(function: IntervalFunction) -> FunctionFamily:
        _check_signature(function)
        made = FunctionFamily(function, function.__name__ if name is None else name, level, version)
        _check_level(made.name, level)
        return made

    return make if function is None else make(function)


def _check_signature(function: IntervalFunction) -> None:
    """Raise TypeError unless a function takes five arguments, and parameters with defaults."""
    if not inspect.isroutine(function) or inspect.iscoroutinefunction(function):
        raise TypeError(f"procedure must decorate a function of ({_ARGUMENTS}), got {shorten_repr(function)}")
    parameters, name = list(inspect.signature(function).parameters.values()), function.__name__
    first, others = parameters[:5], parameters[5:]
    positional = [each for each in first if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    if len(positional) < 5:
        raise TypeError(f"{name}{inspect.signature(function)} must take ({_ARGUMENTS}), then parameters with defaults")
    names = [each.name for each in first]
    if names != _ARGUMENTS.split(", ") and set(names) == set(_ARGUMENTS.split(", ")):
        order = f"in the order {_ARGUMENTS}, since values are passed by position"
        raise TypeError(f"{name}: the first five parameters must be {order}, got {', '.join(names)}")
    for each in others:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) or each.default is each.empty:
            raise TypeError(f"{name}: the parameter {each} must have a default, such as {each.name}=1")


def _check_level(name: str, level: object) -> None:
    """Raise TypeError unless a level is None or can be called with n and α."""
    if level is None or (callable(level) and _takes_two(level)):
        return
    expected = "a function of n and alpha, such as lambda n, alpha: 1 - alpha"
    raise TypeError(f"{name}: level must be {expected}, got {shorten_repr(level)}")


def _takes_two(function: Callable[..., object]) -> bool:
    """Return whether a function takes two positional arguments; True for built-in ones that don't say."""
    try:
        inspect.signature(function).bind(1, 0.1)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _check_kind(key: str, value: object, default: object) -> None:
    """Raise ValueError if a value is not of the kind of a default: any number for a number, otherwise its type."""
    is_number = isinstance(default, Real) and not isinstance(default, bool)
    kind = Real if is_number else type(default)
    if default is None or (isinstance(value, kind) and isinstance(value, bool) == isinstance(default, bool)):
        return
    expected = "a number" if is_number else f"of type {type(default).__name__}"
    raise ValueError(f"{key} must be {expected}, as its default {shorten_repr(default)} is, got {shorten_repr(value)}")


def check_ends(found: object, name: str, points: int, alpha: Sequence[float]) -> Ends:
    """Return the ends that a function returned; raise ValueError in one line if they aren't those of intervals.

    Parameters
    ----------
    found
        What the function returned.
    name : str
        Name of the procedure, for messages.
    points : int
        Number of test points.
    alpha : sequence of float
        Levels.
    """
    if not isinstance(found, tuple | list) or len(found) != 2:
        what = f"{len(found)} values" if isinstance(found, tuple | list) else f"one {type(found).__name__}"
        raise ValueError(f"{name} returned {what}, it must return two arrays: lower, upper")
    lower, upper = (
        _check_array(each, f"{name} returned {end}", (points, len(alpha)))
        for each, end in zip(found, ("lower", "upper"), strict=True)
    )
    half_empty = np.isnan(lower) != np.isnan(upper)
    rules = {
        "NaN at one end only; an empty interval has NaN at both": half_empty,
        "lower > upper; an empty interval has NaN at both": lower > upper,
        "an end at infinity on the wrong side": (lower == np.inf) | (upper == -np.inf),
    }
    for rule, wrong in rules.items():
        if wrong.any():
            i, k = np.argwhere(wrong)[0]
            where = f"test point {i} and alpha = {alpha[k]:g}: lower {lower[i, k]:g}, upper {upper[i, k]:g}"
            raise ValueError(f"{name} returned {rule}; at {where} ({wrong.sum()} of {wrong.size} intervals)")
    return lower, upper


def _check_array(found: object, what: str, shape: tuple[int, int]) -> Array:
    """Return an array of float64; raise ValueError if its shape or type is wrong."""
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{what} of type {type(found).__name__}, it must be an array")
    if found.shape != shape:
        raise ValueError(f"{what} of shape {found.shape}, it must be {shape}: (test points, levels)")
    if found.dtype.kind != "f":
        raise ValueError(f"{what} of dtype {found.dtype}, it must be float64")
    return np.asarray(found, dtype=np.float64)
