"""Adjusted estimates against least squares written out, and in studies with known truth."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy import stats

from harness.core.types import Array, Bools, Values
from harness.statistics import controls as module
from harness.statistics.clustered import mean
from harness.statistics.controls import AdjustedEstimate, adjust, compute_share_interval
from harness.statistics.intervals import Estimate
from harness.statistics.reduce import reduce_replications

POINTS = 200
PARTS = ("value", "se", "low", "high", "paths", "replications")


def assert_same(found: Estimate, wanted: Estimate, parts: tuple[str, ...] = PARTS) -> None:
    for part in parts:
        np.testing.assert_array_equal(getattr(found, part), getattr(wanted, part), err_msg=part)


# One cell, written out


def average_paths(
    values: Array, ok: Bools, controls: Array, controls_ok: Bools, chosen: list[int]
) -> tuple[Array, Array, Array]:
    """Weights, means of x and means of the chosen controls, over paths with a draw where all are ok."""
    weights, xs, cs = [], [], []
    for p in range(values.shape[0]):
        draws = [d for d in range(values.shape[1]) if ok[p, d] and all(controls_ok[p, d, j] for j in chosen)]
        if draws:
            weights.append(float(len(draws)))
            xs.append(sum(values[p, d] for d in draws) / len(draws))
            cs.append([sum(controls[p, d, j] for d in draws) / len(draws) for j in chosen])
    return np.array(weights), np.array(xs), np.array(cs)


def choose_slowly(values: Array, ok: Bools, controls: Array, controls_ok: Bools, levels: Array) -> list[int]:
    """One control after the other, if all have full rank whichever path is left out."""
    chosen: list[int] = []
    for j in range(len(levels)):
        trial = [*chosen, j]
        if np.isnan(levels[j]) or len(trial) > 4:
            continue
        weights, _, cs = average_paths(values, ok, controls, controls_ok, trial)
        if len(weights) < 30 or len(weights) < 10 * len(trial):
            continue
        design = np.column_stack([np.ones(len(weights)), 1000 * (cs - cs.mean(axis=0))])
        if all(
            np.linalg.matrix_rank(np.delete(design, p, axis=0), tol=1e-6) == len(trial) + 1 for p in range(len(weights))
        ):
            chosen = trial
    return chosen


def adjust_slowly(
    values: Array, ok: Bools, controls: Array, controls_ok: Bools, levels: Array
) -> tuple[list[int], float, float]:
    """Weighted least squares by `lstsq`, and HC3 as a sum over paths."""
    chosen = choose_slowly(values, ok, controls, controls_ok, levels)
    weights, xs, cs = average_paths(values, ok, controls, controls_ok, chosen)
    design = np.column_stack([np.ones(len(weights)), cs - levels[chosen]])
    roots = np.sqrt(weights)
    coefficients = np.linalg.lstsq(design * roots[:, None], xs * roots, rcond=None)[0]
    bread = np.linalg.inv(design.T @ np.diag(weights) @ design)
    meat = np.zeros_like(bread)
    for row, w, x in zip(design, weights, xs, strict=True):
        leverage = w * row @ bread @ row
        meat += np.outer(row, row) * (w * (x - row @ coefficients) / (1 - leverage)) ** 2
    return chosen, float(coefficients[0]), float(np.sqrt((bread @ meat @ bread)[0, 0]))


KINDS = ("own", "own", "own", "constant", "copy", "mixture", "single", "unknown", "failed")


def make_cell(
    seed: int, paths: int, draws: int, kinds: list[str], missing: float
) -> tuple[Array, Bools, Array, Bools, Array]:
    """One cell with controls of each kind, some of which can't be used, and draws that are missing."""
    rng = np.random.default_rng(seed)
    common = rng.beta(45, 5, (paths, 1))
    values = 0.6 * common + 0.4 * rng.beta(45, 5, (paths, draws))
    ok = rng.random((paths, draws)) >= missing
    controls = 0.5 * common[..., None] + 0.5 * rng.beta(45, 5, (paths, draws, len(kinds)))
    controls_ok = rng.random(controls.shape) >= missing
    levels = np.full(len(kinds), 0.9)
    for j, kind in enumerate(kinds):
        if kind == "constant":
            controls[..., j] = 0.95
        elif kind == "copy" and j:
            controls[..., j], controls_ok[..., j] = controls[..., 0], controls_ok[..., 0]
        elif kind == "mixture" and j > 1:
            controls[..., j] = controls[..., 0] / 2 + controls[..., 1] / 2
            controls_ok[..., j] = controls_ok[..., 0] & controls_ok[..., 1]
        elif kind == "single":
            controls[..., j] = np.where(np.arange(paths) == paths // 2, 0.9, 1.0)[:, None]
        elif kind == "unknown":
            levels[j] = np.nan
        elif kind == "failed":
            controls_ok[..., j] = False
    values[~ok] = np.nan
    controls[~controls_ok] = np.nan
    return values, ok, controls, controls_ok, levels


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**6),
    st.integers(26, 60),
    st.integers(1, 3),
    st.lists(st.sampled_from(KINDS), min_size=0, max_size=7),
    st.sampled_from([0.0, 0.0, 0.05, 0.3]),
)
@example(1, 30, 1, ["own", "own", "own", "own"], 0.0)
@example(2, 39, 2, ["constant", "own", "copy", "own", "single"], 0.05)
@example(3, 200, 3, ["own", "own", "mixture", "own", "own", "own"], 0.3)
@example(4, 40, 1, ["failed", "unknown", "single", "constant"], 0.0)
@example(5, 31, 1, ["own", "own"], 0.05)
def test_an_estimate_is_that_of_least_squares_written_out(
    seed: int, paths: int, draws: int, kinds: list[str], missing: float
) -> None:
    cell = make_cell(seed, paths, draws, kinds, missing)
    values, ok, controls, controls_ok, levels = cell
    found = adjust(values, ok, controls, controls_ok, levels, "mean")
    plain = reduce_replications(values, ok, "mean")
    chosen = choose_slowly(*cell)
    assert found.controls == len(chosen)
    if not chosen:
        assert_same(found, plain)
        assert found.worth == 1
        return
    _, value, se = adjust_slowly(*cell)
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found.se == pytest.approx(se, rel=1e-7)
    common = ok & controls_ok[..., chosen].all(axis=2)
    assert (found.paths, found.replications) == (common.any(axis=1).sum(), common.sum())
    t = stats.t.ppf(0.975, found.paths - 1 - len(chosen))
    assert [found.low, found.high] == pytest.approx([value - t * se, value + t * se], rel=1e-7)
    assert found.worth == pytest.approx((plain.se / se) ** 2, rel=1e-6)


