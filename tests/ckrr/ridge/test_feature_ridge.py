"""Ridge regression on random features: against dense algebra in 1024 bits, and against itself in other company.

The oracle takes the features as the doubles they are: their own rounding only makes them other features, as good.
"""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ckrr
from ckrr._validation import Array
from ckrr.levels import parse_alpha
from ckrr.likelihood.profile import FeatureLikelihood, search
from ckrr.procedures import ALL_PROCEDURES
from ckrr.ridge import feature_ridge, primal
from ckrr.ridge.feature_ridge import FeatureRidge
from ckrr.ridge.random_features import Features
from tests.ckrr.accuracy import ALPHAS, CONFORMAL, EPS, doubts, max_error, mean_scale, name_of, problem
from tests.ckrr.samples import same, sample
from tests.ckrr.validity import follows_its_law, skewed_sample
from tests.oracles import coefficients, disagreements, refitted_p_value, region

LAMBDAS = [1e-8, 1e-6, 1e-3, 1e-1, 10.0]
SLACK = 4
"""The largest errors seen are 1.3·n·ε·(1 + 1/λ), at λ = 10 and n = 1, and for m 1.3·ε·(1 + √(n/λ))."""


def bound(n: int, lam: float) -> Fraction:
    return SLACK * n * EPS * (1 + 1 / Fraction(lam))


def drawn(D: int, d: int) -> Features:
    return Features.draw("gaussian", D, d, np.random.default_rng([D, d]))


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize(
    ("n", "D", "d", "theta"), [(1, 3, 1, 3.0), (25, 40, 1, 30.0), (30, 10, 2, 1000.0), (24, 12, 1, 3.0)]
)
def test_coefficients_are_within_their_bound(n: int, D: int, d: int, theta: float, lam: float) -> None:
    """With n below D, where every leverage is high, and above it; with a point that occurs twice, and a close pair."""
    X, y, X_new = problem(n + d, n, d)
    features = drawn(D, d)
    ridge = FeatureRidge(X, theta, lam, features)
    target = ridge.make_target(y)
    (block,) = ridge.project(X_new, [target])
    allowed, unit = bound(n, lam), Fraction(2) ** target.exponent
    better = SLACK * EPS * (1 + Fraction(np.sqrt(n / lam)))
    for i, truth in enumerate(coefficients(features(X, theta).T, y, features(X_new, theta).T, 1.0, lam, "product")):
        scale_a, scale_W = max(map(abs, truth.a)), max(map(abs, truth.W))
        assert abs(Fraction(block.m[i]) - truth.m) <= better * truth.m
        assert abs(Fraction(block.variance[i]) - (truth.m - Fraction(lam))) <= better * truth.m
        assert max_error(block.W[i], truth.W) <= allowed * (scale_W + 1)
        assert max_error(target.a, [a / unit for a in truth.a]) <= allowed * scale_a / unit
        assert max_error(ridge.diag_Q, truth.diag_Q) <= allowed * max(truth.diag_Q)
        assert abs(Fraction(block.means[0][i]) * unit - truth.mean) <= allowed * mean_scale(truth)
        assert abs(Fraction(target.sigma2) * unit**2 - truth.sigma2) <= allowed * truth.sigma2
        assert ridge.log_det == pytest.approx(truth.log_det, rel=1e-12, abs=float(n * allowed))


