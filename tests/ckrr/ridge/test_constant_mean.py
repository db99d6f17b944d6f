"""A constant mean: against bordered systems in 1024 bits and refits, and by what it promises."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ckrr
from ckrr._validation import Array
from ckrr.levels import parse_alpha
from ckrr.procedures import CONFORMAL as NAMES
from ckrr.ridge.constant_mean import ConstantMeanRidge
from ckrr.ridge.exact import FactorisationError, Ridge
from ckrr.ridge.feature_ridge import FeatureRidge
from ckrr.ridge.interface import FactorisedRidge
from ckrr.ridge.low_rank import LowRankRidge
from ckrr.ridge.pivots import factorise_kernel
from ckrr.ridge.random_features import Features
from tests.ckrr.accuracy import ALPHAS, CONFORMAL, bound, doubts, max_error, mean_scale, name_of, problem
from tests.ckrr.samples import same, sample
from tests.ckrr.validity import follows_its_law, skewed_sample
from tests.oracles import Coefficients, coefficients, disagreements, refitted_p_value, region

LAMBDAS = [1e-8, 1e-6, 1e-1, 1e4]
SEEDS = st.integers(0, 2**32 - 1)


def make_low_rank(X: Array, theta: float, lam: float) -> LowRankRidge:
    found = factorise_kernel(X, theta, most=len(X))
    assert found is not None
    return LowRankRidge(X, theta, lam, *found)


def check_coefficients(base: FactorisedRidge, y: Array, X_new: Array, truths: list[Coefficients]) -> None:
    """Within the bounds of the model with mean 0, plus the rounding of y far from 0."""
    ridge, allowed = ConstantMeanRidge(base), bound(base.n, base.lam)
    target = ridge.make_target(y)
    (block,) = ridge.project(X_new, [target])
    unit, far = Fraction(2) ** target.exponent, 4 * Fraction(float(np.spacing(np.abs(y).max())))
    for i, truth in enumerate(truths):
        scale_a, scale_W = max(map(abs, truth.a)), max(map(abs, truth.W))
        assert abs(Fraction(block.m[i]) - truth.m) <= allowed * truth.m
        assert max_error(block.W[i], truth.W) <= allowed * (scale_W + 1)
        assert max_error(target.a, [a / unit for a in truth.a]) <= allowed * scale_a / unit
        assert max_error(ridge.diag_Q, truth.diag_Q) <= allowed * max(truth.diag_Q)
        assert abs(Fraction(block.means[0][i]) * unit - truth.mean) <= allowed * mean_scale(truth) + far
        assert abs(Fraction(target.sigma2) * unit**2 - truth.sigma2) <= allowed * truth.sigma2
        assert ridge.log_det == pytest.approx(truth.log_det, rel=float(allowed), abs=float(base.n * allowed))


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize(("n", "d", "theta"), [(2, 1, 0.01), (3, 2, 30.0), (25, 1, 1.0), (25, 1, 1e3), (30, 2, 0.01)])
def test_coefficients_are_those_of_the_bordered_system(n: int, d: int, theta: float, lam: float, offset: float) -> None:
    X, y, X_new = problem(n + d, n, d)
    y += offset
    truths = coefficients(X, y, X_new, theta, lam, mean="constant")
    check_coefficients(Ridge(X, theta, lam), y, X_new, truths)


@pytest.mark.parametrize("lam", [1e-8, 1e-1])
@pytest.mark.parametrize(("n", "d", "theta"), [(2, 1, 3.0), (30, 1, 3.0), (25, 2, 1.0)])
def test_low_rank_has_the_same_coefficients(n: int, d: int, theta: float, lam: float) -> None:
    X, y, X_new = problem(n + d, n, d)
    y += 1e6
    truths = coefficients(X, y, X_new, theta, lam, mean="constant")
    check_coefficients(make_low_rank(X, theta, lam), y, X_new, truths)


@pytest.mark.parametrize("lam", [1e-6, 1e-1])
@pytest.mark.parametrize(("n", "D", "d", "theta"), [(2, 3, 1, 3.0), (25, 40, 1, 30.0), (24, 8, 2, 3.0)])
def test_features_have_those_of_their_kernel(n: int, D: int, d: int, theta: float, lam: float) -> None:
    """Also where leverages are high, n < D."""
    X, y, X_new = problem(n + d, n, d)
    y += 1e6
    features = Features.draw("gaussian", D, d, np.random.default_rng([D, d]))
    Phi, Phi_new = features(X, theta).T, features(X_new, theta).T
    truths = coefficients(Phi, y, Phi_new, 1.0, lam, "product", mean="constant")
    check_coefficients(FeatureRidge(X, theta, lam, features), y, X_new, truths)


@pytest.mark.parametrize(("n", "d", "theta", "lam"), [(2, 1, 20.0, 1e-6), (5, 1, 20.0, 1e-3), (4, 2, 5.0, 10.0)])
def test_p_values_are_those_of_refitted_models(n: int, d: int, theta: float, lam: float) -> None:
    """The augmented sample refitted with its own mean at each candidate; leave-one-out by deleting rows."""
    X, y, X_new = problem(10 * n + d, n, d, m=1)
    y += 3.0
    fit = ckrr.fit(X, y, theta, lam, mean="constant")
    compared = 0
    truths = coefficients(X, y, X_new, theta, lam, mean="constant")
    for i, (x, truth) in enumerate(zip(X_new, truths, strict=True)):
        for score, residual in CONFORMAL:
            zones = doubts(truth, residual, score, 3 * bound(n, lam))
            for z in float(truth.mean) + np.array([-2.0, -0.4, -0.03, -1e-3, 1e-4, 0.02, 0.3, 3.0]):
                if any(lo <= Fraction(z) <= hi for lo, hi in zones):
                    continue
                (p,) = fit.p_values(X_new[i : i + 1], [z], name_of(score, residual))
                refitted = refitted_p_value(X, y, x, z, theta, lam, score, residual, mean="constant")
                assert p == float(refitted), (score, residual, i, z)
                compared += 1
    assert compared > 30


@pytest.mark.parametrize("lam", [1e-6, 1e-1])
def test_regions_are_within_the_bound_that_follows(lam: float) -> None:
    X, y, X_new = problem(5, 13, 2, m=2)
    y += 1.0
    fit = ckrr.fit(X, y, 3.0, lam, mean="constant")
    for i, truth in enumerate(coefficients(X, y, X_new, 3.0, lam, mean="constant")):
        for score, residual in CONFORMAL:
            profile = truth.lines(residual).profile(score)
            regions = fit.regions(X_new, name_of(score, residual), ALPHAS)
            zones = doubts(truth, residual, score, 2 * bound(13, lam))
            for j, alpha in enumerate(ALPHAS):
                parts = region(profile, parse_alpha(alpha))
                moved = [tuple(end + truth.mean if abs(end) < inf else end for end in part) for part in parts]
                assert not disagreements(regions.components(i, j), moved, zones), (score, residual, i, alpha)


KERNELS = st.sampled_from(["gaussian", "laplacian", "matern32", "gaussian-rff"])


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 40), st.integers(1, 3), st.floats(-3, 1), st.floats(-2, 3), KERNELS)
def test_what_a_mean_promises(seed: int, n: int, d: int, log_lam: float, log_theta: float, kernel: str) -> None:
    """Σã = 0, ΣW̃ = 1, predictions far away are μ̂, and results for y + t are those for y, plus t."""
    rng = np.random.default_rng(seed)
    X, y, X_new = rng.random((n, d)), rng.standard_normal(n), rng.random((3, d))
    X[rng.integers(n)] = X[0]
    theta, lam = 10.0**log_theta, 10.0**log_lam
    fit, moved = (ckrr.fit(X, y + t, theta, lam, kernel, features=20 if "rff" in kernel else None, mean="constant")
                  for t in (0.0, 1024.0))  # fmt: skip
    target = fit._target
    assert abs(target.a.sum()) <= 1e-9 * np.abs(target.a).sum() + 1e-12
    (block,) = fit._ridge.project(X_new, [target])
    assert block.W.sum(axis=1) == pytest.approx(1.0, abs=1e-7)
    if "rff" not in kernel:
        (far,) = fit._ridge.project(np.full((1, d), 1e9), [target])
        ridge = fit._ridge
        assert isinstance(ridge, ConstantMeanRidge)
        assert far.W[0] == pytest.approx(ridge.q / ridge.c, abs=1e-9)
        assert far.m[0] == pytest.approx(1 + lam + 1 / ridge.c)
        assert fit.predict(np.full((1, d), 1e9))[0] == pytest.approx(fit.mean)
    for name in ckrr.PROCEDURES:
        one, other = fit.regions(X_new, name, [0.2, 0.5]), moved.regions(X_new, name, [0.2, 0.5])
        if (one.count == other.count).all():  # a component may appear within rounding
            assert other.lower - 1024.0 == pytest.approx(one.lower, abs=1e-7, rel=1e-6, nan_ok=True)
            assert other.upper - 1024.0 == pytest.approx(one.upper, abs=1e-7, rel=1e-6, nan_ok=True)
    assert moved.mean - 1024.0 == pytest.approx(fit.mean, abs=1e-7, rel=1e-6)
    assert moved.sigma2 == pytest.approx(fit.sigma2, rel=1e-6)
    assert moved.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-6, abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 25), st.sampled_from([1e-6, 0.1]), st.sampled_from(["RRCM", "CRR"]))
def test_membership_agrees_with_p_values(seed: int, n: int, lam: float, score: str) -> None:
    """At the ends, at values that occur again and at any other, for points that occur again; RRCM contains ŷ."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 8, n) / 7, rng.integers(-3, 4, n) / 3 + 100.0
    X_new = np.concatenate([X[:2], rng.random(2)])
    fit = ckrr.fit(X, y, 5.0, lam, mean="constant")
    for name in (score, f"{score}-loo", f"{score}-std"):
        alphas = [0.1, 0.3, 0.5]
        R = fit.regions(X_new, name, alphas)
        ends = np.concatenate([R.lower.ravel(), R.upper.ravel()])
        for z in [y[0], 100.0, 99.3, *fit.predict(X_new), *ends[np.isfinite(ends)]]:
            p = fit.p_values(X_new, np.full(4, z), name)
            assert (R.contains(np.full(4, z)) == (p[:, None] >= alphas)).all()
        if score == "RRCM":
            assert R.contains(fit.predict(X_new)).all()


