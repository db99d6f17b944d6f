"""Compute the measures of a replication from the results of its regions at the test points.

`PointResults` has the arrays and the operations that the entries of `harness.core.schema.MEASURES` are written in.
Arrays are over (target, procedure, level, point); a measure is over (target, procedure, level). An empty region has
width 0. The interval score (Winkler 1972; Gneiting & Raftery 2007) of a hull [l, u] at y is ::

    (u − l) + 2/α·(l − y)₊ + 2/α·(y − u)₊

and inf for an empty region, which has no end to measure from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil

import numpy as np

from harness.core.protocols import Scores
from harness.core.schema import MEASURES, QUANTILES
from harness.core.types import Array, Bools, Values

VERSION = 1
"""Version of the arithmetic, increased by every change that alters any bit of a result."""


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
    """

    def __init__(self, scores: Scores, y_test: Array, alpha: Sequence[float], reference: int | None) -> None:
        self._scores, self._y_test, self._alpha, self._reference = scores, y_test, alpha, reference
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
    scores: Scores, y_test: Array, alpha: Sequence[float], reference: int | None, pointwise: bool = False
) -> Mapping[str, Values]:
    """Compute all measures of a replication, and with `pointwise` hits and widths at each test point.

    The parameters are those of `PointResults`.
    """
    at = PointResults(scores, y_test, alpha, reference)
    found: dict[str, Values] = {one.name: one.compute(at) for one in MEASURES}
    return {**found, "hit": at.hits, "point_width": at.width} if pointwise else found


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
