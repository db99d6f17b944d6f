"""Targets that share a sample: each search has the bits that it has alone, and fails alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ckrr
from ckrr._validation import Array
from ckrr.kernels import KERNELS
from ckrr.likelihood.profile import Likelihood, Profile, SearchResult, search, search_together
from tests.ckrr.likelihood.samples import f6, gp, sample


def draw_targets(rng: np.random.Generator, X: Array) -> list[Array]:
    """A smooth one, a rough one, a noisy one and a constant one."""
    x, noise = X[:, 0], rng.standard_normal(len(X))
    return [np.sin(9 * x), np.sign(x - 0.5) + 1e-3 * noise, 1e50 * noise, np.zeros(len(X))]


def check_alone(likelihood: Profile, ys: list[Array], found: list[SearchResult]) -> None:
    assert len(found) == len(ys)
    for y, one in zip(ys, found, strict=True):
        alone = search(replace(likelihood, y=y))
        assert one == alone
        assert np.array_equal(one.likelihood.y, y)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 3), st.sampled_from([1e-12, 1e-6, 1e-2, 1.0]))
def test_each_target_has_the_bits_it_has_alone(seed: int, n: int, d: int, lam: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    ys = [draw_targets(rng, X)[i] for i in rng.permutation(4)[: rng.integers(1, 5)]]
    likelihood = Likelihood(X, ys[0], lam)
    check_alone(likelihood, ys, search_together(likelihood, ys))


@pytest.mark.parametrize("n", [216, 300, 700])
def test_large_samples_share_too(n: int) -> None:
    """By structure and by whole matrices."""
    rng = np.random.default_rng(n)
    X = rng.random((n, 1))
    ys = draw_targets(rng, X)[:2]
    likelihood = Likelihood(X, ys[0], 1e-3)
    check_alone(likelihood, ys, search_together(likelihood, ys))


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_each_kernel_shares(kernel: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((20, 2))
    ys = draw_targets(rng, X)
    likelihood = Likelihood(X, ys[0], 1e-3, KERNELS[kernel])
    check_alone(likelihood, ys, search_together(likelihood, ys))


@pytest.mark.parametrize("theta", ["ml", "holdout", "ml-cobyla"])
@pytest.mark.parametrize("kernel", ["gaussian", "matern32", "gaussian-rff"])
def test_inputs_share_every_search(kernel: str, theta: str) -> None:
    X, y = sample(gp, 40, 0.1)
    Y = np.column_stack([y, sample(f6, 40, 1e-6)[1], 0 * y])
    inputs = ckrr.Inputs(X, X[:3], kernel, [0.5], 30 if kernel.endswith("rff") else None)
    makers = inputs.search_ml(Y, 0.1, theta)
    for column, make in zip(Y.T, makers, strict=True):
        one, alone = make(), inputs.factor_ml(column, 0.1, theta)
        assert (
            one.theta
            == alone.theta
            == ckrr.fit(
                X, column, theta, 0.1, kernel, scales=[0.5], features=30 if kernel.endswith("rff") else None
            ).theta
        )
        assert one.fit(column).predict(X).tobytes() == alone.fit(column).predict(X).tobytes()


def test_factors_are_made_when_asked_for() -> None:
    """A target whose factor fails costs the others nothing."""
    X, y = sample(gp, 30, 0.1)
    X[3] = X[4]
    makers = ckrr.Inputs(X, X).search_ml(np.column_stack([y, 2 * y]), 1e-25)
    for make in makers:
        with pytest.raises(ckrr.FactorisationError, match="factorisation"):
            make()


def test_messages_name_the_argument() -> None:
    X, y = sample(gp, 30, 0.1)
    inputs = ckrr.Inputs(X, X)
    with pytest.raises(ValueError, match=r"^Y "):
        inputs.search_ml(np.column_stack([y, np.full(30, np.nan)]), 0.1)
    with pytest.raises(ValueError, match=r"^y "):
        inputs.factor_ml(np.full(30, np.nan), 0.1)
    with pytest.raises(ValueError, match=r"^lam must be a finite number > 0, got 0$"):
        inputs.search_ml(y, 0)
    with pytest.raises(ValueError, match=r"^theta must be one of ml, .*, got 'mle'"):
        inputs.search_ml(y, 0.1, "mle")


def test_little_noise_is_left_to_the_factorisation_of_a_fit() -> None:
    """Below λ = 1e-10 heights are those of `log_likelihood`, to the bit; above they come from packed matrices."""
    X, y = sample(gp, 40, 0.1)
    thetas = np.geomspace(1e2, 1e5, 9)
    for lam, same in ((1e-11, True), (1e-6, False)):
        likelihood = Likelihood(X, y, lam)
        heights, plain = likelihood.make_heights([y])(thetas)[:, 0], [likelihood.log_likelihood(t) for t in thetas]
        assert (heights.tolist() == plain) == same
        np.testing.assert_allclose(heights, plain, atol=1e-5)