@pytest.mark.parametrize("value", [0.0, 0.1, -1e6, 1e300, 1e-300])
@pytest.mark.parametrize("kernel", ["gaussian", "gaussian-rff"])
def test_a_constant_target_is_its_mean(value: float, kernel: str) -> None:
    """Exactly: no residual is left."""
    X = np.random.default_rng(0).random(15)
    fit = ckrr.fit(X, np.full(15, value), 10.0, 1e-6, kernel, mean="constant")
    assert fit.mean == value
    assert (fit._target.a == 0).all()
    assert fit.sigma2 == 0
    assert fit.log_likelihood == inf
    assert fit.predict([0.5, 7.0]).tolist() == [value, value]
    for name in NAMES:  # where some |W_i| ≥ D_i, as far outside, a residual 0·a − W_i s always counts
        R = fit.regions([0.5, 7.0], name, [0.3])
        assert R.contains([value, value]).all()
        if name.endswith("-std"):
            assert R.lower.tolist() == R.upper.tolist() == [[value], [value]]


@pytest.mark.parametrize("n", [3, 6, 7, 12])
def test_a_constant_target_has_no_residuals_at_any_n(n: int) -> None:
    """Also where the average of n equal numbers isn't that number."""
    for value in np.random.default_rng(n).random(20):
        fit = ckrr.fit(np.arange(n), np.full(n, value), 0.1, 1e-6, mean="constant")
        assert fit.mean == value
        assert (fit._target.a == 0).all()


