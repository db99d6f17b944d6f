"""Weighted regions against the definition in rationals, given the same coefficients and the same weights."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from ckrr._validation import Array
from ckrr.evaluation.weighting import RowWeights, WeightedCounter
from ckrr.levels import check_boundary, parse_alpha
from ckrr.procedures import ConformityScore, Levels
from ckrr.regions.crossings import Crossings
from ckrr.regions.intervals import Regions
from ckrr.regions.orientation import OrientedResiduals
from ckrr.regions.weights import SampleWeights
from tests.ckrr.regions.test_conformal import (
    ALPHAS,
    SCORES,
    TIED_WEIGHTS,
    crossings_of,
    lines_of,
    moved,
    problems,
    regions_of,
    zones_of,
)
from tests.oracles import Lines, disagreements, fractions, region, weigh

Problem = tuple[Array, Array, Array, float, float]


def weights_of(a: Array, w: Array, own: float) -> RowWeights:
    """The weights of one test point."""
    one = np.zeros(1, dtype=np.intp)
    return RowWeights([(SampleWeights(w, np.array([own])), OrientedResiduals(a, a, a))], one, one)


def weighted_regions_of(
    crossings: Crossings, score: ConformityScore, weights: RowWeights, boundary: str = ">="
) -> Regions:
    levels = Levels(tuple(parse_alpha(each) for each in ALPHAS), check_boundary(boundary))
    counter = WeightedCounter("", score, weights.make_chunks(levels, score.sides))
    counter.add(deepcopy(crossings), slice(0, 1))
    return counter.compute_regions()


def check_against_the_definition(problem: Problem, w: Array, own: float) -> None:
    a, W, D, m, mean = problem
    lines, crossings, weights = (
        weigh(lines_of(a, W, D, m), w, own),
        crossings_of(a, W, D, m, mean),
        weights_of(a, w, own),
    )
    for name, score in SCORES.items():
        zones, profile = zones_of(lines, name, mean), lines.profile(name)
        for boundary in (">=", ">"):
            regions = weighted_regions_of(crossings, score, weights, boundary)
            for j, alpha in enumerate(ALPHAS):
                oracle = moved(region(profile, parse_alpha(alpha), strict=boundary == ">"), Fraction(mean))
                assert not disagreements(regions.components(0, j), oracle, zones), (name, boundary, alpha)


# Equal ones, whose sums tie with the threshold; zeros; ratios beyond the range of floats; sums that would overflow.
single_weights = st.one_of(
    st.sampled_from([0.0, 1.0, 0.1, 0.3, 1 / 3, 1e-300, 1e300, 1.7e308, 5e-324, 2.0, 3.0]), st.floats(0, 10)
)
kinds = st.sampled_from(["any", "equal", "whole", "tenths"])


@st.composite
def weights_for(draw: st.DrawFn, n: int) -> tuple[Array, float]:
    kind = draw(kinds)
    if kind == "equal":
        each = draw(single_weights.filter(lambda w: w > 0))
        return np.full(n, each), each
    if kind == "whole":
        found = [float(draw(st.integers(0, 3))) for _ in range(n + 1)]
    elif kind == "tenths":
        found = [draw(st.integers(0, 9)) / 10 for _ in range(n + 1)]
    else:
        found = [draw(single_weights) for _ in range(n + 1)]
    if not any(found):
        found[-1] = 1.0
    return np.array(found[:n]), found[n]


@st.composite
def weighted_problems(draw: st.DrawFn) -> tuple[Problem, Array, float]:
    problem = draw(problems())
    return problem, *draw(weights_for(len(problem[0])))


@settings(max_examples=100, deadline=None)
@given(weighted_problems())
@example(((np.array([1.0]), np.array([-1.0]), np.ones(1), 1.0, 0.0), np.zeros(1), 1e-300))
@example(((np.array([1.0, 2.0]), np.array([0.1, 2.0]), np.ones(2), 1.0, 0.0), np.array([1e300, 1e-300]), 0.0))
def test_regions_are_the_definition(drawn: tuple[Problem, Array, float]) -> None:
    check_against_the_definition(*drawn)


@pytest.mark.soak
@settings(max_examples=5_000, deadline=None)
@given(weighted_problems())
def test_regions_are_the_definition_at_length(drawn: tuple[Problem, Array, float]) -> None:
    check_against_the_definition(*drawn)


@st.composite
def tied_problems(draw: st.DrawFn) -> tuple[Array, Array, Array, float, float]:
    """Coefficients whose crossings are exact in floats, so that ties are ties."""
    points = draw(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(TIED_WEIGHTS)), min_size=1, max_size=9))
    a, W = np.array([12.0 * j for j, _ in points]), np.array([w for _, w in points])
    return a, W, *draw(weights_for(len(a))), draw(st.sampled_from([0.0, 7.0, -1024.0]))


@settings(max_examples=200, deadline=None)
@given(tied_problems())
def test_ties_are_exact(drawn: tuple[Array, Array, Array, float, float]) -> None:
    """Every component is equal to the oracle's, and p-values at the ends of regions are."""
    a, W, w, own, mean = drawn
    lines, weights = weigh(Lines(fractions(a), fractions(W)), w, own), weights_of(a, w, own)
    crossings = crossings_of(a, W, mean=mean)
    for name, score in SCORES.items():
        profile = lines.profile(name)
        for boundary in (">=", ">"):
            regions = weighted_regions_of(crossings, score, weights, boundary)
            for j, alpha in enumerate(ALPHAS):
                oracle = moved(region(profile, parse_alpha(alpha), strict=boundary == ">"), Fraction(mean))
                assert regions.components(0, j) == oracle, (name, boundary, alpha)
        for s in lines.crossings(name):
            counted = score.counted(crossings, np.array([float(s) + mean]))
            assert weights.compute_p_values(counted, slice(0, 1)) == [float(lines.p_value(name, s))], s


