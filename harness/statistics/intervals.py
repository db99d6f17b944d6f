"""Compute confidence intervals from replications that are nested in paths.

**Shares**, such as coverage, are near 0 or 1, where the interval x̄ ± t·se is too short; it has length 0 when every
replication has the value 1. Therefore the share is treated as that of n* = x̄(1 − x̄)/se² independent points, the
effective sample size of Korn & Graubard (1998), to which t²/2 hits and t²/2 misses are added (Agresti & Coull 1998).
With t the quantile of Student's t with ν degrees of freedom, centre and interval are ::

    x̃ = (n*·x̄ + t²/2)/(n* + t²),    x̃ ± t·sqrt(x̃(1 − x̃)/(n* + t²))

Test points of a path succeed and fail together, so a few paths may carry all errors. With e_p the errors of path p (its
misses if x̄ ≥ ½, else its hits) and κ = (Σe_p)²/Σe_p² the number of paths that effectively carry them,

- ν = κ, but at least 2 and at most P − 1;
- if κ < 3, P paths can't tell how points cluster. The interval is then extended to that of paths which have only
  4(ψ(4 + m) − ψ(4)) independent points each, of their m (ψ the digamma function; 16.2 for m = 200), with ν at least 4,
  and P − 1 if there is no error at all;
- if moreover P < 20, it is extended to the interval of Clopper & Pearson for the share of paths with an error, which
  holds even if all points of a path share their fate;
- if κ ≥ 3, and a kind of path is rare, x̄ may be skewed more than the share of n* points. With u_p the sum of x − x̄
  over the draws of path p, N replications and s = Σu_p³/(N·Σu_p²), the centre is then x̄ + s·(1 + 2t²)/12, if that is
  farther from x̄ than x̃ is, but at most t·se/2 from it. This is half of the shift of Johnson (1978), since one path of a
  kind is no proof of more (`test_intervals_cover_where_a_tenth_of_the_paths_is_bad`).

se² of a share of *counted* points is taken to be at least a quarter of the variance with as many independent points, so
that paths that agree by chance don't make the interval too short (but n* is then no less than the number of points, so
that the least errors of probabilities count as none). A *probability*, such as expected coverage, varies continuously
and needs no such floor. In simulated studies with beta distributed coverage these intervals cover 94 % and more (93 %
for probabilities) from 10 paths on, for shares from 0.5 to 0.999 and correlations of 0 to 0.2 (`LAWS` and
`test_the_whole_grid_of_laws` in `tests/harness/statistics/test_intervals.py`, with its table in `coverage.md`). They
can't know of a kind of path that no path has shown: if a tenth of all paths is bad, 12 % of studies with 20 paths have
none, and most of these are wrong (`test_paths_that_no_study_has_seen_are_not_in_its_interval`).

**Quantiles** over replications have as interval the order statistics at the ends of an interval for the share of
replications below the quantile (Woodruff 1952). Where there are too few paths for such an order statistic, the end is
the bound of the measure: 0 or 1 for coverage, infinite for widths (`test_intervals_of_quantiles_cover`,
`test_quantiles_that_few_paths_cannot_bound`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, digamma, stdtrit

from harness.core.types import Array, Bools, Values
from harness.statistics.clustered import clustered_error, count_paths, sort_replications, take_ranks

LEVEL = 0.95
"""Default level of confidence intervals."""
_FEW = 3.0
"""Paths that must effectively carry the errors for these to show how points cluster."""
_MANY = 20
"""Paths from which on the extended interval need not hold for paths whose points all share their fate."""
_LEAST, _LEAST_EXTENDED = 2.0, 4.0
"""Least degrees of freedom, of the interval and of the extended one."""
_CLUSTER = 4.0
"""Points of a path count as 4(ψ(4 + m) − ψ(4)) in the extended interval."""


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


def t_quantile(paths: Values, level: float | Array) -> Array:
    """Return the quantile of Student's t for a two-sided interval from a number of paths; NaN for one path."""
    return _t_quantile(np.asarray(paths, dtype=float) - 1.0, level)


def _t_quantile(freedom: Array, level: float | Array) -> Array:
    """Return the quantile of Student's t with some degrees of freedom, for a two-sided interval; NaN below 1."""
    found = stdtrit(np.maximum(freedom, 1.0), 0.5 + np.asarray(level) / 2)
    return np.where(freedom >= 1, found, np.nan)


