"""Compute the measures of a replication from the results of its regions at the test points.

`PointResults` has the arrays and the operations that the entries of `harness.core.schema.measures` are written in.
Arrays are over (target, procedure, level, point); a measure is over (target, procedure, level). An empty region has
width 0. The interval score (Winkler 1972; Gneiting & Raftery 2007) of a hull [l, u] at y is ::

    (u − l) + 2/α·(l − y)₊ + 2/α·(y − u)₊

and inf for an empty region, which has no end to measure from.

**Expected coverage.** Where a source knows f and the distribution F_x of its noise, y* = f(x*) + √γ·e falls into a
region R = ∪[l, u] with the probability ::

    P(y* ∈ R | training sample, x*) = Σ_pieces F_x((u − f)/√γ) − F_x((l − f)/√γ)

Its mean over the test points has the same expectation as the share of hits, without the noise of the test values. It is
the training-conditional coverage (Bian & Barber 2022).

Scores of predictive distributions (`PredictiveScores`) don't depend on α: they are over (target, procedure, point).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from harness.compute.bins import average_by_bin
from harness.core.protocols import PiecewiseScores, PredictiveScores, RegionPieces, Scores
from harness.core.schema.axes import PIT_BINS, QUANTILES
from harness.core.schema.measures import DISTRIBUTION, PIT, list_measures
from harness.core.types import Array, Bools, Values

VERSION = 1
"""Version of the arithmetic, increased by every change that alters any bit of a result."""


@dataclass(frozen=True, eq=False)
class OutcomeLaw:
    """Distribution of the test values y* = f(x*) + s·e of one sample, with s = √γ for each target."""

    X: Array
    """Test inputs, shape (points, dimension)."""
    f: Array
    """Latent function at the test inputs, shape (points,)."""
    scale: Array
    """s of each target; 0 without noise."""
    cdf: Callable[[Array, Array], Array]
    """Distribution function of e (`SupportsNoiseLaw.noise_cdf`)."""

    def compute_probability(self, lower: Array, upper: Array) -> Array:
        """Return P(l ≤ y* ≤ u) of intervals over (target, …, point); NaN where an end is."""
        scale = self.scale.reshape(-1, *[1] * (lower.ndim - 1))
        return _subtract(self.X, lower - self.f, upper - self.f, scale, self.cdf)

    def compute_piece_probability(self, pieces: RegionPieces) -> Array:
        """Return P(l ≤ y* ≤ u) of each piece."""
        target, _, point, _ = pieces.place
        f = self.f[point]
        return _subtract(self.X[point], pieces.lower - f, pieces.upper - f, self.scale[target], self.cdf)


def _subtract(X: Array, low: Array, high: Array, scale: Array, cdf: Callable[[Array, Array], Array]) -> Array:
    """Return F(high/scale) − F(low/scale), overwriting both; an end at f itself is inside where the scale is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        low /= scale
        high /= scale
    if not scale.all():
        still = scale == 0
        low[still & np.isnan(low)], high[still & np.isnan(high)] = -np.inf, np.inf
    return cdf(X, high) - cdf(X, low)


