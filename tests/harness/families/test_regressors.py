"""Conformal procedures around regressors of scikit-learn, beside refits in plain loops."""

from __future__ import annotations

import subprocess
import sys
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils import all_estimators
from threadpoolctl import threadpool_info, threadpool_limits

from ckrr.baselines import split_level
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.seeds import Seeds
from harness.core.types import Array, Extent, Grid, Status
from harness.families import regressors
from harness.families.baselines import FAMILY as BASELINES
from harness.families.regressors import RegressorFamily, make_family
from scenarios import SOURCES
from tests.harness.families.scoring import ALPHA, sample, scored, streams
from tests.harness.studies import only, unit

NAMES = ("split", "CV+", "jackknife+")


@pytest.mark.parametrize("n", [3, 19, 30])
def test_kernel_ridge_gives_the_baselines(n: int) -> None:
    """Refits in place of closed forms, with the same halves and folds."""
    ridge = make_family("KernelRidge", alpha=1e-3, kernel="rbf", gamma=100.0)
    for theirs, ours in zip(scored(ridge, NAMES, 2, n), scored(BASELINES, NAMES, 2, n), strict=True):
        assert theirs.lower == pytest.approx(ours.lower, abs=1e-8)
        assert theirs.upper == pytest.approx(ours.upper, abs=1e-8)
        assert np.array_equal(theirs.hits, ours.hits)


def refit(name: str, X: Array, y: Array, X_test: Array, alpha: float) -> tuple[list[float], list[float]]:
    """A forest with split, CV+ or jackknife+, as slowly and plainly as it goes."""
    rng, order, n = streams(0)(f"RandomForestRegressor {name}"), streams(0)("order").permutation(len(X)), len(X)

    def fit(rows: list[int]) -> Any:
        return RandomForestRegressor(5, random_state=int(rng.integers(2**31))).fit(X[rows], y[rows])

    if name == "split":
        model, held_out = fit([int(i) for i in order[: ceil(n / 2)]]), order[ceil(n / 2) :]
        errors = sorted(abs(y[i] - model.predict(X[[i]])[0]) for i in held_out)
        rank = ceil((1 - alpha) * (len(errors) + 1))
        half = errors[rank - 1] if rank <= len(errors) else np.inf
        return [each - half for each in model.predict(X_test)], [each + half for each in model.predict(X_test)]
    folds = [[i] for i in range(n)] if name == "jackknife+" else np.array_split(order, 10)
    low: list[list[float]] = [[] for _ in X_test]
    high: list[list[float]] = [[] for _ in X_test]
    for fold in folds:
        model = fit([i for i in range(n) if i not in fold])
        for i in fold:
            error = abs(y[i] - model.predict(X[[i]])[0])
            for k, middle in enumerate(model.predict(X_test)):
                low[k].append(middle - error)
                high[k].append(middle + error)
    rank = floor(alpha * (n + 1))
    if rank == 0:
        return [-np.inf] * len(X_test), [np.inf] * len(X_test)
    return [sorted(each)[rank - 1] for each in low], [sorted(each)[-rank] for each in high]


@pytest.mark.parametrize("name", NAMES)
def test_a_forest_gives_what_plain_loops_give(name: str) -> None:
    X, X_test, target = sample(0, 17)
    (found,) = scored(make_family("RandomForestRegressor", n_estimators=5), [name], 1, 17)
    for g, y in enumerate(target.Y.T):
        for k, alpha in enumerate(ALPHA):
            lower, upper = refit(name, X, y, X_test, alpha)
            assert found.lower[g, 0, :, k] == pytest.approx(np.array(lower), abs=1e-12)
            assert found.upper[g, 0, :, k] == pytest.approx(np.array(upper), abs=1e-12)


def test_bits_don_t_depend_on_company() -> None:
    forest = make_family("RandomForestRegressor", n_estimators=3)
    together = scored(forest, NAMES, 2, 12)
    for p, name in enumerate(NAMES):
        for one, all_ in zip(scored(forest, [name], 2, 12), together, strict=True):
            assert np.array_equal(one.lower[:, 0], all_.lower[:, p])


def test_a_given_random_state_is_kept() -> None:
    fixed = make_family("RandomForestRegressor", n_estimators=3, random_state=1)
    assert not np.array_equal(
        scored(fixed, ["split"], 1)[0].lower,
        scored(make_family("RandomForestRegressor", n_estimators=3), ["split"], 1)[0].lower,
    )
    X, _, target = sample(0)
    assert fixed._fit(streams(0)("a"), X, target.Y[:, 0]).model.random_state == 1


class Counts(DummyRegressor):  # type: ignore[misc]
    """The mean of y, with a note of the threads that its fits may use."""

    seen: ClassVar[set[int]] = set()

    def fit(self, X: Array, y: Array) -> Any:
        self.seen.update(each["num_threads"] for each in threadpool_info())
        return super().fit(X, y)