@dataclass(frozen=True, eq=False)
class Share:
    """A share and what its interval depends on, over cells."""

    value: Array
    se: Array
    """Standard error, clustered by path."""
    paths: Values
    points: Values
    """Mean number of test points of a path, in all its draws."""
    carriers: Array
    """κ, the number of paths that effectively carry the errors; 0 without errors."""
    affected: Values
    """Number of paths with an error."""
    is_counted: bool = True
    """Whether it is a share of counted points; otherwise it is a mean of probabilities."""
    skew: Array | float = 0.0
    """s, the skewness of the share times its standard error."""

    @classmethod
    def from_replications(cls, values: Values, ok: Bools, points: int, is_counted: bool = True) -> Share:
        """Reduce replications, each a share of `points` test points."""
        ok = np.broadcast_to(ok, values.shape)
        centre, se = clustered_error(values, ok)
        paths = count_paths(ok)
        with np.errstate(invalid="ignore", divide="ignore"):
            errors = np.where(ok, np.where(centre < 0.5, values, 1.0 - values), 0.0).sum(axis=1, dtype=float)
            squares = (errors**2).sum(axis=0)
            carriers = np.where(squares > 0, errors.sum(axis=0) ** 2 / squares, 0.0)
            each = points * ok.sum(axis=(0, 1)) / paths
        with np.errstate(invalid="ignore"):
            skew = _compute_skew(values - centre, ok)
        return cls(centre, se, paths, each, carriers, (errors > 0).sum(axis=0), is_counted, skew)

    def interval(self, level: float | Array = LEVEL) -> tuple[Array, Array]:
        """Return the ends of the confidence interval; see the module for the formula.

        The interval always contains the share. Its ends are NaN where the standard error is. Cells may have levels of
        their own: `harness.statistics.sequential` asks for those at which all intervals of a cell hold together.

        Examples
        --------
        >>> ones = np.ones((20, 1))
        >>> low, high = Share.from_replications(ones, ones > 0, points=200).interval()
        >>> float(low.round(3)), float(high)
        (0.984, 1.0)
        """
        t = _t_quantile(self._compute_freedom(_LEAST), level)
        low, high = self._compute_interval(self.points, t, self.is_counted)
        fewer = _CLUSTER * (digamma(_CLUSTER + np.maximum(self.points, 1.0)) - digamma(_CLUSTER))
        t = _t_quantile(self._compute_freedom(_LEAST_EXTENDED), level)
        others = self._extend(*self._compute_interval(fewer, t, True), level)
        few, known = self._is_carried_by_few(), ~np.isnan(self.se)
        low = np.where(few, np.fmin(low, others[0]), low)
        high = np.where(few, np.fmax(high, others[1]), high)
        return np.where(known, low, np.nan), np.where(known, high, np.nan)

    def _is_carried_by_few(self) -> Bools:
        """Return whether κ < 3: P paths can't tell then how points cluster."""
        return np.asarray(self.carriers < _FEW - 1e-9)  # three equal errors give 3, but for rounding

    def _compute_freedom(self, least: float) -> Array:
        """Return ν: κ, but at least `least` and at most P − 1, which it is without errors."""
        most = np.maximum(self.paths - 1.0, 1.0)
        return np.where(self.carriers > 0, np.clip(self.carriers, np.minimum(least, most), most), most)

    def _compute_interval(self, points: Values, t: Array, has_floor: bool) -> tuple[Array, Array]:
        """Return the interval with `points` points a path, and with or without the floor of independent points."""
        share, total, t2 = self.value, points * self.paths, t**2
        with np.errstate(invalid="ignore", divide="ignore"):
            kept = (share * total + 2) / (total + 4)
            least = kept * (1 - kept) / (total + 4) / 4 if has_floor else 0.0
            both = share * (1 - share)
            floor = np.where(both > 0, np.maximum(both / least, total), total) if has_floor else np.inf
            effective = np.where(both > 0, np.minimum(both / self.se**2, floor), total)
            weight = np.where(np.isinf(effective), 0.0, t2 / (effective + t2))  # of the points that are added
            middle = share + weight * (0.5 - share)
            half = np.sqrt(weight * middle * (1 - middle))
            skew = np.where(self._is_carried_by_few(), 0.0, self.skew)
            shift = np.clip(skew * (1 + 2 * t2) / 12, -t * self.se / 2, t * self.se / 2)
            middle = np.where(np.abs(shift) > np.abs(middle - share), share + shift, middle)
            low, high = np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
        return np.minimum(low, share), np.maximum(high, share)

    def _extend(self, low: Array, high: Array, level: float | Array) -> tuple[Array, Array]:
        """Extend an interval from few paths to errors as frequent as paths with an error may be."""
        rest = np.maximum(self.paths - self.affected, 0.5)
        worst = np.where(
            self.affected < self.paths, betaincinv(self.affected + 1.0, rest, 0.5 + np.asarray(level) / 2), 1.0
        )
        few, mirrored = self.paths < _MANY, self.value < 0.5
        low = np.where(few & ~mirrored, np.minimum(low, 1 - worst), low)
        return low, np.where(few & mirrored, np.maximum(high, worst), high)


