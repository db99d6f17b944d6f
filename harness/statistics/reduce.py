"""Reduce replications to one number for each cell.

The cube, tables, figures and the report all call this module, so that they show the same numbers. Each measure names
its reduction:

- ``"share"``, ``"probability"`` and ``"mean"``: the mean over all replications, with a standard error clustered by path
  (`harness.statistics.clustered`); a share is of counted test points, a probability is known for each of them;
- ``"bounded_mean"``: the mean over the replications whose value is finite, with such an error. It is conditional on
  that, and flatters who is infinite where it would do badly, so the share of the others must be shown with it;
- ``"median"``: the ⌈N/2⌉-th smallest of N replications, since widths may be infinite.

The first two axes of all arrays are path and draw; others may follow. `ok` is a mask of the replications to include.
"""

from __future__ import annotations

from math import inf

import numpy as np

from harness.core.types import Array, Bools, Reduction, Values
from harness.statistics.clustered import clustered_error, mean, quantile
from harness.statistics.intervals import LEVEL, Estimate, estimate_mean, estimate_quantile, estimate_share


def compute_centre(values: Values, ok: Bools, reduction: Reduction, q: float = 0.5) -> Array:
    """Return the reduced values, without standard errors.

    Examples
    --------
    >>> widths = np.array([[1.0, 2.0], [4.0, np.inf]])
    >>> ok = np.ones((2, 2), dtype=bool)
    >>> float(compute_centre(widths, ok, "median")), float(compute_centre(widths, ok, "mean"))
    (2.0, inf)
    >>> round(float(compute_centre(widths, ok, "bounded_mean")), 3)
    2.333
    """
    ok = _select(values, ok, reduction)
    return quantile(values, ok, q) if reduction == "median" else mean(values, ok)


def compute_error(values: Values, ok: Bools, reduction: Reduction) -> tuple[Array, Array]:
    """Return the reduced values with their standard errors: those of `reduce_replications`, without its intervals."""
    if reduction == "median":
        found = estimate_quantile(values, ok)
        return found.value, found.se
    return clustered_error(values, _select(values, ok, reduction))


def reduce_replications(
    values: Values,
    ok: Bools,
    reduction: Reduction,
    points: int = 1,
    q: float = 0.5,
    level: float = LEVEL,
    bounds: tuple[float, float] = (-inf, inf),
) -> Estimate:
    """Reduce replications to estimates with standard errors and confidence intervals.

    Parameters
    ----------
    values, ok : array
        A number for each replication, and whether to include it.
    reduction : {"share", "probability", "mean", "bounded_mean", "median"}
        How the measure is reduced.
    points : int
        Number of test points in a replication, for ``"share"`` and ``"probability"``.
    q : float
        The quantile to estimate, for ``"median"``; another than 0.5 describes the spread over replications.
    level : float
        Confidence level of the intervals.
    bounds : pair of float
        Least and largest possible value, for ``"median"``: ends of an interval that few paths can't bound.

    Returns
    -------
    Estimate
        Its `value` equals `compute_centre`.
    """
    if reduction in ("share", "probability"):
        return estimate_share(values, ok, points, level, is_counted=reduction == "share")
    if reduction in ("mean", "bounded_mean"):
        return estimate_mean(values, _select(values, ok, reduction), level)
    return estimate_quantile(values, ok, q, level, bounds)


def _select(values: Values, ok: Bools, reduction: Reduction) -> Bools:
    """Return a mask of the replications that a reduction includes."""
    return ok & np.isfinite(values) if reduction == "bounded_mean" else ok
