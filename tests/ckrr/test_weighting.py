"""Weighted procedures through the public interface: bits, refits, validity under covariate shift, messages."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import ckrr
from ckrr._validation import Array
from ckrr.evaluation import batching, case
from ckrr.likelihood.holdout import kept_rows
from ckrr.procedures import CONFORMAL, WEIGHTED
from tests.ckrr.accuracy import bound, doubts, name_of, problem
from tests.ckrr.samples import same, sample
from tests.ckrr.validity import FALSE_ALARM
from tests.oracles import coefficients, inside, weigh

ALPHA = [0.01, 0.05, 0.1, 0.25]
EVERY = [*CONFORMAL, *WEIGHTED]


def ratios(n: int, m: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, 1])
    return np.exp(2 * rng.standard_normal(n)), np.exp(2 * rng.standard_normal(m))


def half(scores: ckrr.Scores, which: slice) -> ckrr.Scores:
    """The scores of some of the procedures."""
    return ckrr.Scores(*(each[:, which] for each in vars(scores).values() if isinstance(each, np.ndarray)))


@pytest.mark.parametrize("unit", [1.0, 0.1, 3e-320, 1e300])
@pytest.mark.parametrize(("n", "lam"), [(3, 0.1), (25, 1e-6), (120, 1e-6)])
def test_equal_weights_change_no_bit(n: int, lam: float, unit: float) -> None:
    """At λ = 1e-6 with regions of several pieces, two targets at once, and test points that are training points."""
    X, y, X_new, y_new = sample(n, m=150)
    X_new[3], X_new[140] = X[0], X[2]
    factor = ckrr.Inputs(X, X_new).factor(30.0, lam)
    Y, Y_new = np.column_stack([y, y**2]), np.column_stack([y_new, y_new**2])
    for boundary in (">=", ">"):
        scores = factor.score(Y, Y_new, EVERY, ALPHA, boundary, weights=(np.full(n, unit), np.full(150, unit)))
        plain = factor.score(Y, Y_new, list(CONFORMAL), ALPHA, boundary)
        assert same(half(scores, slice(0, 6)), plain), "in company of weighted procedures"
        assert same(half(scores, slice(6, 12)), plain)
    fit = factor.fit(y)
    weights = np.full(n, unit), np.full(150, unit)
    for name in CONFORMAL:
        p = fit.p_values(X_new, y_new, f"{name}-w", weights=weights)
        assert np.array_equal(p, fit.p_values(X_new, y_new, name))
        region, expected = fit.regions(X_new, f"{name}-w", ALPHA, weights=weights), fit.regions(X_new, name, ALPHA)
        assert all(region.components(i, j) == expected.components(i, j) for i in range(150) for j in range(4))


@pytest.mark.parametrize("procedure", WEIGHTED)
def test_score_is_regions_and_p_values(procedure: str) -> None:
    X, y, X_new, y_new = sample(60, m=300)
    fit, weights = ckrr.fit(X, y, theta=30.0, lam=1e-6), ratios(60, 300)
    regions, p = (
        fit.regions(X_new, procedure, ALPHA, weights=weights),
        fit.p_values(X_new, y_new, procedure, weights=weights),
    )
    scores = fit.score(X_new, y_new, [procedure], ALPHA, weights=weights)
    assert np.array_equal(scores.hits[0], regions.contains(y_new))
    assert np.array_equal(scores.hits[0], p[:, None] >= np.array(ALPHA))  # no p-value is within rounding of a level
    for name in ("lower", "upper", "length", "count"):
        assert np.array_equal(getattr(scores, name)[0], getattr(regions, name), equal_nan=True)
    share = weights[1] / (weights[0].sum() + weights[1])
    is_line = share[:, None] >= np.array(ALPHA) / (1 if procedure.startswith("RRCM") else 2)
    assert np.isinf(regions.length)[is_line].all()
    assert is_line.any()
    assert not is_line.all()


def test_no_bit_depends_on_how_the_work_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems of several n are stacked or not; each has weights of its own, and both kinds of sums occur."""
    factors, Y, Y_new, weights = [], [], [], []
    for seed, n in enumerate((40, 40, 40, 12)):
        X, y, X_new, y_new = sample(n, m=90, seed=seed)
        X_new[10], X_new[80] = X[1], X[2]
        factors.append(ckrr.Inputs(X, X_new).factor(60.0, 1e-6))
        Y.append(np.column_stack([y, y**2]))
        Y_new.append(np.column_stack([y_new, y_new**2]))
        weights.append(ratios(n, 90, seed) if seed != 1 else (np.arange(1.0, 41.0), np.ones(90)))
    whole = ckrr.score_together(factors, Y, Y_new, EVERY, ALPHA, weights=weights)
    alone = [
        f.score(y, y_new, EVERY, ALPHA, weights=w) for f, y, y_new, w in zip(factors, Y, Y_new, weights, strict=True)
    ]
    assert all(same(a, b) for a, b in zip(whole, alone, strict=True))
    for strip, stack, chunk in ((40 * 7, 1, 40 * 2), (40 * 30, 40 * 200, 40 * 7)):
        monkeypatch.setattr(batching, "STRIP", strip)
        monkeypatch.setattr(batching, "STACK", stack)
        monkeypatch.setattr(case, "CHUNK", chunk)
        cut = ckrr.score_together(factors, Y, Y_new, EVERY, ALPHA, weights=weights)
        assert all(same(a, b) for a, b in zip(whole, cut, strict=True)), (strip, stack, chunk)
    for f, y, y_new, w, all_ in zip(factors, Y, Y_new, weights, whole, strict=True):
        fit = f.fit(y[:, 1])
        order = np.random.default_rng(0).permutation(90)[:31]
        some = fit.score(f._X_test[order], y_new[order, 1], EVERY, ALPHA, weights=(w[0], w[1][order]))
        assert same(some, ckrr.Scores(*(e[1][:, order] for e in vars(all_).values() if isinstance(e, np.ndarray))))


