"""Verdicts at looks against the rule written out for one cell, and their errors in studies with known truth."""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from scipy.special import digamma

from harness.core.types import Array, Bools
from harness.statistics import sequential
from harness.statistics.looks import compute_multiplier, find_look, list_looks
from harness.statistics.sequential import Bounds, Decision, allocate_error, bound_looks, decide, walk_looks
from harness.statistics.verdicts import (
    BORDERLINE,
    CONSERVATIVE,
    EMPTY,
    INVALID,
    UNDECIDED,
    VALID,
    compute_tolerance,
    get_code,
    to_words,
)
from tests.harness.statistics.path_laws import LAWS, POINTS, RARE, Law

CELLS = 200
WRONG = 0.05 / CELLS
ALL = np.ones((1, 1, 1), dtype=bool)


# The rule, written out for one cell


def compute_tail(paths: int, wrong: float) -> float:
    rho = (-2 * log(wrong) + log(-2 * log(wrong)) + 1) / 200
    return float(stats.norm.sf(sqrt((1 + 1 / (paths * rho)) * (log(1 + paths * rho) - 2 * log(wrong)))))


def list_errors(paths: list[list[float]]) -> list[float]:
    mean = np.mean([x for path in paths for x in path])
    return [sum(x if mean < 0.5 else 1 - x for x in path) for path in paths]


def bound_cell(paths: list[list[float]], points: int, tail: float, is_counted: bool) -> tuple[float, float]:
    """The interval of `intervals.Share` from the draws of each path, which has at least one, with a given tail."""
    every = [x for path in paths for x in path]
    number, mean = len(paths), float(np.mean(every))
    if number < 2:
        return np.nan, np.nan
    se = sqrt(number / (number - 1) * sum(sum(x - mean for x in path) ** 2 for path in paths)) / len(every)
    errors = list_errors(paths)
    carriers = sum(errors) ** 2 / sum(e**2 for e in errors) if any(errors) else 0.0
    apart = [sum(x - mean for x in path) for path in paths]
    square = sum(u**2 for u in apart)
    skew = sum(u**3 for u in apart) / (len(every) * square) if square > 0 and carriers >= 3 - 1e-9 else 0.0

    def bound(each: float, least: float, has_floor: bool) -> tuple[float, float]:
        freedom = min(max(carriers, least), number - 1) if carriers else number - 1
        t2, total = float(stats.t.isf(tail, freedom)) ** 2, each * number
        kept = (mean * total + 2) / (total + 4)
        least_square, both = kept * (1 - kept) / (total + 4) / 4, mean * (1 - mean)
        if both > 0 and se == 0 and not has_floor:
            return mean, mean
        effective = both / se**2 if both > 0 and se > 0 else np.inf if both > 0 else total
        if has_floor and both > 0:
            effective = min(effective, max(both / least_square, total))
        middle = (effective * mean + t2 / 2) / (effective + t2)
        half = sqrt(t2 * middle * (1 - middle) / (effective + t2))
        most = sqrt(t2) * se / 2
        shift = min(max(skew * (1 + 2 * t2) / 12, -most), most)
        middle = mean + shift if abs(shift) > abs(middle - mean) else middle
        return min(max(middle - half, 0), mean), max(min(middle + half, 1), mean)

    each = points * len(every) / number
    low, high = bound(each, 2.0, is_counted)
    if carriers < 3 - 1e-9:
        lower, higher = bound(4 * float(digamma(4 + each) - digamma(4)), 4.0, True)
        if number < 20:
            affected = sum(e > 0 for e in errors)
            worst = float(stats.beta.isf(tail, affected + 1, number - affected)) if affected < number else 1.0
            lower, higher = (min(lower, 1 - worst), higher) if mean >= 0.5 else (lower, max(higher, worst))
        low, high = min(low, lower), max(high, higher)
    return low, high


def fill(values: Array, ok: Bools, failed: Bools, filled: float | None) -> list[list[float]]:
    """The draws of each path that has one; failed ones are left out, or have the value `filled`."""
    found = []
    for xs, good, bad in zip(values, ok, failed, strict=True):
        draws = [filled if b else x for x, g, b in zip(xs, good, bad, strict=True) if g or (b and filled is not None)]
        if draws:
            found.append([float(x) for x in draws if x is not None])
    return found


