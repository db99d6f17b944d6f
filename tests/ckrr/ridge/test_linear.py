"""The linear kernel: against x′z in 1024 bits and refits, by both matrices, whatever the units and λ."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ckrr
from ckrr._validation import Array
from ckrr.baselines import cv_plus, jackknife_plus, student
from ckrr.kernels import Linear, gaussian
from ckrr.levels import parse_alpha
from ckrr.procedures import ALL_PROCEDURES
from ckrr.ridge.exact import Ridge
from ckrr.ridge.linear import LinearRidge, make_linear_ridge
from tests.ckrr.accuracy import ALPHAS, CONFORMAL, EPS, doubts, max_error, mean_scale, name_of, problem
from tests.ckrr.samples import same, sample
from tests.ckrr.validity import follows_its_law, skewed_sample
from tests.oracles import coefficients, disagreements, refitted_p_value, region

SHAPES = [(30, 3), (12, 11), (40, 1), (5, 5), (3, 8)]
"""(n, d): by the d×d matrix in the first three, by the n×n matrix in the others."""
SLACK = 16
"""The largest errors seen are 0.8·n·ε·(1 + ‖x‖²/λ), for W and diag Q."""


def bound(X: Array, lam: float) -> Fraction:
    return SLACK * len(X) * EPS * (1 + Fraction(float(np.vecdot(X, X).max())) / Fraction(lam))


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize("lam", [1e-6, 1e-1, 1e3])
def test_coefficients_are_within_their_bound(n: int, d: int, lam: float) -> None:
    """By the d×d matrix the error of m grows as 1/√λ, not as 1/λ."""
    X, y, X_new = problem(n + d, n, d)
    ridge = make_linear_ridge(X, lam)
    assert isinstance(ridge, LinearRidge if d < n else Ridge)
    target = ridge.make_target(y)
    (block,) = ridge.project(X_new, [target])
    allowed, unit = bound(X, lam), Fraction(2) ** target.exponent
    better = 4 * EPS * (1 + Fraction(float(np.linalg.norm(X)) / lam**0.5)) if d < n else allowed * 3
    for i, truth in enumerate(coefficients(X, y, X_new, 1.0, lam, "product")):
        assert abs(Fraction(block.m[i]) - truth.m) <= better * truth.m
        assert abs(Fraction(block.variance[i]) - (truth.m - Fraction(lam))) <= better * truth.m
        assert max_error(block.W[i], truth.W) <= allowed * (max(map(abs, truth.W)) + 1)
        assert max_error(target.a, [a / unit for a in truth.a]) <= allowed * max(map(abs, truth.a)) / unit
        assert max_error(ridge.diag_Q, truth.diag_Q) <= allowed * max(truth.diag_Q)
        assert abs(Fraction(block.means[0][i]) * unit - truth.mean) <= allowed * mean_scale(truth)
        assert abs(Fraction(target.sigma2) * unit**2 - truth.sigma2) <= allowed * truth.sigma2
        assert ridge.log_det == pytest.approx(truth.log_det, rel=1e-12, abs=float(n * allowed))


@pytest.mark.parametrize(("n", "d"), [(9, 2), (6, 5), (4, 6)])
@pytest.mark.parametrize("lam", [1e-6, 1e-1])
def test_regions_and_p_values_are_those_of_refits(n: int, d: int, lam: float) -> None:
    X, y, X_new = problem(n, n, d, m=2)
    fit = ckrr.fit(X, y, lam=lam, kernel="linear")
    for i, truth in enumerate(coefficients(X, y, X_new, 1.0, lam, "product")):
        for score, residual in CONFORMAL:
            zones = doubts(truth, residual, score, bound(X, lam))
            regions, profile = (
                fit.regions(X_new, name_of(score, residual), ALPHAS),
                truth.lines(residual).profile(score),
            )
            for j, alpha in enumerate(ALPHAS):
                parts = region(profile, parse_alpha(alpha))
                moved = [tuple(end + truth.mean if abs(end) < inf else end for end in part) for part in parts]
                assert not disagreements(regions.components(i, j), moved, zones), (score, residual, i, alpha)
            for z in float(truth.mean) + np.array([-0.4, 0.3]):
                if i == 0 and not any(lo <= Fraction(z) <= hi for lo, hi in zones):
                    (p,) = fit.p_values(X_new[:1], [z], name_of(score, residual))
                    refitted = refitted_p_value(X, y, X_new[0], z, 1.0, lam, score, residual, "product")
                    assert p == float(refitted), (score, residual, z)


@pytest.mark.parametrize("lam", [1e-6, 1.0])
def test_columns_may_have_any_units(lam: float) -> None:
    """Sizes from 1e-6 to 1e6: sixteen correct digits, where the n×n matrix has none or fails."""
    rng = np.random.default_rng(0)
    units = np.logspace(-6, 6, 4)
    X, X_new, y = (1 + rng.standard_normal((30, 4))) * units, rng.standard_normal((3, 4)) * units, rng.random(30)
    ridge = make_linear_ridge(X, lam)
    (block,) = ridge.project(X_new, [ridge.make_target(y)])
    for i, truth in enumerate(coefficients(X, y, X_new, 1.0, lam, "product")):
        assert abs(Fraction(block.m[i]) / truth.m - 1) < 1e-14
        assert max_error(block.W[i], truth.W) < 1e-14 * max(map(abs, truth.W))
        assert max_error(ridge.diag_Q, truth.diag_Q) < 1e-14 * max(truth.diag_Q)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), n=st.integers(1, 12), d=st.integers(1, 12), power=st.integers(-40, 40))
def test_scale_is_that_of_lam(data: st.DataObject, n: int, d: int, power: int) -> None:
    """Points times 2^p and λ times 4^p are the same model, in every bit; so are columns of zeros left out."""
    entries = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.25, 1e-3, -17.0])
    X, X_new = (np.array(data.draw(st.lists(entries, min_size=k * d, max_size=k * d))).reshape(k, d) for k in (n, 3))
    y, lam = np.linspace(-1, 2, n), 0.37
    one, other = (
        ckrr.fit(np.ldexp(X, p), y, lam=float(np.ldexp(lam, 2 * p)), kernel="linear").score(
            np.ldexp(X_new, p), np.ones(3), ALL_PROCEDURES
        )
        for p in (0, power)
    )
    assert same(one, other)
    dense = ckrr.fit(X, y, 1.0, lam, Linear()).score(X_new, np.ones(3), ("GPR-f", "GPR-p"))
    assert one.lower[:2] == pytest.approx(dense.lower, rel=1e-9, abs=1e-9)


def test_a_kernel_may_say_its_diagonal() -> None:
    """Four times the Gaussian kernel with four times λ is the same model: W, m/λ and regions."""

    class Fourfold:
        def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
            found = gaussian(X, Z, theta, out)
            found *= 4.0
            return found

        def compute_diagonal(self, X: Array, theta: float) -> Array:
            return np.full(len(X), 4.0)

    X, y, X_new, y_new = sample(40, m=20)
    X_new[:5], y_new[:5] = X[:5], y[:5]
    one, other = ckrr.fit(X, y, 10.0, 0.1), ckrr.fit(X, y, 10.0, 0.4, Fourfold())
    first, second = (fit.score(X_new, y_new, ALL_PROCEDURES) for fit in (one, other))
    assert first.lower == pytest.approx(second.lower, rel=1e-12)
    assert np.array_equal(first.hits, second.hits)
    assert (other.p_values(X[:5], y[:5], "RRCM") >= 2 / 41).all()
    assert ckrr.fit(X, y, "ml", 0.4, Fourfold()).theta == pytest.approx(ckrr.fit(X, y, "ml", 0.1).theta, rel=1e-3)
    with pytest.raises(ckrr.FactorisationError, match="lost its digits at row"):
        ckrr.fit(np.repeat(X, 2, axis=0) * 1e-9, np.repeat(y, 2), 1.0, 1e-14, Fourfold())


@pytest.mark.parametrize("d", [2, 40])
def test_a_test_point_that_is_a_train_point_ties(d: int) -> None:
    """Not where x and x̃ have the same product as equal ones, as (2, 0) has with (1/2, 0)."""
    X = np.repeat(np.random.default_rng(0).integers(-2, 3, (10, d)) / 2.0, 3, axis=0)
    y = np.random.default_rng(1).standard_normal(30)
    fit = ckrr.fit(X, y, lam=0.1, kernel="linear")
    row, col = next(fit._ridge.project(X[:9], [fit._target])).equal
    expected = [(i, j) for i in range(9) for j in range(30) if (X[i] == X[j]).all()]
    assert list(zip(row.tolist(), col.tolist(), strict=True)) == expected
    for procedure in ("RRCM", "RRCM-loo", "CRR-std"):
        p = fit.p_values(X, y, procedure)
        assert (p >= 2 / 31).all()
        for alpha in (0.1, 0.3):
            assert np.array_equal(fit.regions(X, procedure, alpha).contains(y)[:, 0], p >= alpha)


@pytest.mark.parametrize(("n", "d"), [(7, 2), (150, 3), (2100, 4), (20, 30)])
def test_a_test_point_has_the_bits_it_has_alone(n: int, d: int) -> None:
    X, y, X_new, y_new = sample(n, d, m=75)
    fit = ckrr.fit(X, y, lam=1e-3, kernel="linear")
    together = fit.score(X_new, y_new, ALL_PROCEDURES, [0.1])
    for i in (0, 31, 32, 74):
        alone = fit.score(X_new[i : i + 1], y_new[i : i + 1], ALL_PROCEDURES, [0.1])
        assert np.array_equal(alone.lower[:, 0], together.lower[:, i], equal_nan=True)
        assert np.array_equal(alone.upper[:, 0], together.upper[:, i], equal_nan=True)
    K = Linear()(X, X_new)
    assert np.array_equal(K, np.vstack([Linear()(x[None], X_new) for x in X]))
    assert np.array_equal(Linear()(X_new, X), K.T)


@pytest.mark.parametrize(("n", "columns"), [(9, 1), (3, 4)])
def test_p_values_follow_their_law(n: int, columns: int) -> None:
    """A chi-squared test over independent samples, on powers of x; see `follows_its_law` for its false alarms."""
    rng, N, samples, names = np.random.default_rng([n, 5]), n + 1, 1200, ["RRCM", "RRCM-loo", "CRR-loo"]
    p = np.empty((len(names), samples))
    for i in range(samples):
        X, y = skewed_sample(rng, N)
        powers = np.column_stack([X**k for k in range(columns)])
        fit = ckrr.fit(powers[:n], y[:n], lam=0.1, kernel="linear")
        p[:, i] = [fit.p_values(powers[n:], y[n:], name)[0] for name in names]
    assert [name for name, each in zip(names, p, strict=True) if not follows_its_law(name, N, each)] == []


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_baselines_are_those_of_refits(mean: str) -> None:
    rng = np.random.default_rng(0)
    X, y, X_new, order = 1 + rng.random((24, 3)), rng.standard_normal(24), 1 + rng.random((2, 3)), rng.permutation(24)
    fit = ckrr.fit(X, y, lam=0.01, kernel="linear", mean=mean)
    dense = ckrr.fit(X, y, 1.0, 0.01, Linear(), mean=mean)
    for way in (student, jackknife_plus, lambda *given: cv_plus(*given, order)):
        one, other = way(fit, X_new, [0.1, 0.3]), way(dense, X_new, [0.1, 0.3])
        assert one.lower == pytest.approx(other.lower, abs=1e-10)
        assert one.upper == pytest.approx(other.upper, abs=1e-10)
    if mean == "constant":
        return
    fold = np.array_split(order, 10)[0]
    others = np.setdiff1d(order, fold)
    beta = np.linalg.solve(X[others].T @ X[others] + 0.01 * np.eye(3), X[others].T @ y[others])
    assert isinstance(fit._ridge, LinearRidge)
    assert fit._ridge.compute_left_out_errors(y, [fold], has_mean=False)[fold] == pytest.approx(
        y[fold] - X[fold] @ beta
    )


def test_there_is_no_theta() -> None:
    X, y, X_new, _ = sample(30)
    fit = ckrr.fit(X, y, lam=0.1, kernel="linear")
    assert isnan(fit.theta)
    assert np.array_equal(ckrr.fit(X, y, 7.0, 0.1, "linear").predict(X_new), fit.predict(X_new))
    assert ckrr.Inputs(X, X_new, "linear").factor(lam=0.1).lam == 0.1
    for theta in ("ml", "ml-cobyla", "holdout"):
        with pytest.raises(ValueError, match=r"^theta must be left out for kernel='linear'"):
            ckrr.fit(X, y, theta, 0.1, "linear")
        with pytest.raises(ValueError, match=r"^theta must be left out for kernel='linear'"):
            ckrr.Inputs(X, X_new, "linear").search_ml(y, 0.1, theta)
    with pytest.raises(ValueError, match=r"^theta must be given, or lengthscale in its place"):
        ckrr.fit(X, y, lam=0.1)
    with pytest.raises(ValueError, match=r"^lam must be a finite number > 0, got None"):
        ckrr.fit(X, y, 1.0)
    estimator = ckrr.ConformalKernelRidge(kernel="linear", lam=0.1, mean="zero").fit(X, y)
    assert np.array_equal(estimator.predict(X_new), fit.predict(X_new))
    R, M = X.T @ X + 0.1 * np.eye(2), X @ X.T + 0.1 * np.eye(30)
    assert fit.predict(X_new) == pytest.approx(X_new @ np.linalg.solve(R, X.T @ y))
    expected = -15 * (np.log(2 * np.pi * y @ np.linalg.solve(M, y) / 30) + 1) - np.linalg.slogdet(M)[1] / 2
    assert fit.log_likelihood == pytest.approx(expected, rel=1e-9)


def test_what_cant_be_computed_is_an_error() -> None:
    X, y, X_new, _ = sample(30)
    twin = np.repeat(X[:, :1], 2, axis=1)
    with pytest.raises(
        ckrr.FactorisationError, match=r"^factorisation lost its digits for lam=1e-30, n=30: .* or fewer"
    ):
        ckrr.fit(twin, y, lam=1e-30, kernel="linear")
    assert np.isfinite(ckrr.fit(twin, y, lam=1e-6, kernel="linear").regions(X_new).length).all()
    for points in (X, X[:2]):
        with pytest.raises(ckrr.FactorisationError):
            ckrr.fit(points * 1e200, y[: len(points)], lam=0.1, kernel="linear").regions(X_new)
    with pytest.raises(ckrr.FactorisationError, match="overflow"):
        ckrr.fit(X, y, lam=0.1, kernel="linear").predict(X_new * 1e200)


def test_memory_has_no_square() -> None:
    n = 20_000
    X, y, X_new, _ = sample(n, m=100)
    tracemalloc.start()
    ckrr.fit(X, y, lam=1.0, kernel="linear").regions(X_new, "CRR")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * n / 10
