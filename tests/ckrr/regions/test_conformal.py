"""The region engine against the definition in rationals, given the same coefficients."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from ckrr._validation import Array
from ckrr.evaluation.votes import VoteCounter
from ckrr.levels import check_boundary, parse_alpha
from ckrr.linalg.workspace import Workspace
from ckrr.procedures import CRR, RRCM, ConformityScore, Levels
from ckrr.regions.blocks import Places, PointChunk
from ckrr.regions.crossings import Crossings
from ckrr.regions.intervals import Regions
from ckrr.regions.orientation import OrientedResiduals
from tests.oracles import Component, Lines, disagreements, fractions, region

NO_PLACES = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
SCORES = {"RRCM": RRCM, "CRR": CRR}
ALPHAS = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.99]


def crossings_of(a: Array, W: Array, D: Array | None = None, m: float = 1.0, mean: float = 0.0) -> Crossings:
    """One test point."""
    return block_of(a, W[None], np.ones((1, len(a))) if D is None else D[None], np.array([m]), np.array([mean]))


def block_of(
    a: Array, W: Array, D: Array, m: Array, mean: Array, equal: Places = NO_PLACES, y: Array | None = None
) -> Crossings:
    """Several test points."""
    flip = OrientedResiduals(a, a if y is None else y, a)
    chunk = PointChunk(
        flip.orient_weights(W, np.empty_like(W)), m, mean, flip.columns, (equal[0], flip.find_places(equal[1]))
    )
    return Crossings(chunk, np.abs(flip.orient_weights(D, np.empty_like(D))), Workspace())


def regions_of(crossings: Crossings, score: ConformityScore, alphas: list[float], boundary: str = ">=") -> Regions:
    crossings = deepcopy(crossings)  # they are used up
    levels = Levels(tuple(parse_alpha(each) for each in alphas), check_boundary(boundary))
    b = len(crossings.chunk.m)
    tally = VoteCounter("", score, levels.compute_thresholds(score, crossings.n), b, Workspace())
    tally.add(crossings, slice(0, b))
    return tally.compute_regions()


def lines_of(a: Array, W: Array, D: Array, m: float) -> Lines:
    """The same residuals as the method writes them: A = m a/D and W/D."""
    a_, W_, D_ = fractions(a), fractions(W), fractions(D)
    return Lines(
        [Fraction(m) * x / d for x, d in zip(a_, D_, strict=True)], [w / d for w, d in zip(W_, D_, strict=True)]
    )


def zones_of(lines: Lines, score: str, mean: float, ulps: int = 4) -> list[Component]:
    """A few ulp around every breakpoint, at the scale of y."""
    found = []
    for s in lines.crossings(score):
        y = Fraction(mean) + s
        doubt = ulps * Fraction(2) ** -52 * (abs(s) + abs(y)) + Fraction(5e-324) * ulps
        found.append((y - doubt, y + doubt))
    return found


def moved(components: list[Component], by: Fraction) -> list[Component]:
    return [(lo + by if lo > -inf else lo, hi + by if hi < inf else hi) for lo, hi in components]


def check_against_the_definition(a: Array, W: Array, D: Array, m: float, mean: float) -> None:
    lines, crossings = lines_of(a, W, D, m), crossings_of(a, W, D, m, mean)
    for name, score in SCORES.items():
        zones, profile = zones_of(lines, name, mean), lines.profile(name)
        for boundary in (">=", ">"):
            regions = regions_of(crossings, score, ALPHAS, boundary)
            for j, alpha in enumerate(ALPHAS):
                oracle = moved(region(profile, parse_alpha(alpha), strict=boundary == ">"), Fraction(mean))
                assert not disagreements(regions.components(0, j), oracle, zones), (name, boundary, alpha)


sizes = st.integers(1, 12)
# Weights on both sides of ±1 and on it, near it, near 0 and far out.
weights = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 1 + 2**-52, 1 - 2**-53, -1 - 2**-52, -1 + 2**-53, 2.0, -2.0, 23.0]),
    st.floats(-3, 3),
    st.floats(-0.2, 0.2),
)
numerators = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 2.0, -2.0, 1e-300, 0.1]), st.floats(-10, 10))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Array, Array, Array, float, float]:
    n = draw(sizes)
    a = np.array(draw(st.lists(numerators, min_size=n, max_size=n)))
    W = np.array(draw(st.lists(weights, min_size=n, max_size=n)))
    D = np.ones(n) if draw(st.booleans()) else np.array(draw(st.lists(st.floats(0.1, 5), min_size=n, max_size=n)))
    m = draw(st.sampled_from([1.0, 1e-6, 0.3, 1.1]))
    mean = draw(st.sampled_from([0.0, 0.5, -3.7, 1e6]))
    return a, W, D, m, mean


@settings(max_examples=150, deadline=None)
@given(problems())
@example((np.array([1.0]), np.array([-1.0]), np.ones(1), 1.0, 0.0))
@example((np.zeros(5), np.array([0.0, 1.0, -1.0, 2.0, -2.0]), np.ones(5), 1.0, 0.0))
@example((np.array([1.0, 5e-324]), np.array([0.0, 23.0]), np.ones(2), 1.0, 0.0))  # its crossing is −0
def test_regions_are_the_definition(problem: tuple[Array, Array, Array, float, float]) -> None:
    check_against_the_definition(*problem)


@pytest.mark.soak
@settings(max_examples=20_000, deadline=None)
@given(problems())
def test_regions_are_the_definition_at_length(problem: tuple[Array, Array, Array, float, float]) -> None:
    check_against_the_definition(*problem)


@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize("spread", [0.1, 0.7, 3.0])
def test_larger_samples(n: int, spread: float) -> None:
    rng = np.random.default_rng([n, int(10 * spread)])
    for D in (np.ones(n), rng.uniform(0.5, 2, n)):
        check_against_the_definition(rng.standard_normal(n), spread * rng.standard_normal(n), D, 0.7, 0.3)


# Coefficients whose crossings are exact in floats, so that ties are ties: A is a multiple of 12, 1 ± W divides 12.
TIED_WEIGHTS = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 5.0, -5.0]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(TIED_WEIGHTS)), min_size=1, max_size=9),
    st.sampled_from([0.0, 7.0, -1024.0]),
)
def test_ties_are_exact(points: list[tuple[int, float]], mean: float) -> None:
    """With ties, duplicated residuals and single points, every component is equal to the oracle's."""
    a, W = np.array([12.0 * j for j, _ in points]), np.array([w for _, w in points])
    lines, crossings = Lines(fractions(a), fractions(W)), crossings_of(a, W, mean=mean)
    for name, score in SCORES.items():
        profile = lines.profile(name)
        for boundary in (">=", ">"):
            regions = regions_of(crossings, score, ALPHAS, boundary)
            for j, alpha in enumerate(ALPHAS):
                oracle = moved(region(profile, parse_alpha(alpha), strict=boundary == ">"), Fraction(mean))
                assert regions.components(0, j) == oracle, (name, boundary, alpha)