def find_skewness(paths: list[list[float]]) -> float:
    means = [float(np.mean(path)) for path in paths]
    return float(stats.skew(means)) if np.var(means) > 1e-12 else 0.0


def bound_slowly(
    values: Array, ok: Bools, failed: Bools, points: int, wrong: float, is_counted: bool
) -> tuple[float, float, float]:
    """The interval after all paths of a cell, and how many paths are more than enough for a look to count."""
    survivors, worst, best = (fill(values, ok, failed, filled) for filled in (None, 0.0, 1.0))
    if not worst:
        return np.nan, np.nan, -np.inf
    tail = compute_tail(len(worst), wrong)
    none = (np.nan, np.nan)
    ends = [bound_cell(each, points, tail, is_counted) if each else none for each in (survivors, worst, best)]
    needed = 28 + 25 * max(find_skewness(worst) ** 2, find_skewness(best) ** 2)
    return float(np.fmin(ends[0][0], ends[1][0])), float(np.fmax(ends[0][1], ends[2][1])), len(worst) - needed


def walk_slowly(bounds: Bounds, level: float, tau: float) -> tuple[str, int, bool]:
    """The word, the number of paths at which the cell was decided, and whether a later interval contradicts it."""
    border, word, at, is_contradicted = level - tau, UNDECIDED, 0, False
    for look, low, high, counts in zip(bounds.looks, bounds.low, bounds.high, bounds.counts, strict=True):
        if not counts:
            continue
        if word in (UNDECIDED, VALID) and low > level + tau:
            word, at, is_contradicted = CONSERVATIVE, at or int(look), False
        elif word == UNDECIDED and low >= border - 1e-12:
            word, at = VALID, int(look)
        elif word == UNDECIDED and high < border:
            word, at = INVALID, int(look)
        elif word == UNDECIDED and border - tau / 2 <= low and high <= border + tau / 2:
            word, at = BORDERLINE, int(look)
        else:
            is_contradicted |= (
                (word == VALID and high < border)
                or (word == CONSERVATIVE and high <= level + tau)
                or (word == INVALID and low >= border)
                or (word == BORDERLINE and (high < border - tau / 2 or low > border + tau / 2))
            )
    return word, at, is_contradicted


# The quick rule is the slow one