def test_fits_use_one_thread_and_their_bits_don_t_depend_on_threads() -> None:
    boosted = make_family("HistGradientBoostingRegressor", max_iter=5, min_samples_leaf=3)
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append(scored(boosted, ["split"], 1, 40)[0].lower)
            scored(RegressorFamily(Counts, {}, "1"), ["split"], 1)
    assert np.array_equal(found[0], found[1])
    assert Counts.seen == {1}


class TwoColumns(DummyRegressor):  # type: ignore[misc]
    def predict(self, X: Array) -> Array:
        return np.zeros((len(X), 2))


class NotANumber(DummyRegressor):  # type: ignore[misc]
    def predict(self, X: Array) -> Array:
        return np.where(X[:, 0] > X[:, 0].min(), 0.0, np.nan)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (TwoColumns, "TwoColumns.predict returned an array of shape (9, 2), it must be (9,)"),
        (NotANumber, "NotANumber.predict returned nan at 1 of 9 points, it must be finite"),
    ],
)
def test_wrong_predictions_are_failed_replications(wrong: type[Any], message: str) -> None:
    grid = Grid(("split",), (0.1,), (1.0,), (1.0,), (8,), (0.2,))
    study = Study(
        Extent(grid, 1, 1),
        SOURCES["heaviside"](test_points=9),
        only(RegressorFamily(wrong, {}, "1")),
        Seeds.from_source(7, {}),
    )
    block = compute_unit(study, unit(8, range(1), range(1)))
    assert (block.values["status"] == Status.ERROR).all()
    assert [each.message for each in block.failures] == [f"ValueError: {message}"]


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("RandomForestRegresor", {}, r"'RandomForestRegresor' is not a regressor .* \(did you mean 'RandomForestRegr"),
        ("RandomForestClassifier", {}, "'RandomForestClassifier' is not a regressor of scikit-learn"),
        ("os", {}, "'os' is not a regressor of scikit-learn: RandomForestRegressor is one"),
        (
            "RandomForestRegressor",
            {"n_estimators": -1},
            r"^n_estimators must be an int in .*, got -1$",
        ),
        ("RandomForestRegressor", {"criterion": "gini"}, r"^criterion must be a str among .*, got 'gini'$"),
        ("RandomForestRegressor", {"trees": 3}, "^trees is not a parameter of RandomForestRegressor$"),
        ("Ridge", {"alfa": 3}, r"^alfa is not a parameter of Ridge \(did you mean 'alpha'\?\)$"),
        ("KNeighborsRegressor", {"n_jobs": 4}, "^n_jobs must be 1: the harness runs fits in parallel, got 4$"),
        ("StackingRegressor", {}, "^estimators must be given: StackingRegressor has no default for it$"),
        ("TransformedTargetRegressor", {"regressor": "Ridge"}, "^regressor must be an object implementing 'fit'"),
    ],
)
def test_mistakes_are_told(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_family(name, **parameters)


def test_parameters_that_suit_larger_samples_are_taken() -> None:
    assert make_family("KNeighborsRegressor", n_neighbors=500).parameters == {"n_neighbors": 500, "n_jobs": 1}
    assert make_family("MLPRegressor", hidden_layer_sizes=[9, 9]).parameters == {"hidden_layer_sizes": [9, 9]}


def test_all_regressors_are_found() -> None:
    assert regressors._list_regressors() == dict(all_estimators(type_filter="regressor"))


def test_levels_and_what_is_fixed() -> None:
    found = make_family("Ridge")
    assert [found.level(name, 24, 0.1) for name in NAMES] == [split_level(24, 0.1), None, None]
    assert (found.procedures, found.axes, found.searches, found.reference) == (NAMES, (), (), None)
    assert found.version.startswith(f"{regressors.VERSION}, scikit-learn 1.")
    assert found.flops(10, 10, 1, False) is None
    assert np.isnan(found.inputs(np.zeros((3, 1)), np.zeros((2, 1))).factor(1.0, 1.0).theta)
    with pytest.raises(ValueError, match="theta must not be 'ml'"):
        found.inputs(np.zeros((3, 1)), np.zeros((2, 1))).factor_ml(np.zeros(3), 1.0, "ml")


def test_a_missing_package_is_told() -> None:
    code = """
import sys
class Hidden:
    def __init__(self, finder): self.finder = finder
    def find_spec(self, name, *rest): return None if name == "sklearn" else self.finder.find_spec(name, *rest)
    def __getattr__(self, name): return getattr(self.finder, name)
sys.meta_path[:] = [Hidden(each) for each in sys.meta_path]
from harness.families.regressors import make_family
try:
    make_family("Ridge")
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Ridge needs scikit-learn: pip install scikit-learn\n"