@pytest.mark.parametrize(("n", "D"), [(8, 20), (14, 6)])
@pytest.mark.parametrize("lam", [1e-6, 1e-1])
def test_regions_are_within_the_bound_that_follows(n: int, D: int, lam: float) -> None:
    X, y, X_new = problem(n, n, 2, m=2)
    fit, features = (
        ckrr.fit(X, y, 20.0, lam, "gaussian-rff", features=D, seed=3),
        Features.draw("gaussian", D, 2, np.random.default_rng(3)),
    )
    Phi, Phi_new = features(X, 20.0).T, features(X_new, 20.0).T
    for i, truth in enumerate(coefficients(Phi, y, Phi_new, 1.0, lam, "product")):
        for score, residual in CONFORMAL:
            profile = truth.lines(residual).profile(score)
            regions = fit.regions(X_new, name_of(score, residual), ALPHAS)
            zones = doubts(truth, residual, score, bound(n, lam))
            for j, alpha in enumerate(ALPHAS):
                parts = region(profile, parse_alpha(alpha))
                moved = [tuple(end + truth.mean if abs(end) < inf else end for end in part) for part in parts]
                assert not disagreements(regions.components(i, j), moved, zones), (score, residual, i, alpha)
            for z in float(truth.mean) + np.array([-0.4, 0.02, 0.3]):
                if i == 0 and not any(lo <= Fraction(z) <= hi for lo, hi in zones):
                    (p,) = fit.p_values(X_new[:1], [z], name_of(score, residual))
                    refitted = refitted_p_value(Phi, y, Phi_new[0], z, 1.0, lam, score, residual, "product")
                    assert p == float(refitted), (score, residual, z)


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 60),
    D=st.integers(1, 60),
    d=st.integers(1, 3),
    log_lam=st.floats(-6, 1),
    log_theta=st.floats(-1, 4),
)
def test_it_is_ridge_regression_with_the_kernel_matrix(
    n: int, D: int, d: int, log_lam: float, log_theta: float
) -> None:
    """Whatever the leverages: sums of rows by the plain formula, to what that can give."""
    X, y, X_new, _ = sample(n, d, m=3, seed=n)
    features, lam, theta = drawn(D, d), 10.0**log_lam, 10.0**log_theta
    ridge = FeatureRidge(X, theta, lam, features)
    target = ridge.make_target(y)
    (block,) = ridge.project(X_new, [target])
    F, k = features(X, theta), features(X, theta).T @ features(X_new, theta)
    R = F.T @ F + lam * np.eye(n)
    close = {"rel": 1e-6, "abs": 1e-6 * n}
    assert np.ldexp(R @ target.a, target.exponent) == pytest.approx(y, **close)
    assert pytest.approx(k, **close) == R @ block.W.T
    assert ridge.diag_Q == pytest.approx(np.linalg.inv(R).diagonal(), rel=1e-4)
    assert np.ldexp(block.means[0], target.exponent) == pytest.approx(k.T @ np.linalg.solve(R, y), rel=1e-4, abs=1e-4)


def test_points_that_lie_apart_are_put_back() -> None:
    """A hundred points in a heap and two far from it and from each other: leverages of 1, to six digits."""
    rng = np.random.default_rng(0)
    X = np.concatenate([0.01 * rng.random(100), [3.0, -5.0]])[:, None]
    y, features, lam = rng.standard_normal(102), drawn(30, 1), 1e-6
    ridge = FeatureRidge(X, 1.0, lam, features)
    assert ridge._high_leverage is not None
    assert list(ridge._high_leverage.points) == [100, 101]
    target = ridge.make_target(y)
    truth = coefficients(features(X, 1.0).T, y, features(X[:1], 1.0).T, 1.0, lam, "product")[0]
    for i in (100, 101):
        assert abs(Fraction(ridge.diag_Q[i]) / truth.diag_Q[i] - 1) < 1e-11
        assert abs(Fraction(target.a[i]) * 2**target.exponent / truth.a[i] - 1) < 1e-9
    plain = (1 - ridge._leverages[100]) / lam
    assert abs(Fraction(plain) / truth.diag_Q[100] - 1) > 1e-11, "the plain formula loses digits here"


@pytest.mark.parametrize("n", [7, 150, 2100])
def test_a_test_point_has_the_bits_it_has_alone(n: int) -> None:
    X, y, X_new, y_new = sample(n, m=75)
    fit = ckrr.fit(X, y, 30.0, 1e-3, "gaussian-rff", features=64)
    together = fit.score(X_new, y_new, ALL_PROCEDURES, [0.1])
    for i in (0, 1, 31, 32, 74):
        alone = fit.score(X_new[i : i + 1], y_new[i : i + 1], ALL_PROCEDURES, [0.1])
        assert np.array_equal(alone.lower[:, 0], together.lower[:, i])
        assert np.array_equal(alone.upper[:, 0], together.upper[:, i])
    assert np.array_equal(fit.predict(X_new[3:9]), fit.predict(X_new)[3:9])


