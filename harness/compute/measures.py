"""Measures: what is kept of a replication, from what its regions did at the test points.

Arrays come in over (target, procedure, point, level) and go out over (target, procedure, level). An empty region has
width 0. The interval score (Winkler 1972; Gneiting & Raftery 2007) of a hull [l, u] at y is ::

    (u − l) + 2/α·(l − y)₊ + 2/α·(y − u)₊

and inf for an empty region, which has no place to measure from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np

from harness.core.protocols import Scores
from harness.core.schema import QUANTILES
from harness.core.types import Array, Values

VERSION = 1
"""Raised by any change that moves a bit of a result."""


def compute_measures(
    scores: Scores, y_test: Array, alpha: Sequence[float], reference: int | None, pointwise: bool = False
) -> Mapping[str, Values]:
    """All variables of a replication but θ̂ and status; `y_test` is over (target, point)."""
    lower, upper, length = (np.ascontiguousarray(each.swapaxes(2, 3)) for each in _get_real_arrays(scores))
    hits, count = scores.hits.swapaxes(2, 3), scores.count.swapaxes(2, 3)
    empty = count == 0
    width = np.where(empty, 0.0, upper - lower)
    found: dict[str, Values] = {
        "coverage": hits.mean(axis=3),
        "coverage_f": _compute_coverage_f(scores),
        "width": quantiles(width),
        "width_mean": width.mean(axis=3),
        "length": quantiles(length),
        "length_mean": length.mean(axis=3),
        "interval_score": interval_scores(lower, upper, y_test, alpha).mean(axis=3),
        "distance_lower": compute_distances(lower, reference),
        "distance_upper": compute_distances(upper, reference),
        "unbounded": np.isinf(width).mean(axis=3),
        "empty": empty.mean(axis=3),
        "disconnected": (count > 1).mean(axis=3),
    }
    if pointwise:
        found |= {"hit": hits, "point_width": width}
    return found


def _get_real_arrays(scores: Scores) -> tuple[Array, Array, Array]:
    return scores.lower, scores.upper, scores.length


def _compute_coverage_f(scores: Scores) -> Array:
    if scores.hits_f is None:
        targets, procedures, _, levels = scores.hits.shape
        return np.full((targets, procedures, levels), np.nan)
    return np.asarray(scores.hits_f.mean(axis=2))


def quantiles(values: Array) -> Array:
    """`np.quantile(…, method="inverted_cdf")` along the last axis, from one sort: the ⌈q·m⌉-th smallest.

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
    """Over (target, procedure, level, point)."""
    y = y_test[:, None, None, :]
    factor = (2.0 / np.array(alpha))[:, None]
    with np.errstate(invalid="ignore"):
        outside = np.maximum(np.maximum(lower - y, y - upper), 0.0)
        score = (upper - lower) + factor * outside
    return np.where(np.isnan(score), np.inf, score)


def compute_distances(ends: Array, reference: int | None) -> Array:
    """Mean distance from the reference's end; inf where just one is infinite, NaN without a reference."""
    if reference is None:
        return np.full(ends.shape[:3], np.nan)
    other = ends[:, [reference]]
    with np.errstate(invalid="ignore"):
        apart = np.abs(ends - other)
    apart[ends == other] = 0.0
    apart[np.isnan(apart)] = np.inf
    return np.asarray(apart.mean(axis=3))
