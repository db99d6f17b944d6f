"""Every kernel: its formula, its limits, and everything that is built on it."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

import ckrr
from ckrr._validation import Array
from ckrr.kernels import KERNELS, TINY, gaussian
from ckrr.levels import parse_alpha
from ckrr.likelihood.profile import Likelihood, search
from ckrr.ridge.exact import Ridge
from tests import oracles
from tests.ckrr.accuracy import ALPHAS, CONFORMAL, bound, doubts, max_error, mean_scale, name_of, problem
from tests.oracles import coefficients, disagreements, refitted_p_value, region

NAMES = sorted(KERNELS)
OTHERS = [name for name in NAMES if name != "gaussian"]
TOLERANCE = 1e-3


def points(d: int) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (4, d), elements=st.floats(-3, 3))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), d=st.integers(1, 3), theta=st.floats(1e-3, 1e4))
def test_it_is_the_formula(name: str, data: st.DataObject, d: int, theta: float) -> None:
    X, Z = data.draw(points(d)), data.draw(points(d))
    K = KERNELS[name](X, Z, theta)
    truth = np.array([[float(each.mid()) for each in row] for row in oracles.kernel(X, Z, theta, name)])
    kept = truth >= 2 * TINY
    assert K[kept] == pytest.approx(truth[kept], rel=1e-13 * (1 + abs(np.log(truth[kept])).max(initial=0)))
    assert (K[truth < TINY / 2] == 0).all()
    assert (K <= 1).all()
    assert (KERNELS[name](X, X, theta).diagonal() == 1).all()
    assert np.array_equal(KERNELS[name](Z, X, theta), K.T)
    out = np.empty_like(K)
    assert KERNELS[name](X, Z, theta, out) is out
    assert np.array_equal(out, K)


@pytest.mark.parametrize("name", NAMES)
def test_no_denormal_numbers_and_no_overflow(name: str) -> None:
    X = np.linspace(0, 1000, 2001)[:, None]
    K = KERNELS[name](X, np.zeros((1, 1)), 1.0)
    assert (K[K > 0] >= TINY).all()
    assert (K == 0).any()
    for d in (1, 2):
        far = np.full((1, d), 1e200)
        assert (KERNELS[name](far, -far, 1e200) == 0).all()


def test_large_matrices_are_made_in_chunks_of_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.random((300, 2)), rng.random((700, 2))
    for name in OTHERS:
        whole = KERNELS[name](X, Z, 30.0)
        assert np.array_equal(whole, np.vstack([KERNELS[name](x[None], Z, 30.0) for x in X]))


@pytest.mark.parametrize(("name", "nu"), [("laplacian", 0.5), ("matern32", 1.5), ("matern52", 2.5), ("gaussian", inf)])
def test_theta_is_the_length_scale_of_scikit_learn(name: str, nu: float) -> None:
    """ℓ = 1/√(2θ) in all of them; on the line, where the norms are one."""
    from sklearn.gaussian_process.kernels import Matern

    X = np.random.default_rng(1).random((30, 1))
    assert KERNELS[name](X, X, 7.0) == pytest.approx(Matern(1 / sqrt(14.0), nu=nu)(X), rel=1e-10)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(("theta", "lam"), [(3.0, 1e-6), (100.0, 0.1)])
def test_coefficients_and_regions_are_within_their_bound(name: str, theta: float, lam: float) -> None:
    """As for the Gaussian kernel, against 1024 bits."""
    n = 12
    X, y, X_new = problem(7, n, 2, m=2)
    ridge, fit = Ridge(X, theta, lam, KERNELS[name]), ckrr.fit(X, y, theta, lam, name)
    target = ridge.make_target(y)
    (block,) = ridge.project(X_new, [target])
    for i, truth in enumerate(coefficients(X, y, X_new, theta, lam, name)):
        allowed = bound(n, lam)
        assert max_error(block.W[i], truth.W) <= allowed * (max(map(abs, truth.W)) + 1)
        assert max_error(ridge.diag_Q, truth.diag_Q) <= allowed * max(truth.diag_Q)
        assert abs(fit.predict(X_new)[i] - float(truth.mean)) <= allowed * mean_scale(truth)
        for score, residual in CONFORMAL:
            profile, zones = truth.lines(residual).profile(score), doubts(truth, residual, score, allowed)
            found = fit.regions(X_new, name_of(score, residual), ALPHAS)
            for j, alpha in enumerate(ALPHAS):
                parts = region(profile, parse_alpha(alpha))
                moved = [tuple(end + truth.mean if abs(end) < inf else end for end in part) for part in parts]
                assert not disagreements(found.components(i, j), moved, zones), (score, residual, i, alpha)


@pytest.mark.parametrize("name", OTHERS)
def test_p_values_are_those_of_refitted_models(name: str) -> None:
    X, y, X_new = problem(3, 6, 2, m=1)
    fit = ckrr.fit(X, y, 5.0, 0.01, name)
    for z in (-0.83, 0.11, 0.52, 1.4):
        for score, residual in CONFORMAL:
            (p,) = fit.p_values(X_new[:1], [z], name_of(score, residual))
            assert p == float(refitted_p_value(X, y, X_new[0], z, 5.0, 0.01, score, residual, name))


@pytest.mark.parametrize("name", [*NAMES, "gaussian-rff"])
@pytest.mark.parametrize("theta", [5.0, "ml"])
def test_scales_divide_the_coordinates(name: str, theta: float | str) -> None:
    X, y, X_new = problem(0, 20, 2)
    count = 20 if name.endswith("rff") else None
    scaled = ckrr.fit(X, y, theta, 0.1, name, scales=[1.0, 10.0], features=count)
    plain = ckrr.fit(X / [1.0, 10.0], y, theta, 0.1, name, features=count)
    assert np.array_equal(scaled.X, X)
    assert scaled.theta == plain.theta
    assert np.array_equal(scaled.regions(X_new).lower, plain.regions(X_new / [1.0, 10.0]).lower)
    inputs = ckrr.Inputs(X, X_new, name, scales=[1.0, 10.0], features=count)
    factor = inputs.factor_ml(y, 0.1) if isinstance(theta, str) else inputs.factor(theta, 0.1)
    scores = factor.score(y, np.zeros(len(X_new)), "RRCM-loo", [0.1])
    assert np.array_equal(scores.lower[0, 0], plain.regions(X_new / [1.0, 10.0]).lower)
    assert np.array_equal(factor.fit(y).regions(X_new).lower, scaled.regions(X_new).lower)


def test_a_kernel_of_ones_own_is_one_method() -> None:
    class Constant:
        """K = ½ + ½·exp(−θ‖x − x′‖²)."""

        def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
            K = gaussian(X, Z, theta, out)
            K *= 0.5
            K += 0.5
            return K

    X, y, X_new = problem(0, 15, 2)
    R = 0.5 + 0.5 * gaussian(X, X, 3.0) + 0.1 * np.eye(15)
    expected = (0.5 + 0.5 * gaussian(X_new, X, 3.0)) @ np.linalg.solve(R, y)
    assert ckrr.fit(X, y, 3.0, 0.1, Constant()).predict(X_new) == pytest.approx(expected, rel=1e-10)
    assert ckrr.fit(X, y, "ml", 0.1, Constant()).search is not None


def wave(x: Array) -> Array:
    return np.sin(12 * x[:, 0]) + np.cos(5 * x[:, -1])


def jump(x: Array) -> Array:
    return (x[:, 0] > 0.5).astype(float)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(("n", "d", "lam", "noise"), [(60, 1, 1e-6, 1e-3), (60, 2, 1e-1, 0.3), (100, 1, 1e-3, 0.03)])
def test_the_search_is_global(name: str, n: int, d: int, lam: float, noise: float) -> None:
    """Never below 200 values between its bounds, by the dense factorisation; for the Gaussian kernel too."""
    rng = np.random.default_rng([n, d])
    X = rng.random((n, d))
    for f in (wave, jump):
        likelihood = Likelihood(X, f(X) + noise * rng.standard_normal(n), lam, KERNELS[name])
        found = search(likelihood)
        best = max(likelihood.log_likelihood(theta) for theta in np.geomspace(*found.bounds, 200))
        assert found.log_likelihood >= best - TOLERANCE
        assert found.log_likelihood == likelihood.log_likelihood(found.theta)


def test_the_likelihood_is_that_of_its_kernel() -> None:
    X, y, _ = problem(0, 30, 2)
    for name in OTHERS:
        R = KERNELS[name](X, X, 20.0) + 0.1 * np.eye(30)
        sigma2 = y @ np.linalg.solve(R, y) / 30
        expected = -15 * (np.log(2 * np.pi * sigma2) + 1) - np.linalg.slogdet(R)[1] / 2
        assert ckrr.fit(X, y, 20.0, 0.1, name).log_likelihood == pytest.approx(expected, rel=1e-9)
        assert Likelihood(X, y, 0.1, KERNELS[name]).log_likelihood(20.0) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (r"kernel must be one of gaussian, laplacian, .*, got 'matern' \(did you mean '.*'\?\)", {"kernel": "matern"}),
        (r"kernel must be one of gaussian, .*, got 3", {"kernel": 3}),
        (r"kernel must be one of gaussian, .*, got 'cubic-rff'", {"kernel": "cubic-rff"}),
        (r"scales must be 2 numbers, one for each column of X, got \[1.0\]", {"scales": [1.0]}),
        (r"scales must be 2 numbers, one for each column of X, got 'ab'", {"scales": "ab"}),
        (r"scales must be finite numbers > 0, got \[1.0, 0.0\]", {"scales": [1.0, 0.0]}),
        (r"features must be left out unless kernel ends in -rff, got 5", {"features": 5}),
        (r"features must be a whole number >= 1, got 0", {"kernel": "gaussian-rff", "features": 0}),
        (r"features must be a whole number >= 1, got 2.5", {"kernel": "gaussian-rff", "features": 2.5}),
        (r"seed must be a whole number >= 0 or a numpy Generator, got -1", {"kernel": "gaussian-rff", "seed": -1}),
    ],
)
def test_mistakes_are_named(message: str, named: dict[str, object]) -> None:
    X, y, _ = problem(0, 10, 2)
    with pytest.raises(ValueError, match=f"^{message}$"):
        ckrr.fit(X, y, 1.0, 0.1, **named)  # type: ignore[arg-type]


def test_on_the_line_it_has_the_bits_it_has_in_the_plane() -> None:
    rng = np.random.default_rng(2)
    X, Z = 3 * rng.standard_normal((70, 1)), rng.standard_normal((50, 1))
    flat = np.hstack([X, np.zeros_like(X)]), np.hstack([Z, np.zeros_like(Z)])
    for theta in (0.1, 10.0, 1000.0):
        assert np.array_equal(gaussian(X, Z, theta), gaussian(*flat, theta))


def test_equal_points_are_at_distance_zero() -> None:
    """Also far from the origin, where ‖x‖² + ‖z‖² − 2x′z has lost everything."""
    X = 1e8 + np.random.default_rng(1).random((4, 2))
    assert (gaussian(X, X, 1e3).diagonal() == 1).all()


def test_no_denormal_numbers() -> None:
    X = np.linspace(0, 2, 2001)[:, None]
    K = gaussian(X, np.zeros((1, 1)), 1000.0)
    assert (K[K > 0] >= TINY).all()
    assert (K == 0).any()
    plain = np.exp(-1000.0 * X**2)
    assert K[plain >= TINY] == pytest.approx(plain[plain >= TINY], rel=1e-12)
    assert (gaussian(np.full((1, 1), 1e200), np.zeros((1, 1)), 1e200) == 0).all()


def test_the_gaussian_is_its_formula() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
    expected = [[np.exp(-2.5 * ((x - z) ** 2).sum()) for z in Z] for x in X]
    assert gaussian(X, Z, 2.5) == pytest.approx(np.array(expected), rel=1e-13)
