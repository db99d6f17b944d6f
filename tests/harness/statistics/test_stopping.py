"""What a round asks for, and when a study has enough, against one look at a time."""

from __future__ import annotations

from math import ceil, floor, sqrt

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from harness.core.types import Array, Bools
from harness.statistics.clustered import clustered_error
from harness.statistics.looks import compute_multiplier, list_looks
from harness.statistics.sequential import decide
from harness.statistics.stopping import (
    choose_paths,
    compute_fixed_paths,
    decide_widths,
    expect_paths,
    find_precise_look,
)
from tests.harness.statistics.path_laws import LAWS, POINTS, Law

WRONG = 0.05 / 200
ALL = np.ones((1, 1, 1), dtype=bool)


# Rounds


@given(st.integers(1, 4000), st.lists(st.floats(0, 1e6), max_size=5), st.integers(1, 5000))
def test_a_round_asks_for_a_look_within_bounds(paths: int, expected: list[float], budget: int) -> None:
    found = choose_paths(paths, np.array(expected), budget)
    if not expected or paths >= budget:
        assert found == paths
        return
    looks = list_looks(10_000)
    assert found == budget or found in looks
    assert paths < found <= budget
    median = float(np.median(expected))
    aim = min(max(1.25 * paths, median), 2 * paths, budget)
    assert found == min(looks[looks >= aim][0], budget)


def test_expected_paths() -> None:
    """Of three cells: clear, nearer, and at the border."""
    value, sd = np.array([0.9, 0.885, 0.88]), np.full(3, 0.07)
    found = expect_paths(np.array(100), value, sd, np.array(0.88), np.array(0.02), WRONG)
    t = float(compute_multiplier(np.array(100), WRONG))
    np.testing.assert_allclose(found, [(t * 0.07 / distance) ** 2 for distance in (0.02, 0.01, 0.01)])


@pytest.mark.parametrize("name", ["α = 0.1, correlation 0.01", "α = 0.1, correlation 0.05"])
def test_rounds_end_with_verdicts_or_with_the_budget(name: str) -> None:
    """A study of cells at their level is done after a few rounds, and not much later than its slowest cell."""
    law = Law(LAWS[name].alpha, LAWS[name].correlation, shift=0.0)
    values, level = law.draw(np.random.default_rng(1), 48, 2000)
    target, tolerance = np.full(48, level), np.full(48, law.tolerance)
    paths, rounds = choose_paths(0, np.array([]), 2000), 1
    while paths < 2000:
        part = values[:paths]
        is_open = decide(part, ALL, ~ALL, POINTS, target, tolerance, WRONG).is_open
        value, se = clustered_error(part, np.ones(part.shape, dtype=bool))
        expected = expect_paths(np.array(paths), value, se * sqrt(paths), target - tolerance, tolerance, WRONG)
        wanted = choose_paths(paths, expected[is_open], 2000)
        if wanted == paths:
            break
        paths, rounds = wanted, rounds + 1
    last = decide(values, ALL, ~ALL, POINTS, target, tolerance, WRONG).paths.max()
    assert last <= paths <= max(100, 2 * last)
    assert 2 <= rounds <= 8


def test_a_fixed_design_of_so_many_paths_has_the_power() -> None:
    law = Law(0.1, 0.05, shift=0.0)
    values, level = law.draw(np.random.default_rng(2), 4000, 400)
    sd, border = float(values.std()), level - law.tolerance
    paths = ceil(compute_fixed_paths(np.array(level), np.array(sd), np.array(border), np.array(0.02), WRONG))
    part = values[:paths, 0]
    low = part.mean(axis=0) - stats.norm.isf(WRONG / 2) * part.std(axis=0) / sqrt(paths)
    assert np.mean(low >= border) == pytest.approx(0.9, abs=0.03)


# Standard errors