@pytest.mark.parametrize("draws", [1, 3])
def test_a_control_with_the_mean_of_its_level_changes_no_value(draws: int) -> None:
    """If c̄ = L, the estimate is the plain mean over replications: paths have the weights of their draws."""
    values, ok, controls, _, _ = make_cell(6, 50, draws, ["own", "own"], 0.3)
    controls_ok = np.broadcast_to(ok[..., None], controls.shape)
    controls = np.where(controls_ok, np.nan_to_num(controls, nan=0.9), np.nan)
    levels = mean(controls, controls_ok)
    found = adjust(values, ok, controls, controls_ok, levels, "mean")
    assert found.controls == 2
    assert found.value == pytest.approx(mean(values, ok), rel=1e-12)


def test_cells_and_broadcast_controls_are_those_of_each_cell() -> None:
    rng = np.random.default_rng(7)
    values, ok = rng.random((60, 2, 3, 4)), rng.random((60, 2, 3, 4)) < 0.9
    controls, controls_ok = rng.random((60, 2, 5, 1, 4)), rng.random((60, 2, 5, 1, 1)) < 0.9
    levels = np.full((5, 3, 1), 0.5)
    levels[1, 2] = np.nan
    shares: list[Literal["share", "mean"]] = ["share", "mean"]
    for reduction in shares:
        found = adjust(values, ok, controls, controls_ok, levels, reduction, points=POINTS)
        assert found.controls.shape == found.worth.shape == (3, 4)
        for i, j in np.ndindex(3, 4):
            one = adjust(
                values[..., i, j],
                ok[..., i, j],
                controls[..., 0, j],
                controls_ok[..., 0, 0],
                levels[:, i, 0],
                reduction,
                points=POINTS,
            )
            for part in (*PARTS, "controls", "worth"):
                assert getattr(found, part)[i, j] == pytest.approx(getattr(one, part), rel=1e-12)


def test_single_precision_is_enough() -> None:
    """Stores have it. A mixture of controls, rounded, isn't mistaken for a control of its own."""
    values, ok, controls, controls_ok, levels = make_cell(8, 80, 2, ["own", "own", "mixture"], 0.0)
    wanted = adjust(values, ok, controls, controls_ok, levels, "mean")
    small = adjust(values.astype("f4"), ok, controls.astype("f4"), controls_ok, levels, "mean")
    assert small.controls == wanted.controls == 2
    assert small.value == pytest.approx(wanted.value, rel=1e-6)
    assert small.se == pytest.approx(wanted.se, rel=1e-4)


