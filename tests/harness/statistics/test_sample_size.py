"""Predictions before a run: errors as in simulated studies, and cells decided as often as was said."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from harness.statistics.intervals import Share, estimate_share
from harness.statistics.sample_size import (
    Design,
    assume_correlation,
    compute_decided_distance,
    compute_expected_error,
    compute_required_paths,
)
from harness.statistics.verdicts import INVALID, UNDECIDED, VALID, compute_tolerance, judge, to_words
from tests.harness.statistics.laws import Law

DESIGNS = [  # α, n, paths, test points, cells
    (0.25, 25, 50, 200, 24),
    (0.25, 200, 20, 20, 384),
    (0.1, 5, 200, 200, 384),
    (0.1, 25, 500, 200, 384),
    (0.1, 200, 50, 20, 1),
    (0.05, 25, 200, 200, 384),
    (0.05, 200, 20, 200, 384),
    (0.01, 25, 1000, 200, 24),
    (0.01, 200, 200, 200, 384),
    (0.001, 200, 1000, 200, 1),
]


def decide(coverage: float, border: float, correlation: float, design: Design, studies: int) -> dict[str, float]:
    """Return how often each verdict is given, where coverage has a beta distribution over paths."""
    law = Law("beta", coverage, correlation, int(design.paths), 1, design.points)
    values = law.simulate(studies)
    low, high = Share.from_replications(values, np.ones(values.shape, bool), design.points).interval(
        1 - 0.05 / design.cells
    )
    words = to_words(judge(low, high, np.array(border + 1), np.array(1.0)))  # a tolerance that shows none conservative
    return {word: float(np.mean(words == word)) for word in (VALID, INVALID, UNDECIDED)}


@pytest.mark.parametrize(("alpha", "n", "paths", "points", "cells"), DESIGNS)
def test_cells_at_the_distance_are_decided(alpha: float, n: int, paths: int, points: int, cells: int) -> None:
    design, correlation = Design(paths, 1, points, cells), float(assume_correlation(n))
    border = 1 - alpha - float(compute_tolerance(alpha))
    above, below = (float(one) for one in compute_decided_distance(border, correlation, design))
    studies = 1500 if paths < 1000 else 700
    if np.isfinite(above):
        found = decide(border + above, border, correlation, design, studies)
        assert 0.84 < found[VALID] < 0.97
        assert found[INVALID] < 0.002
    found = decide(border - below, border, correlation, design, studies)
    assert 0.84 < found[INVALID] < 0.97
    half = decide(border - below / 2, border, correlation, design, studies)
    assert half[INVALID] < 0.6, "a power of 90 % isn't had for less"


@pytest.mark.parametrize(("alpha", "n", "draws"), [(0.25, 25, 1), (0.1, 200, 1), (0.01, 25, 1), (0.1, 25, 5)])
def test_errors_are_those_of_simulated_studies(alpha: float, n: int, draws: int) -> None:
    design, correlation = Design(100, draws, 50, 1), float(assume_correlation(n))
    values = Law("beta", 1 - alpha, correlation, 100, 1, 50 * draws).simulate(2000)  # draws that share everything
    found = estimate_share(values, np.ones(values.shape, bool), 50 * draws)
    expected = compute_expected_error(np.array(1 - alpha), np.array(correlation), design)
    assert np.sqrt(np.mean(found.se**2)) == pytest.approx(float(expected), rel=0.03)
    assert found.value.std() == pytest.approx(float(expected), rel=0.06)


def reach(coverage: float, border: float, correlation: float, design: Design, side: int) -> float:
    """The formula of the module, number by number; x by bisection from the interval of Agresti and Coull."""
    v = correlation + (1 - correlation) / (design.draws * design.points)
    paths, c2 = float(design.paths), v * coverage / (1 - coverage)
    t = float(stats.t.ppf(1 - 0.025 / design.cells, min(max(paths / (1 + c2), 2), paths - 1)))
    size = paths / v
    low, high = (border, 1 + t**2) if side > 0 else (-(t**2), border)
    for _ in range(200):
        x = (low + high) / 2
        middle = (size * x + t**2 / 2) / (size + t**2)
        end = middle - side * t * sqrt(max(middle * (1 - middle), 0) / (size + t**2))
        low, high = (x, high) if end < border else (low, x)
    r = t * sqrt(c2 / paths)
    wide = sqrt(1 + side * r + 1.5 * r**2 + t**2 / (2 * paths))
    return abs(x - border) + float(stats.norm.ppf(0.9)) * sqrt(coverage * (1 - coverage) * v / paths) * wide


@pytest.mark.parametrize("alpha", [0.25, 0.1, 0.01])
@pytest.mark.parametrize("n", [5, 200])
@pytest.mark.parametrize("paths", [50, 2000])
def test_distances_solve_the_formula(alpha: float, n: int, paths: int) -> None:
    design, correlation = Design(paths, 2, 30, 48), float(assume_correlation(n))
    border = 1 - 1.2 * alpha
    for side, found in zip((1, -1), compute_decided_distance(border, correlation, design), strict=True):
        if np.isfinite(found):
            slow = reach(border + side * float(found), border, correlation, design, side)
            assert float(found) == pytest.approx(slow, rel=1e-6)
    needed = float(compute_required_paths(1 - alpha, border, correlation, design))
    for count, is_enough in ((needed, True), (needed - 1, False)):
        least = reach(1 - alpha, border, correlation, Design(count, 2, 30, 48), 1)
        assert (least <= 0.2 * alpha + 1e-9) == is_enough


def test_more_paths_decide_more_and_more_cells_less() -> None:
    border, correlation = np.array([0.78, 0.88, 0.94]), np.array(1 / 52)
    few, many, wide = (
        compute_decided_distance(border, correlation, Design(*numbers))
        for numbers in ((200, 1, 200, 24), (800, 1, 200, 24), (200, 1, 200, 2400))
    )
    for side in (0, 1):
        assert (many[side] < few[side] / 1.9).all()
        assert (wide[side] > few[side]).all()


def test_what_cannot_be_predicted_is_not() -> None:
    above, below = compute_decided_distance(np.array(0.9988), np.array(1 / 27), Design(50, 1, 200, 24))
    assert np.isnan([above, below]).all(), "errors are on one path or two"
    above, below = compute_decided_distance(np.array(0.94), np.array(1 / 7), Design(50, 1, 200, 384))
    assert above == np.inf, "even coverage 1 isn't shown valid"
    assert 0 < below < 0.2
