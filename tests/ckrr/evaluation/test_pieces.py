"""Scores carry every piece of regions that have several, however problems are stacked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ckrr
from ckrr.procedures import ALL_PROCEDURES

ALPHA = (0.05, 0.25, 0.5)


def ragged_problem(seed: int, n: int = 12, m: int = 15, targets: int = 2, scale: float = 1.0):
    """Inputs close together and a small ridge: weights exceed 1, so that many regions have several pieces."""
    rng = np.random.default_rng(seed)
    X, X_new = rng.random((n, 1)), rng.random((m, 1)) * 1.4 - 0.2
    return X, X_new, scale * rng.standard_normal((n, targets)), scale * rng.standard_normal((m, targets))


def components(fit: ckrr.Fit, X_new: np.ndarray, name: str) -> dict[tuple[int, int], list[tuple[float, float]]]:
    """The slow twin: every region of several pieces, from `Regions.components`."""
    regions = fit.regions(X_new, procedure=name, alpha=ALPHA)
    found = {(i, j): regions.components(i, j) for i in range(len(X_new)) for j in range(len(ALPHA))}
    return {place: pieces for place, pieces in found.items() if len(pieces) > 1}


def listed(pieces: object, *first: int) -> dict[tuple[int, ...], list[tuple[float, float]]]:
    """The pieces by the rest of their place, for a target and a procedure."""
    found: dict[tuple[int, ...], list[tuple[float, float]]] = {}
    if pieces is not None:
        for place, lo, hi in zip(zip(*pieces.place, strict=True), pieces.lower, pieces.upper, strict=True):
            if place[: len(first)] == first:
                found.setdefault(tuple(map(int, place[len(first) :])), []).append((float(lo), float(hi)))
    return found


@pytest.mark.parametrize("scale", [1.0, 1e-200])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_pieces_are_the_components_of_regions(scale: float, seed: int) -> None:
    X, X_new, Y, Y_new = ragged_problem(seed, scale=scale)
    factor = ckrr.Inputs(X, X_new).factor(30.0, 1e-6)
    scores = factor.score(Y, Y_new, ALL_PROCEDURES, ALPHA)
    for t in range(Y.shape[1]):
        fit = factor.fit(Y[:, t])
        for p, name in enumerate(ALL_PROCEDURES):
            assert listed(scores.pieces, t, p) == components(fit, X_new, name)


def test_some_regions_have_pieces() -> None:
    """Otherwise the test above would say nothing."""
    X, X_new, Y, Y_new = ragged_problem(1)
    scores = ckrr.Inputs(X, X_new).factor(30.0, 1e-6).score(Y, Y_new, ALL_PROCEDURES, ALPHA)
    assert (scores.count > 1).sum() > 20
    assert len(scores.pieces.lower) == scores.count[scores.count > 1].sum()


def test_stacking_changes_no_piece() -> None:
    problems = [ragged_problem(seed, n=8 + seed % 3) for seed in range(8)]
    factors = [ckrr.Inputs(X, X_new).factor(30.0, 1e-6) for X, X_new, _, _ in problems]
    together = ckrr.score_together(factors, [p[2] for p in problems], [p[3] for p in problems], ALL_PROCEDURES, ALPHA)
    for factor, (_, _, Y, Y_new), one in zip(factors, problems, together, strict=True):
        alone = factor.score(Y, Y_new, ALL_PROCEDURES, ALPHA)
        assert listed(one.pieces) == listed(alone.pieces)


def test_one_target_keeps_its_pieces() -> None:
    X, X_new, Y, Y_new = ragged_problem(3, targets=1)
    factor = ckrr.Inputs(X, X_new).factor(30.0, 1e-6)
    several = factor.score(Y, Y_new, ALL_PROCEDURES, ALPHA)
    alone = factor.fit(Y[:, 0]).score(X_new, Y_new[:, 0], ALL_PROCEDURES, ALPHA)
    assert listed(alone.pieces)
    assert listed(alone.pieces) == listed(several.pieces, 0)


def test_smooth_problems_have_none() -> None:
    X = np.linspace(0, 1, 30)
    assert ckrr.fit(X, np.sin(X), theta=10.0, lam=0.1).score(X, np.sin(X)).pieces is None