@pytest.mark.parametrize(("n", "lam"), [(1, 0.1), (2, 1e-3), (7, 1e-3)])
def test_p_values_of_exact_coefficients(n: int, lam: float) -> None:
    """Against residuals from dense solves with a thousand bits, at test points inside, outside and on a train input."""
    X, y, X_new = problem(n, n, d=1)
    w, w_new = ratios(n, len(X_new))
    fit, rng, compared = ckrr.fit(X, y, theta=5.0, lam=lam), np.random.default_rng(n), 0
    for i, truth in enumerate(coefficients(X, y, X_new, 5.0, lam)):
        for score, residual in itertools.product(("RRCM", "CRR"), ("in-sample", "loo", "std")):
            lines = weigh(truth.lines(residual), w, float(w_new[i]))
            zones = doubts(truth, residual, score, bound(n, lam))
            for z in (float(truth.mean) + rng.standard_cauchy(6)).tolist():
                if inside(zones, Fraction(z)):
                    continue
                name, weights = f"{name_of(score, residual)}-w", (w, w_new[i : i + 1])
                expected = lines.p_value(score, Fraction(z) - truth.mean)
                assert fit.p_values(X_new[i : i + 1], [z], name, weights=weights) == [float(expected)]
                regions = fit.regions(X_new[i : i + 1], name, [0.2, 0.5], weights=weights)
                assert regions.contains([z])[0].tolist() == [expected >= Fraction(1, 5), expected >= Fraction(1, 2)]
                compared += 1
    assert compared > 100