def find_slowly(values: Array, ok: Bools, target: float, worth: float) -> int:
    for look in list_looks(len(values)):
        centre, se = clustered_error(values[:look], ok[:look])
        least = np.sqrt(centre * (1 - centre) / worth / ok[:look].any(axis=1).sum(axis=0))
        if look >= 100 and (np.maximum(se, least) <= target).all():
            return int(look)
    return 0


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.003, 0.005, 0.008]), st.sampled_from([1, 2]), st.booleans())
def test_precise_looks_are_those_of_the_paths_cut_there(seed: int, target: float, draws: int, has_gaps: bool) -> None:
    rng = np.random.default_rng(seed)
    values = rng.beta(18, 2, (rng.integers(0, 700), draws, 2))
    ok = rng.random(values.shape) > (0.1 if has_gaps else -1)
    worth = float(rng.choice([5, 20, 200]))
    assert find_precise_look(values, ok, target, worth) == find_slowly(values, ok, target, worth)


def test_standard_errors_after_stopping_are_honest() -> None:
    """The true error is no larger than the target, and intervals cover after stopping."""
    values, level = Law(0.1, 0.02, shift=0.0).draw(np.random.default_rng(3), 1500, 600)
    looks = [find_precise_look(values[..., [cell]], ALL, 0.0025, POINTS) for cell in range(values.shape[2])]
    assert min(looks) >= 100
    errors = np.array([values[:look, 0, cell].mean() - level for cell, look in enumerate(looks)])
    assert 0.8 * 0.0025 < sqrt(np.mean(errors**2)) < 1.03 * 0.0025


def test_a_floor_keeps_equal_paths_from_stopping_early() -> None:
    values = np.full((400, 1, 1), 0.9)
    assert find_precise_look(values, ALL, 0.005, 200) == 100
    assert find_precise_look(values, ALL, 0.005, 20) == 200  # 0.09/(20·180) is the square of the target
    assert find_precise_look(np.ones((400, 1, 1)), ALL, 1e-6, 200) == 100
    assert find_precise_look(values[:99], ALL, 1.0, 200) == 0
    nothing = np.concatenate([values, np.full_like(values, np.nan)], axis=2)
    assert find_precise_look(nothing, ~np.isnan(nothing), 0.005, 200) == 100


# Widths


def decide_slowly(widths: Array, precision: float, wrong: float) -> tuple[int, bool]:
    """Order statistics around the median of paths with one draw, one look at a time."""
    for look in list_looks(len(widths)):
        ordered = np.sort(widths[:look])
        value = ordered[ceil(look / 2) - 1]
        below = widths[:look] <= value
        se = max(below.std(ddof=1) / sqrt(look), sqrt(0.25 / look) / 2)
        half = float(compute_multiplier(np.array(look), wrong)) * se
        first, last = floor(look * (0.5 - half)), ceil(look * (0.5 + half)) + 1
        low = ordered[first - 1] if first >= 1 else 0.0
        high = ordered[last - 1] if last <= look else np.inf
        if low == np.inf:
            return int(look), True
        if high < np.inf and (high - low) / 2 <= precision * value:
            return int(look), False
    return 0, False


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 0.48, 0.52, 0.9]), st.sampled_from([0.02, 0.1, 0.3]))
def test_widths_are_decided_as_one_look_at_a_time_would(seed: int, infinite: float, precision: float) -> None:
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(0, 0.3, (rng.integers(40, 600), 1, 2, 2)))
    values[rng.random(values.shape) < infinite] = np.inf
    wrong = rng.uniform(1e-4, 0.1, (2, 2))
    found = decide_widths(values, np.ones(values.shape, dtype=bool), precision, wrong)
    for i, j in np.ndindex(2, 2):
        wanted = decide_slowly(values[:, 0, i, j], precision, wrong[i, j])
        assert (found.paths[i, j], found.is_unbounded[i, j]) == wanted


def test_medians_are_in_their_intervals_when_they_stop() -> None:
    values = np.exp(np.random.default_rng(4).normal(0, 0.3, (1500, 1, 400)))
    found = decide_widths(values, np.ones(values.shape, dtype=bool), 0.1, WRONG)
    assert (found.paths > 0).all()
    assert not found.is_unbounded.any()
    at = [np.median(values[:look, 0, cell]) for cell, look in enumerate(found.paths)]
    assert np.abs(np.log(at)).max() < 0.2, "the median is 1"