@pytest.mark.parametrize("n", [50, 2100])
def test_no_bit_depends_on_what_is_kept_and_how_much_is_done_at_once(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, X_new, y_new = sample(n, m=75)
    Y, Y_new = np.column_stack([y, y**2]), np.column_stack([y_new, y_new**2])

    def scores() -> list[Any]:
        factor = ckrr.Inputs(X, X_new, "gaussian-rff", features=40).factor(30.0, 1e-3)
        return [factor.score(Y, Y_new, ALL_PROCEDURES), factor.score(Y[:, 1], Y_new[:, 1], ALL_PROCEDURES)]

    before = scores()
    monkeypatch.setattr(primal, "KEPT", 0)
    monkeypatch.setattr(feature_ridge, "_STRIP", 1)
    after = scores()
    assert same(before[0], after[0])
    assert same(before[1], after[1])
    assert np.array_equal(before[0].lower[1], before[1].lower[0]), "a target has the bits it has alone"


@pytest.mark.parametrize(("n", "lam"), [(9, 1e-6), (4, 1e-3)])
def test_p_values_follow_their_law(n: int, lam: float) -> None:
    """Exactly valid with five features: a chi-squared test over independent samples."""
    rng, N, samples, names = np.random.default_rng([n, 2]), n + 1, 1200, ["RRCM", "RRCM-loo", "CRR-loo"]
    p = np.empty((len(names), samples))
    for i in range(samples):
        X, y = skewed_sample(rng, N)
        fit = ckrr.fit(X[:n], y[:n], 20.0, lam, "gaussian-rff", features=5, seed=i)
        p[:, i] = [fit.p_values(X[n:], y[n:], name)[0] for name in names]
    assert [name for name, each in zip(names, p, strict=True) if not follows_its_law(name, N, each)] == []


def test_many_features_are_the_kernel() -> None:
    """With 2000 of them regions are near those of the Gaussian kernel, and nearer than with 50."""
    X, y, X_new, _ = sample(60)
    exact_fit = ckrr.fit(X, y, 3.0, 0.1)
    truth = exact_fit.regions(X_new)

    def error(D: int) -> float:
        return float(
            np.abs(ckrr.fit(X, y, 3.0, 0.1, "gaussian-rff", features=D).regions(X_new).lower - truth.lower).mean()
        )

    assert error(2000) < 0.05
    assert error(2000) < error(50) / 2


def test_a_test_point_that_is_a_train_point_ties() -> None:
    """In every bit, also where inputs repeat: the value y_i at x_i has a p-value that counts its own tie."""
    X = np.repeat(np.random.default_rng(0).random((10, 2)), 3, axis=0)
    y = np.random.default_rng(1).standard_normal(30)
    fit = ckrr.fit(X, y, 10.0, 0.1, "gaussian-rff", features=20)
    ridge = fit._ridge
    row, col = next(ridge.project(X[:7], [ridge.make_target(y)])).equal
    assert list(zip(row.tolist(), col.tolist(), strict=True)) == [
        (i, 3 * (i // 3) + j) for i in range(7) for j in range(3)
    ]
    for procedure in ("RRCM", "RRCM-loo", "CRR-std"):
        assert (fit.p_values(X, y, procedure) >= 2 / 31).all()
        p = fit.p_values(X, y, procedure)
        for alpha in (0.1, 0.3):
            assert np.array_equal(fit.regions(X, procedure, alpha).contains(y)[:, 0], p >= alpha)


def test_the_likelihood_is_that_of_the_features() -> None:
    X, y, _, _ = sample(50)
    features = Features.draw("gaussian", 30, 2, np.random.default_rng(0))
    F = features(X, 20.0)
    R = F.T @ F + 0.1 * np.eye(50)
    expected = -25 * (np.log(2 * np.pi * y @ np.linalg.solve(R, y) / 50) + 1) - np.linalg.slogdet(R)[1] / 2
    assert ckrr.fit(X, y, 20.0, 0.1, "gaussian-rff", features=30).log_likelihood == pytest.approx(expected, rel=1e-9)
    found = search(FeatureLikelihood(X, y, 0.1, features))
    fit = ckrr.fit(X, y, "ml", 0.1, "gaussian-rff", features=30)
    assert fit.search == found
    assert found.log_likelihood >= max(
        FeatureLikelihood(X, y, 0.1, features).log_likelihood(t) for t in (0.1, 1, 10, 100)
    )


def test_memory_has_no_square() -> None:
    n, D = 20_000, 50
    X, y, X_new, _ = sample(n, m=100)
    tracemalloc.start()
    ckrr.fit(X, y, 10.0, 0.1, "gaussian-rff", features=D).regions(X_new, "RRCM")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * (n * D + 128 * n + 80 * n + 1e6)
    assert peak < 8 * n * n / 10


def test_what_cant_be_computed_is_an_error() -> None:
    X, y, X_new, _ = sample(30)
    with pytest.raises(ckrr.FactorisationError, match=r"^factorisation lost its digits for theta=1, lam=1e-30, n=30"):
        ckrr.fit(X, y, 1.0, 1e-30, "gaussian-rff", features=40)
    with pytest.raises(ckrr.FactorisationError, match=r"^the features overflow for"):
        ckrr.fit(X * 1e300, y, 1e200, 0.1, "gaussian-rff", features=10)
    with pytest.raises(ckrr.FactorisationError, match=r"^the features of a test point overflow for"):
        ckrr.fit(X, y, 1e200, 0.1, "gaussian-rff", features=10).predict(X_new * 1e300)


def test_constant_y_and_huge_y() -> None:
    X, y, X_new, _ = sample(30)

    def ends(values: Array) -> Array:
        return ckrr.fit(X, values, 3.0, 0.1, "gaussian-rff", features=40).regions(X_new).lower

    assert np.array_equal(ends(np.ldexp(y, 900)), np.ldexp(ends(y), 900))
    assert (ends(np.zeros(30)) == 0).all()
