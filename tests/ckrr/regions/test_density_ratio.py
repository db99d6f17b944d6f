"""Weights by logistic regression: the conditions that define them, a peer, and degenerate inputs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import ckrr
from ckrr._validation import Array


def twin(X: Array, X_new: Array) -> Array:
    """The penalised likelihood, by a general optimiser; coefficients of the standardised inputs."""
    both = np.concatenate([X, X_new])
    Z = (both - both.mean(axis=0)) / both.std(axis=0)
    sign = np.where(np.arange(len(Z)) < len(X), -1.0, 1.0)

    def loss(beta: Array) -> float:
        return float(np.logaddexp(0.0, -sign * (beta[0] + Z @ beta[1:])).sum() + 0.5 * beta[1:] @ beta[1:])

    return np.exp(Z @ minimize(loss, np.zeros(Z.shape[1] + 1), method="BFGS", options={"gtol": 1e-8}).x[1:])


@pytest.mark.parametrize(("n", "m", "d"), [(5, 1, 1), (40, 7, 3), (20, 200, 2)])
def test_weights_are_the_penalised_likelihoods(n: int, m: int, d: int) -> None:
    rng = np.random.default_rng([n, m])
    X, X_new = rng.standard_normal((n, d)), 0.7 + rng.standard_normal((m, d))
    w = np.concatenate(ckrr.estimate_weights(X, X_new))
    expected = twin(X, X_new)
    assert w == pytest.approx(expected / expected.max(), rel=1e-4)
    assert w.max() == 1.0


def test_a_peer() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(1)
    X, X_new = rng.random((60, 2)), rng.random((30, 2)) ** 2
    both = np.concatenate([X, X_new])
    Z = (both - both.mean(axis=0)) / both.std(axis=0)
    model = linear_model.LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000).fit(Z, np.arange(90) >= 60)
    logits = Z @ model.coef_[0]
    assert np.log(np.concatenate(ckrr.estimate_weights(X, X_new))) == pytest.approx(logits - logits.max(), abs=1e-5)


def test_degenerate_inputs() -> None:
    """Sets apart, scales of 1e-200 and 1e8 beside each other, constant columns, one point each, equal inputs."""
    w, w_new = ckrr.estimate_weights([0.0, 1.0, 2.0], [100.0, 101.0])
    assert (np.diff(w) > 0).all()
    assert (w[-1] < w_new).all()
    assert np.isfinite([*w, *w_new]).all()
    for X, X_new in (
        ([[1e-200, 3.0]], [[2e-200, 3.0]]),
        ([[5.0]], [[5.0]]),
        (np.full((9, 2), 0.1), np.full((3, 2), 0.1)),
    ):
        w, w_new = ckrr.estimate_weights(X, X_new)
        assert np.isfinite([*w, *w_new]).all()
        assert max([*w, *w_new]) == 1.0
    assert (w == 1).all()
    some = np.random.default_rng(0).random((30, 2))
    w, _ = ckrr.estimate_weights(some, some)
    assert w == pytest.approx(np.ones(30), abs=1e-9)
    scaled, _ = ckrr.estimate_weights(some * 1e8, some[:5] * 1e8)
    assert scaled == pytest.approx(ckrr.estimate_weights(some, some[:5])[0], rel=1e-9)


def test_mistakes() -> None:
    with pytest.raises(ValueError, match=r"^X_new must have 1 column as X has, got shape \(1, 2\)$"):
        ckrr.estimate_weights([0.0, 1.0], [[0.0, 1.0]])