class PointResults:
    """Results of the regions at each test point, of one or several samples with as many test points each.

    The targets of all samples stand one after the other on one axis. Results for a target are bitwise independent of
    the others.

    Parameters
    ----------
    scores : sequence of Scores
        Ends, lengths, hits and numbers of pieces of the regions of each sample, from a family of procedures.
    y_test : sequence of array
        Test values of each sample, shape (targets, points).
    alpha : sequence of float
        Significance level α of each entry on the level axis.
    reference : int or None
        Index of the procedure that distances are measured from; without one, distances are NaN.
    laws : sequence of OutcomeLaw, optional
        Distribution of the test values of each sample, for expected coverage.
    bins : sequence of array of int, optional
        Bin of each test point of each sample, for coverage in bins of x.
    """

    def __init__(
        self,
        scores: Sequence[Scores],
        y_test: Sequence[Array],
        alpha: Sequence[float],
        reference: int | None,
        laws: Sequence[OutcomeLaw] = (),
        bins: Sequence[npt.NDArray[np.intp]] = (),
    ) -> None:
        self._scores, self._alpha, self._reference = scores, alpha, reference
        self._laws, self._bins = laws, bins
        self._y_test = np.concatenate(y_test)
        self.hits: Bools = _join([one.hits for one in scores])
        self.lower: Array = _join([one.lower for one in scores])
        self.upper: Array = _join([one.upper for one in scores])
        self.length: Array = _join([one.length for one in scores])
        self.count: npt.NDArray[np.int64] = _join([one.count for one in scores])

    @cached_property
    def is_empty(self) -> Bools:
        """Whether a region is empty."""
        return np.asarray(self.count == 0)

    @cached_property
    def width(self) -> Array:
        """Width of the hull."""
        width = self.upper - self.lower
        width[self.is_empty] = 0.0
        return width

    @cached_property
    def is_unbounded(self) -> Bools:
        """Whether a region is unbounded."""
        return np.isinf(self.width)

    def mean(self, values: Values) -> Array:
        """Return the mean over test points."""
        return np.asarray(values.mean(axis=3))

    def mean_hits_f(self) -> Array:
        """Return the share of test points whose f(x*) is in the region; NaN where f is unknown."""
        known = [one.hits_f for one in self._scores if one.hits_f is not None]
        found = np.full(self.hits.shape[:3], np.nan)
        if known:
            rows = np.concatenate([np.full(len(one.hits), one.hits_f is not None) for one in self._scores])
            found[rows] = self.mean(_join(known))
        return found

    def coverage_by_bin(self) -> Array:
        """Return the coverage of the test points in each bin, over (target, procedure, level, bin)."""
        values = self.probability if self._laws else self.hits
        ends = np.cumsum([len(one.lower) for one in self._scores]).tolist()
        parts = zip(ends, self._scores, self._bins, strict=True)
        return np.concatenate([average_by_bin(values[end - len(one.lower) : end], bins) for end, one, bins in parts])

    @cached_property
    def probability(self) -> Array:
        """Probability that y* falls into each region, given the training sample.

        Raises
        ------
        ValueError
            If regions have several pieces, and the scores don't contain these.
        """
        assert len(self._laws) == len(self._scores), "stores keep expected coverage only where the noise is known"
        found, start = np.empty(self.lower.shape), 0
        for one, law in zip(self._scores, self._laws, strict=True):
            here = slice(start, start := start + len(one.lower))
            found[here] = law.compute_probability(self.lower[here], self.upper[here])
            several = self.count[here] > 1
            if several.any():
                _add_pieces(found[here], one, law, several)
        found[self.is_empty] = 0.0
        return np.minimum(found, 1.0, out=found)

    def mean_crps(self) -> Array:
        """Return the mean CRPS over test points, over (target, procedure); NaN for procedures without one."""
        return np.asarray(self._join_predictive("crps").mean(axis=2))

    def count_pits(self) -> Array:
        """Return the share of PITs in each of `PIT_BINS` bins, over (target, procedure, bin), likewise."""
        return count_pits(self._join_predictive("pit"))

    def _join_predictive(self, name: Literal["crps", "pit"]) -> Array:
        """Return an array of the scores over (target, procedure, point), of NaN where they don't have it."""
        parts = [getattr(one, name) if isinstance(one, PredictiveScores) else None for one in self._scores]
        empty = [np.full(one.hits.shape[:3], np.nan) for one in self._scores]
        return np.concatenate([new if each is None else each for each, new in zip(parts, empty, strict=True)])

    def quantiles(self, values: Array) -> Array:
        """Return the quantiles `QUANTILES` over test points."""
        return quantiles(values)

    def interval_scores(self) -> Array:
        """Return the interval score of each hull at y*."""
        return interval_scores(self.lower, self.upper, self._y_test, self._alpha)

    def distances(self, ends: Array) -> Array:
        """Return the mean distance of ends from those of the reference procedure."""
        return compute_distances(ends, self._reference)

    def differences(self, ends: Array) -> Array:
        """Return the mean of ends less those of the reference procedure."""
        return compute_differences(ends, self._reference)


