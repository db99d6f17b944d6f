"""Estimate shares at every look of a study that adds paths until it is decided, with intervals that hold at all looks.

The data of a study are its paths 0, 1, 2, … in the order of their numbers. A **look** is a number of paths P at which
the first P paths are judged. Looks are at P = 50, 75, …, 500, and then in steps of 25·⌊P/250⌋, whatever the study and
its blocks are.

An interval with Student's t holds at one look. One that holds at all P together, with probability 1 − δ, has another
multiplier of the standard error (the normal mixture of Robbins 1970; Waudby-Smith et al. 2024) ::

    ρ²  = (−2 ln δ + ln(−2 ln δ) + 1)/200                       the interval is tightest near P = 200
    B_P = sqrt((1 + 1/(Pρ²))·(ln(1 + Pρ²) − 2 ln δ))
    T_P = the quantile of Student's t, with P − 1 degrees of freedom, whose upper tail is Φ(−B_P)

T_P is the multiplier at the level 1 − 2Φ(−B_P). So the interval of `harness.statistics.intervals.Share` at that level,
with its own degrees of freedom, is the one for all looks.

The first two axes of all arrays are path and draw; others may follow. The results have looks in place of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from harness.core.types import Array, Bools, Values
from harness.statistics.intervals import Share

FIRST = 50
"""Number of paths at the first look."""
_STEP, _DOUBLED = 25, 250
"""Looks are `_STEP` paths apart, and from 2·`_DOUBLED` paths on ⌊P/`_DOUBLED`⌋ times as many."""
_BEST = 200
"""Number of paths near which the interval is tightest."""
_TINY = 1e-300
_CONSTANT = 1e-12
"""Variance below which path means count as equal, and have no skewness."""
Counts = npt.NDArray[np.int64]


def list_looks(paths: int) -> Counts:
    """Return the looks at no more than a number of paths.

    Examples
    --------
    >>> list_looks(130)
    array([ 50,  75, 100, 125])
    """
    looks, look = [], FIRST
    while look <= paths:
        looks.append(look)
        look = _step(look)
    return np.array(looks, dtype=np.int64)


def find_look(paths: float) -> int:
    """Return the first look at no fewer than a number of paths.

    Examples
    --------
    >>> find_look(101), find_look(125), find_look(501)
    (125, 125, 550)
    """
    look = FIRST
    while look < paths:
        look = _step(look)
    return look


def _step(look: int) -> int:
    return look + _STEP * max(1, look // _DOUBLED)


def compute_level(paths: Values, wrong: float | Array) -> Array:
    """Return the levels of intervals that hold at all numbers of paths together.

    Parameters
    ----------
    paths : array
        Numbers of paths P.
    wrong : float or array
        Probability δ that the interval of a cell fails at any number of paths.
    """
    return np.asarray(1 - 2 * _compute_tail(paths, wrong))


def compute_multiplier(paths: Values, wrong: float | Array) -> Array:
    """Return T_P, the multiplier of the standard error for intervals that hold at all numbers of paths together.

    Examples
    --------
    >>> compute_multiplier(np.array([50, 200, 1000]), 0.05 / 384).round(2)
    array([5.51, 4.83, 4.8 ])
    """
    return np.asarray(-stdtrit(np.maximum(np.asarray(paths, dtype=float) - 1, 1.0), _compute_tail(paths, wrong)))


def _compute_tail(paths: Values, wrong: float | Array) -> Array:
    """Return Φ(−B_P)."""
    twice = -2 * np.log(wrong)
    scaled = np.maximum(np.asarray(paths, dtype=float), 1.0) * (twice + np.log(twice) + 1) / _BEST
    return np.asarray(ndtr(-np.sqrt((1 + 1 / scaled) * (np.log1p(scaled) + twice))))


def sum_to_looks(values: Values, looks: Counts) -> Array:
    """Return the sums over the first P paths, for each look P. `values` has paths as its first axis.

    Sums at a look don't depend on later paths, not even in their last bit.
    """
    if not len(looks):
        return np.zeros((0, *values.shape[1:]))
    starts = np.concatenate([[0], looks[:-1]])
    return np.cumsum(np.add.reduceat(values[: looks[-1]], starts, axis=0, dtype=float), axis=0)


@dataclass(frozen=True, eq=False)
class ShareAtLooks:
    """A share at each look, over looks and cells."""

    share: Share
    skewness: Array
    """Skewness of the path means; 0 where they are equal."""

    @classmethod
    def from_replications(
        cls, values: Values, ok: Bools, points: int, looks: Counts, is_counted: bool = True
    ) -> ShareAtLooks:
        """Reduce the first P paths for each look P, as `Share.from_replications` does for all paths.

        With S_p the sum of the n_p draws of path p, less n_p times a number near them, the squared error is ::

            P/(P − 1)·(ΣS² − 2x̄·ΣnS + x̄²·Σn²)/N²

        and so a function of sums over paths, which are accumulated from look to look.
        """
        values, ok = values[: _get_last(looks)], np.broadcast_to(ok, values.shape)[: _get_last(looks)]
        counts, sums, shift = _sum_draws(values, ok)
        with np.errstate(invalid="ignore", divide="ignore"):
            paths, total = sum_to_looks(counts > 0, looks), sum_to_looks(counts, looks)
            centre = sum_to_looks(sums, looks) / total
            squares = sum_to_looks(sums**2, looks) - 2 * centre * sum_to_looks(counts * sums, looks)
            squares += centre**2 * sum_to_looks(counts.astype(float) ** 2, looks)
            se = np.sqrt(paths / (paths - 1) * np.maximum(squares, 0.0)) / total
            value = np.clip(shift + centre, 0.0, 1.0)
            is_low = value < 0.5
            carriers, affected = (
                np.where(is_low, hit, missed)
                for hit, missed in zip(
                    _count_carriers(values, ok, looks), _count_carriers(1.0 - values, ok, looks), strict=True
                )
            )
            cubes, squared, once, none = (
                sum_to_looks(counts.astype(float) ** (3 - power) * sums**power, looks) for power in (3, 2, 1, 0)
            )
            cubes = cubes - 3 * centre * squared + 3 * centre**2 * once - centre**3 * none
            skew = np.where(squares > 0, cubes / np.maximum(total * squares, _TINY), 0.0)
            error, each = np.where(paths > 1, se, np.nan), points * total / paths
            share = Share(value, error, paths, each, carriers, affected, is_counted, skew)
            return cls(share, _compute_skewness(sums / np.maximum(counts, 1), paths, looks))


def _get_last(looks: Counts) -> int:
    return int(looks[-1]) if len(looks) else 0


def _sum_draws(values: Values, ok: Bools) -> tuple[Counts, Array, Array]:
    """Return, for each path, its number of draws and their sum less a shift; and the shift, a mean of the first path.

    The shift keeps sums of squares from cancelling, and makes those of equal values 0.
    """
    counts = ok.sum(axis=1)
    first, some = values[:1], ok[:1]
    with np.errstate(invalid="ignore"):
        shift = np.where(some, first, 0.0).sum(axis=(0, 1), dtype=float) / np.maximum(some.sum(axis=(0, 1)), 1)
        return counts, np.where(ok, values - shift, 0.0).sum(axis=1, dtype=float), shift


def _count_carriers(errors: Values, ok: Bools, looks: Counts) -> tuple[Array, Array]:
    """Return the number of paths that effectively carry the errors, and the number of paths with an error."""
    each = np.where(ok, errors, 0.0).sum(axis=1, dtype=float)
    squares = sum_to_looks(each**2, looks)
    return np.where(squares > 0, sum_to_looks(each, looks) ** 2 / squares, 0.0), sum_to_looks(each > 0, looks)


def _compute_skewness(means: Array, paths: Array, looks: Counts) -> Array:
    """Return the skewness of path means that are less a shift, and 0 for paths without draws."""
    first, second, third = (sum_to_looks(means**power, looks) / paths for power in (1, 2, 3))
    variance = second - first**2
    moment = third - 3 * first * second + 2 * first**3
    return np.where(variance > _CONSTANT, moment / np.maximum(variance, _CONSTANT) ** 1.5, 0.0)
