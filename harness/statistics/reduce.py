"""Reduce replications to one number for each cell: the only way from stored replications to a reported number.

The cube, tables, figures and the report all call this module, so that the cube's number is the table's number. A
measure says how it is reduced:

- ``"share"`` and ``"mean"``: the mean over all replications, with a standard error between paths
  (`harness.statistics.clustered`);
- ``"median"``: the ⌈N/2⌉-th smallest of N replications, since widths may be infinite.

Arrays are over path, draw, and then whatever there is; `ok` says which replications count.
"""

from __future__ import annotations

from harness.core.types import Array, Bools, Reduction, Values
from harness.statistics.clustered import mean, quantile
from harness.statistics.intervals import LEVEL, Estimate, estimate_mean, estimate_quantile, estimate_share


def compute_centre(values: Values, ok: Bools, reduction: Reduction, q: float = 0.5) -> Array:
    """Return the reduced values alone, without errors.

    Examples
    --------
    >>> import numpy as np
    >>> widths = np.array([[1.0, 2.0], [4.0, np.inf]])
    >>> ok = np.ones((2, 2), dtype=bool)
    >>> float(compute_centre(widths, ok, "median")), float(compute_centre(widths, ok, "mean"))
    (2.0, inf)
    """
    return quantile(values, ok, q) if reduction == "median" else mean(values, ok)


def reduce_replications(
    values: Values, ok: Bools, reduction: Reduction, points: int = 1, q: float = 0.5, level: float = LEVEL
) -> Estimate:
    """Reduce replications to estimates with standard errors and intervals.

    Parameters
    ----------
    values, ok : array
        A number for each replication, and whether it counts.
    reduction : {"share", "mean", "median"}
        How the measure is reduced.
    points : int
        Test points that a share is of.
    q : float
        Which quantile, for ``"median"``: the spread of a measure over replications is asked for by others.
    level : float
        Level of the intervals.

    Returns
    -------
    Estimate
        Its `value` is what `compute_centre` returns.
    """
    if reduction == "share":
        return estimate_share(values, ok, points, level)
    if reduction == "mean":
        return estimate_mean(values, ok, level)
    return estimate_quantile(values, ok, q, level)
