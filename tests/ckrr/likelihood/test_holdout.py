"""θ chosen on rows that nothing else sees."""

from __future__ import annotations

import numpy as np
import pytest

import ckrr
from ckrr.likelihood.holdout import EVERY, held_out_rows, kept_rows

REPLICATIONS = 400
LEVELS = {"holdout": 1 - 1 / 10, "ml": 1 - 2 / 13}
"""At α = 0.2."""


def sample(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.sin(6 * X[:, 0]) + 0.2 * rng.standard_normal(n)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 25, 100])
def test_rows_are_either_held_out_or_kept(n: int) -> None:
    assert sorted([*held_out_rows(n), *kept_rows(n)]) == list(range(n))
    assert len(held_out_rows(n)) == -(-n // EVERY)
    assert (kept_rows(n) == kept_rows(n + 1)[: len(kept_rows(n))]).all(), "more rows leave the choice as it was"


@pytest.mark.parametrize("kernel", ["gaussian", "matern32", "gaussian-rff"])
def test_it_is_a_search_on_some_rows_and_a_fit_to_the_others(kernel: str) -> None:
    X, y = sample(30)
    features = 20 if kernel.endswith("rff") else None
    some, others = np.arange(30) % 4 == 0, np.arange(30) % 4 != 0
    theta = ckrr.fit(X[some], y[some], "ml", 0.01, kernel, features=features).theta
    twin = ckrr.fit(X[others], y[others], theta, 0.01, kernel, features=features)
    fit = ckrr.fit(X, y, "holdout", 0.01, kernel, features=features)
    factor = ckrr.Inputs(X, X[:5] + 0.1, kernel, features=features).factor_ml(y, 0.01, "holdout")
    assert fit.theta == factor.theta == theta
    assert fit.search is not None
    assert (X[others] == fit.X).all()
    assert (fit.y == y[others]).all()
    for one in (fit, factor.fit(y)):
        for procedure in ckrr.PROCEDURES:
            ours, right = (each.regions(X[:5] + 0.1, procedure, [0.1, 0.3]) for each in (one, twin))
            assert (ours.lower == right.lower).all()
            assert (ours.upper == right.upper).all()
    Y, Y_test = np.column_stack([y, 2 * y]), np.column_stack([y[:5], 2 * y[:5]])
    ours, right = factor.score(Y, Y_test), twin.score(X[:5] + 0.1, y[:5])
    assert (ours.upper[0] == right.upper).all()
    assert (ours.hits[1] == right.hits).all(), "the second target is the first one doubled"


def test_targets_are_for_all_rows() -> None:
    X, y = sample(12)
    factor = ckrr.Inputs(X, X).factor_ml(y, 0.1, "holdout")
    with pytest.raises(ValueError, match=r"^y must be of shape \(12,\), one for each row of X, got shape \(9,\)$"):
        factor.fit(y[kept_rows(12)])
    with pytest.raises(ValueError, match=r"^Y must be of shape \(12, targets\)"):
        factor.score(y[kept_rows(12)], y)


def test_factors_of_other_sizes_are_scored_together() -> None:
    X, y = sample(20)
    inputs = ckrr.Inputs(X, X[:3] + 0.1)
    factors = [inputs.factor_ml(y, 0.1, "holdout"), inputs.factor(10.0, 0.1), inputs.factor_ml(2 * y, 0.1, "holdout")]
    together = ckrr.score_together(factors, [y] * 3, [y[:3]] * 3)
    for factor, scores in zip(factors, together, strict=True):
        assert (factor.score(y, y[:3]).upper == scores.upper).all()


def test_one_row_is_too_few() -> None:
    with pytest.raises(ValueError, match=r'^X must have at least 2 rows for theta = "holdout", got 1$'):
        ckrr.fit([0.5], [1.0], "holdout", 0.1)


@pytest.mark.soak
def test_the_level_is_exact_where_that_of_ml_is_not() -> None:
    """Nine points are left of twelve, so N = 10 and not 13."""
    hits: dict[str, list[float]] = {"holdout": [], "ml": []}
    for seed in range(REPLICATIONS):
        rng = np.random.default_rng([9, seed])
        X, noise = rng.random((32, 1)), rng.standard_normal(32)
        y = np.sin(9 * X[:, 0]) + 0.3 * noise
        for theta, found in hits.items():
            fit = ckrr.fit(X[:12], y[:12], theta, 0.01)
            found.append(float(fit.regions(X[12:], "RRCM-loo", 0.2).contains(y[12:]).mean()))
    error = {theta: float(np.std(found)) / np.sqrt(REPLICATIONS) for theta, found in hits.items()}
    short = {theta: float(np.mean(found)) - LEVELS[theta] for theta, found in hits.items()}
    assert abs(short["holdout"]) < 4 * error["holdout"]
    assert short["ml"] < -3 * error["ml"]
