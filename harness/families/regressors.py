"""Conformal prediction around any regressor of scikit-learn: split, CV+ and jackknife+.

A scenario names the regressor, and sets its parameters::

    family = "sklearn:RandomForestRegressor"
    family = { use = "sklearn:RandomForestRegressor", name = "forest", n_estimators = 200 }

Halves and folds are those of the family `baselines`. Split fits once, CV+ ten times, jackknife+ n times. Every fit has
a `random_state` of its own, drawn from the replication's stream "<regressor> <procedure>": fits that leave different
points out are then exchangeable, as the guarantee of jackknife+ and CV+ requires. Fits use one thread.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrr.baselines import FOLDS, combine_left_out, split, split_level
from ckrr.regions.intervals import stack_regions
from ckrr.ridge.exact import TEST_BLOCK
from harness.core.text import fold_whitespace, shorten_repr, suggest_name
from harness.core.types import Array, Generator
from harness.families.intervals import Ends, IntervalFamily, Task

VERSION = 1
"""Version of the numerics of this module; that of scikit-learn is added to it."""
_MODULES = (
    "compose",
    "cross_decomposition",
    "dummy",
    "ensemble",
    "gaussian_process",
    "isotonic",
    "kernel_ridge",
    "linear_model",
    "multioutput",
    "neighbors",
    "neural_network",
    "svm",
    "tree",
)
"""Modules of scikit-learn that have regressors. To import them all takes no longer than to import `ensemble` (0.5 s),
and half as long as `sklearn.utils.all_estimators`, which imports every module."""
_REFUSED = re.compile(r"The '(\w+)' parameter of \w+ (must .*?)\.? Got (.*) instead\.?")
"""How scikit-learn words an invalid parameter."""

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Regressor:
    """A fitted model whose predictions are checked."""

    model: Any

    def predict(self, X: npt.ArrayLike, /) -> Array:
        """Predict values at m points, shape (m,); raise ValueError if the model gives anything else."""
        found, m, name = self.model.predict(X), len(np.asarray(X)), type(self.model).__name__
        if np.shape(found) != (m,):
            raise ValueError(f"{name}.predict returned an array of shape {np.shape(found)}, it must be {(m,)}")
        values = np.asarray(found, dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            raise ValueError(
                f"{name}.predict returned {values[wrong[0]]} at {wrong.size} of {m} points, it must be finite"
            )
        return values


@dataclass(frozen=True)
class RegressorFamily(IntervalFamily):
    """Family of conformal procedures around one regressor."""

    regressor: type[Any]
    parameters: Mapping[str, Any]
    version: str

    @property
    def procedures(self) -> Sequence[str]:
        """Names of the procedures."""
        return tuple(_METHODS)

    def compute_ends(self, procedure: str, task: Task) -> Ends:
        """Compute the intervals of one procedure for one target."""
        rng = task.streams(f"{self.regressor.__name__} {procedure}")
        return _METHODS[procedure](partial(self._fit, rng), task)

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """Return the exact level of split; None for CV+ and jackknife+, which guarantee 1 − 2α at most."""
        return split_level(n, alpha) if procedure == "split" else None

    def _fit(self, rng: Generator, X: Array, y: Array) -> Regressor:
        """Fit a new model, with the next seed of the stream unless the scenario gives one."""
        model = self.regressor(**self.parameters)
        if "random_state" in model.get_params(deep=False) and "random_state" not in self.parameters:
            model.set_params(random_state=int(rng.integers(2**31)))
        return Regressor(model.fit(X, y))


Fit = Callable[[Array, Array], Regressor]
"""Function that fits a model to X and y."""


def _compute_split(fit: Fit, task: Task) -> Ends:
    X, y, X_calibration, y_calibration = task.halves
    regions = split(fit(X, y), X_calibration, y_calibration, task.X_test, task.alpha)
    return regions.lower, regions.upper


def _compute_cv_plus(fit: Fit, task: Task) -> Ends:
    return _leave_out(fit, task, np.array_split(task.order, min(FOLDS, len(task.y))))


def _compute_jackknife_plus(fit: Fit, task: Task) -> Ends:
    return _leave_out(fit, task, np.array_split(np.arange(len(task.y)), len(task.y)))


def _leave_out(fit: Fit, task: Task, folds: Sequence[Indices]) -> Ends:
    """Compute the intervals from the fits that leave one of the folds out each."""
    errors, fold_of = np.empty(len(task.y)), np.empty(len(task.y), dtype=np.intp)
    predicted = np.empty((len(task.X_test), len(folds)))
    for k, fold in enumerate(folds):
        model = fit(np.delete(task.X, fold, axis=0), np.delete(task.y, fold))
        errors[fold], fold_of[fold] = task.y[fold] - model.predict(task.X[fold]), k
        predicted[:, k] = model.predict(task.X_test)
    blocks = [predicted[start : start + TEST_BLOCK] for start in range(0, len(predicted), TEST_BLOCK)]
    regions = stack_regions([combine_left_out(block[:, fold_of], errors, task.alpha) for block in blocks])
    return regions.lower, regions.upper


_METHODS: Mapping[str, Callable[[Fit, Task], Ends]] = {
    "split": _compute_split,
    "CV+": _compute_cv_plus,
    "jackknife+": _compute_jackknife_plus,
}


def make_family(regressor: str, /, **parameters: Any) -> RegressorFamily:
    """Return the family of conformal procedures around a regressor of scikit-learn.

    Parameters
    ----------
    regressor : str
        Name of the class, such as "RandomForestRegressor".
    **parameters
        Parameters of the class.

    Raises
    ------
    ImportError
        If scikit-learn isn't installed.
    ValueError
        If there is no such regressor, or if a parameter is invalid; then the message begins with its name.

    Examples
    --------
    >>> make_family("KNeighborsRegressor", n_neighbors=3).procedures
    ('split', 'CV+', 'jackknife+')
    >>> make_family("KNeighborsRegressor", n_neighbors=0)
    Traceback (most recent call last):
    ValueError: n_neighbors must be an int in the range [1, inf) or None, got 0
    """
    found = _find_regressor(regressor)
    known = inspect.signature(found).parameters
    _check_parameters(found, known, parameters)
    given = {**parameters, "n_jobs": 1} if "n_jobs" in known else parameters
    version = f"{VERSION}, scikit-learn {import_module('sklearn').__version__}"
    return RegressorFamily(found, given, version)


def _find_regressor(name: str) -> type[Any]:
    """Return the class of a regressor, by its name."""
    if find_spec("sklearn") is None:
        raise ImportError(f"{name} needs scikit-learn: pip install scikit-learn")
    known = _list_regressors()
    if name not in known:
        hint = suggest_name(name, known) or ": RandomForestRegressor is one"
        raise ValueError(f"{shorten_repr(name)} is not a regressor of scikit-learn{hint}")
    return known[name]


def _list_regressors() -> dict[str, type[Any]]:
    """Return all regressors of scikit-learn, by their names."""
    from sklearn.base import BaseEstimator, RegressorMixin

    classes = (
        getattr(module, name)
        for module in (import_module(f"sklearn.{each}") for each in _MODULES)
        for name in dir(module)
        if not name.startswith("_")
    )
    return {
        each.__name__: each
        for each in classes
        if inspect.isclass(each) and issubclass(each, RegressorMixin) and issubclass(each, BaseEstimator)
    }


def _check_parameters(
    regressor: type[Any], known: Mapping[str, inspect.Parameter], parameters: Mapping[str, Any]
) -> None:
    """Raise ValueError if a parameter is unknown, missing or invalid; the message begins with its name."""
    for key in parameters:
        if key not in known:
            raise ValueError(f"{key} is not a parameter of {regressor.__name__}{suggest_name(key, known)}")
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in parameters:
            raise ValueError(f"{key} must be given: {regressor.__name__} has no default for it")
    if parameters.get("n_jobs", 1) != 1:
        raise ValueError(f"n_jobs must be 1: the harness runs fits in parallel, got {parameters['n_jobs']!r}")
    try:  # scikit-learn checks parameters before it looks at data: without data nothing is fitted
        regressor(**parameters).fit(np.empty((0, 1)), np.empty(0))
    except Exception as error:
        said = _REFUSED.fullmatch(fold_whitespace(error))
        if said is not None:
            key, rule, value = said.groups()
            raise ValueError(f"{key} {rule}, got {value}") from None