def _compute_skew(deviations: Array, ok: Bools) -> Array:
    """Return Σu_p³/(N·Σu_p²) of deviations from the mean of N replications, u_p their sum on path p; 0 if all are 0."""
    sums = np.where(ok, deviations, 0.0).sum(axis=1, dtype=float)
    below = ok.sum(axis=(0, 1)) * (sums**2).sum(axis=0)
    return np.asarray((sums**3).sum(axis=0) / np.where(below > 0, below, 1.0))


def estimate_share(values: Values, ok: Bools, points: int, level: float = LEVEL, is_counted: bool = True) -> Estimate:
    """Estimate the mean of shares of `points` test points, or of probabilities if they aren't counted."""
    share = Share.from_replications(values, ok, points, is_counted)
    counts = np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    return Estimate(share.value, share.se, *share.interval(level), share.paths, counts)


def estimate_mean(values: Values, ok: Bools, level: float = LEVEL) -> Estimate:
    """Estimate a mean, with a t interval; infinite, with an error of NaN, where any replication is infinite."""
    centre, se = clustered_error(values, ok)
    counts = np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    paths = count_paths(np.broadcast_to(ok, values.shape))
    half = t_quantile(paths, level) * se
    return Estimate(centre, se, centre - half, centre + half, paths, counts)


def estimate_quantile(
    values: Values,
    ok: Bools,
    q: float = 0.5,
    level: float | Array = LEVEL,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Estimate:
    """Estimate the q-quantile over replications. Its standard error is the length of the interval divided by 2t.

    Parameters
    ----------
    values, ok : array
        A number for each replication, and whether to include it.
    q : float
        The quantile.
    level : float or array
        Confidence level of the interval, one for all cells or one for each.
    bounds : pair of float
        Least and largest possible value: the ends where paths are too few for an order statistic.

    Examples
    --------
    >>> x = np.linspace(0.8, 0.99, 20)[:, None]
    >>> found = estimate_quantile(x, x > 0, q=0.05, bounds=(0.0, 1.0))
    >>> float(found.value), float(found.low), bool(found.high < 1)
    (0.8, 0.0, True)
    """
    ok = np.broadcast_to(ok, values.shape)
    counts, paths = ok.sum(axis=(0, 1)), count_paths(ok)
    ordered = sort_replications(values, ok)
    value = take_ranks(ordered, counts, np.ceil(np.round(q * counts, 9)))
    _, se = clustered_error((values <= value).astype(float), ok)
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.maximum(se, np.sqrt(q * (1 - q) / counts) / 2)
        t = t_quantile(paths, level)
        known = ~np.isnan(se)
        first, last = (np.where(known, counts * (q + sign * t * se), 1.0) for sign in (-1, 1))
        first, last = np.floor(first), np.ceil(last) + 1
        low = np.where(first < 1, bounds[0], take_ranks(ordered, counts, first))
        high = np.where(last > counts, bounds[1], take_ranks(ordered, counts, last))
        low, high = np.where(known, low, np.nan), np.where(known, high, np.nan)
        return Estimate(value, (high - low) / (2 * t), low, high, paths, counts)