def test_other_reductions_are_refused() -> None:
    values, ok, controls, controls_ok, levels = make_cell(9, 40, 1, ["own"], 0.0)
    with pytest.raises(ValueError, match="'median'"):
        adjust(values, ok, controls, controls_ok, levels, "median")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shapes"):
        adjust(values, ok, controls, controls_ok, np.full(2, 0.9), "mean")


# Where the plain estimate remains


@pytest.mark.parametrize("reduction", ["share", "mean"])
@pytest.mark.parametrize(
    ("paths", "kinds"),
    [(29, ["own"] * 4), (1, ["own"]), (200, []), (200, ["constant", "unknown", "failed", "single"])],
)
def test_without_usable_controls_the_estimate_is_the_plain_one(
    paths: int, kinds: list[str], reduction: Literal["share", "mean"]
) -> None:
    values, ok, controls, controls_ok, levels = make_cell(10, paths, 2, kinds, 0.0)
    found = adjust(values, ok, controls, controls_ok, levels, reduction, level=0.9, points=POINTS)
    assert_same(found, reduce_replications(values, ok, reduction, POINTS, level=0.9))
    assert (found.controls, found.worth) == (0, 1)


@pytest.mark.parametrize("reduction", ["share", "mean"])
@pytest.mark.parametrize("fill", [1.0, np.inf])
def test_constant_and_infinite_values_have_the_plain_estimate(fill: float, reduction: Literal["share", "mean"]) -> None:
    values, ok, controls, controls_ok, levels = make_cell(11, 50, 2, ["own"] * 4, 0.0)
    values[3 : 4 if np.isinf(fill) else None], values[:3] = fill, fill
    found = adjust(values, ok, controls, controls_ok, levels, reduction, points=POINTS)
    assert_same(found, reduce_replications(values, ok, reduction, POINTS))
    assert (found.controls, found.worth) == (0, 1)


@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_a_constant_control_changes_nothing(place: int, missing: float) -> None:
    values, ok, controls, controls_ok, levels = make_cell(12, 60, 3, ["own"] * 4, 0.1)
    wanted = adjust(values, ok, controls, controls_ok, levels, "share", points=POINTS)
    assert wanted.controls == 4
    rng = np.random.default_rng(13)
    more = np.insert(controls, place, 0.97, axis=2)
    more_ok = np.insert(controls_ok, place, rng.random(ok.shape) >= missing, axis=2)
    found = adjust(values, ok, more, more_ok, np.insert(levels, place, 0.9), "share", points=POINTS)
    assert_same(found, wanted, (*PARTS, "controls", "worth"))


def test_the_first_controls_are_used_whatever_the_values() -> None:
    values, ok, controls, controls_ok, levels = make_cell(14, 35, 2, ["own", "copy", "own", "own", "own"], 0.0)
    wanted = [0, 2, 3]
    for x in (values, controls[..., 4], np.random.default_rng(15).random(values.shape)):
        found = adjust(x, ok, controls, controls_ok, levels, "mean")
        few = adjust(x, ok, controls[..., wanted], controls_ok[..., wanted], levels[wanted], "mean")
        assert found.controls == 3
        assert_same(found, few)


def test_a_control_adjusted_by_itself_has_its_level() -> None:
    _, ok, controls, controls_ok, levels = make_cell(16, 50, 1, ["own"] * 3, 0.0)
    found = adjust(controls[..., 1], ok, controls, controls_ok, levels, "share", points=POINTS)
    assert found.value == pytest.approx(0.9, abs=1e-12)
    assert found.se < 1e-12
    assert found.worth > 1e12
    assert found.low < 0.9 < found.high


def test_repeated_draws_tell_nothing_new() -> None:
    values, ok, controls, controls_ok, levels = make_cell(17, 50, 1, ["own"] * 4, 0.0)
    once = adjust(values, ok, controls, controls_ok, levels, "share", points=POINTS)
    four = adjust(
        *(np.repeat(a, 4, axis=1) for a in (values, ok, controls, controls_ok)), levels, "share", points=POINTS
    )
    for part in ("value", "se", "low", "high"):
        assert getattr(four, part) == pytest.approx(getattr(once, part), rel=1e-9)


# Intervals of shares