@st.composite
def studies(draw: st.DrawFn) -> tuple[Array, Bools, Bools, int, bool]:
    """Coverages over path, draw and cell, which are ok, which failed, test points, and whether they are counted."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (draw(st.integers(45, 180)), draw(st.sampled_from([1, 1, 3])), 3)
    points, is_counted = draw(st.sampled_from([1, 5, 200])), draw(st.booleans())
    centre, k = draw(st.sampled_from([0.02, 0.4, 0.9, 0.99, 0.999])), draw(st.sampled_from([0.3, 5.0, 100.0]))
    values = rng.beta(centre * k, (1 - centre) * k, shape)
    if is_counted:
        values = rng.binomial(points, values) / points
    values[..., 1] = draw(st.sampled_from([0.0, 0.9, 1.0]))
    values[0, ..., 1] = draw(st.sampled_from([0.0, values[1, 0, 1], 1.0]))
    bad = rng.random(shape) < draw(st.sampled_from([0.0, 0.02, 0.5]))
    failed = bad & (rng.random(shape) < draw(st.sampled_from([0.0, 0.5, 1.0])))
    values[bad] = np.nan
    return values, ~bad, failed, points, is_counted


def is_decided_by_rounding(values: Array, ok: Bools, failed: Bools) -> bool:
    """Whether the last bit says what an error is (the mean is 0.5), or how large errors are (the mean is nearly 1)."""
    for paths in filter(None, (fill(values, ok, failed, filled) for filled in (None, 0.0, 1.0))):
        if abs(np.mean(np.concatenate(paths)) - 0.5) < 1e-9 or 0 < np.mean(list_errors(paths)) < 1e-7:
            return True
    return False


@settings(max_examples=60, deadline=None)
@given(studies())
def test_intervals_at_looks_are_those_of_the_paths_cut_there(study: tuple[Array, Bools, Bools, int, bool]) -> None:
    values, ok, failed, points, is_counted = study
    bounds = bound_looks(values, ok, failed, points, WRONG, is_counted)
    np.testing.assert_array_equal(bounds.looks, list_looks(len(values)))
    for k, look in enumerate(bounds.looks):
        for cell in range(values.shape[2]):
            part = values[:look, :, cell], ok[:look, :, cell], failed[:look, :, cell]
            if is_decided_by_rounding(*part):
                continue
            low, high, spare = bound_slowly(*part, points, WRONG, is_counted)
            np.testing.assert_allclose([bounds.low[k, cell], bounds.high[k, cell]], [low, high], atol=1e-8)
            if abs(spare) > 1e-6:
                paths = (part[1] | part[2]).any(axis=1).sum()
                assert bounds.counts[k, cell] == (spare > 0 and paths >= 50)


ENDS = st.sampled_from([0.82, 0.84, 0.86, 0.875, 0.88, 0.885, 0.9, 0.91, 0.93, 0.95])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(ENDS, ENDS, st.booleans()), max_size=12))
def test_words_are_those_of_a_walk_from_look_to_look(ends: list[tuple[float, float, bool]]) -> None:
    looks = list_looks(10_000)[: len(ends)]
    low, high = (np.array([f(a, b) for a, b, _ in ends]).reshape(-1, 1) for f in (min, max))
    bounds = Bounds(looks, low, high, np.array([c for *_, c in ends], dtype=bool).reshape(-1, 1))
    found = walk_looks(bounds, np.array([0.9]), np.array([0.02]))
    one = Bounds(looks, low[:, 0], high[:, 0], bounds.counts[:, 0])
    word, at, is_contradicted = walk_slowly(one, 0.9, 0.02)
    assert (to_words(found.codes)[0], found.paths[0], found.is_contradicted[0]) == (word, at, is_contradicted)
    assert found.is_open[0] == (word == UNDECIDED)
    known = [
        int(look)
        for look, low, high, counts in zip(looks, one.low, one.high, one.counts, strict=True)
        if counts and at and look >= at and (low > 0.92 if word == CONSERVATIVE else word != VALID or high <= 0.92)
    ]
    assert found.settled[0] == (known[0] if known else 0)


def assert_same(found: Decision, wanted: Decision) -> None:
    for part in ("codes", "paths", "settled", "is_contradicted"):
        np.testing.assert_array_equal(getattr(found, part), getattr(wanted, part), err_msg=part)


def decide_law(values: Array, level: float, tolerance: float, is_counted: bool = True) -> Decision:
    return decide(values, ALL, ~ALL, POINTS, np.array(level), np.array(tolerance), WRONG, is_counted=is_counted)


def test_many_cells_are_quick_and_the_same_as_one_at_a_time() -> None:
    rng = np.random.default_rng(1)
    parts = [law.draw(rng, 12, 1500) for law in LAWS.values()]
    values = np.concatenate([values for values, _ in parts], axis=2)
    levels = np.repeat([level for _, level in parts], 12)
    tolerances = np.repeat([law.tolerance for law in LAWS.values()], 12)
    wrong = rng.uniform(1e-4, 0.3, levels.size)
    found = decide(values, ALL, ~ALL, POINTS, levels, tolerances, wrong)
    assert len(set(found.codes)) >= 3
    for cell in range(0, levels.size, 5):
        bounds = bound_looks(values[..., cell], ALL[0], ~ALL[0], POINTS, wrong[cell])
        slow = walk_slowly(bounds, levels[cell], tolerances[cell])
        assert (to_words(found.codes)[cell], found.paths[cell], found.is_contradicted[cell]) == slow


# What a verdict is a function of


def test_looks() -> None:
    looks = list_looks(4000).tolist()
    assert looks[:3] == [50, 75, 100]
    assert looks[looks.index(500) :][:7] == [500, 550, 600, 650, 700, 750, 825]
    assert len(looks) < 50
    assert list_looks(49).size == 0
    assert [find_look(p) for p in (0, 50, 50.5, 751)] == [50, 50, 75, 825]


def test_multipliers_are_those_of_the_table() -> None:
    table = {
        48: (4.84, 4.43, 4.30, 4.27, 4.31),
        384: (5.51, 5.01, 4.83, 4.78, 4.80),
        2000: (6.02, 5.43, 5.22, 5.15, 5.16),
    }
    for cells, wanted in table.items():
        found = compute_multiplier(np.array([50, 100, 200, 400, 1000]), 0.05 / cells)
        np.testing.assert_allclose(found, wanted, atol=0.0051)


@settings(max_examples=25, deadline=None)
@given(studies(), st.integers(0, 180))
def test_a_longer_study_gives_the_words_of_its_prefix(study: tuple[Array, Bools, Bools, int, bool], cut: int) -> None:
    values, ok, failed, points, is_counted = study
    part = bound_looks(values[:cut], ok[:cut], failed[:cut], points, WRONG, is_counted)
    whole = bound_looks(values, ok, failed, points, WRONG, is_counted)
    count = len(part.looks)
    for name in ("low", "high", "counts"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[:count], err_msg=name)


def test_words_stand_while_paths_are_added() -> None:
    rng = np.random.default_rng(2)
    laws = [replace(law, shift=shift) for law in LAWS.values() if not law.bad for shift in (-2.0, -1.0, 0.0, 4.0)]
    parts = [law.draw(rng, 40, 1000) for law in laws]
    values = np.concatenate([values for values, _ in parts], axis=2)
    levels = np.repeat([level for _, level in parts], 40)
    tolerances = np.repeat([law.tolerance for law in laws], 40)
    failed = rng.random(values.shape) < 0.001
    undecided, valid, conservative = (get_code(word) for word in (UNDECIDED, VALID, CONSERVATIVE))
    before = None
    for cut in (49, 50, 60, 110, 400, 777, 1000):
        part = values[:cut], ~failed[:cut], failed[:cut]
        found = decide(*part, POINTS, levels, tolerances, WRONG)
        if before is not None:
            is_same = (found.codes == before.codes) | ((before.codes == valid) & (found.codes == conservative))
            stood = before.codes != undecided
            assert is_same[stood].all()
            np.testing.assert_array_equal(found.paths[stood], before.paths[stood])
        before = found
    assert before is not None
    assert set(to_words(before.codes)) == {UNDECIDED, VALID, CONSERVATIVE, INVALID, BORDERLINE}


@settings(max_examples=25, deadline=None)
@given(studies())
def test_failures_move_low_down_and_high_up(study: tuple[Array, Bools, Bools, int, bool]) -> None:
    values, ok, failed, points, is_counted = study
    kept = bound_looks(values, ok, failed & False, points, WRONG, is_counted)
    found = bound_looks(values, ok, failed, points, WRONG, is_counted)
    paths, more = (each.any(axis=1).cumsum(axis=0)[found.looks - 1] for each in (ok, ok | failed))
    alike = paths == more  # where paths are as many, so is the multiplier
    assert not (found.low[alike] > kept.low[alike]).any()
    assert not (found.high[alike] < kept.high[alike]).any()


def test_failures_take_verdicts_away() -> None:
    rng = np.random.default_rng(3)
    values, level = Law(0.1, 0.01, shift=0.0).draw(rng, 50, 400)
    failed = np.zeros(values.shape, dtype=bool)
    failed[::12] = True  # 8 %: survivors keep the level, the worst case doesn't
    assert (decide_law(values, level, 0.02).codes == get_code(VALID)).all()
    arguments = POINTS, np.array(level), np.array(0.02), WRONG
    assert (decide(values, ~failed, failed, *arguments).codes == get_code(UNDECIDED)).all()
    assert (decide(values, ~failed, failed & False, *arguments).codes == get_code(VALID)).all()


def test_cells_without_results_have_no_verdict() -> None:
    values, ok = np.ones((100, 1, 3)), np.zeros((100, 1, 3), dtype=bool)
    ok[..., 0] = True
    failed = np.zeros_like(ok)
    failed[..., 1] = True
    found = decide(values, ok, failed, POINTS, np.full(3, 0.9), np.full(3, 0.02), WRONG)
    assert to_words(found.codes).tolist() == [CONSERVATIVE, EMPTY, EMPTY]
    assert found.paths.tolist() == [50, 0, 0]


def test_a_study_without_a_look_is_undecided() -> None:
    found = decide_law(np.ones((49, 1, 2)), 0.9, 0.02)
    assert to_words(found.codes).tolist() == [UNDECIDED] * 2
    for each in (found.paths, found.settled, found.is_contradicted):
        assert not each.any()


def test_the_whole_line_is_valid_by_arithmetic() -> None:
    values = np.ones((300, 1, 4))
    values[60, 0, 1], values[20, 0, 2] = 0.995, 0.995
    target, tolerance = np.ones(4), np.full(4, 0.0002)
    exact = np.array([True, True, True, False])
    found = decide(values, ALL, ~ALL, POINTS, target, tolerance, WRONG, exact)
    assert to_words(found.codes).tolist() == [VALID, VALID, UNDECIDED, UNDECIDED]
    assert found.paths.tolist() == [50, 50, 0, 0]
    assert found.is_contradicted.tolist() == [False, True, False, False]


def test_constant_cells_are_decided_at_the_first_look_unless_their_level_is_high() -> None:
    """With 16.2 points a path, the interval of fifty paths without a miss begins at 0.960."""
    alpha = np.array([0.1, 0.05, 0.034, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001])
    values = np.ones((1500, 1, alpha.size))
    for is_counted in (True, False):
        tolerance = compute_tolerance(alpha)
        found = decide(values, ALL, ~ALL, POINTS, 1 - alpha, tolerance, WRONG, is_counted=is_counted)
        assert (found.codes >= get_code(VALID)).all()
        assert found.paths.tolist() == [50, 50, 50, 75, 75, 150, 275, 700, 1375]


# Cells that are added later


def test_growth_of_the_grid_changes_no_old_word() -> None:
    grown = [allocate_error(cells, 0.05) for cells in ([384], [384, 384, 500], [384, 384, 500, 500, 2000])]
    assert [each[0] for each in grown] == [grown[0][0]] * 3
    assert grown[1][2] == grown[2][2] == pytest.approx(0.05 * 0.1 / 116)
    assert grown[2][4] == pytest.approx(0.05 * 0.05 / 1500)
    assert np.isnan([grown[2][1], grown[2][3]]).all()

    rng = np.random.default_rng(4)
    old, level = LAWS["α = 0.1, correlation 0.05"].draw(rng, 384, 300)
    new = rng.beta(18, 2, (300, 1, 116))
    before = decide(old, ALL, ~ALL, POINTS, np.array(level), np.array(0.02), grown[0][0])
    each = np.repeat([grown[1][0], grown[1][2]], [384, 116])
    after = decide(np.concatenate([old, new], axis=2), ALL, ~ALL, POINTS, np.array(level), np.array(0.02), each)
    assert_same(Decision(*(part[:384] for part in vars(after).values())), before)


@given(st.lists(st.integers(0, 3000), max_size=40), st.floats(1e-6, 0.5))
def test_no_growth_spends_more_than_there_is(cells: list[int], wrong: float) -> None:
    new = np.diff(np.maximum.accumulate([0, *cells]))
    assert np.nansum(np.array(allocate_error(cells, wrong)) * new) <= wrong * (1 + 1e-12)


# Errors in studies with known truth


def count_false(law: Law, cells: int, is_counted: bool, paths: int = 1000) -> tuple[float, float, float]:
    """The shares of cells at the border with the words valid, invalid and borderline."""
    rng = np.random.default_rng(5)
    words = np.zeros(3)
    for _ in range(-(-cells // 4000)):
        values, level = law.draw(rng, 4000, paths, is_counted)
        codes = decide_law(values, level, law.tolerance, is_counted).codes
        groups = codes >= get_code(VALID), codes == get_code(INVALID), codes == get_code(BORDERLINE)
        words += [float(np.sum(each)) for each in groups]
    false_valid, false_invalid, near = words / (-(-cells // 4000) * 4000)
    return float(false_valid), float(false_invalid), float(near)


def count_grids(share: float) -> float:
    """The share of grids with an error, of independent cells."""
    return 1 - (1 - share) ** CELLS


def allow(cells: int) -> float:
    """The most wrong cells that chance explains, if the promise is just kept."""
    return float(stats.poisson.isf(1e-4, WRONG * cells)) / cells


@pytest.mark.parametrize("is_counted", [True, pytest.param(False, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", ["α = 0.1, correlation 0.01", "α = 0.01, correlation 0.03", "two kinds of paths"])
def test_false_verdicts_are_rare(name: str, is_counted: bool) -> None:
    wrong = count_false(LAWS[name], 16_000, is_counted, 500)
    assert wrong[0] + wrong[1] <= allow(16_000)


def test_looking_again_with_fixed_intervals_would_err(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong way, to see that the test can tell."""
    monkeypatch.setattr(sequential, "compute_level", lambda paths, wrong: np.full(np.shape(paths), 1 - wrong))
    wrong = count_false(LAWS["α = 0.1, correlation 0.05"], 16_000, True, 500)
    assert wrong[0] + wrong[1] > 2 * allow(16_000)


