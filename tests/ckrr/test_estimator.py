"""The library as scikit-learn and its users call it."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import ckrr
from ckrr._validation import Array
from ckrr.estimator import ConformalKernelRidge
from ckrr.procedures import ALL_PROCEDURES

ROOT = Path(__file__).parent.parent.parent

fit_with_mean = partial(ckrr.fit, mean="constant")  # the default of the estimator


def sample(n: int, m: int = 30, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X, X_new = rng.uniform(-1, 1, (n, 2)), rng.uniform(-1, 1, (m, 2))
    y, y_new = (np.sin(4 * x[:, 0]) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_new))
    return X, y, X_new, y_new


@pytest.mark.parametrize(
    "estimator",
    [
        ConformalKernelRidge(),
        ConformalKernelRidge("CRR-std", theta=0.1, lam=1e-3, boundary=">"),
        ConformalKernelRidge("GPR-f", theta=1.0),
        ConformalKernelRidge(theta=0.01, lam=1e-3, kernel="matern32-rff", features=400),
    ],
    ids=str,
)
def test_scikit_learn_accepts_it(estimator: ConformalKernelRidge) -> None:
    """A failed check raises; the one on array libraries is skipped, as scikit-learn does for all of its own."""
    results = check_estimator(estimator, on_skip=None)
    passed = {each["check_name"] for each in results if each["status"] == "passed"}
    assert {each["check_name"] for each in results} - passed <= {"check_array_api_input"}
    assert len(passed) > 40
    assert is_regressor(estimator)


@pytest.mark.parametrize("boundary", [">=", ">"])
@pytest.mark.parametrize("procedure", ALL_PROCEDURES)
def test_answers_are_those_of_the_fit(procedure: str, boundary: str) -> None:
    """At λ = 1e-6, where regions come in pieces, and at levels on a multiple of 1/N, where the boundaries differ."""
    X, y, X_new, y_new = sample(39, m=300)
    estimator = ConformalKernelRidge(procedure, theta=30.0, lam=1e-6, boundary=boundary)
    assert estimator.fit(X, y) is estimator
    fit = fit_with_mean(X, y, theta=30.0, lam=1e-6)
    regions = fit.regions(X_new, procedure, [0.2, 0.1, 0.75], boundary)
    y_pred, intervals = estimator.predict_interval(X_new, confidence_level=[0.8, 0.9, 0.25])
    assert (y_pred.shape, intervals.shape) == ((300,), (300, 2, 3))
    assert np.array_equal(y_pred, fit.predict(X_new))
    assert np.array_equal(estimator.predict(X_new), y_pred)
    assert np.array_equal(intervals[:, 0], regions.lower)
    assert np.array_equal(intervals[:, 1], regions.upper)
    ours = estimator.predict_region(X_new, [0.8, 0.9, 0.25])
    assert isinstance(ours, ckrr.Regions)
    for i, j in np.ndindex(300, 3):
        assert ours.components(i, j) == regions.components(i, j)
    assert np.array_equal(estimator.predict_p(X_new, y_new), fit.p_values(X_new, y_new, procedure))
    assert (estimator.fit_.theta, estimator.fit_.lam, estimator.theta_) == (30.0, 1e-6, 30.0)


def test_one_level_is_an_axis_of_length_one() -> None:
    """The default is 0.9."""
    X, y, X_new, _ = sample(40)
    estimator = ConformalKernelRidge(theta=3.0).fit(X, y)
    expected = estimator.fit_.regions(X_new, "RRCM-loo", 0.1)
    for levels in ((), (0.9,), ([0.9],), (np.array(0.9),), (np.array([0.9]),)):
        intervals = estimator.predict_interval(X_new, *levels)[1]
        assert intervals.shape == (30, 2, 1)
        assert np.array_equal(intervals[:, 0], expected.lower)
        assert np.array_equal(estimator.predict_region(X_new, *levels).upper, expected.upper)


def test_an_interval_is_the_hull_of_the_region() -> None:
    X, y, X_new, _ = sample(40, m=200)
    estimator = ConformalKernelRidge("RRCM", theta=30.0, lam=1e-6).fit(X, y)
    regions, (_, intervals) = estimator.predict_region(X_new, 0.95), estimator.predict_interval(X_new, 0.95)
    width, several = intervals[:, 1, 0] - intervals[:, 0, 0], regions.count[:, 0] > 1
    assert several.any()
    assert np.isinf(intervals).any()
    assert (width[several & np.isfinite(width)] > regions.length[several & np.isfinite(width), 0]).all()


@pytest.mark.parametrize("level", [0.95, np.float32(0.95), Decimal("0.95"), Fraction(19, 20)], ids=repr)
def test_the_level_is_the_decimal_that_was_written(level: float) -> None:
    """At N = 20, α = 1/20 needs one vote of 20 and keeps the whole line; 1 - 0.95 in floats needs two."""
    X, y, X_new, _ = sample(19)
    estimator = ConformalKernelRidge("RRCM", theta=3.0).fit(X, y)
    intervals = estimator.predict_interval(X_new, level)[1]
    assert (intervals[:, 0] == -inf).all()
    assert (intervals[:, 1] == inf).all()
    assert np.isfinite(estimator.fit_.regions(X_new, "RRCM", 1 - 0.95).length).all(), "the trap is there"
    estimator.set_params(boundary=">")
    assert np.isfinite(estimator.predict_interval(X_new, level)[1]).all()


def test_theta_by_maximum_likelihood() -> None:
    X, y, X_new, _ = sample(60)
    estimator = ConformalKernelRidge(lam=0.01).fit(X, y)
    assert estimator.get_params()["theta"] == "ml", "fit leaves its parameters alone"
    assert estimator.theta_ == fit_with_mean(X, y, theta="ml", lam=0.01).theta
    best = estimator.fit_.log_likelihood
    for factor in (0.01, 0.5, 0.9, 1.1, 2.0, 100.0):
        assert fit_with_mean(X, y, theta=factor * estimator.theta_, lam=0.01).log_likelihood < best
    number = ConformalKernelRidge(theta=estimator.theta_, lam=0.01).fit(X, y)
    assert np.array_equal(number.predict_interval(X_new)[1], estimator.predict_interval(X_new)[1])


def test_score_is_r2() -> None:
    X, y, X_new, y_new = sample(40)
    estimator = ConformalKernelRidge(theta=3.0).fit(X, y)
    assert estimator.score(X_new, y_new) == r2_score(y_new, fit_with_mean(X, y, 3.0, 0.1).predict(X_new))


def test_clones_are_unfitted_and_equal() -> None:
    X, y, X_new, _ = sample(40)
    params = {
        "procedure": "CRR",
        "theta": 3.0,
        "lam": 0.01,
        "boundary": ">",
        "kernel": "gaussian-rff",
        "scales": [1.0, 2.0],
        "features": 30,
        "seed": 1,
        "mean": "zero",
        "lengthscale": None,
        "noise_sd": 0.1,
    }
    estimator = ConformalKernelRidge(**params).fit(X, y)
    copy = clone(estimator)
    assert copy.get_params() == params
    assert not hasattr(copy, "fit_")
    assert np.array_equal(copy.fit(X, y).predict_interval(X_new)[1], estimator.predict_interval(X_new)[1])


def test_pickles_have_the_same_bits() -> None:
    X, y, X_new, y_new = sample(60, m=600)
    estimator = ConformalKernelRidge(theta=30.0, lam=1e-6).fit(X, y)
    copy = pickle.loads(pickle.dumps(estimator))
    assert copy.get_params() == estimator.get_params()
    assert copy.fit_ is not estimator.fit_
    for one, other in zip(estimator.predict_interval(X_new), copy.predict_interval(X_new), strict=True):
        assert one.tobytes() == other.tobytes()
    assert estimator.predict_p(X_new, y_new).tobytes() == copy.predict_p(X_new, y_new).tobytes()


def test_a_pipeline_scales_first() -> None:
    X, y, X_new, y_new = sample(40)
    X, X_new = X * [1.0, 1000.0], X_new * [1.0, 1000.0]
    pipe = make_pipeline(StandardScaler(), ConformalKernelRidge(theta=1.0)).fit(X, y)
    center, scale = X.mean(axis=0), X.std(axis=0)
    fit = fit_with_mean((X - center) / scale, y, 1.0, 0.1)
    assert pipe.predict(X_new) == pytest.approx(fit.predict((X_new - center) / scale), rel=1e-9)
    assert pipe.score(X_new, y_new) > 0.5 > ConformalKernelRidge(theta=1.0).fit(X, y).score(X_new, y_new)
    intervals = pipe[-1].predict_interval(pipe[:-1].transform(X_new))[1]  # as the docstring says
    assert intervals[:, 1] == pytest.approx(fit.regions((X_new - center) / scale).upper, rel=1e-9)


def test_grid_search_over_lam_and_theta() -> None:
    X, y, X_new, _ = sample(60)
    grid = {"lam": [1e-4, 0.01, 10.0], "theta": [0.01, 3.0, 1000.0]}
    folds = KFold(3)
    search = GridSearchCV(ConformalKernelRidge(), grid, cv=folds).fit(X, y)
    scores = {
        (lam, theta): np.mean(
            [r2_score(y[out], fit_with_mean(X[of], y[of], theta, lam).predict(X[out])) for of, out in folds.split(X)]
        )
        for lam in grid["lam"]
        for theta in grid["theta"]
    }
    best = max(scores, key=lambda each: scores[each])
    assert search.best_params_ == {"lam": best[0], "theta": best[1]}
    assert search.best_score_ == pytest.approx(scores[best])
    assert search.best_estimator_.predict_interval(X_new)[1].shape == (30, 2, 1)


def test_column_names_are_kept_and_compared() -> None:
    X, y, X_new, _ = sample(20)
    frame, new = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(X_new, columns=["a", "b"])
    estimator = ConformalKernelRidge(theta=3.0).fit(frame, y)
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    assert np.array_equal(estimator.predict_interval(new)[1][:, 0], fit_with_mean(X, y, 3.0, 0.1).regions(X_new).lower)
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.predict_region(new[["b", "a"]])
    estimator.fit(X[:, :1], y)
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 1


def test_what_was_fitted_is_a_copy() -> None:
    X, y, X_new, _ = sample(20)
    estimator = ConformalKernelRidge(theta=3.0).fit(X, y)
    before = estimator.predict_interval(X_new)
    X += 1.0
    y += 1.0
    for one, other in zip(before, estimator.predict_interval(X_new), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(estimator.fit_.y + 1.0, y)


def fitted(**params: object) -> ConformalKernelRidge:
    X, y, _, _ = sample(20)
    return ConformalKernelRidge(**{"theta": 3.0, **params}).fit(X, y)


NEW = np.zeros((3, 2))
BAD: list[tuple[str, Callable[[], object]]] = [
    (r"procedure must be one of GPR-f, .*, got 'RRCM-lo' \(did you .*\)", lambda: fitted(procedure="RRCM-lo")),
    (r"boundary must be '>=' .*, got '<'", lambda: fitted(boundary="<")),
    (r"theta must be .*, got -1\.0", lambda: fitted(theta=-1.0)),
    (r"theta must be .*, got 'lm'", lambda: fitted(theta="lm")),
    (r"lam must be a finite number > 0, got 0", lambda: fitted(lam=0)),
    (
        r"procedure must be one of GPR-f, .*, got 'conformal'",
        lambda: fitted().set_params(procedure="conformal").predict_p(NEW, [0, 0, 0]),
    ),
    (r"y must be of shape \(3,\), one for each row of X, got shape \(2,\)", lambda: fitted().predict_p(NEW, [0, 0])),
    (
        r"confidence_level must be a number or a sequence of numbers, got array\(\[\[0\.9\]\]\)",
        lambda: fitted().predict_interval(NEW, np.array([[0.9]])),
    ),
    (r"confidence_level must hold at least one level, got none", lambda: fitted().predict_interval(NEW, [])),
]
BAD += [
    (
        rf"confidence_level must be a number strictly between 0 and 1, got {told}",
        lambda level=level: fitted().predict_interval(NEW, level),  # type: ignore[misc]
    )
    for level, told in [
        (0, "0"),
        (1.0, r"1\.0"),
        (95, "95"),
        (-0.5, r"-0\.5"),
        (np.nan, "nan"),
        (None, "None"),
        ("0.9", "'0.9'"),
        ([0.9, 1.5], r"1\.5"),
    ]
]


@pytest.mark.parametrize(("message", "call"), BAD, ids=[message[:70] for message, _ in BAD])
def test_bad_arguments_are_named(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()


def test_it_must_be_fitted_first() -> None:
    X, y, _, _ = sample(60)
    failed = ConformalKernelRidge(theta=1e-3, lam=1e-18)
    with pytest.raises(ckrr.FactorisationError):
        failed.fit(X, y)
    for estimator in (ConformalKernelRidge(theta=1.0), failed):
        for call in (estimator.predict, estimator.predict_interval, estimator.predict_region):
            with pytest.raises(NotFittedError, match=r"^This ConformalKernelRidge instance is not fitted yet"):
                call(X)
        for call in (estimator.predict_p, estimator.score):
            with pytest.raises(NotFittedError, match=r"^This ConformalKernelRidge instance is not fitted yet"):
                call(X, y)


WITHOUT = """
import json, sys, warnings
warnings.simplefilter("error")
sys.modules["sklearn"] = None
import numpy as np, pandas as pd
from ckrr.estimator import ConformalKernelRidge