def test_a_search_for_a_constant_target_ends() -> None:
    for theta in ("ml", "ml-cobyla", "holdout"):
        assert ckrr.fit(np.arange(15.0), np.full(15, 0.1), theta, 0.1, mean="constant").mean == 0.1


LONG = pytest.mark.soak


@pytest.mark.parametrize(
    ("n", "lam", "samples"),
    [
        (5, 1e-6, 500),
        (2, 0.1, 300),
        pytest.param(5, 1e-6, 20_000, marks=LONG),
        pytest.param(16, 0.1, 20_000, marks=LONG),
        pytest.param(2, 1e-3, 20_000, marks=LONG),
    ],
)
def test_p_values_follow_their_law(n: int, lam: float, samples: int) -> None:
    """A chi-squared test over independent samples; false alarms: 1e-4 (FALSE_ALARM) for each procedure."""
    rng = np.random.default_rng([n, 27])
    N = n + 1
    p = np.empty((len(NAMES), samples))
    for i in range(samples):
        X, y = skewed_sample(rng, N)
        fit = ckrr.fit(X[:n], y[:n] + 50.0, theta=20.0, lam=lam, mean="constant")
        p[:, i] = [fit.p_values(X[n:], y[n:] + 50.0, procedure)[0] for procedure in NAMES]
    assert [name for name, each in zip(NAMES, p, strict=True) if not follows_its_law(name, N, each)] == []