def test_intervals_of_shares_contain_them_and_stay_in_the_unit_interval() -> None:
    share, se = (
        a.ravel() for a in np.meshgrid([-0.1, 0.0, 1e-9, 0.4, 0.9, 1 - 1e-9, 1.0, 1.01], [0.0, 1e-9, 1e-3, 0.3])
    )
    low, high = compute_share_interval(share, se, np.full(share.shape, 40.0))
    assert ((low >= 0) & (low <= np.clip(share, 0, 1)) & (np.clip(share, 0, 1) <= high) & (high <= 1)).all()
    longest = 2 * 2.5 * stats.t.ppf(0.975, 40) * se
    assert (high - low <= longest + 1e-12).all()
    mirrored = compute_share_interval(1 - share, se, np.full(share.shape, 40.0))
    np.testing.assert_allclose(1 - mirrored[1], low, atol=1e-12)


def test_intervals_of_shares_are_nan_where_something_is() -> None:
    ends = compute_share_interval(np.array([np.nan, 0.5, 0.5]), np.array([0.1, np.nan, 0.1]), np.full(3, 40.0))
    assert np.isnan(ends).tolist() == [[True, True, False]] * 2


# Studies with known truth


def simulate_studies(
    rng: np.random.Generator, truth: float, paths: int, correlation: float, hits: bool, studies: int
) -> tuple[Values, Values]:
    """Coverages of x and of four controls over path, draw, control and study. All have the expectation `truth`.

    Probabilities of paths have beta distributions with an intraclass correlation of 0.005: 0.9 ± 0.02. Coverages are
    these probabilities, or shares of hits among 200 points. Those of x and of each control have the given correlation:
    gamma variables in common make that of probabilities, points in common that of hits.
    """
    k = 1 / 0.005 - 1
    a, b = truth * k, (1 - truth) * k
    size, alone = (paths, 1, 5, studies), (paths, 1, 1, studies)
    if hits:
        # of n points s·n are common; the variance of a number of hits is close to that of s² + s, in units of its own
        shares = np.arange(POINTS + 1) / POINTS
        both, own = shares**2 + shares, (1 - shares) ** 2 + (1 - shares)
        n = int(np.abs(both / (both + own) - correlation).argmin())
        found = rng.binomial(n, rng.beta(a, b, alone)) + rng.binomial(POINTS - n, rng.beta(a, b, size))
        found = found / POINTS
    else:
        up, down = (rng.standard_gamma((1 - correlation) * shape, size) for shape in (a, b))
        if correlation:
            up, down = (one + rng.standard_gamma(correlation * shape, alone) for one, shape in ((up, a), (down, b)))
        found = up / (up + down)
    return found[:, :, 0], found[:, :, 1:]


def adjust_studies(
    values: Values, controls: Values, level: float, reduction: Literal["share", "mean"] = "share"
) -> AdjustedEstimate:
    ok, controls_ok = np.ones(values.shape, bool), np.ones(controls.shape, bool)
    return adjust(values, ok, controls, controls_ok, np.full((4, 1), level), reduction, points=POINTS)


def compute_coverage(found: Estimate, truth: float) -> float:
    return float(np.mean((found.low <= truth) & (truth <= found.high)))