@settings(max_examples=300, deadline=None)
@given(problems())
def test_p_values_and_regions_are_one(problem: tuple[Array, Array, Array, float, float]) -> None:
    """y is in the region just when p ≥ α: at ends, beside them, and elsewhere, in every bit."""
    a, W, D, m, mean = problem
    crossings = crossings_of(a, W, D, m, mean)
    for score in SCORES.values():
        regions = regions_of(crossings, score, ALPHAS)
        ends = {end for j in range(len(ALPHAS)) for c in regions.components(0, j) for end in c if abs(end) < inf}
        for y in sorted(ends | {mean} | {np.nextafter(e, s * inf) for e in ends for s in (-1, 1)}):
            (p,) = score.p_values(crossings, np.array([y]))
            assert regions.contains_array(np.array([y]))[0].tolist() == [p >= alpha for alpha in ALPHAS], y


@settings(max_examples=100, deadline=None)
@given(problems(), st.floats(-20, 20))
def test_p_values_are_the_definition(problem: tuple[Array, Array, Array, float, float], s: float) -> None:
    a, W, D, m, mean = problem
    lines, crossings = lines_of(a, W, D, m), crossings_of(a, W, D, m, mean)
    y = mean + m * s
    for name, score in SCORES.items():
        if any(lo <= Fraction(y) <= hi for lo, hi in zones_of(lines, name, mean)):
            continue
        (p,) = score.p_values(crossings, np.array([y]))
        assert p == float(lines.p_value(name, Fraction(y) - Fraction(mean)))


