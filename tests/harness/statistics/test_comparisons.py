"""Comparisons in pairs find what is there, and seldom anything else."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest

from harness.core.types import Array, Bools
from harness.statistics.comparisons import (
    PairedComparison,
    compare_pair,
    compare_procedures,
    compute_simultaneous_level,
    count_pairs,
)
from harness.statistics.intervals import estimate_quantile

LEVEL = 0.9
STUDIES = 400


def simulate(shifts: list[float], shape: tuple[int, ...], paths: int, draws: int, seed: int) -> Array:
    """Widths over procedure, path, draw and settings: replications differ much, procedures by `shifts` and noise.

    Half of the variance of the noise belongs to the path, so that draws aren't independent.
    """
    rng = np.random.default_rng(seed)
    of_replication = rng.gamma(20.0, 0.1, (1, paths, draws, *shape))
    of_path, of_draw = (rng.normal(0, 0.01, (len(shifts), paths, each, *shape)) for each in (1, draws))
    moved = np.array(shifts).reshape(-1, *[1] * (2 + len(shape)))
    return np.asarray(of_replication + of_path + of_draw + moved)


def compare(
    widths: Array, levels: Array, eligible: Bools, level: float, slack: float | Array = 0.0
) -> PairedComparison:
    ok = np.ones(widths.shape[1:], dtype=bool)
    return compare_procedures(lambda p: (widths[p], ok), levels, eligible, level, slack)


@pytest.mark.parametrize(("paths", "draws"), [(15, 1), (40, 1), (20, 4)])
def test_in_at_most_one_study_of_twenty_a_difference_is_wrong(paths: int, draws: int) -> None:
    """Three procedures of equal width in ten settings."""
    widths = simulate([0.0] * 3, (10, STUDIES), paths, draws, seed=1)
    levels = np.full((3, 10, STUDIES), LEVEL)
    each = compute_simultaneous_level(count_pairs(levels[..., :1]))
    assert each == pytest.approx(1 - 0.05 / 30)
    found = compare(widths, levels, levels > 0, each)
    assert (found.compared == 2).all()
    wrong = (found.smaller > 0).any(axis=(0, 1)).mean()
    assert wrong < 0.05 + 0.025
    naive = compare(widths, levels, levels > 0, 0.95)
    assert (naive.smaller > 0).any(axis=(0, 1)).mean() > 0.1, "without Bonferroni"


def test_the_true_order_is_found_within_replications() -> None:
    """Replications differ by 0.45, procedures by 0.05: only pairs show it."""
    widths = simulate([0.05, 0.0, 0.1], (10,), 60, 1, seed=2)
    levels = np.full((3, 10), LEVEL)
    found = compare(widths, levels, levels > 0, compute_simultaneous_level(30))
    assert found.is_smallest.tolist() == [[False] * 10, [True] * 10, [False] * 10]
    assert (found.smaller == np.array([[1], [2], [0]])).all()
    ok = np.ones((60, 1, 10), dtype=bool)
    alone = [estimate_quantile(one, ok, level=compute_simultaneous_level(30)) for one in widths]
    assert (alone[1].high > alone[2].low).all(), "unpaired intervals overlap"


def test_what_is_not_eligible_or_of_another_level_is_not_compared() -> None:
    widths = simulate([0.0, 0.5, 1.0], (2,), 50, 1, seed=3)
    levels = np.array([[LEVEL, 0.8], [LEVEL, LEVEL], [LEVEL, 1 - 0.1]])
    eligible = np.array([[False, True], [True, True], [True, True]])
    found = compare(widths, levels, eligible, 0.99)
    assert found.compared.tolist() == [[0, 0], [1, 1], [1, 1]]
    assert found.is_smallest.tolist() == [[False, False], [True, True], [False, False]]
    assert count_pairs(levels) == 4, "eligible or not"


def test_a_procedure_that_ties_with_another_is_not_the_smallest() -> None:
    widths = simulate([0.0, 0.0, 1.0], (1,), 50, 1, seed=4)
    widths[1] = widths[0]
    levels = np.full((3, 1), LEVEL)
    found = compare(widths, levels, levels > 0, 0.99)
    assert found.smaller.tolist() == [[1], [1], [0]]
    assert not found.is_smallest.any()
    assert found.tied.tolist() == [[1], [1], [0]], "both are smaller than the third"
    assert not compare(widths[:2], levels[:2], levels[:2] > 0, 0.99).tied.any(), "smaller than no other"


def test_levels_within_the_slack_count_as_equal() -> None:
    """In any order, and pair by pair: the outer two of three are compared with the middle one alone."""
    widths = simulate([0.0, 0.5, 1.0], (2,), 50, 1, seed=5)
    levels = np.array([[0.9005, 0.900], [0.9010, 0.902], [0.9035, 0.904]])
    slack = np.array([0.002, 0.002])
    for order in permutations(range(3)):
        some = list(order)
        found = compare(widths[some], levels[some], levels[some] > 0, 0.99, slack)
        back = np.argsort(some)
        assert found.compared[back].tolist() == [[1, 1], [1, 2], [0, 1]]
        assert found.is_smallest[back].tolist() == [[True, True], [False, False], [False, False]]
        assert count_pairs(levels[some], slack) == 3
    assert count_pairs(levels) == 0
    assert count_pairs(levels, np.array([0.0, 0.002])) == 2, "a slack for each setting"


def test_unbounded_widths() -> None:
    """Both unbounded is no difference; one unbounded in most replications is a difference."""
    finite, infinite = np.ones((40, 1, 1)), np.full((40, 1, 1), np.inf)
    mixed = np.where(np.arange(40)[:, None, None] < 30, np.inf, 2.0)
    ok = np.ones((40, 1, 1), dtype=bool)
    assert compare_pair(infinite, ok, infinite, ok, 0.95) == 0
    assert compare_pair(finite, ok, infinite, ok, 0.95) == -1
    assert compare_pair(mixed, ok, finite, ok, 0.95) == 1
    assert compare_pair(np.where(mixed < 3, 1.0, np.inf), ok, mixed, ok, 0.95) == 0, "a difference in a quarter of them"


def test_few_paths_show_nothing() -> None:
    for paths in (1, 2, 5):
        values, ok = np.ones((paths, 3, 1)), np.ones((paths, 3, 1), dtype=bool)
        assert compare_pair(values, ok, values + 1, ok, 0.999) == 0
    assert compare_pair(values, ok & False, values + 1, ok, 0.95) == 0, "no replication at all"


def test_it_is_the_plain_loop() -> None:
    """Against a loop over settings and pairs, one interval at a time, with random masks."""
    rng = np.random.default_rng(6)
    widths = simulate([0.0, 0.01, 0.02, 0.0], (4, 3), 30, 2, seed=6)
    widths[rng.random(widths.shape) < 0.1] = np.inf
    masks = rng.random(widths.shape) < 0.9
    levels = rng.choice([0.9, 0.901, 0.95], (4, 4, 3))
    eligible = rng.random((4, 4, 3)) < 0.7
    found = compare_procedures(lambda p: (widths[p], masks[p]), levels, eligible, 0.95, 0.002)
    assert found.is_smallest.any()
    for p, i, j in product(range(4), range(4), range(3)):
        others = [
            q
            for q in range(4)
            if q != p and eligible[p, i, j] and eligible[q, i, j] and abs(levels[p, i, j] - levels[q, i, j]) < 0.002
        ]
        shown = 0
        for q in others:
            both = masks[p][:, :, i, j] & masks[q][:, :, i, j]
            one, other = widths[p][:, :, i, j], widths[q][:, :, i, j]
            with np.errstate(invalid="ignore"):
                apart = np.where(np.isinf(one) & np.isinf(other), 0.0, one - other)
            shown += bool(estimate_quantile(apart[..., None], both[..., None], level=0.95).high[0] < 0)
        assert (found.compared[p, i, j], found.smaller[p, i, j]) == (len(others), shown)
        assert found.is_smallest[p, i, j] == (0 < len(others) == shown)


def test_groups_are_those_of_all_subsets() -> None:
    """Against a search for the smallest group of which each one is smaller than all others."""
    widths = simulate([0.0, 0.0, 0.006, 0.012, 0.012], (60,), 25, 1, seed=8)
    levels, ok = np.full((5, 60), LEVEL), np.ones((25, 1, 60), dtype=bool)
    found = compare(widths, levels, levels > 0, 0.95)
    signs = [[compare_pair(one, ok, other, ok, 0.95) for other in widths] for one in widths]
    sizes = set()
    for i in range(60):
        groups = (set(some) for size in range(1, 6) for some in combinations(range(5), size))
        smallest = next(
            some for some in groups if all(signs[p][q][i] < 0 for p, q in product(some, set(range(5)) - some))
        )
        sizes.add(len(smallest))
        tied = len(smallest) - 1 if len(smallest) < 5 else 0
        assert found.tied[:, i].tolist() == [tied if p in smallest else 0 for p in range(5)]
    assert sizes >= {2, 3, 5}