def test_weights_belong_to_all_rows_given() -> None:
    """With θ from held-out rows, weights of these are dropped."""
    X, y, X_new, y_new = sample(40, m=20)
    w, w_new = ratios(40, 20)
    fit = ckrr.fit(X, y, "holdout", 0.1)
    rows = kept_rows(40)
    alone = ckrr.fit(X[rows], y[rows], fit.theta, 0.1).score(X_new, y_new, "RRCM-loo-w", weights=(w[rows], w_new))
    assert same(fit.score(X_new, y_new, "RRCM-loo-w", weights=(w, w_new)), alone)
    factor = ckrr.Inputs(X, X_new, weights=(w, w_new)).factor_ml(y, 0.1, "holdout")
    assert same(factor.score(y, y_new, "RRCM-loo-w").take_target(0), alone)
    assert same(factor.fit(y).score(X_new, y_new, "RRCM-loo-w", weights=(w, w_new)), alone)


def test_weights_of_inputs_serve_only_weighted_procedures() -> None:
    X, y, X_new, y_new = sample(20, m=9)
    factor = ckrr.Inputs(X, X_new, weights=ratios(20, 9)).factor(10.0, 0.1)
    plain = ckrr.Inputs(X, X_new).factor(10.0, 0.1)
    assert same(factor.score(y, y_new), plain.score(y, y_new))
    assert same(factor.score(y, y_new, "CRR-w"), plain.score(y, y_new, "CRR-w", weights=ratios(20, 9)))


def test_the_estimator_takes_weights() -> None:
    X, y, X_new, y_new = sample(20, m=9)
    weights, fit = ratios(20, 9), ckrr.fit(X, y, 10.0, 0.1)
    estimator = ckrr.ConformalKernelRidge("RRCM-loo-w", theta=10.0, lam=0.1, mean="zero").fit(X, y)
    expected = fit.regions(X_new, "RRCM-loo-w", [0.1, 0.25], weights=weights)
    region = estimator.predict_region(X_new, [0.9, 0.75], weights)
    assert [region.components(i, 1) for i in range(9)] == [expected.components(i, 1) for i in range(9)]
    _, intervals = estimator.predict_interval(X_new, [0.9, 0.75], weights)
    assert np.array_equal(intervals, np.stack([expected.lower, expected.upper], axis=1))
    p = estimator.predict_p(X_new, y_new, weights)
    assert np.array_equal(p, fit.p_values(X_new, y_new, "RRCM-loo-w", weights=weights))
    with pytest.raises(ValueError, match=r"^weights must be given for RRCM-loo-w: a pair \(w, w_new\)$"):
        estimator.predict_region(X_new)


SHARES = {0.0: (Fraction(3, 4), Fraction(1, 5)), 1.0: (Fraction(1, 4), Fraction(4, 5))}
"""P(x) of training points, and of test points."""
OUTCOMES = {0.0: (0.0, 1.0), 1.0: (0.0, 3.0)}
"""Equally likely y at each x."""


@pytest.mark.parametrize("procedure", WEIGHTED)
def test_levels_are_kept_exactly_in_every_sample_of_a_small_world(procedure: str) -> None:
    """All 4^4 samples of three training points and a test point, with their probabilities: P(p ≤ t) ≤ t for every t."""
    places = [(x, y) for x, ys in OUTCOMES.items() for y in ys]
    chance: dict[float, Fraction] = defaultdict(Fraction)
    for *train, test in itertools.product(places, repeat=4):
        X, y = np.array(train).T
        w = [float(SHARES[x][1] / SHARES[x][0] * 60) for x in (*X.tolist(), test[0])]
        (p,) = ckrr.fit(X, y, 1.0, 0.1).p_values(test[:1], test[1:], procedure, weights=(w[:3], w[3:])).tolist()
        chance[p] += np.prod([SHARES[x][0] / 2 for x, _ in train]) * SHARES[test[0]][1] / 2
    assert sum(chance.values()) == 1
    below = Fraction(0)
    for p in sorted(chance):
        below += chance[p]
        assert below <= Fraction(p).limit_denominator(1000)
    assert len(chance) > 5