def test_cells_at_the_border_end_as_borderline() -> None:
    assert count_false(LAWS["α = 0.1, correlation 0.01"], 4000, True)[2] > 0.99


@pytest.mark.parametrize("name", RARE)
def test_bad_paths_that_were_not_seen_are_not_known(name: str) -> None:
    """A limit of the rule, and of every one that assumes a central limit theorem; betting hasn't it."""
    assert count_grids(count_false(RARE[name], 8000, True, 500)[0]) > 0.3


@pytest.mark.soak
@pytest.mark.parametrize("is_counted", [True, False])
def test_false_verdicts_of_all_laws(is_counted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {name: count_false(law, 200_000, is_counted) for name, law in {**LAWS, **RARE}.items()}
    with capsys.disabled():
        print(f"\nfalse valid / false invalid, of grids of {CELLS}; borderline, of cells; counted: {is_counted}")
        for name, (valid, invalid, near) in rows.items():
            print(f"{name:36} {count_grids(valid):.4f} / {count_grids(invalid):.4f}  {near:.3f}")
    assert all(rows[name][0] + rows[name][1] <= allow(200_000) for name in LAWS)


PATHS = {  # law: paths to a verdict in the study of the rule, with another interval
    Law(0.1, 0.01, shift=0.0): 108,
    Law(0.1, 0.05, shift=0.0): 319,
    Law(0.1, 0.01, shift=-2.0): 110,
    Law(0.1, 0.01, shift=-4.0): 51,
    Law(0.05, 0.01, shift=0.0): 203,
    Law(0.05, 0.04, shift=0.0): 563,
    Law(0.01, 0.01, shift=0.0): 941,
    Law(0.01, 0.01, shift=-2.0): 979,
}


def measure_paths(law: Law, cells: int, is_counted: bool = True) -> tuple[float, float, int, float]:
    """Mean and 0.9-quantile of the paths to a verdict, wrong verdicts, and cells that are undecided."""
    values, level = law.draw(np.random.default_rng(6), cells, 5000, is_counted)
    found = decide_law(values, level, law.tolerance, is_counted)
    paths = np.where(found.is_open, 5000, found.paths)
    right = found.codes >= get_code(VALID) if law.shift > -1 else found.codes == get_code(INVALID)
    return float(paths.mean()), float(np.quantile(paths, 0.9)), int((~right).sum()), float(found.is_open.mean())


@pytest.mark.parametrize("law", list(PATHS)[:4], ids=str)
def test_paths_to_a_verdict(law: Law) -> None:
    mean, _, wrong, left = measure_paths(law, 200)
    assert (wrong, left) == (0, 0)
    assert mean == pytest.approx(PATHS[law], rel=0.15)


@pytest.mark.soak
@pytest.mark.parametrize("is_counted", [True, False])
def test_paths_to_a_verdict_of_all_laws(is_counted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\npaths to a verdict, its 0.9-quantile, wrong or undecided, undecided; counted: {is_counted}")
        for law, known in PATHS.items():
            mean, most, wrong, left = measure_paths(law, 1000, is_counted)
            print(f"{law!s:80} {mean:.0f} ({most:.0f}) for {known}; {wrong}, {left:.3f}")
            assert wrong <= 2
            assert not is_counted or mean < 1.25 * known