def refused(call, *args, **named):
    try:
        call(*args, **named)
    except ValueError as error:
        return f"{isinstance(error, AttributeError)} {error}"

X, y, X_new, y_new, weight = map(np.array, json.loads(sys.stdin.read()))
plain = ConformalKernelRidge(theta=30.0)
told = {
    "bases": {base.__module__.split(".")[0] for base in type(plain).__mro__} == {"ckrr", "builtins"},
    "repr": repr(plain),
    "unfitted": refused(plain.predict, X_new),
    "unknown": refused(plain.set_params, lam=7.0, lamb=1.0),
    "params": [plain.get_params(), plain.set_params(procedure="CRR", lam=1e-3) is plain, plain.get_params(deep=False)],
    "fit": plain.fit(X, y) is plain,
    "interval": [each.tolist() for each in plain.predict_interval(X_new, [0.8, 0.9])],
    "p": plain.predict_p(X_new, y_new).tolist(),
    "count": plain.predict_region(X_new).count.tolist(),
    "score": [plain.score(X_new, y_new), plain.score(X_new, y_new, weight), plain.score(X_new[:1], y_new[:1])],
    "fitted": [plain.theta_, plain.n_features_in_, hasattr(plain, "feature_names_in_")],
    "flat": refused(plain.fit, X[:, 0], y),
    "width": refused(plain.predict, X_new[:, :1]),
    "nan": refused(plain.fit, X * np.nan, y),
    "level": refused(plain.predict_interval, X_new, 1),
}
frame, new = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(X_new, columns=["a", "b"])
same = np.array_equal(plain.predict(X_new), plain.fit(frame, y).predict(new))
told["names"] = [same, plain.feature_names_in_.tolist(), refused(plain.predict, new[["b", "a"]])]
told["forgotten"] = hasattr(plain.fit(X, y), "feature_names_in_")
print(json.dumps(told))
"""


def test_it_works_without_scikit_learn() -> None:
    """With the same bits, in a process where scikit-learn cannot be imported."""
    X, y, X_new, y_new = sample(40)
    weight = np.arange(30.0)
    given = json.dumps([each.tolist() for each in (X, y, X_new, y_new, weight)])
    one_thread = os.environ | {f"{blas}_NUM_THREADS": "1" for blas in ("OPENBLAS", "MKL", "OMP")}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], input=given, capture_output=True, text=True, cwd=ROOT, env=one_thread
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    ours = ConformalKernelRidge("CRR", theta=30.0, lam=1e-3).fit(X, y)
    plain = {"kernel": "gaussian", "scales": None, "features": None, "seed": 0, "mean": "constant", "lengthscale": None}
    plain |= {"noise_sd": None}
    first = {"procedure": "RRCM-loo", "theta": 30.0, "lam": 0.1, "boundary": ">=", **plain}
    assert told == {
        "bases": True,
        "repr": f"ConformalKernelRidge({', '.join(f'{name}={value!r}' for name, value in first.items())})",
        "unfitted": "True This ConformalKernelRidge instance is not fitted yet: call fit first",
        "unknown": f"False parameter must be one of {', '.join(first)}, got 'lamb' (did you mean 'lam'?)",
        "params": [first, True, {**first, "procedure": "CRR", "lam": 1e-3}],
        "fit": True,
        "interval": [each.tolist() for each in ours.predict_interval(X_new, [0.8, 0.9])],
        "p": ours.predict_p(X_new, y_new).tolist(),
        "count": ours.predict_region(X_new).count.tolist(),
        "score": [
            pytest.approx(ours.score(X_new, y_new), rel=1e-12),
            pytest.approx(ours.score(X_new, y_new, weight), rel=1e-12),
            0.0,
        ],
        "fitted": [30.0, 2, False],
        "flat": "False X must be of shape (points, features), got shape (40,) (try X.reshape(-1, 1))",
        "width": "False X has 1 features, but ConformalKernelRidge is expecting 2 features",
        "nan": "False X must be finite, got nan at X[0, 0] (80 such)",
        "level": "False confidence_level must be a number strictly between 0 and 1, got 1",
        "names": [True, ["a", "b"], "False X must have the columns it had in fit, ['a', 'b'], got ['b', 'a']"],
        "forgotten": False,
    }
