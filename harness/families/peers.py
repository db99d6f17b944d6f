"""Add MAPIE and crepes, used as in their documentation, to the family `baselines`: `pip install 'ckrr[peers]'`.

Both wrap scikit-learn's `KernelRidge` with the kernel exp(−θ‖x − x′‖²) and the ridge λ. They are given the same halves
and folds as the built-in baselines. So split, jackknife+ and CV+ of MAPIE and split of crepes agree with the built-in
ones up to rounding, with refits in place of the closed form. crepes-norm divides errors by those of nearby points in
the first half. θ must be given; searches are not supported.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np

from ckrr.baselines import FOLDS, split_level
from harness.families.baselines import METHODS, Baselines, IntervalMethod, Query
from harness.families.intervals import Ends
from harness.families.packages import provide_family

NEIGHBOURS = 25
"""Neighbours from which crepes estimates difficulty; its default."""


def _make_ridge(asked: Query) -> Any:
    from sklearn.kernel_ridge import KernelRidge

    factor = asked.sample.factor
    return KernelRidge(alpha=factor.lam, kernel="rbf", gamma=factor.theta)


def compute_confidence(alpha: Sequence[float]) -> list[float]:
    """Return 1 − α for each α, rounded once: 0.9 for 0.1."""
    return [float(1 - Decimal(repr(each))) for each in alpha]


def _mapie_split(asked: Query) -> Ends:
    """Compute MAPIE's split intervals; at levels too high for n, where MAPIE raises, return the whole line."""
    from mapie.regression import SplitConformalRegressor

    X, y, X_calibration, y_calibration = asked.halves
    reached = [k for k, each in enumerate(asked.alpha) if split_level(len(asked.y), each) < 1]
    lower, upper = np.full((2, len(asked.sample.X_test), len(asked.alpha)), np.inf)
    lower = -lower
    if reached:
        levels = compute_confidence([asked.alpha[k] for k in reached])
        model = SplitConformalRegressor(_make_ridge(asked).fit(X, y), confidence_level=levels, prefit=True)
        _, found = model.conformalize(X_calibration, y_calibration).predict_interval(asked.sample.X_test)
        lower[:, reached], upper[:, reached] = found[:, 0], found[:, 1]
    return lower, upper


def _mapie_cross(asked: Query, folds: Any) -> Ends:
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(
        _make_ridge(asked), confidence_level=compute_confidence(asked.alpha), method="plus", cv=folds
    )
    model.fit_conformalize(asked.sample.X, asked.y)
    _, found = model.predict_interval(asked.sample.X_test, allow_infinite_bounds=True)
    return found[:, 0], found[:, 1]


def _mapie_jackknife_plus(asked: Query) -> Ends:
    from sklearn.model_selection import LeaveOneOut

    return _mapie_cross(asked, LeaveOneOut())


def _mapie_cv_plus(asked: Query) -> Ends:
    from sklearn.model_selection import PredefinedSplit

    fold_of = np.empty(len(asked.order), dtype=int)
    for k, fold in enumerate(np.array_split(asked.order, min(FOLDS, len(asked.order)))):
        fold_of[fold] = k
    return _mapie_cross(asked, PredefinedSplit(fold_of))


def _crepes_split(asked: Query) -> Ends:
    return _crepes(asked, None)


def _crepes_norm(asked: Query) -> Ends:
    from crepes.extras import DifficultyEstimator

    X, y, _, _ = asked.halves
    difficulty = DifficultyEstimator()
    residuals = y - _make_ridge(asked).fit(X, y).predict(X)
    with _ignore_warnings():
        difficulty.fit(X=X, residuals=residuals, k=min(NEIGHBOURS, len(X)))
    return _crepes(asked, difficulty)


@contextmanager
def _ignore_warnings() -> Iterator[None]:
    """Ignore warnings of crepes: levels too high for n, and neighbours that it would search with several processes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the no. of calibration examples is too small")
        warnings.filterwarnings("ignore", message="Inside a Dask worker")
        yield


def _crepes(asked: Query, difficulty: Any) -> Ends:
    from crepes import WrapRegressor

    X, y, X_calibration, y_calibration = asked.halves
    model = WrapRegressor(_make_ridge(asked))
    model.fit(X, y)
    with _ignore_warnings():
        model.calibrate(X_calibration, y_calibration, de=difficulty)
        found = [model.predict_int(asked.sample.X_test, confidence=each) for each in compute_confidence(asked.alpha)]
    return np.stack([each[:, 0] for each in found], axis=1), np.stack([each[:, 1] for each in found], axis=1)


PEER_METHODS: Mapping[str, IntervalMethod] = {
    "MAPIE-split": _mapie_split,
    "MAPIE-jackknife+": _mapie_jackknife_plus,
    "MAPIE-CV+": _mapie_cv_plus,
    "crepes-split": _crepes_split,
    "crepes-norm": _crepes_norm,
}


_FAMILY = Baselines(
    {**METHODS, **PEER_METHODS},
    split_based=("split", "MAPIE-split", "crepes-split", "crepes-norm"),
    is_timed=True,
    gaussian_only=True,
    searches=(),
)


__getattr__ = provide_family(__name__, _FAMILY, ("mapie", "crepes"))