@settings(max_examples=100, deadline=None)
@given(weighted_problems(), st.floats(-20, 20))
def test_p_values_are_the_definition(drawn: tuple[Problem, Array, float], s: float) -> None:
    (a, W, D, m, mean), w, own = drawn
    lines, weights = weigh(lines_of(a, W, D, m), w, own), weights_of(a, w, own)
    y = mean + m * s
    for name, score in SCORES.items():
        if any(lo <= Fraction(y) <= hi for lo, hi in zones_of(lines, name, mean)):
            continue
        counted = score.counted(crossings_of(a, W, D, m, mean), np.array([y]))
        assert weights.compute_p_values(counted, slice(0, 1)) == [
            float(lines.p_value(name, Fraction(y) - Fraction(mean)))
        ]


@settings(max_examples=100, deadline=None)
@given(problems(), st.data())
def test_whole_weights_repeat_residuals(problem: Problem, data: st.DataObject) -> None:
    """Weight 3 counts as three equal residuals, in every bit, and weight 0 as none."""
    a, W, D, m, mean = problem
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(a), max_size=len(a)).filter(any)))
    unit = data.draw(st.sampled_from([1.0, 0.1, 1e300]))
    repeated = crossings_of(*(np.repeat(each, times) for each in (a, W, D)), m, mean)
    for score in SCORES.values():
        weights = weights_of(a, unit * times, unit)
        if (
            not all(w / unit == k for w, k in zip(unit * times, times, strict=True))
            or not weights.owners[0][0].is_exact
        ):
            continue  # three times 0.1 isn't 3·0.1
        found = weighted_regions_of(crossings_of(a, W, D, m, mean), score, weights)
        expected = regions_of(repeated, score, ALPHAS)
        for j in range(len(ALPHAS)):
            assert found.components(0, j) == expected.components(0, j)


def test_every_kind_of_region_occurs() -> None:
    """The random cases above reach what they are for, and comparisons that rounding would get wrong."""
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(300):
        n = int(rng.integers(1, 9))
        a, w, own = (
            rng.integers(-2, 3, n) * 12.0,
            rng.choice([0.0, 0.1, 0.2, 0.7, 5.0], n),
            float(rng.choice([0.1, 3.0])),
        )
        crossings = crossings_of(a, rng.choice(TIED_WEIGHTS, n))
        for name, score in SCORES.items():
            regions = weighted_regions_of(crossings, score, weights_of(a, w, own))
            for j in range(len(ALPHAS)):
                parts = regions.components(0, j)
                seen.add((name, "empty" if not parts else f"{min(len(parts), 3)} pieces"))
                seen |= {(name, "point") for lo, hi in parts if lo == hi}
                seen |= {(name, "half-line") for lo, hi in parts if (lo == -inf) != (hi == inf)}
                seen |= {(name, "line") for lo, hi in parts if lo == -inf and hi == inf}
    kinds = {"1 pieces", "2 pieces", "3 pieces", "point", "half-line", "line"}
    assert seen >= {(name, kind) for name in SCORES for kind in kinds}


def test_sums_are_compared_exactly() -> None:
    """w ≡ 0.1, N = 20, α = 0.05: the point's own weight is a twentieth of the sum, so that the region is the line.

    In floats 0.1 added up twenty times is 2.0000000000000004, and a twentieth of that is more than 0.1.
    """
    a, w = np.arange(1.0, 20.0), np.full(19, 0.1)
    assert sum([*w.tolist(), 0.1]) * 0.05 > 0.1, "floats would get it wrong"
    (line,) = weighted_regions_of(crossings_of(a, np.zeros(19)), SCORES["RRCM"], weights_of(a, w, 0.1)).components(0, 1)
    assert line == (-inf, inf)
    # One ulp more on a training point, and it isn't: by sums of integers, as the unit is now too small for floats.
    w[0] = np.nextafter(0.1, 1)
    weights = weights_of(a, w, 0.1)
    assert not weights.owners[0][0].is_exact
    (interval,) = weighted_regions_of(crossings_of(a, np.zeros(19)), SCORES["RRCM"], weights).components(0, 1)
    assert interval == (-19.0, 19.0)