@pytest.mark.parametrize("hits", [True, False])
@pytest.mark.parametrize("truth", [0.9, 0.99])
@pytest.mark.parametrize("paths", [30, 50, 200])
def test_intervals_cover_and_variances_are_as_told(paths: int, truth: float, hits: bool) -> None:
    rng = np.random.default_rng([paths, int(1000 * truth), hits])
    values, controls = simulate_studies(rng, truth, paths, 0.7, hits, studies=1500)
    found = adjust_studies(values, controls, truth)
    assert (found.controls == min(4, paths // 10)).all()
    assert compute_coverage(found, truth) >= 0.93
    plain = values.mean(axis=(0, 1))
    assert abs(found.value.mean() - truth) < 0.15 * plain.std()  # β is estimated: the bias is of order 1/P
    ratio = plain.var() / found.value.var()
    assert ratio > 1.8
    assert np.median(found.worth) == pytest.approx(ratio, rel=0.25)


@pytest.mark.parametrize("paths", [30, 100])
def test_means_with_linear_regressions_have_no_bias(paths: int) -> None:
    rng = np.random.default_rng([18, paths])
    common = rng.standard_normal((paths, 1, 1, 2000))
    controls = 0.5 + 0.1 * (common + rng.standard_normal((paths, 2, 4, 2000)))
    values = 3 + common[:, :, 0] + 0.5 * rng.exponential(size=(paths, 2, 2000)) - 0.5
    found = adjust_studies(values, controls, 0.5, "mean")
    assert abs(found.value.mean() - 3) < 3 * found.value.std() / np.sqrt(2000)
    assert 0.93 <= compute_coverage(found, 3) <= 0.975
    assert found.value.std() == pytest.approx(np.sqrt(np.mean(found.se**2)), rel=0.15)


def test_intervals_cover_with_unequal_numbers_of_draws() -> None:
    rng = np.random.default_rng(19)
    common = rng.beta(180, 20, (50, 1, 1, 1500))
    p = np.clip(common + rng.uniform(-0.01, 0.01, (50, 4, 5, 1500)), 0, 1)
    hits = rng.binomial(POINTS, p) / POINTS
    kept = np.arange(4)[:, None] < rng.integers(1, 5, (50, 1, 1500))
    values, controls = hits[:, :, 0], hits[:, :, 1:]
    controls_ok = np.ones(controls.shape, bool)
    found = adjust(values, kept, controls, controls_ok, np.full((4, 1), 0.9), "share", points=POINTS)
    assert (found.controls == 4).all()
    assert 0.93 <= compute_coverage(found, 0.9) <= 0.98
    assert np.median(found.worth) == pytest.approx(mean(values, kept).var() / found.value.var(), rel=0.25)


def depart(
    rng: np.random.Generator, truth: float, paths: int, points: float, studies: int
) -> tuple[AdjustedEstimate, float]:
    """Adjust an x that equals the first control, but for an expected number of points in a study that it hits."""
    _, controls = simulate_studies(rng, truth, paths, 0.5, True, studies)
    misses = np.rint(POINTS * (1 - controls[:, :, 0])).astype(int)
    turned = points / (paths * POINTS * (1 - truth))
    values = 1 - rng.binomial(misses, 1 - turned) / POINTS
    return adjust_studies(values, controls, truth), truth + (1 - truth) * turned


@pytest.mark.parametrize("points", [0.2, 1, 3, 6, 15])
@pytest.mark.parametrize("paths", [30, 100])
def test_intervals_cover_where_the_values_nearly_equal_a_control(paths: int, points: float) -> None:
    found, truth = depart(np.random.default_rng([paths, int(10 * points)]), 0.95, paths, points, studies=600)
    assert compute_coverage(found, truth) >= 0.93


def test_without_the_added_points_they_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong way, to see that the test can tell."""
    monkeypatch.setattr(module, "ADDED_POINTS", 0.0)
    found, truth = depart(np.random.default_rng(20), 0.95, 50, 1, studies=600)
    assert compute_coverage(found, truth) < 0.8


@pytest.mark.soak
def test_the_whole_grid_of_studies() -> None:
    """Print the table with `pytest -m soak -s`."""
    studies, least = 4000, 1.0
    print("\nkind        truth  paths  correlation  controls  coverage  (plain)  variance ratio  worth  bias/sd")
    for hits, truth, correlation, paths in product(
        (True, False), (0.9, 0.99, 0.998), (0.0, 0.5, 0.9), (30, 50, 100, 200, 400)
    ):
        rng = np.random.default_rng([paths, int(1000 * truth), hits, int(10 * correlation)])
        values, controls = simulate_studies(rng, truth, paths, correlation, hits, studies)
        found = adjust_studies(values, controls, truth)
        plain = reduce_replications(values, np.ones(values.shape, bool), "share", POINTS)
        covered = compute_coverage(found, truth)
        ratio = plain.value.var() / found.value.var()
        print(
            f"{'hits' if hits else 'continuous':10}  {truth:5}  {paths:5}  {correlation:11}"
            f"  {found.controls.mean():8.2f}  {covered:8.4f}  {compute_coverage(plain, truth):7.4f}"
            f"  {ratio:14.2f}  {np.median(found.worth):5.2f}"
            f"  {(found.value.mean() - truth) / found.value.std():7.2f}",
            flush=True,
        )
        least = min(least, covered)
    print("nearly equal to a control: truth  paths  points that differ  coverage")
    for truth, paths, points in product((0.9, 0.99), (30, 100, 400), (0.2, 1, 3, 6, 15, 40)):
        rng = np.random.default_rng([paths, int(1000 * truth), int(10 * points)])
        found, exact = depart(rng, truth, paths, points, studies)
        covered = compute_coverage(found, exact)
        print(f"{truth:33}  {paths:5}  {points:18}  {covered:8.4f}", flush=True)
        least = min(least, covered)
    assert least >= 0.93
