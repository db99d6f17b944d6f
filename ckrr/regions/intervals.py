"""Prediction regions: a finite union of closed intervals for each of m test points and k levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, check_values, quote_value
from ckrr.regions.tail_sets import Pieces


@dataclass(frozen=True, repr=False, eq=False)
class Regions:
    """Prediction regions of m test points at k levels.

    A region is a finite union of closed intervals, which may be half-lines, single points or the whole line, and for
    CRR it may be empty. Nearly all are one interval, so they are stored as a middle interval and a list of the further
    pieces that a few regions have.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random(50)
    >>> y = np.sin(6 * X) + 0.1 * rng.standard_normal(50)
    >>> import ckrr
    >>> R = ckrr.fit(X, y, theta=10.0, lam=0.1).regions([0.25, 0.75], alpha=[0.05, 0.25])
    >>> R
    <Regions of 2 points at 2 levels: 4 intervals>
    >>> R.lower.shape, (R.lower <= R.upper).all(), R.contains([1.0, -1.0]).all(axis=1)
    ((2, 2), np.True_, array([ True,  True]))
    """

    middle_lower: Array
    """Lower end of the middle interval, shape (m, k); NaN where the region has none."""
    middle_upper: Array
    """Upper end of the middle interval, likewise."""
    beyond: Pieces
    """The pieces outside the middle, in no particular order."""

    @cached_property
    def lower(self) -> Array:
        """Lower end of the hull, shape (m, k): −inf where unbounded, NaN where the region is empty."""
        return self._find_extreme(np.fmin, self.middle_lower, self.beyond.lo)

    @cached_property
    def upper(self) -> Array:
        """Upper end of the hull, shape (m, k): inf where unbounded, NaN where the region is empty."""
        return self._find_extreme(np.fmax, self.middle_upper, self.beyond.hi)

    @cached_property
    def length(self) -> Array:
        """Total length, shape (m, k): that of the region itself, not of its hull; 0 where it is empty or a point."""
        length = self.middle_upper - self.middle_lower
        length[np.isnan(length)] = 0.0
        if self.beyond.row.size:
            np.add.at(length, self._where, self.beyond.hi - self.beyond.lo)
        return length

    @cached_property
    def count(self) -> npt.NDArray[np.int64]:
        """Number of components, shape (m, k)."""
        count = (~np.isnan(self.middle_lower)).astype(np.int64)
        if self.beyond.row.size:
            np.add.at(count, self._where, 1)
        return count

    def contains(self, y: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return whether y_i is in the region of test point i (not merely in its hull), shape (m, k)."""
        return self.contains_array(check_values("y", y, len(self.middle_lower), of="X_new"))

    def contains_array(self, y: Array) -> npt.NDArray[np.bool_]:
        """Return `contains(y)` for an array that is already validated."""
        inside = (self.middle_lower <= y[:, None]) & (y[:, None] <= self.middle_upper)
        if self.beyond.row.size:
            at = y[self.beyond.row]
            np.logical_or.at(inside, self._where, (self.beyond.lo <= at) & (at <= self.beyond.hi))
        return inside

    def components(self, i: int, j: int = 0) -> list[tuple[float, float]]:
        """Return the region of test point i at level j as closed intervals (lo, hi) in ascending order.

        A single point is (a, a), the whole line (−inf, inf); an empty region has no component.
        """
        m, k = self.middle_lower.shape
        if not (-m <= i < m and -k <= j < k):
            raise IndexError(f"i, j must be a point of {m} and a level of {k}, got {quote_value(i)}, {quote_value(j)}")
        i, j = i % m, j % k
        here = self.beyond.where((self.beyond.row == i) & (self.beyond.level == j))
        found = list(zip(here.lo.tolist(), here.hi.tolist(), strict=True))
        if not np.isnan(self.middle_lower[i, j]):
            found.append((float(self.middle_lower[i, j]), float(self.middle_upper[i, j])))
        return sorted(found)

    def list_several(self) -> Pieces:
        """Return all pieces of the regions that have more than one, in no particular order."""
        if not self.beyond.row.size:
            return self.beyond
        many = self.count > 1
        row, level = np.nonzero(many & ~np.isnan(self.middle_lower))
        middle = Pieces(row, level, self.middle_lower[row, level], self.middle_upper[row, level])
        return middle.join(self.beyond.where(many[self._where]))

    def rescale(self, change: Callable[[Array], Array]) -> Regions:
        """Return the regions after an increasing change of scale."""
        pieces = Pieces(*self._where, change(self.beyond.lo), change(self.beyond.hi))
        return Regions(change(self.middle_lower), change(self.middle_upper), pieces)

    def __repr__(self) -> str:
        m, k = self.middle_lower.shape
        kinds = {
            "intervals": (self.count == 1) & np.isfinite(self.length),
            "of several pieces": (self.count > 1) & np.isfinite(self.length),
            "unbounded": np.isinf(self.length),
            "empty": self.count == 0,
        }
        told = ", ".join(f"{np.count_nonzero(which)} {kind}" for kind, which in kinds.items() if which.any())
        return f"<Regions of {m} points at {k} levels: {told}>"

    @property
    def _where(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        return self.beyond.row, self.beyond.level

    def _find_extreme(self, better: np.ufunc, middle: Array, ends: Array) -> Array:
        if not ends.size:
            return middle
        extreme = middle.copy()
        better.at(extreme, self._where, ends)
        return extreme


def make_intervals(lower: Array, upper: Array) -> Regions:
    """Return regions that are one interval each."""
    return Regions(lower, upper, Pieces.empty())


def make_whole_line(m: int, k: int) -> Regions:
    """Return regions that are the whole line."""
    return make_intervals(np.full((m, k), -np.inf), np.full((m, k), np.inf))


def stack_regions(blocks: Sequence[Regions]) -> Regions:
    """Concatenate the regions of several blocks of test points."""
    if len(blocks) == 1:
        return blocks[0]
    starts = np.cumsum([0] + [len(block.middle_lower) for block in blocks])
    beyond = [
        Pieces(block.beyond.row + start, block.beyond.level, block.beyond.lo, block.beyond.hi)
        for start, block in zip(starts[:-1], blocks, strict=True)
    ]
    return Regions(
        np.concatenate([block.middle_lower for block in blocks]),
        np.concatenate([block.middle_upper for block in blocks]),
        beyond[0].join(*beyond[1:]),
    )