@pytest.mark.parametrize("n", [30, 520])
def test_stacking_and_batching_change_no_bit(n: int) -> None:
    """Targets, test points and factors, together or alone; n = 520 is of low rank."""
    problems = [sample(n, 1, 30, seed) for seed in range(3)]
    factors = [ckrr.Inputs(X, X_new, mean="constant").factor(3.0, 1e-3) for X, _, X_new, _ in problems]
    Y = [np.column_stack([y + 9.0, y**2]) for _, y, _, _ in problems]
    Y_new = [np.column_stack([y + 9.0, y**2]) for _, _, _, y in problems]
    names = [*NAMES, "GPR-f", "GPR-p"]
    together = ckrr.score_together(factors, Y, Y_new, names, [0.1, 0.3])
    for (X, _, X_new, _), several, ys, ys_new in zip(problems, together, Y, Y_new, strict=True):
        for t in range(2):
            fit = ckrr.fit(X, ys[:, t], 3.0, 1e-3, mean="constant")
            alone = fit.score(X_new, ys_new[:, t], names, [0.1, 0.3])
            assert same(several.take_target(t), alone)
            order = np.random.default_rng(0).permutation(30)
            assert (fit.score(X_new[order], ys_new[order, t], names, [0.1, 0.3]).lower == alone.lower[:, order]).all()


def test_a_target_far_from_zero_needs_its_mean() -> None:
    """y + 100 widens regions with mean 0 several times, and those with a constant mean not at all."""
    X, y, X_new, _ = sample(100, 2)

    def width(y: Array, mean: str) -> float:
        return float(np.median(ckrr.fit(X, y, 10.0, 0.1, mean=mean).regions(X_new, "RRCM-loo", 0.1).length))

    assert width(y + 100, "zero") > 3 * width(y, "zero")
    assert width(y + 100, "constant") == pytest.approx(width(y, "constant"), rel=1e-9)
    assert width(y, "constant") < 1.1 * width(y, "zero")


X2, CONSTANT = np.arange(2.0), {"lam": 0.1, "mean": "constant"}
MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: ckrr.fit([0.0], [1.0], 1.0, **CONSTANT), 'X must have at least 2 rows for mean = "constant", got 1'),
    (lambda: ckrr.fit([0.0], [1.0], "ml", **CONSTANT), "X must have at least 2 rows to search"),
    (lambda: ckrr.fit(range(4), range(4), "holdout", **CONSTANT), "X must have at least 5 rows for theta"),
    (lambda: ckrr.fit(X2, X2, 1.0, 0.1, mean="constand"), "mean must be one of zero, constant, got 'const"),
    (lambda: ckrr.Inputs(X2, X2, mean=0), "mean must be one of zero, constant, got 0"),
]


@pytest.mark.parametrize(("ask", "message"), MISTAKES)
def test_mistakes_are_named(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        ask()


def test_a_mean_that_depends_on_one_row_alone_is_refused() -> None:
    """A kernel that is 0 at one point and large at the other: at λ = 1e-9 the first has all digits of the mean."""

    def kernel(X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        return np.multiply(theta * X, Z.T, out=out)

    fit = ckrr.fit([0.0, 1e5], [0.0, 1.0], 1.0, 1e-9, kernel, mean="constant")
    with pytest.raises(FactorisationError, match=r"^the mean depends on row 0 of X alone"):
        fit.regions([0.5], "RRCM-loo")


@pytest.mark.parametrize("procedure", NAMES)
def test_a_value_that_occurs_again_is_no_surprise(procedure: str) -> None:
    """n equal points, and the test point is one more: every residual ties, so p = 1."""
    for n in range(2, 25):
        fit = ckrr.fit(np.full(n, 0.3), np.full(n, 1.7), theta=10.0, lam=0.1, mean="constant")
        assert fit.p_values([0.3], [1.7], procedure) == [1.0]
        assert fit.regions([0.3], procedure, [0.3, 0.99]).contains([1.7]).all()
