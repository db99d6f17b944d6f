"""Compute confidence intervals from replications that are nested in paths.

**Shares**, such as coverage, are near 0 or 1, where the interval x̄ ± t·se is too short; it has length 0 when every
replication has the value 1. Therefore the share is treated as that of n* = x̄(1 − x̄)/se² independent points, the
effective sample size of Korn & Graubard (1998), to which t²/2 hits and t²/2 misses are added (Agresti & Coull 1998).
With t the quantile of Student's t with P − 1 degrees of freedom, centre and interval are ::

    x̃ = (n*·x̄ + t²/2)/(n* + t²),    x̃ ± t·sqrt(x̃(1 − x̃)/(n* + t²))

se² is taken to be at least a quarter of the variance with as many independent test points, so that paths that agree by
chance don't make the interval too short. In simulated studies with P ≥ 10 paths this covers 94–96 % down to an error
rate of 1 % (`tests/harness/statistics/test_intervals.py`).

**Quantiles** over replications have as interval the order statistics at the ends of an interval for the share of
replications below the quantile (Woodruff 1952). The ends may be infinite, as widths may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from harness.core.types import Array, Bools, Values
from harness.statistics.clustered import clustered_error, count_paths, order_statistics

LEVEL = 0.95
"""Default level of confidence intervals."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimates with their standard errors and confidence intervals, over cells."""

    value: Array
    se: Array
    """Standard error; NaN with one path, where it is unknown."""
    low: Array
    """Lower end of the interval."""
    high: Array
    """Upper end of the interval."""
    paths: Values
    """Number of paths with a replication that is ok."""
    replications: Values
    """Number of replications that are ok."""


def t_quantile(paths: Values, level: float) -> Array:
    """Return the quantile of Student's t for a two-sided interval from a number of paths; NaN for one path."""
    freedom = np.asarray(paths, dtype=float) - 1.0
    found = stdtrit(np.maximum(freedom, 1.0), 0.5 + np.asarray(level) / 2)
    return np.where(freedom >= 1, found, np.nan)


def share_interval(share: Array, se: Array, paths: Values, points: Values, level: float = LEVEL) -> tuple[Array, Array]:
    """Compute the confidence interval of a share; see the module for the formula.

    Parameters
    ----------
    share, se : array
        The share, and its standard error clustered by path.
    paths, points : array
        Numbers of paths, and of test points in all replications together.
    level : float
        Confidence level.

    Returns
    -------
    low, high : array
        Ends of the interval, which always contains the share; NaN where `se` is.

    Examples
    --------
    >>> low, high = share_interval(np.array(1.0), np.array(0.0), np.array(20), np.array(4000))
    >>> float(low.round(4)), float(high)
    (0.9987, 1.0)
    """
    t2 = t_quantile(paths, level) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        kept = (share * points + 2) / (points + 4)
        least = kept * (1 - kept) / (points + 4) / 4
        both = share * (1 - share)
        effective = np.where(both > 0, both / np.maximum(se**2, least), points)
        middle = (effective * share + t2 / 2) / (effective + t2)
        half = np.sqrt(t2 * middle * (1 - middle) / (effective + t2))
        known = ~np.isnan(se)
        low, high = np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
    low, high = np.minimum(low, share), np.maximum(high, share)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def estimate_share(values: Values, ok: Bools, points: int, level: float = LEVEL) -> Estimate:
    """Estimate the mean of shares, each of `points` test points."""
    centre, se = clustered_error(values, ok)
    counts = np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    paths = count_paths(np.broadcast_to(ok, values.shape))
    low, high = share_interval(centre, se, paths, counts * points, level)
    return Estimate(centre, se, low, high, paths, counts)


def estimate_mean(values: Values, ok: Bools, level: float = LEVEL) -> Estimate:
    """Estimate a mean, with a t interval; infinite, with an error of NaN, where any replication is infinite."""
    centre, se = clustered_error(values, ok)
    counts = np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    paths = count_paths(np.broadcast_to(ok, values.shape))
    half = t_quantile(paths, level) * se
    return Estimate(centre, se, centre - half, centre + half, paths, counts)


def estimate_quantile(values: Values, ok: Bools, q: float = 0.5, level: float = LEVEL) -> Estimate:
    """Estimate the q-quantile over replications. Its standard error is the length of the interval divided by 2t."""
    counts = np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    paths = count_paths(np.broadcast_to(ok, values.shape))
    value = order_statistics(values, ok, np.ceil(np.round(q * counts, 9)))
    _, se = clustered_error((values <= value).astype(float), ok)
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.maximum(se, np.sqrt(q * (1 - q) / counts) / 2)
        t = t_quantile(paths, level)
        ends = [np.where(np.isnan(se), counts, counts * (q + sign * t * se)) for sign in (-1, 1)]
        low = order_statistics(values, ok, np.floor(ends[0]))
        high = order_statistics(values, ok, np.ceil(ends[1]) + 1)
        known = ~np.isnan(se)
        low, high = np.where(known, low, np.nan), np.where(known, high, np.nan)
        return Estimate(value, (high - low) / (2 * t), low, high, paths, counts)