def _join(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Join arrays over (target, procedure, point, level) along their targets, with points on the last axis."""
    if len(types := {each.dtype for each in parts}) > 1:
        raise TypeError(f"scores must have one type, got {' and '.join(sorted(map(str, types)))}")
    _, procedures, points, levels = parts[0].shape
    joined = np.empty((sum(map(len, parts)), procedures, levels, points), parts[0].dtype)
    return np.concatenate([each.swapaxes(2, 3) for each in parts], out=joined)


def _add_pieces(found: Array, scores: Scores, law: OutcomeLaw, several: Bools) -> None:
    """Replace the probability of regions of several pieces by the sum over their pieces."""
    pieces = scores.pieces if isinstance(scores, PiecewiseScores) else None
    if pieces is None:
        how = "scores need the attribute `pieces`, or the scenario expected_coverage = false"
        raise ValueError(f"a region has {scores.count.max()} pieces, so its expected coverage is unknown: {how}")
    target, procedure, point, level = pieces.place
    found[several] = 0.0
    np.add.at(found, (target, procedure, level, point), law.compute_piece_probability(pieces))


def compute_measures(
    scores: Sequence[Scores],
    y_test: Sequence[Array],
    alpha: Sequence[float],
    reference: int | None,
    keep: Sequence[str] = (),
    laws: Sequence[OutcomeLaw] = (),
    bins: Sequence[npt.NDArray[np.intp]] = (),
) -> Mapping[str, Values]:
    """Compute the measures of one or several samples, and what else `keep` names: at each point, or in bins of x.

    The parameters and the order of targets are those of `PointResults`. Samples are measured together because NumPy's
    overhead per call is as large as the arithmetic on one of them.
    """
    at = PointResults(scores, y_test, alpha, reference, laws, bins)
    found: dict[str, Values] = {one.name: one.compute(at) for one in list_measures(keep)}
    if "bins" in keep:
        found["coverage_by_x"] = at.coverage_by_bin()
    if DISTRIBUTION in keep:
        found[PIT.name] = at.count_pits()
    return {**found, "hit": at.hits, "point_width": at.width} if "pointwise" in keep else found


def quantiles(values: Array) -> Array:
    """Return `np.quantile(…, method="inverted_cdf")` along the last axis, from one sort: the ⌈q·m⌉-th smallest.

    Examples
    --------
    >>> quantiles(np.array([3.0, np.inf, 1.0, 2.0]))
    array([ 1.,  2., inf])
    """
    m = values.shape[-1]
    places = [max(ceil(round(q * m, 9)), 1) - 1 for q in QUANTILES]
    ordered: Array = np.sort(values, axis=-1)
    return ordered[..., places]


def count_pits(pit: Array) -> Array:
    """Return the share of PITs in each bin along the last axis; NaN if any is.

    Examples
    --------
    >>> count_pits(np.array([[0.0, 0.05, 0.999, 1.0], [0.5, 0.5, 0.5, np.nan]]))[:, [0, 1, 9]]
    array([[0.5, 0. , 0.5],
           [nan, nan, nan]])
    """
    lost = np.isnan(pit).any(axis=-1, keepdims=True)
    place = np.minimum(np.where(lost, 0.0, pit) * PIT_BINS, PIT_BINS - 1).astype(np.int64)
    shares = np.stack([(place == i).mean(axis=-1) for i in range(PIT_BINS)], axis=-1)
    return np.where(lost, np.nan, shares)


def interval_scores(lower: Array, upper: Array, y_test: Array, alpha: Sequence[float]) -> Array:
    """Return the interval score of each hull at y*, over (target, procedure, level, point)."""
    y = y_test[:, None, None, :]
    factor = (2.0 / np.array(alpha))[:, None]
    with np.errstate(invalid="ignore"):
        score = lower - y
        np.maximum(score, y - upper, out=score)
        np.maximum(score, 0.0, out=score)
        score *= factor
        score += upper - lower
    score[np.isnan(score)] = np.inf
    return score


def compute_distances(ends: Array, reference: int | None) -> Array:
    """Return the mean distance from the reference's end; inf where only one is infinite, NaN without a reference."""
    if reference is None:
        return np.full(ends.shape[:3], np.nan)
    other = ends[:, [reference]]
    with np.errstate(invalid="ignore"):
        apart = np.abs(ends - other)
    apart[ends == other] = 0.0
    apart[np.isnan(apart)] = np.inf
    return np.asarray(apart.mean(axis=3))


def compute_differences(ends: Array, reference: int | None) -> Array:
    """Return the mean of ends less the reference's: 0 for equal infinite ends, NaN where only one is finite.

    Examples
    --------
    >>> ends = np.array([[[[1.0, -np.inf]], [[3.0, -np.inf]], [[2.0, 2.0]]]])  # (target, procedure, level, point)
    >>> compute_differences(ends, reference=0)[0, :, 0]
    array([ 0.,  1., nan])
    """
    if reference is None:
        return np.full(ends.shape[:3], np.nan)
    other = ends[:, [reference]]
    with np.errstate(invalid="ignore"):
        difference = ends - other
    difference[ends == other] = 0.0
    difference[np.isinf(difference)] = np.nan
    return np.asarray(difference.mean(axis=3))
