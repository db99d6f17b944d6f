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
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from harness.core.protocols import PiecewiseScores, RegionPieces, Scores
from harness.core.schema.axes import QUANTILES
from harness.core.schema.measures import list_measures
from harness.core.types import Array, Bools, Values

VERSION = 1
"""Version of the arithmetic, increased by every change that alters any bit of a result."""


@dataclass(frozen=True, eq=False)
class OutcomeLaw:
    """Distribution of the test values y* = f(x*) + s·e, with s = √γ for each target."""

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
        return _subtract(self.X, lower - self.f, upper - self.f, np.broadcast_to(scale, lower.shape), self.cdf)

    def compute_piece_probability(self, pieces: RegionPieces) -> Array:
        """Return P(l ≤ y* ≤ u) of each piece."""
        target, _, point, _ = pieces.place
        f = self.f[point]
        return _subtract(self.X[point], pieces.lower - f, pieces.upper - f, self.scale[target], self.cdf)


def _subtract(X: Array, low: Array, high: Array, scale: Array, cdf: Callable[[Array, Array], Array]) -> Array:
    """Return F(high/scale) − F(low/scale); an end at f itself is inside where the scale is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = low / scale, high / scale
    still = scale == 0
    if still.any():
        ends = ((low, -np.inf), (high, np.inf))
        low, high = (np.where(still & np.isnan(end), inside, end) for end, inside in ends)
    return cdf(X, high) - cdf(X, low)


class PointResults:
    """Results of the regions of one sample at each test point.

    Parameters
    ----------
    scores : Scores
        Ends, lengths, hits and numbers of pieces of the regions, from a family of procedures.
    y_test : array, shape (targets, points)
        Test values.
    alpha : sequence of float
        Significance level α of each entry on the level axis.
    reference : int or None
        Index of the procedure that distances are measured from; without one, distances are NaN.
    law : OutcomeLaw, optional
        Distribution of the test values, for expected coverage.
    """

    def __init__(
        self,
        scores: Scores,
        y_test: Array,
        alpha: Sequence[float],
        reference: int | None,
        law: OutcomeLaw | None = None,
    ) -> None:
        self._scores, self._y_test, self._alpha, self._reference = scores, y_test, alpha, reference
        self._law = law
        ends = (scores.lower, scores.upper, scores.length)
        self.lower, self.upper, self.length = (np.ascontiguousarray(each.swapaxes(2, 3)) for each in ends)
        self.hits, self.count = scores.hits.swapaxes(2, 3), scores.count.swapaxes(2, 3)

    @cached_property
    def is_empty(self) -> Bools:
        """Whether a region is empty."""
        return np.asarray(self.count == 0)

    @cached_property
    def width(self) -> Array:
        """Width of the hull."""
        return np.where(self.is_empty, 0.0, self.upper - self.lower)

    @cached_property
    def is_unbounded(self) -> Bools:
        """Whether a region is unbounded."""
        return np.isinf(self.width)

    def mean(self, values: Values) -> Array:
        """Return the mean over test points."""
        return np.asarray(values.mean(axis=3))

    def mean_hits_f(self) -> Array:
        """Return the share of test points whose f(x*) is in the region; NaN where f is unknown."""
        if self._scores.hits_f is None:
            targets, procedures, levels, _ = self.hits.shape
            return np.full((targets, procedures, levels), np.nan)
        return np.asarray(self._scores.hits_f.mean(axis=2))

    def probability(self) -> Array:
        """Return the probability that y* falls into each region, given the training sample.

        Raises
        ------
        ValueError
            If regions have several pieces, and the scores don't contain these.
        """
        assert self._law is not None, "stores keep expected coverage only where the source knows its noise"
        found = np.where(self.is_empty, 0.0, self._law.compute_probability(self.lower, self.upper))
        if (self.count > 1).any():
            pieces = self._scores.pieces if isinstance(self._scores, PiecewiseScores) else None
            if pieces is None:
                how = "scores need the attribute `pieces`, or the scenario expected_coverage = false"
                raise ValueError(f"a region has {self.count.max()} pieces, so its expected coverage is unknown: {how}")
            target, procedure, point, level = pieces.place
            found[self.count > 1] = 0.0
            np.add.at(found, (target, procedure, level, point), self._law.compute_piece_probability(pieces))
        return np.minimum(found, 1.0)

    def quantiles(self, values: Array) -> Array:
        """Return the quantiles `QUANTILES` over test points."""
        return quantiles(values)

    def interval_scores(self) -> Array:
        """Return the interval score of each hull at y*."""
        return interval_scores(self.lower, self.upper, self._y_test, self._alpha)

    def distances(self, ends: Array) -> Array:
        """Return the mean distance of ends from those of the reference procedure."""
        return compute_distances(ends, self._reference)


def compute_measures(
    scores: Scores,
    y_test: Array,
    alpha: Sequence[float],
    reference: int | None,
    keep: Sequence[str] = (),
    law: OutcomeLaw | None = None,
) -> Mapping[str, Values]:
    """Compute the measures of a replication, and with "pointwise" in `keep` hits and widths at each test point.

    The other parameters are those of `PointResults`.
    """
    at = PointResults(scores, y_test, alpha, reference, law)
    found: dict[str, Values] = {one.name: one.compute(at) for one in list_measures(keep)}
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


def interval_scores(lower: Array, upper: Array, y_test: Array, alpha: Sequence[float]) -> Array:
    """Return the interval score of each hull at y*, over (target, procedure, level, point)."""
    y = y_test[:, None, None, :]
    factor = (2.0 / np.array(alpha))[:, None]
    with np.errstate(invalid="ignore"):
        outside = np.maximum(np.maximum(lower - y, y - upper), 0.0)
        score = (upper - lower) + factor * outside
    return np.where(np.isnan(score), np.inf, score)


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
