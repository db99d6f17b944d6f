"""The likelihood that is maximised over a constant mean, in every form, against its definition."""

from __future__ import annotations

from math import exp, log, pi

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ckrr
from ckrr._validation import Array
from ckrr.kernels import KERNELS, gaussian
from ckrr.likelihood.heights import combine_parts
from ckrr.likelihood.profile import FeatureLikelihood, Likelihood, Profile, search
from ckrr.likelihood.structured import StructuredLikelihood
from ckrr.linalg.squares import add_ones, subtract_average
from ckrr.ridge.random_features import Features
from tests.ckrr.accuracy import problem
from tests.oracles import coefficients

SEEDS = st.integers(0, 2**32 - 1)


def define(K: Array, y: Array, lam: float) -> float:
    """ℓ by its definition: the normal density at the best μ and σ², by generalised least squares."""
    n, R = len(y), K + lam * np.eye(len(y))
    q = np.linalg.solve(R, np.ones(n))
    r = y - y.mean()
    r = r - q @ r / q.sum()
    sigma2 = r @ np.linalg.solve(R, r) / n
    return float(-0.5 * (n * (log(2 * pi * sigma2) + 1) + np.linalg.slogdet(R)[1]))


@pytest.mark.parametrize("lam", [1e-6, 1e-2])
@pytest.mark.parametrize("theta", [0.01, 3.0, 1e4])
@pytest.mark.parametrize("offset", [0.0, 1e10])
def test_it_is_that_of_the_bordered_system(theta: float, lam: float, offset: float) -> None:
    X, y, X_new = problem(26, 25, 1)
    truth = coefficients(X, y + offset, X_new[:1], theta, lam, mean="constant")[0]
    expected = combine_parts(25, log(truth.sigma2), truth.log_det)
    likelihood = Likelihood(X, y + offset, lam, has_mean=True)
    assert likelihood.log_likelihood(theta) == pytest.approx(expected, rel=1e-8, abs=1e-6 / lam * 1e-6)
    heights = likelihood.make_heights([y + offset, y])(np.array([theta, 1.0]))
    assert heights[0, 0] == pytest.approx(expected, rel=1e-8, abs=1e-6 / lam * 1e-6)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(2, 60), st.sampled_from(["gaussian", "matern32", "laplacian"]), st.floats(-1, 3))
def test_every_kernel_has_it(seed: int, n: int, name: str, log_theta: float) -> None:
    rng = np.random.default_rng(seed)
    X, y, theta = rng.random((n, 2)), rng.standard_normal(n) + 1e4, 10.0**log_theta
    profile: Profile = Likelihood(X, y, 0.01, KERNELS[name], has_mean=True)
    expected = define(KERNELS[name](X, X, theta), y, 0.01)
    assert profile.log_likelihood(theta) == pytest.approx(expected, abs=1e-6)
    assert profile.make_heights([y])(np.array([theta]))[0, 0] == pytest.approx(expected, abs=1e-6)
    features = Features.draw("gaussian", 30, 2, rng)
    Phi = features(X, theta)
    of_features = FeatureLikelihood(X, y, 0.01, features, has_mean=True)
    assert of_features.log_likelihood(theta) == pytest.approx(define(Phi.T @ Phi, y, 0.01), abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 2), st.floats(np.log(1e-3), np.log(1e6)), st.floats(np.log(1e-6), np.log(1e-1)))
def test_structure_changes_nothing_that_matters(seed: int, d: int, log_t: float, log_lam: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((420, d))
    y, theta, lam = subtract_average(np.sin(9 * X[:, 0]) + 0.1 * rng.standard_normal(420)), exp(log_t), exp(log_lam)
    found = StructuredLikelihood(X, add_ones([y], True), lam, has_mean=True).compute_parts(theta)
    if found is not None:
        (square,), log_det = found
        expected = Likelihood(X, y, lam, has_mean=True).log_likelihood(theta)
        assert combine_parts(420, log(square / 420), log_det) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("theta", [3.0, 1e7])
def test_large_samples_have_it_in_tiles(theta: float) -> None:
    """n > 4000, of low rank and banded: against y′Qy and 1′Qy, the latter from the sum and difference of squares."""
    X, lam, n = np.linspace(0, 1, 4100)[:, None], 0.1, 4100
    y = subtract_average(np.sin(9 * X[:, 0]) + X[:, 0] ** 2)
    one = np.ones(n)
    plain = StructuredLikelihood(X, [y, one, y + one, y - one], lam).compute_parts(theta)
    assert plain is not None
    (yy, c, plus, minus), log_det = plain
    found = StructuredLikelihood(X, [y, one], lam, has_mean=True).compute_parts(theta)
    assert found is not None
    assert found[0] == pytest.approx([yy - ((plus - minus) / 4) ** 2 / c], rel=1e-9)
    assert found[1] == log_det


def test_a_search_finds_the_same_theta_for_a_moved_target() -> None:
    X, y, _ = problem(1, 60, 2)
    one, moved = (search(Likelihood(X, y + t, 0.01, gaussian, has_mean=True)) for t in (0.0, 2.0**20))
    assert moved.theta == pytest.approx(one.theta, rel=1e-5)
    grid = np.geomspace(*one.bounds, 2000)
    best = max(Likelihood(X, y, 0.01, has_mean=True).log_likelihood(theta) for theta in grid[::10])
    assert one.log_likelihood >= best - 1e-3
    fit = ckrr.fit(X, y, "ml", 0.01, mean="constant")
    assert fit.theta == one.theta
    assert fit.search is not None
    assert fit.log_likelihood == pytest.approx(fit.search.log_likelihood, rel=1e-9)


@pytest.mark.parametrize("theta", ["ml", "ml-cobyla", "holdout"])
@pytest.mark.parametrize("kernel", ["gaussian", "matern52", "gaussian-rff"])
def test_targets_share_a_search_bit_for_bit(kernel: str, theta: str) -> None:
    X, y, X_new = problem(3, 40, 1)
    inputs = ckrr.Inputs(X, X_new, kernel, features=25 if "rff" in kernel else None, mean="constant")
    Y = np.column_stack([y + 7, np.sign(y), y**3])
    together = [make().theta for make in inputs.search_ml(Y, 0.1, theta)]
    assert together == [inputs.factor_ml(each, 0.1, theta).theta for each in Y.T]
