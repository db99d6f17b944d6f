"""Smoothed p-values and regions against their definition, from refits."""

from __future__ import annotations

import numpy as np
import pytest

import ckrr
from ckrr._validation import Array
from ckrr.procedures import CONFORMAL

ALPHAS = [0.03, 0.1, 0.2, 0.25, 0.5, 0.77, 0.95]


def residuals(X: Array, y: Array, x: Array, z: float, theta: float, lam: float, kind: str) -> Array:
    """Of the N points with (x, z) among them, from scratch."""
    points, labels = np.vstack([X, x]), np.append(y, z)
    K = np.exp(-theta * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    Q = np.linalg.inv(K + lam * np.eye(len(K)))
    r, d = Q @ labels, np.diag(Q)
    return np.asarray(r / {"": np.ones_like(d), "-loo": d, "-std": np.sqrt(d)}[kind])


def p_value(r: Array, tau: float, sides: int) -> float | None:
    """The definition; None near a tie."""
    own, others = r[-1], r[:-1]
    if sides == 1:
        own, others = abs(own), np.abs(others)
    if np.abs(others - own).min() < 1e-7 * np.abs(r).max():
        return None
    upper = ((others > own).sum() + tau) / len(r)
    lower = ((others < own).sum() + 1 - tau) / len(r)
    return float(upper if sides == 1 else 2 * min(upper, lower))


@pytest.mark.parametrize("procedure", CONFORMAL)
@pytest.mark.parametrize(("n", "lam"), [(1, 0.1), (2, 0.1), (7, 1e-4), (12, 0.1), (70, 0.01)])
def test_against_the_definition(procedure: str, n: int, lam: float) -> None:
    """λ is so small that regions come in pieces, n so small that they are empty."""
    rng = np.random.default_rng([n, len(procedure)])
    X, y, x = rng.random((n, 1)), rng.standard_normal(n), rng.random((6, 1))
    fit, tau = ckrr.fit(X, y, 20.0, lam), rng.random(6)
    name, _, kind = procedure.partition("-")
    regions = fit.regions(x, procedure, ALPHAS, smoothed=tau)
    plain = fit.regions(x, procedure, ALPHAS)
    compared = 0
    for z in [*(3 * rng.standard_normal(12)), *fit.predict(x), -1e3, 1e3]:
        inside, p = regions.contains(np.full(6, z)), fit.p_values(x, np.full(6, z), procedure, smoothed=tau)
        assert (inside <= plain.contains(np.full(6, z))).all(), "it is part of the unsmoothed region"
        for i in range(6):
            right = p_value(
                residuals(X, y, x[i], z, 20.0, lam, f"-{kind}" if kind else ""), tau[i], 1 + (name == "CRR")
            )
            if right is not None:
                compared += 1
                assert p[i] == pytest.approx(right)
                assert inside[i].tolist() == [right >= alpha for alpha in ALPHAS]
    assert compared > 60


@pytest.mark.parametrize("boundary", [">=", ">"])
@pytest.mark.parametrize("procedure", CONFORMAL)
def test_regions_are_where_p_values_say(procedure: str, boundary: str) -> None:
    """Also at τ = 0 and 1, and at regions' own ends."""
    rng = np.random.default_rng(1)
    X, y, x = rng.random((11, 2)), rng.standard_normal(11), rng.random((9, 2))
    fit, tau = ckrr.fit(X, y, 5.0, 0.05), np.array([0.0, 1.0, *rng.random(7)])
    regions = fit.regions(x, procedure, ALPHAS, boundary, smoothed=tau)
    ends = [np.nan_to_num(regions.lower[:, j], posinf=9, neginf=-9) for j in range(len(ALPHAS))]
    for z in [*ends, np.zeros(9), rng.standard_normal(9)]:
        p = fit.p_values(x, z, procedure, smoothed=tau)
        for j, alpha in enumerate(ALPHAS):
            keeps = p > alpha + 1e-12 if boundary == ">" else p >= alpha - 1e-12
            assert (regions.contains(z)[:, j] == keeps).all()


def test_bayesian_intervals_are_as_they_were() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.random(20), rng.standard_normal(20)
    fit = ckrr.fit(X, y, 5.0, 0.05)
    for name in ("GPR-f", "GPR-p"):
        one, other = fit.regions(X[:4], name), fit.regions(X[:4], name, smoothed=rng)
        assert (one.upper == other.upper).all()
        assert (fit.p_values(X[:4], y[:4], name) == fit.p_values(X[:4], y[:4], name, smoothed=rng)).all()


def test_scores_are_those_of_the_regions_however_problems_are_cut() -> None:
    rng = np.random.default_rng(3)
    inputs = [ckrr.Inputs(rng.random(n), rng.random(5)) for n in (8, 8, 300, 8)]
    factors = [each.factor(30.0, 0.01) for each in inputs]
    Y, Y_test = ([rng.standard_normal((size, 2)) for size in sizes] for sizes in ((8, 8, 300, 8), (5, 5, 5, 5)))
    taus = list(rng.random((4, 5)))
    together = ckrr.score_together(factors, Y, Y_test, list(CONFORMAL), ALPHAS, smoothed=taus)
    for one, factor, y, y_test, tau, scores in zip(inputs, factors, Y, Y_test, taus, together, strict=True):
        alone = factor.score(y, y_test, list(CONFORMAL), ALPHAS, smoothed=tau)
        assert np.array_equal(alone.upper, scores.upper, equal_nan=True)
        for t in range(2):
            fit = factor.fit(y[:, t])
            for p, name in enumerate(CONFORMAL):
                regions = fit.regions(one.X_test, name, ALPHAS, smoothed=tau)
                assert (regions.contains(y_test[:, t]) == scores.hits[t, p]).all()
                assert np.array_equal(regions.length, scores.length[t, p])
            mine = fit.score(one.X_test, y_test[:, t], list(CONFORMAL), ALPHAS, smoothed=tau)
            assert (mine.hits == scores.hits[t]).all()


def test_coverage_is_exact_at_every_n() -> None:
    """Unsmoothed it is above, for these n and α = 0.1 by as much as it can be."""
    rng = np.random.default_rng(4)
    for n in (3, 4, 6):
        runs = 1000
        X, e = rng.random((runs, n + 1)), rng.standard_normal((runs, n + 1))
        y = X**2 + 0.1 * e
        factors = [ckrr.Inputs(x[:n], x[n:]).factor(5.0, 0.1) for x in X]
        args = (factors, list(y[:, :n]), list(y[:, n:]), ["RRCM-loo", "CRR-loo", "CRR"], [0.1, 0.3])
        smooth = ckrr.score_together(*args, smoothed=[rng] * runs)
        hits = np.mean([each.hits[0, :, 0] for each in smooth], axis=0)
        plain = np.mean([each.hits[0, :, 0] for each in ckrr.score_together(*args)], axis=0)
        assert np.abs(hits - [0.9, 0.7]).max() < 4 * np.sqrt(0.25 / runs)
        assert (plain[:, 0] == 1).all()


def test_levels_are_what_is_written() -> None:
    assert ckrr.exact_level("CRR", 7, 0.07, smoothed=True) == 0.93
    assert ckrr.exact_level("GPR-f", 7, 0.07, smoothed=True) is None


@pytest.mark.parametrize(
    ("smoothed", "message"),
    [
        ([0.5], r"smoothed must be of shape \(2,\), one for each row of X_new, got shape \(1,\)"),
        (True, "smoothed must be a numpy Generator, or numbers from 0 to 1, got True"),
        ([0.5, -0.1], "smoothed must be numbers from 0 to 1, got -0.1"),
    ],
)
def test_mistakes(smoothed: list[float], message: str) -> None:
    fit = ckrr.fit([0.0, 0.5, 1.0], [0.0, 1.0, 2.0], 1.0, 0.1)
    with pytest.raises(ValueError, match=f"^{message}$"):
        fit.regions([0.1, 0.2], smoothed=smoothed)
