"""Predictive distributions against refits, quadrature and counting, and whether their PIT is uniform."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy.integrate import quad
from scipy.stats import chi2, norm

import ckrr
from ckrr._validation import Array
from ckrr.linalg.workspace import Workspace
from ckrr.procedures import ALL_PROCEDURES, DISTRIBUTIONS
from ckrr.regions.blocks import PointChunk
from ckrr.regions.distributions import compute_jumps
from ckrr.regions.orientation import OrientedResiduals
from tests.ckrr.samples import same, sample
from tests.ckrr.validity import FALSE_ALARM, skewed_sample
from tests.oracles import refitted_jumps, refitted_pit, root

ALPHAS = [0.01, 0.05, 0.1, 0.25, 0.5, 0.9]
EPS = 2.0**-52

samples = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.tuples(*[st.integers(0, 6)] * 2), min_size=n, max_size=n),
        st.lists(st.integers(-20, 20), min_size=n, max_size=n),
    )
)


@settings(max_examples=25, deadline=None)
@given(samples, st.sampled_from([1e-6, 0.1]), st.sampled_from([1.0, 30.0]), st.integers(-30, 30))
@example(([(2, 3), (2, 3), (0, 0)], [1, 1, -2]), 0.1, 1.0, 10)
@example(([(2, 3)], [0]), 0.1, 1.0, 0)
def test_jumps_and_pits_are_those_of_refits(
    points: tuple[list[tuple[int, int]], list[int]], lam: float, theta: float, at: int
) -> None:
    """Also at a training point, whose own jump is its value, at repeated points, and far away."""
    X, y = np.array(points[0]) / 6.0, np.array(points[1]) / 10.0
    X_new = np.vstack([X[0], [0.4, 0.3], [9.0, 9.0]])
    z, tau = np.array([y[0], at / 10 + 0.017, at / 10 + 0.017]), np.array([0.3, 0.7, 0.1])
    D = ckrr.fit(X, y, theta, lam).distribution(X_new)
    assert isinstance(D, ckrr.ConformalDistribution)
    pits = D.pit(z, tau)
    for i, x in enumerate(X_new):
        right = [float(each) for each in refitted_jumps(X, y, x, theta, lam)]
        size = 1e-7 * max(np.abs(y).max(), np.abs(right).max())
        assert D.jumps[i] == pytest.approx(right, abs=size)
        if i == 0 or np.abs(np.array(right) - z[i]).min() > size:  # away from jumps, or at one that is exact
            others = [jump for jump in right if abs(jump - z[i]) > size]
            if i > 0 or len(others) + sum((x == X).all(axis=1) & (y == z[i])) == len(y):
                assert pits[i] == pytest.approx(float(refitted_pit(X, y, x, z[i], theta, lam, tau[i])), abs=1e-12)
    assert y[0] in D.jumps[0]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(*[st.floats(-50, 50)] * 2, st.floats(-9, 0)), min_size=1, max_size=8),
    st.floats(-12, 1),
    st.floats(-3, 3),
)
@example([(1.0, -1e7, 0.0), (1.0, 1e7, 0.0), (-2.0, -1e7, 0.0)], -6.0, 0.5)
def test_jumps_have_no_cancellation(rows: list[tuple[float, float, float]], log_m: float, mean: float) -> None:
    """To some ulps of C − ŷ, given the coefficients: also where √h + W loses all of its digits."""
    a, W, Q = np.array(rows).T
    Q, m = 10.0**Q, 10.0**log_m
    residuals = OrientedResiduals(a, np.zeros(len(a)), Q)
    nowhere = np.empty(0, dtype=np.intp)
    chunk = PointChunk(
        residuals.orient_weights(W[None], np.empty((1, len(a)))),
        np.array([m]),
        np.array([mean]),
        residuals.columns,
        (nowhere, nowhere),
    )
    found = compute_jumps(chunk, Workspace())[0]
    exact = []
    for one, w, q in zip(a, W, Q, strict=True):
        f, g, h = (Fraction(float(each)) for each in (one, w, q))
        high = root(Fraction(m) * h + g * g)
        exact.append(f * (high + abs(g)) / h if g < 0 else Fraction(m) * f / (high + g) if high + g else Fraction(0))
    right = np.array([float(Fraction(mean) + each) for each in sorted(exact)])
    moved = np.array([float(each) for each in sorted(exact)])
    assert (np.abs(found - right) <= 8 * EPS * (np.abs(moved) + abs(mean)) + 1e-30).all()


def integrate_steps(jumps: list[Fraction], y: Fraction) -> Fraction:
    """∫ (F(z) − 1{z ≥ y})² dz, piece by piece."""
    places, total = sorted([*jumps, y]), Fraction(0)
    for low, high in pairwise(places):
        F = Fraction(sum(each <= low for each in jumps), len(jumps))
        total += (high - low) * (F - (low >= y)) ** 2
    return total


numbers = st.integers(-(2**20), 2**20).map(lambda i: i / 2**10)


@settings(max_examples=150, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=12), st.lists(numbers, min_size=1, max_size=4), st.floats(0, 1))
@example([1.0, 1.0, 2.0], [1.0, 2.0, 0.0], 0.5)
def test_step_functions_by_counting(jumps: list[float], y: list[float], tau: float) -> None:
    D = ckrr.ConformalDistribution(np.sort(np.tile(jumps, (len(y), 1)), axis=1))
    n, at = len(jumps), np.array(y)
    exact = [float(integrate_steps([Fraction(each) for each in jumps], Fraction(one))) for one in y]
    assert D.crps(at) == pytest.approx(exact, rel=8 * EPS * n, abs=0)
    assert D.cdf(at).tolist() == [sum(each <= one for each in jumps) / n for one in y]
    assert (D.cdf(np.tile(at, (len(y), 1))) == D.cdf(at)).all()
    below, equal = (
        [sum(compare(each, one) for each in jumps) for one in y] for compare in (float.__lt__, float.__eq__)
    )
    right = [(b + tau * (1 + e)) / (n + 1) for b, e in zip(below, equal, strict=True)]
    assert D.pit(at, np.full(len(y), tau)) == pytest.approx(right, rel=4 * EPS, abs=0)
    for q in (0.01, 0.07, 0.29, 0.5, 0.57, 0.99):
        rank = ceil(Fraction(str(q)) * n)
        assert (D.quantile(q) == sorted(jumps)[rank - 1]).all()
        reached = next(each for each in sorted(jumps) if Fraction(sum(o <= each for o in jumps), n) >= Fraction(str(q)))
        assert (D.quantile([q])[:, 0] == reached).all()


def test_quantiles_are_of_decimals() -> None:
    """In floats 100·0.07 and 100·0.57 are above and below the integer that is meant."""
    D = ckrr.ConformalDistribution(np.arange(1.0, 101.0)[None])
    assert D.quantile([0.07, 0.57, 0.29]).tolist() == [[7.0, 57.0, 29.0]]


@pytest.mark.parametrize("deviation", [1e-3, 1.0, 40.0])
def test_normal_distributions_by_quadrature(deviation: float) -> None:
    y = np.array([0.3, 0.3 + deviation, 0.3 - 3.7 * deviation])
    D = ckrr.NormalDistribution(np.full(3, 0.3), np.full(3, deviation))
    law = norm(0.3, deviation)
    for found, at in zip(D.crps(y), y, strict=True):
        below = quad(lambda z: law.cdf(z) ** 2, 0.3 - 40 * deviation, at, epsabs=0, epsrel=1e-11, limit=200)[0]
        above = quad(lambda z: law.sf(z) ** 2, at, 0.3 + 40 * deviation, epsabs=0, epsrel=1e-11, limit=200)[0]
        assert found == pytest.approx(below + above, rel=1e-9)
    assert D.cdf(y) == pytest.approx(law.cdf(y))
    assert D.pit(y, np.random.default_rng(0)).tolist() == D.cdf(y).tolist()
    assert D.quantile([0.1, 0.5]) == pytest.approx(np.tile(law.ppf([0.1, 0.5]), (3, 1)))


def test_a_target_of_zeros_is_a_point_mass() -> None:
    """σ̂ = 0 for GPR-f, and all jumps at 0 for CRR-std."""
    fit, y = ckrr.fit([0.0, 0.5, 1.0], [0.0, 0.0, 0.0], 5.0, 0.1), np.array([0.0, -2.0, 3.0])
    for name in DISTRIBUTIONS:
        D = fit.distribution([0.2, 0.3, 0.4], name)
        assert D.crps(y).tolist() == [0.0, 2.0, 3.0]
        assert D.cdf(y).tolist() == [1.0, 0.0, 1.0]
        assert D.quantile(0.3).tolist() == [[0.0]] * 3
        ends = [0.25, 0.0, 1.0] if name == "GPR-f" else [0.25, 0.25 / 4, 3.25 / 4]
        assert D.pit(y, [0.25] * 3).tolist() == ends


@pytest.mark.parametrize(("n", "lam"), [(1, 0.1), (2, 0.1), (7, 1e-3), (40, 1e-3), (300, 1e-6)])
@pytest.mark.parametrize("boundary", [">=", ">"])
def test_intervals_are_the_regions(n: int, lam: float, boundary: str) -> None:
    """In every bit at test points where no W_i is below −√h_i/2, repeated ones too; to rounding at the others."""
    X, y, X_new, _ = sample(n, m=60)
    X_new[0] = X[0]
    fit = ckrr.fit(X, y, 3.0, lam)
    steep = has_steep(fit, X_new)
    R, D = fit.regions(X_new, "CRR-std", ALPHAS, boundary), fit.distribution(X_new).interval(ALPHAS, boundary)
    assert steep.any() == (n >= 7), "both kinds are there"
    for found, right in ((D.lower, R.lower), (D.upper, R.upper)):
        assert (found[~steep] == right[~steep]).all()
        assert found[steep] == pytest.approx(right[steep], rel=1e-7)
    G, J = fit.regions(X_new, "GPR-f", ALPHAS), fit.distribution(X_new, "GPR-f").interval(ALPHAS)
    assert (G.lower == J.lower).all()
    assert (G.upper == J.upper).all()


def has_steep(fit: ckrr.Fit, X_new: Array) -> Array:
    (block,) = fit._ridge.project(X_new, [fit._target])
    h = block.m[:, None] * fit._ridge.diag_Q + block.W**2
    return (-0.499 * np.sqrt(h) > block.W).any(axis=1)


def test_pits_belong_to_smoothed_p_values() -> None:
    """The p-value of CRR-std is twice the smaller tail of the PIT, with 1 − τ for τ."""
    X, y, X_new, y_new = sample(30, m=50)
    fit, tau = ckrr.fit(X, y, 3.0, 0.1), np.random.default_rng(1).random(50)
    pit = fit.distribution(X_new).pit(y_new, tau)
    p = fit.p_values(X_new, y_new, "CRR-std", smoothed=1 - tau)
    assert p == pytest.approx(2 * np.minimum(pit, 1 - pit), abs=1e-12)


@pytest.mark.parametrize("n", [1, 25, 300, 900])
def test_bits_are_independent_of_batches(n: int) -> None:
    X, y, X_new, y_new = sample(n, m=600)
    tau, part = np.random.default_rng(0).random(600), slice(37, 121)
    X_new[50] = X[0]
    fit, Y = ckrr.fit(X, y, 3.0, 0.1), np.stack([y, -3 * y**3], axis=1)
    for name in DISTRIBUTIONS:
        whole, some = fit.distribution(X_new, name), fit.distribution(X_new[part], name)
        assert all((a[part] == b).all() for a, b in zip(vars(whole).values(), vars(some).values(), strict=True))
        assert (whole.crps(y_new)[part] == some.crps(y_new[part])).all()
        assert (whole.pit(y_new, tau)[part] == some.pit(y_new[part], tau[part])).all()
        factors = [ckrr.Inputs(X, X_new[at]).factor(3.0, 0.1) for at in (slice(0, 37), part, slice(0, 600))]
        Y_new = [np.stack([y_new, y_new], axis=1)[at] for at in (slice(0, 37), part, slice(0, 600))]
        taus = [tau[at] for at in (slice(0, 37), part, slice(0, 600))]
        _, inner, full = ckrr.score_together(factors, [Y] * 3, Y_new, ["RRCM", name, "CRR"], pit=taus)
        for found, at in ((inner, part), (full, slice(0, 600))):
            assert found.crps is not None
            assert found.pit is not None
            assert (found.crps[0, 1] == whole.crps(y_new)[at]).all()
            assert (found.pit[0, 1] == whole.pit(y_new, tau)[at]).all()
            other = factors[2].fit(Y[:, 1]).distribution(X_new, name)
            assert (found.crps[1, 1] == other.crps(y_new)[at]).all()
            assert np.isnan(found.crps[:, [0, 2]]).all()
            assert np.isnan(found.pit[:, [0, 2]]).all()


def test_scores_are_otherwise_the_same() -> None:
    X, y, X_new, y_new = sample(20)
    factor = ckrr.Inputs(X, X_new).factor(3.0, 0.1)
    plain, more = factor.score(y, y_new, ALL_PROCEDURES), factor.score(y, y_new, ALL_PROCEDURES, pit=[0.5] * 30)
    assert plain.crps is None
    assert same(plain, ckrr.Scores(*[each for each in vars(more).values() if each is not None][:5]))
    one = more.take_target(0)
    assert one.crps is not None
    assert one.crps.shape == (8, 30)
    with pytest.raises(ValueError, match=r"^pit must be numbers from 0 to 1, got 2$"):
        factor.score(y, y_new, pit=[2.0] * 30)


@pytest.mark.parametrize("exponent", [-990, 990])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_units_are_no_matter(name: str, exponent: int) -> None:
    """y of 1e±298 gives the same bits, in its units."""
    X, y, X_new, y_new = sample(12)
    scale, tau = 2.0**exponent, np.full(30, 0.5)
    one, other = (ckrr.fit(X, y * factor, 3.0, 0.1).distribution(X_new, name) for factor in (1.0, scale))
    assert (other.crps(y_new * scale) == one.crps(y_new) * scale).all()
    assert (other.pit(y_new * scale, tau) == one.pit(y_new, tau)).all()
    assert (other.quantile(0.3) == one.quantile(0.3) * scale).all()
    factors = [ckrr.Inputs(X, X_new).factor(3.0, 0.1)] * 2
    scores = ckrr.score_together(factors, [y, y * scale], [y_new, y_new * scale], [name], pit=[tau, tau])
    assert (scores[1].crps == scores[0].crps * scale).all()
    assert (scores[1].pit == scores[0].pit).all()


@pytest.mark.parametrize("tied", [False, True])
def test_pits_are_uniform(tied: bool) -> None:
    """A chi-squared test of independent PITs, one from each of 4000 samples of a wrong model; also with ties."""
    rng, found, factors, ys, tests = np.random.default_rng(5), [], [], [], []
    for _ in range(4000):
        X, y = (rng.integers(0, 2, 5) / 1.0, rng.integers(0, 2, 5) / 1.0) if tied else skewed_sample(rng, 5)
        factors.append(ckrr.Inputs(X[:4], X[4:]).factor(5.0, 0.01))
        ys.append(y[:4])
        tests.append(y[4:])
    scores = ckrr.score_together(factors, ys, tests, ["CRR-std", "GPR-f"], [0.1], pit=[rng] * len(factors))
    found = np.array([each.pit[0, :, 0] for each in scores if each.pit is not None])
    p = [compute_uniformity(each) for each in found.T]
    assert p[0] > FALSE_ALARM
    assert p[1] < FALSE_ALARM, "the test has power: GPR-f's are not"
    if tied:
        plain = ckrr.score_together(factors, ys, tests, ["CRR-std"], [0.1], pit=[[0.5]] * len(factors))
        assert compute_uniformity(np.array([each.pit[0, 0, 0] for each in plain])) < FALSE_ALARM, "τ is needed"


def compute_uniformity(pit: Array) -> float:
    counts = np.histogram(pit, bins=20, range=(0, 1))[0]
    return float(chi2.sf(((counts - len(pit) / 20) ** 2 / (len(pit) / 20)).sum(), 19))


@pytest.mark.parametrize("procedure", [name for name in ALL_PROCEDURES if name not in DISTRIBUTIONS])
def test_other_procedures_have_none(procedure: str) -> None:
    fit = ckrr.fit([0.0, 1.0], [0.0, 1.0], 1.0, 0.1)
    with pytest.raises(ValueError, match=f"^procedure must be GPR-f or CRR-std, got '{procedure}': \\w+"):
        fit.distribution([0.5], procedure)


def test_arguments_are_checked() -> None:
    D = ckrr.fit([0.0, 1.0], [0.0, 1.0], 1.0, 0.1).distribution([0.5, 0.6])
    for call, message in (
        (lambda: D.quantile(1.5), "q must be a number strictly between 0 and 1, got 1.5"),
        (lambda: D.cdf([0.1]), r"y must be of shape \(2,\) or \(2, k\), got shape \(1,\)"),
        (lambda: D.cdf([0.1, np.nan]), r"y must be finite, got nan at y\[1\]"),
        (lambda: D.crps([0.1]), r"y must be of shape \(2,\), one for each row of X_new, got shape \(1,\)"),
        (lambda: D.pit([0.1, 0.2], [0.1, -1.0]), "rng must be numbers from 0 to 1, got -1"),
        (lambda: D.interval(0.1, "<"), "boundary must be"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            call()


def test_the_estimator_has_them() -> None:
    X, y, X_new, y_new = sample(20)
    estimator = ckrr.ConformalKernelRidge(theta=3.0, lam=0.1).fit(X, y)
    for name in DISTRIBUTIONS:
        right = ckrr.fit(X, y, 3.0, 0.1, mean="constant").distribution(X_new, name)
        assert (estimator.predict_distribution(X_new, name).crps(y_new) == right.crps(y_new)).all()
    with pytest.raises(ValueError, match="is expecting 2 features"):
        estimator.predict_distribution([[0.1]])
