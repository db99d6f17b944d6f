"""Baselines against refits: points are really left out, orders are really sorted, σ² is really integrated out."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, inf, isnan

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, norm

import ckrr
from ckrr._validation import Array
from ckrr.baselines import FOLDS, cv_plus, halves, jackknife_plus, jackknife_plus_gp, split, split_level, student
from ckrr.levels import parse_alpha

ALPHA = (0.05, 0.1, 0.25, 0.4, 0.6)


def kernel(X: Array, Z: Array, theta: float) -> Array:
    return np.exp(-theta * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def refitted(X: Array, y: Array, X_new: Array, theta: float, lam: float, mean: str = "zero") -> Array:
    """The ridge prediction, from the definition; 0 without a sample. A constant mean is part of the system."""
    R, k = kernel(X, X, theta) + lam * np.eye(len(X)), kernel(X_new, X, theta)
    if mean == "zero":
        return k @ np.linalg.solve(R, y)
    R = np.block([[R, np.ones((len(X), 1))], [np.ones((1, len(X))), np.zeros((1, 1))]])
    return np.column_stack([k, np.ones(len(k))]) @ np.linalg.solve(R, [*y, 0.0])


def plus(
    X: Array, y: Array, x: Array, theta: float, lam: float, folds: list[list[int]], alpha: Fraction, mean: str = "zero"
) -> list[float]:
    """[q⁻{μ₋S(i)(x) − R_i}, q⁺{μ₋S(i)(x) + R_i}] as Barber et al. write it, with a refit for every fold."""
    n, low, high = len(y), [], []
    for fold in folds:
        rest = [i for i in range(n) if i not in fold]
        at = refitted(X[rest], y[rest], np.vstack([X[fold], x]), theta, lam, mean)
        R = np.abs(y[fold] - at[:-1])
        low += (at[-1] - R).tolist()
        high += (at[-1] + R).tolist()
    lower, upper = floor(alpha * (n + 1)), ceil((1 - alpha) * (n + 1))
    return [sorted(low)[lower - 1] if lower >= 1 else -inf, sorted(high)[upper - 1] if upper <= n else inf]


samples = st.integers(1, 13).flatmap(
    lambda n: st.tuples(
        st.lists(st.tuples(*[st.integers(0, 6)] * 2), min_size=n, max_size=n),
        st.lists(st.integers(-20, 20), min_size=n, max_size=n),
        st.permutations(range(n)),
    )
)


@settings(max_examples=60, deadline=None)
@given(samples, st.sampled_from([1e-6, 0.1]), st.sampled_from([1.0, 30.0]), st.sampled_from(["zero", "constant"]))
def test_points_are_left_out_as_by_refits(
    sample: tuple[list[tuple[int, int]], list[int], list[int]], lam: float, theta: float, mean: str
) -> None:
    """Also of one or two points, and with points that occur again; with a mean, each fit has its own."""
    assume(mean == "zero" or len(sample[1]) > 1)
    X, y, order = np.array(sample[0]) / 6.0, np.array(sample[1]) / 10.0, np.array(sample[2])
    X_new = np.array([[0.4, 0.3], [1 / 6, 1 / 2], [3.0, 3.0]])
    fit = ckrr.fit(X, y, theta, lam, mean=mean)
    folds = {"one": [[i] for i in range(len(y))], "some": [part.tolist() for part in np.array_split(order, FOLDS)]}
    found = {"one": jackknife_plus(fit, X_new, ALPHA), "some": cv_plus(fit, X_new, ALPHA, order)}
    for name, R in found.items():
        for p, x in enumerate(X_new):
            for k, alpha in enumerate(ALPHA):
                parts = [part for part in folds[name] if part]
                lower, upper = plus(X, y, x, theta, lam, parts, parse_alpha(alpha), mean)
                if lower - upper > 1e-6:
                    assert isnan(R.lower[p, k])
                    assert (R.count[p, k], R.length[p, k]) == (0, 0)
                elif lower - upper < -1e-6:
                    assert [R.lower[p, k], R.upper[p, k]] == pytest.approx([lower, upper], abs=2e-7)


def plus_gp(X: Array, y: Array, x: Array, theta: float, lam: float, alpha: Fraction) -> list[float]:
    """J+GP by definition: refit without each point, with the variances of y_i and y* from that fit."""
    n, ends = len(y), []
    for i in range(n):
        rest = [j for j in range(n) if j != i]
        points = np.vstack([X[i], x])
        k, R = kernel(X[rest], points, theta), kernel(X[rest], X[rest], theta) + lam * np.eye(n - 1)
        mean, variance = k.T @ np.linalg.solve(R, y[rest]), lam + 1 - (k * np.linalg.solve(R, k)).sum(axis=0)
        half = abs(y[i] - mean[0]) * np.sqrt(variance[1] / variance[0])
        ends.append((mean[1] - half, mean[1] + half))
    low, high = (sorted(each) for each in zip(*ends, strict=True))
    lower, upper = floor(alpha * (n + 1)), ceil((1 - alpha) * (n + 1))
    return [low[lower - 1] if lower >= 1 else -inf, high[upper - 1] if upper <= n else inf]


@settings(max_examples=60, deadline=None)
@given(samples, st.sampled_from([1e-4, 0.1]), st.sampled_from([1.0, 30.0]))
def test_deviations_are_those_of_refits(
    sample: tuple[list[tuple[int, int]], list[int], list[int]], lam: float, theta: float
) -> None:
    X, y = np.array(sample[0]) / 6.0, np.array(sample[1]) / 10.0
    X_new = np.array([[0.4, 0.3], [1 / 6, 1 / 2], [3.0, 3.0]])
    R = jackknife_plus_gp(ckrr.fit(X, y, theta, lam), X_new, ALPHA)
    for p, x in enumerate(X_new):
        for k, alpha in enumerate(ALPHA):
            lower, upper = plus_gp(X, y, x, theta, lam, parse_alpha(alpha))
            if lower - upper > 1e-6:
                assert isnan(R.lower[p, k])
            elif lower - upper < -1e-6:
                assert [R.lower[p, k], R.upper[p, k]] == pytest.approx([lower, upper], abs=1e-6)


def test_folds_are_as_accurate_as_single_points() -> None:
    """At λ = 1e-9, where rounding alone is n·ε/λ = 4e-5 of y in the worst case."""
    rng = np.random.default_rng(1)
    X, X_new = rng.random((200, 1)), rng.random((5, 1))
    y = np.sin(9 * X[:, 0])
    fit, order = ckrr.fit(X, y, 10.0, 1e-9), rng.permutation(200)
    R = cv_plus(fit, X_new, 0.1, order)
    folds = [part.tolist() for part in np.array_split(order, FOLDS)]
    expected = [plus(X, y, x, 10.0, 1e-9, folds, Fraction(1, 10)) for x in X_new]
    assert np.stack([R.lower[:, 0], R.upper[:, 0]], axis=1) == pytest.approx(np.array(expected), abs=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_units_are_no_matter(scale: float) -> None:
    rng = np.random.default_rng(0)
    X, y, order = rng.random(12), rng.standard_normal(12), rng.permutation(12)
    one, other = (ckrr.fit(X, y * factor, 3.0, 0.1) for factor in (1.0, scale))
    for way in (student, jackknife_plus, jackknife_plus_gp, lambda *given: cv_plus(*given, order)):
        assert way(other, [0.5], 0.2).length / scale == pytest.approx(way(one, [0.5], 0.2).length)


def test_features_have_the_jackknife_alone() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random(30), rng.standard_normal(30)
    fit = ckrr.fit(X, y, 3.0, 0.1, kernel="gaussian-rff", features=2000)
    assert jackknife_plus(fit, [0.5], 0.2).length == pytest.approx(
        jackknife_plus(ckrr.fit(X, y, 3.0, 0.1), [0.5], 0.2).length, rel=0.1
    )
    with pytest.raises(ValueError, match="kernel must not be on random features"):
        cv_plus(fit, [0.5], 0.2, np.arange(30))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_halves_are_fitted_and_judged(n: int) -> None:
    rng = np.random.default_rng(n)
    X, y, X_new = rng.random((n, 2)), rng.standard_normal(n), rng.random((4, 2))
    first, second = halves(rng.permutation(n))
    assert sorted([*first, *second]) == list(range(n))
    assert len(first) - len(second) in (0, 1)
    R = split(ckrr.fit(X[first], y[first], 5.0, 0.1), X[second], y[second], X_new, ALPHA)
    errors = sorted(np.abs(y[second] - refitted(X[first], y[first], X[second], 5.0, 0.1)))
    for k, alpha in enumerate(map(parse_alpha, ALPHA)):
        rank = ceil((1 - alpha) * (len(second) + 1))
        half = errors[rank - 1] if rank <= len(second) else inf
        middle = refitted(X[first], y[first], X_new, 5.0, 0.1)
        assert R.lower[:, k] == pytest.approx(middle - half)
        assert R.upper[:, k] == pytest.approx(middle + half)
        assert split_level(n, alpha) == min(rank, len(second) + 1) / (len(second) + 1)


def test_split_covers_with_its_level() -> None:
    """1500 samples of 9 points: 4 judges, so the level is 4/5 where α is 1/4."""
    rng, hits = np.random.default_rng(0), []
    for _ in range(1500):
        X, y = rng.random(10), rng.standard_cauchy(10)
        first, second = halves(rng.permutation(9))
        R = split(ckrr.fit(X[first], y[first], 5.0, 0.1), X[second], y[second], X[9:], 0.25)
        hits.append(R.contains(y[9:])[0, 0])
    assert split_level(9, 0.25) == 0.8
    assert np.mean(hits) == pytest.approx(0.8, abs=3 * 0.4 / 1500**0.5)


def test_student_integrates_the_variance_out() -> None:
    """The posterior of 1/σ² under the prior dσ²/σ² is a gamma law; given σ², y* is normal."""
    rng = np.random.default_rng(0)
    X, y, x = rng.random((5, 1)), rng.standard_normal(5), np.array([[0.4]])
    fit = ckrr.fit(X, y, 3.0, 0.1)
    R = student(fit, x, ALPHA)
    k, S = kernel(X, x, 3.0)[:, 0], kernel(X, X, 3.0) + 0.1 * np.eye(5)
    m, total = 1.1 - k @ np.linalg.solve(S, k), y @ np.linalg.solve(S, y)
    posterior = gamma(5 / 2, scale=2 / total)
    for j, alpha in enumerate(ALPHA):
        half = R.length[0, j] / 2
        inside, _ = quad(lambda tau, h=half: posterior.pdf(tau) * (1 - 2 * norm.sf(h * np.sqrt(tau / m))), 0, 60)
        assert inside == pytest.approx(1 - alpha, abs=1e-6)
    assert (R.lower + R.upper)[0] / 2 == pytest.approx(float(fit.predict(x)[0]))


def test_student_covers_where_the_model_is_right() -> None:
    """At n = 3, where the normal quantile covers 0.80 for 0.9."""
    rng, hits = np.random.default_rng(0), []
    for _ in range(1500):
        X = rng.random((4, 1))
        y = np.linalg.cholesky(kernel(X, X, 3.0) + 0.1 * np.eye(4)) @ rng.standard_normal(4)
        fit = ckrr.fit(X[:3], y[:3], 3.0, 0.1)
        hits.append([R.contains(y[3:])[0, 0] for R in (student(fit, X[3:], 0.1), fit.regions(X[3:], "GPR-f", 0.1))])
    t, z = np.mean(hits, axis=0)
    assert t == pytest.approx(0.9, abs=3 * 0.3 / 1500**0.5)
    assert z == pytest.approx(0.80, abs=3 * 0.4 / 1500**0.5)


def test_student_integrates_the_mean_out() -> None:
    """Under the priors dμ and dσ²/σ²: given σ², y* is normal about the prediction of the bordered system."""
    rng = np.random.default_rng(0)
    X, y, x = rng.random((5, 1)), rng.standard_normal(5) + 30.0, np.array([[0.4]])
    R = student(ckrr.fit(X, y, 3.0, 0.1, mean="constant"), x, ALPHA)
    k, S, one = kernel(X, x, 3.0)[:, 0], kernel(X, X, 3.0) + 0.1 * np.eye(5), np.ones(5)
    q, g = np.linalg.solve(S, one), 1 - one @ np.linalg.solve(S, k)
    m, r = 1.1 - k @ np.linalg.solve(S, k) + g * g / q.sum(), y - q @ y / q.sum()
    posterior = gamma(4 / 2, scale=2 / (r @ np.linalg.solve(S, r)))
    for j, alpha in enumerate(ALPHA):
        half = R.length[0, j] / 2
        inside, _ = quad(lambda tau, h=half: posterior.pdf(tau) * (1 - 2 * norm.sf(h * np.sqrt(tau / m))), 0, 90)
        assert inside == pytest.approx(1 - alpha, abs=1e-6)
    middle = refitted(X, y, x, 3.0, 0.1, "constant")[0]
    assert (R.lower + R.upper)[0] / 2 == pytest.approx(middle)


def test_split_estimates_the_mean_of_its_half() -> None:
    rng = np.random.default_rng(1)
    X, y, X_new = rng.random((9, 2)), rng.standard_normal(9) + 30.0, rng.random((4, 2))
    first, second = halves(rng.permutation(9))
    R = split(ckrr.fit(X[first], y[first], 5.0, 0.1, mean="constant"), X[second], y[second], X_new, 0.4)
    errors = sorted(np.abs(y[second] - refitted(X[first], y[first], X[second], 5.0, 0.1, "constant")))
    middle = refitted(X[first], y[first], X_new, 5.0, 0.1, "constant")
    assert R.upper[:, 0] == pytest.approx(middle + errors[2])
    assert R.lower[:, 0] == pytest.approx(middle - errors[2])