def test_levels_are_kept_under_covariate_shift() -> None:
    """Uniform training inputs, test inputs of density 3x²: P(miss) ≤ α, by a binomial test of independent samples.

    A correct program fails with probability `FALSE_ALARM`. Without weights the noise, which grows with x, breaks them.
    """
    rng, samples, n, alpha = np.random.default_rng(27), 700, 20, [0.1, 0.25]
    names = ["RRCM-loo-w", "CRR-w", "CRR-loo-w", "RRCM-w", "RRCM-loo"]
    misses = np.zeros((len(names), len(alpha)), dtype=int)
    for _ in range(samples):
        X = np.append(rng.random(n), rng.random() ** (1 / 3))
        y = np.sin(5 * X) + 2 * X**2 * (rng.exponential(size=n + 1) - 1)
        fit = ckrr.fit(X[:n], y[:n], theta=20.0, lam=0.5)
        misses += ~fit.score(X[n:], y[n:], names, alpha, weights=(X[:n] ** 2, X[n:] ** 2)).hits[:, 0]
    p = binom.sf(misses - 1, samples, alpha)
    assert (p[:4] > FALSE_ALARM / 8).all(), misses
    assert (p[4] < FALSE_ALARM).all(), "the test has power"
    assert (misses[:4] > 0).all()


W = ([1.0, 1.0, 1.0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("procedure", "weights", "smoothed", "message"),
    [
        ("RRCM-w", None, None, "weights must be given for RRCM-w: a pair (w, w_new)"),
        ("RRCM", W, None, "weights must be left out for RRCM: only RRCM-w, RRCM-loo-w, CRR-w"),
        ("CRR-w", W, [0.5, 0.5], "smoothed must be left out for CRR-w: weighted p-values can't be smoothed"),
        ("CRR-w", W[0], None, "weights must be a pair (w, w_new), for X and for X_new, got [1.0, 1.0, 1.0]"),
        ("CRR-w", (W[0][:2], W[1]), None, "weights[0] must be of shape (3,), one for each row of X, got shape (2,)"),
        ("CRR-w", (W[0], W[0]), None, "weights[1] must be of shape (2,), one for each row of X_new, got shape (3,)"),
        ("CRR-w", (W[0], [1.0, -2.0]), None, "weights[1] must be >= 0, got -2.0 at weights[1][1]"),
        ("CRR-w", ([1.0, np.inf, 0], W[1]), None, "weights[0] must be finite, got inf at weights[0][1] (1 such)"),
        (
            "CRR-w",
            ([0.0] * 3, [1.0, 0.0]),
            None,
            "weights must not all be 0, got 0 for every row used of X and for X_new[1]",
        ),
    ],
)
def test_messages(procedure: str, weights: object, smoothed: object, message: str) -> None:
    fit = ckrr.fit([0.0, 0.5, 1.0], [1.0, 2.0, 3.0], 1.0, 0.1)
    new, values = [0.1, 0.2], [1.0, 2.0]
    factor = ckrr.Inputs([0.0, 0.5, 1.0], new).factor(1.0, 0.1)
    calls = (
        lambda: fit.regions(new, procedure, smoothed=smoothed, weights=weights),
        lambda: fit.p_values(new, values, procedure, smoothed=smoothed, weights=weights),
        lambda: fit.score(new, values, [procedure], smoothed=smoothed, weights=weights),
        lambda: factor.score(fit.y, values, [procedure], smoothed=smoothed, weights=weights),
    )
    for i, call in enumerate(calls):
        expected = message if i < 3 else message.replace("X_new", "X_test")
        with pytest.raises(ValueError, match=f"^{re.escape(expected)}.*$"):
            call()


def test_weighted_procedures_have_no_exact_level() -> None:
    assert [ckrr.exact_level(name, 20, 0.1) for name in WEIGHTED] == [None] * 6