@settings(max_examples=200, deadline=None)
@given(problems())
def test_crr_is_empty_only_where_a_slope_is_zero(problem: tuple[Array, Array, Array, float, float]) -> None:
    a, W, D, m, mean = problem
    crossings = crossings_of(a, W, D, m, mean)
    if (D + W != 0).all():
        assert (regions_of(crossings, CRR, [0.5, 0.99, 0.999999]).count > 0).all()


def test_blocks_are_their_rows() -> None:
    """Ordinary and odd test points side by side give what each gives alone, in every bit."""
    rng = np.random.default_rng(7)
    b, n = 40, 25
    a, m, mean = rng.standard_normal(n), rng.random(b) + 0.1, rng.standard_normal(b)
    W = rng.standard_normal((b, n)) * np.where(rng.random(b) < 0.5, 0.2, 1.5)[:, None]
    W[:, 3] = W[:, 4]
    W[5, 6], W[6, 6] = 1.0, -1.0
    block = block_of(a, W, np.ones((1, n)), m, mean)
    assert len(set(block.exceptional.row.tolist())) in range(5, b), "both kinds of rows are there"
    for score in SCORES.values():
        together = regions_of(block, score, ALPHAS)
        for i in range(b):
            alone = regions_of(crossings_of(a, W[i], m=float(m[i]), mean=float(mean[i])), score, ALPHAS)
            for j in range(len(ALPHAS)):
                assert together.components(i, j) == alone.components(0, j)


def test_equal_points_keep_the_prediction_inside() -> None:
    """A crossing put at y_i may fall on the other side of ŷ by rounding; RRCM contains ŷ all the same."""
    a, y, W, mean = np.array([1e-20, 2.0]), np.array([-1e-9, 3.0]), np.array([[0.1, 0.2]]), np.array([0.0])
    crossings = block_of(a, W, np.ones((1, 2)), np.ones(1), mean, (np.array([0]), np.array([0])), y)
    assert RRCM.p_values(crossings, mean) == [1.0]
    assert RRCM.p_values(crossings, y[:1]) == [1.0]
    assert regions_of(crossings, RRCM, [0.5, 0.9]).components(0, 1) == [(-1e-9, 0.0)]


def test_every_kind_of_region_occurs() -> None:
    """The random cases above reach what they are for: many pieces, points, half-lines, nothing, everything."""
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(400):
        n = int(rng.integers(1, 9))
        a = rng.integers(-2, 3, n) * 12.0
        crossings = crossings_of(a, rng.choice(TIED_WEIGHTS, n) if rng.random() < 0.9 else -np.ones(n))
        for name, score in SCORES.items():
            regions = regions_of(crossings, score, ALPHAS)
            for j in range(len(ALPHAS)):
                parts = regions.components(0, j)
                seen.add((name, "empty" if not parts else f"{min(len(parts), 3)} pieces"))
                seen |= {(name, "point") for lo, hi in parts if lo == hi}
                seen |= {(name, "half-line") for lo, hi in parts if (lo == -inf) != (hi == inf)}
                seen |= {(name, "line") for lo, hi in parts if lo == -inf and hi == inf}
    kinds = {"1 pieces", "2 pieces", "3 pieces", "point", "half-line", "line"}
    assert seen == {(name, kind) for name in SCORES for kind in kinds} | {("CRR", "empty")}
