"""Find the procedure with the smallest measure, such as width, in paired replications.

Procedures are compared at one *setting*, a combination of all other axes, and only there if

- both are *eligible*: their regions are shown to keep their level, so that a small width isn't bought with misses;
- their levels are equal, since a region of a lower level is narrower for no merit of its own. Levels count as equal if
  they differ by at most a *slack*: exact levels of conformal procedures are 1 − k/(n + 1) with different k and n. Every
  pair is decided on its own, so the order makes no difference, and two levels that equal a third may differ.

A pair is compared by the median over replications of the difference within a replication, where both have the same
data. Where both are infinite, the difference is 0. A difference is *shown* if its confidence interval
(`harness.statistics.intervals`, clustered by path) doesn't contain 0. A procedure is the smallest of a setting if it is
shown to be smaller than every other that it is compared with. If there is none, several may *lead* together: they are
the smallest group of which each one is shown to be smaller than all others that it is compared with.

Each interval has the level 1 − (1 − 0.95)/m (Bonferroni), so that with probability at least 0.95 no shown difference is
wrong. m counts all pairs of equal level, eligible or not: which ones are eligible depends on the same replications, and
a count that depends on them would not keep the promise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from harness.core.types import Array, Bools, Values
from harness.statistics.intervals import LEVEL, Estimate, estimate_quantile

_ROUNDING = 1e-9
"""Allowance for rounding errors of levels: 1 − α and 1 − k/(n + 1) are rounded differently."""

Read = Callable[[int], tuple[Values, Bools]]
"""Function from the place of a procedure to its values over path, draw and settings, and a mask of those to include."""


@dataclass(frozen=True, eq=False)
class PairedComparison:
    """Outcome of the comparisons of each procedure, over procedure and settings."""

    compared: Values
    """Number of procedures that it is compared with."""
    smaller: Values
    """Number of those that it is shown to be smaller than."""
    tied: Values
    """Number of those that it leads together with; 0 where it doesn't lead, or alone."""

    @property
    def is_smallest(self) -> Bools:
        """Whether it is shown to be smaller than all that it is compared with."""
        return np.asarray((self.compared > 0) & (self.smaller == self.compared))


def count_pairs(levels: Array, slack: float | Array = 0.0) -> int:
    """Return the number of pairs of procedures with equal levels, over all settings.

    Parameters
    ----------
    levels : array, shape (procedures, ...)
        Levels over procedure and settings; NaN where a procedure takes no part.
    slack : float or array
        Largest difference of levels that count as equal, over settings.

    Examples
    --------
    >>> count_pairs(np.array([[0.9, 0.9], [0.9, 0.92], [0.9, 0.92], [0.95, np.nan]]))
    4
    """
    return sum(int(_are_equal(one, other, slack).sum()) for one, other in combinations(levels, 2))


def _are_equal(one: Array, other: Array, slack: float | Array) -> Bools:
    """Return where levels count as equal; NaN equals nothing."""
    return np.asarray(np.abs(one - other) <= slack + _ROUNDING)


def compute_simultaneous_level(pairs: int, level: float = LEVEL) -> float:
    """Return the level of each of `pairs` intervals that makes all of them hold together with probability `level`."""
    return 1 - (1 - level) / max(pairs, 1)


def compare_procedures(
    read: Read, levels: Array, eligible: Bools, level: float, slack: float | Array = 0.0
) -> PairedComparison:
    """Compare all eligible procedures of equal level in pairs.

    Parameters
    ----------
    read : callable
        Reads the replications of one procedure; only two at a time are held.
    levels, eligible : array, shape (procedures, ...)
        Levels over procedure and settings, and whether a procedure may be compared.
    level : float
        Confidence level of each interval: `compute_simultaneous_level`.
    slack : float or array
        Largest difference of levels that count as equal, over settings.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> narrow = rng.uniform(1, 2, (50, 1, 1))
    >>> widths, all_of_them = [narrow, narrow + 0.1], np.ones((50, 1, 1), dtype=bool)
    >>> found = compare_procedures(
    ...     lambda p: (widths[p], all_of_them), np.full((2, 1), 0.9), np.ones((2, 1), dtype=bool), 0.95
    ... )
    >>> found.is_smallest.tolist()
    [[True], [False]]
    """
    compared_with, smaller_than = np.zeros((2, len(levels), *levels.shape), dtype=bool)
    for one, other in combinations(range(len(levels)), 2):
        both = eligible[one] & eligible[other] & _are_equal(levels[one], levels[other], slack)
        if both.any():
            signs = np.where(both, compare_pair(*read(one), *read(other), level), 0)
            compared_with[one, other] = compared_with[other, one] = both
            smaller_than[one, other], smaller_than[other, one] = signs < 0, signs > 0
    tied = _count_ties(compared_with, smaller_than)
    return PairedComparison(compared_with.sum(axis=1), smaller_than.sum(axis=1), tied)


def _count_ties(compared_with: Bools, smaller_than: Bools) -> Values:
    """Return the number of procedures that each leads together with, from relations over two procedures and settings.

    A procedure that none is shown to be smaller than must be in the group. So must every other one that a member isn't
    shown to be smaller than.
    """
    compared = compared_with.sum(axis=1)
    members = (compared > 0) & ~smaller_than.any(axis=0)
    for _ in range(len(members)):
        members = members | (members[:, None] & compared_with & ~smaller_than).any(axis=0)
    others = (members[:, None] & compared_with).sum(axis=0)
    return np.where(members & (others < compared), others, 0)


def compare_pair(values: Values, ok: Bools, others: Values, others_ok: Bools, level: float) -> Values:
    """Return −1 where `values` are shown smaller than `others`, 1 where larger, 0 where no difference is shown."""
    found = estimate_pair(values, ok, others, others_ok, level)
    return np.asarray((found.low > 0).astype(int) - (found.high < 0))


def estimate_pair(values: Values, ok: Bools, others: Values, others_ok: Bools, level: float) -> Estimate:
    """Estimate the median of the differences between `values` and `others` within a replication."""
    with np.errstate(invalid="ignore"):
        apart = np.where(values == others, 0.0, values - others)  # inf − inf is no difference
    return estimate_quantile(apart, ok & others_ok & ~np.isnan(apart), level=level)
