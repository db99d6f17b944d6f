"""Judge the coverage of cells: does a procedure keep its level, given a confidence interval of its coverage?

With c the coverage of a cell, L its level and τ a tolerance, a cell is ::

    invalid        c < L − τ
    valid          c ≥ L − τ
    conservative   c > L + τ          (also valid, and wider than necessary)

A verdict is given only if it holds for all c in the confidence interval; otherwise the cell is **undecided**. The
default of τ is 0.02, or α/5 if that is less.

A failed replication has no coverage. It counts as 0 for the lower end of the interval and as 1 for the upper end, so a
verdict holds whatever it would have been (`test_failed_replications_bound_a_verdict_from_both_sides`).

Where the exact level is 1, the region is the whole line by arithmetic (α = 0.001 at n = 25). Such a cell is valid,
unless a region has missed all the same (`test_the_whole_line_is_valid_by_arithmetic`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.core.types import Array, Bools, Values
from harness.statistics.intervals import LEVEL, Estimate, Share

EMPTY, INVALID, UNDECIDED, BORDERLINE, VALID, CONSERVATIVE = WORDS = (
    "",
    "invalid",
    "undecided",
    "borderline",
    "valid",
    "conservative",
)
"""Verdicts as words. The place of a word is its code: cells are valid from the code of `VALID` on."""
VERDICTS = (VALID, CONSERVATIVE, BORDERLINE, INVALID, UNDECIDED)
"""Verdicts in the order in which they are shown."""
TOLERANCE, SHARE_OF_ALPHA = 0.02, 0.2
"""The default tolerance τ is the smaller of `TOLERANCE` and `SHARE_OF_ALPHA`·α."""
_ROUNDING = 1e-12
"""Allowance for the rounding error of 1 − α − τ."""
Codes = npt.NDArray[np.uint8]


def get_code(word: str) -> np.uint8:
    """Return the code of a verdict."""
    return np.uint8(WORDS.index(word))


def to_words(codes: Codes) -> npt.NDArray[np.object_]:
    """Return verdicts as words."""
    return np.array(WORDS, dtype=object)[codes]


def compute_tolerance(alpha: Values) -> Array:
    """Return the default tolerance τ at each α.

    Examples
    --------
    >>> compute_tolerance(np.array([0.01, 0.25]))
    array([0.002, 0.02 ])
    """
    return np.minimum(SHARE_OF_ALPHA * np.asarray(alpha, dtype=float), TOLERANCE)


@dataclass(frozen=True, eq=False)
class BoundedShare:
    """A share whose intervals hold whatever failed replications would have given."""

    shares: Sequence[Share]
    """The share of the replications that are ok and, if some failed, that with all failures as 0 and as 1."""
    replications: Values
    """Number of replications that are ok."""

    @classmethod
    def from_replications(
        cls, values: Values, ok: Bools, failed: Bools, points: int, is_counted: bool = True
    ) -> BoundedShare:
        """Reduce replications.

        Parameters
        ----------
        values, ok : array
            A share for each replication, and whether to include it.
        failed : array of bool
            The replications that failed.
        points : int
            Number of test points in a replication.
        is_counted : bool
            Whether it is a share of counted points; otherwise it is a mean of probabilities.
        """
        shares = [Share.from_replications(values, ok, points, is_counted)]
        if failed.any():
            filled = ((np.where(failed, end, values), ok | failed) for end in (0.0, 1.0))
            shares += [Share.from_replications(*each, points, is_counted) for each in filled]
        return cls(shares, np.broadcast_to(ok, values.shape).sum(axis=(0, 1)))

    def estimate(self, level: float | Array = LEVEL) -> Estimate:
        """Return the share with its confidence interval."""
        ends = [share.interval(level) for share in self.shares]
        low, high = np.fmin.reduce([low for low, _ in ends]), np.fmax.reduce([high for _, high in ends])
        found = self.shares[0]
        return Estimate(found.value, found.se, low, high, found.paths, self.replications)


def judge(low: Array, high: Array, target: Array, tolerance: Array) -> Codes:
    """Return the codes of the verdicts that follow from confidence intervals, targets and tolerances.

    Examples
    --------
    >>> codes = judge(np.array([0.89, 0.80]), np.array([0.91, 0.85]), np.array(0.9), np.array(0.02))
    >>> to_words(codes).tolist()
    ['valid', 'invalid']
    """
    least, most = target - tolerance, target + tolerance
    found = np.where(low >= least - _ROUNDING, get_code(VALID), get_code(UNDECIDED))
    found = np.where(low > most, get_code(CONSERVATIVE), found)
    return np.where(high < least, get_code(INVALID), found)


def judge_estimates(found: Estimate, target: Array, tolerance: Array, exact: Bools) -> Codes:
    """Return the codes of the verdicts on estimated coverages.

    Parameters
    ----------
    found : Estimate
        Coverages with simultaneous confidence intervals.
    target, tolerance : array
        Level that coverage is compared with, and tolerance.
    exact : array of bool
        Whether the target is an exact level. If it is 1, the region is the whole line by arithmetic.
    """
    codes = judge(found.low, found.high, target, tolerance)
    certain = exact & (target == 1) & ~np.isnan(found.low) & (found.value == 1)
    codes = np.where(certain, get_code(VALID), codes)
    known = (np.asarray(found.replications) > 0) & ~np.isnan(found.value)  # coverage of an unknown f is NaN
    return np.where(known, codes, get_code(EMPTY))
