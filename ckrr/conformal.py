"""Exact conformal regions from residuals r_i = (m a_i − W_i s)/D_i and r_N = s, for a block of test points.

Residual i meets the test point's own where m a_i − W_i s = D_i s, and its negative where m a_i − W_i s = −D_i s::

    same_i = m a_i / (D_i + W_i)            opposite_i = −m a_i / (D_i − W_i)

These crossings, moved by ŷ to the scale of y, are all that a region depends on.

**RRCM** counts {s : |r_i| ≥ |s|}, a set that contains s = 0. With lo and hi the smaller and the larger crossing it is

- |W_i| < D_i: the interval [lo, hi], with lo ≤ 0 ≤ hi;
- |W_i| > D_i: all but the open interval (lo, hi), which lies on one side of 0;
- |W_i| = D_i: [lo, hi] with one end infinite; and the whole line where a_i = 0.

**CRR** counts {s : r_i ≥ s} above and {s : r_i ≤ s} below, half-lines that end at same_i: for D_i + W_i > 0 the upper
one is s ≤ same_i, for D_i + W_i < 0 it is s ≥ same_i, and for D_i + W_i = 0 all or nothing, as a_i ≥ 0 or not. The
region is where both counts reach the level: the intersection of an upper and a lower set. It is empty only if some
D_i + W_i is exactly 0: otherwise the counts exchange their values from one end of the line to the other, their sum is
N + 1 at least, and so both reach ⌈N/2⌉ where they meet.

Either way each side of the region is a set of `ckrr.tails`. Both halves of RRCM share s = 0; the two sets of CRR
overlap in their main parts almost always. Then the region is a middle interval and what the two tails have beyond it.

Crossings are compared as numbers of y, after rounding ŷ + m t (a monotone map, so it may follow a selection). So a
region contains its own ends, and membership in it equals p ≥ α, in every bit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckrr.checks import Array
from ckrr.regions import Regions, whole_line
from ckrr.scratch import Scratch
from ckrr.tails import NO_VOTES, Frame, Indices, Pieces, Tail, Votes, lower_tail, upper_tail


class Slopes:
    """D ± W for a block of test points, and where one of them isn't above 0: shared by all targets."""

    def __init__(self, W: Array, D: Array, scratch: Scratch, kind: str = "") -> None:
        self.scratch, self.kind = scratch, kind
        self.same = np.add(D, W, out=scratch(f"{kind} D + W", W.shape))
        self.opposite = np.subtract(D, W, out=scratch(f"{kind} D − W", W.shape))
        odd = np.empty(0, dtype=np.intp)
        if not (self.same.min() > 0 and self.opposite.min() > 0):
            odd = np.flatnonzero((self.same <= 0) | (self.opposite <= 0))
        self.row, self.col = np.divmod(odd, W.shape[1])
        self.gap = (self.same[self.row, self.col] < 0) | (self.opposite[self.row, self.col] < 0)


class Crossings:
    """Where the residuals of b test points cross the test point's own, for one target, in a frame around ŷ.

    At a train point, x* = x_i, residual i equals the test point's own just when z = y_i, whatever the kind of residual:
    exchanging the two points changes nothing. Rounding would miss that by an ulp and break the tie that counts for a
    value that occurs again. So these crossings are put at y_i, and all are then kept as values of y.
    """

    def __init__(
        self, a: Array, y: Array, slopes: Slopes, frame: Frame, equal: tuple[Indices, Indices] | None = None
    ) -> None:
        self.a, self.slopes, self.frame = a, slopes, frame
        self.n = a.shape[1]
        self.same = self._divided(a, slopes.same, f"{slopes.kind} same")
        """The crossings with r_N, shape (b, n)."""
        self._placed: Frame | None = None
        self._equal = _ordinary(equal, slopes) if equal is not None and equal[0].size else None
        if self._equal is not None:
            self._placed, self.frame = frame, Frame(np.zeros_like(frame.mean), np.ones_like(frame.m))
            self.same = frame.placed(self.same)
            self.same[self._equal] = _of(y, *self._equal)

    def a_at(self, row: Indices, col: Indices) -> Array:
        """Qy at some places of the crossings."""
        return _of(self.a, row, col)

    def intervals(self) -> tuple[Array, Array]:
        """The smaller and the larger of the two crossings, each of shape (b, n), in scratch buffers."""
        opposite = self._divided(-self.a, self.slopes.opposite, "first")
        if self._placed is not None:
            np.copyto(opposite, self._placed.placed(opposite))
        hi = np.maximum(self.same, opposite, out=self.slopes.scratch("second", opposite.shape))
        lo = np.minimum(self.same, opposite, out=opposite)
        if self._placed is not None and self._equal is not None:
            mean = self._placed.mean[self._equal[0]]  # in the interval, also after what was put at y_i
            lo[self._equal], hi[self._equal] = np.minimum(lo[self._equal], mean), np.maximum(hi[self._equal], mean)
        return lo, hi

    def replaced(self, row: Indices, col: Indices, value: Array) -> Array:
        """A copy of the crossings with r_N that has other values in some places, in a scratch buffer."""
        copy = self.slopes.scratch("first", self.same.shape)
        np.copyto(copy, self.same)
        copy[row, col] = value
        return copy

    def _divided(self, a: Array, slope: Array, name: str) -> Array:
        """a / slope: ±inf or NaN where the slope is 0, which the slopes know of and the procedures replace."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.divide(a, slope, out=self.slopes.scratch(name, slope.shape))


def _of(values: Array, row: Indices, col: Indices) -> Array:
    """Entries of an array whose one row may stand for all."""
    return values[0, col] if len(values) == 1 else values[row, col]


def _ordinary(places: tuple[Indices, Indices], slopes: Slopes) -> tuple[Indices, Indices] | None:
    """The places where both slopes are above 0, if any."""
    row, col = places
    good = (slopes.same[row, col] > 0) & (slopes.opposite[row, col] > 0)
    return (row[good], col[good]) if good.any() else None


def rrcm(crossings: Crossings, k: Indices) -> Regions:
    """The regions {y : #{i ≤ n : |r_i| ≥ |r_N|} ≥ k} at each of several k."""
    if k.max() < 1:
        return whole_line(len(crossings.frame.m), len(k))
    lo, hi = crossings.intervals()
    above, below = _open_gaps(crossings, lo, hi) if crossings.slopes.row.size else (NO_VOTES, NO_VOTES)
    right, left = upper_tail(hi, crossings.frame, above, k), lower_tail(lo, crossings.frame, below, k)
    return Regions(left.end, right.end, left.beyond.joined(right.beyond))


def crr(crossings: Crossings, k: Indices) -> Regions:
    """The regions {y : #{i ≤ n : r_i ≥ r_N} ≥ k and #{i ≤ n : r_i ≤ r_N} ≥ k} at each of several k."""
    if k.max() < 1:
        return whole_line(len(crossings.frame.m), len(k))
    row, col, turned = _turned_or_free(crossings)
    v = Votes(row[turned], crossings.frame.placed_at(row[turned], crossings.same[row[turned], col[turned]]))
    for_upper = np.where(turned, -np.inf, np.inf)
    upper = upper_tail(crossings.replaced(row, col, for_upper), crossings.frame, v, k)
    lower = lower_tail(crossings.replaced(row, col, -for_upper), crossings.frame, v, k)
    return _intersected(lower, upper)


def rrcm_p_values(crossings: Crossings, y: Array) -> Array:
    """p = #{i ≤ N : |r_i| ≥ |r_N|} / N for the candidate y of each test point, shape (b,)."""
    lo, hi = (crossings.frame.placed(ends) for ends in crossings.intervals())
    counted = (lo <= y[:, None]) & (y[:, None] <= hi)
    row, col = crossings.slopes.row, crossings.slopes.col
    if row.size:
        outside = (y[row] <= lo[row, col]) | (y[row] >= hi[row, col])
        counted[row, col] = np.where(crossings.slopes.gap, outside, counted[row, col]) | (crossings.a_at(row, col) == 0)
    p: Array = (1 + np.count_nonzero(counted, axis=1)) / (1 + crossings.n)
    return p


def crr_p_values(crossings: Crossings, y: Array) -> Array:
    """p = min(1, 2 min(#{i ≤ N : r_i ≥ r_N}, #{i ≤ N : r_i ≤ r_N}) / N), shape (b,)."""
    ends = crossings.frame.placed(crossings.same)
    upper, lower = ends >= y[:, None], ends <= y[:, None]
    row, col, turned = _turned_or_free(crossings)
    upper[row, col], lower[row, col] = lower[row, col] | ~turned, upper[row, col] | ~turned
    fewer = 1 + np.minimum(np.count_nonzero(upper, axis=1), np.count_nonzero(lower, axis=1))
    p: Array = np.minimum(1.0, 2 * fewer / (1 + crossings.n))
    return p


def _open_gaps(crossings: Crossings, lo: Array, hi: Array) -> tuple[Votes, Votes]:
    """Turn the rare |W_i| ≥ D_i into what a tail counts, in place: on the side of its gap (lo, hi) such a residual
    votes for y ≤ lo and for y ≥ hi, on the other side for everything. Returns the votes for what is beyond the gaps."""
    row, col = crossings.slopes.row, crossings.slopes.col
    near, far = lo[row, col], hi[row, col]
    start, end = crossings.frame.placed_at(row, near), crossings.frame.placed_at(row, far)
    gap = crossings.slopes.gap & (start < end)  # false for a_i = 0, and for a gap below the resolution of y
    above = gap & ((crossings.a_at(row, col) > 0) == (crossings.slopes.opposite[row, col] < 0))
    below = gap & ~above
    whole = ~gap & (crossings.slopes.gap | (crossings.a_at(row, col) == 0))
    hi[row, col] = np.where(below | whole, np.inf, np.where(above, near, far))
    lo[row, col] = np.where(above | whole, -np.inf, np.where(below, far, near))
    return Votes(row[above], end[above]), Votes(row[below], start[below])


def _turned_or_free(crossings: Crossings) -> tuple[Indices, Indices, npt.NDArray[np.bool_]]:
    """The residuals whose half-line points the other way (D_i + W_i < 0, marked), or is the line (= 0 = a_i)."""
    row, col = crossings.slopes.row, crossings.slopes.col
    slope = crossings.slopes.same[row, col]
    odd = (slope < 0) | ((slope == 0) & (crossings.a_at(row, col) == 0))
    return row[odd], col[odd], slope[odd] < 0


def _intersected(lower: Tail, upper: Tail) -> Regions:
    """The intersection of the lower sets [end, ∞) ∪ … and the upper sets (−∞, end] ∪ ….

    Where the main parts overlap, what either has beyond its main part lies in the main part of the other. The few
    others are intersected piece by piece.
    """
    apart = (lower.end > upper.end) | (upper.end == -np.inf) | (lower.end == np.inf)
    beyond = lower.beyond.joined(upper.beyond)
    if not apart.any():
        return Regions(lower.end, upper.end, beyond)
    common = [
        (i, j, *piece)
        for i, j in np.argwhere(apart)
        for piece in _common(_pieces_of(lower.mirrored(), i, j, -1.0), _pieces_of(upper, i, j, 1.0))
    ]
    row, level, lo, hi = np.array(common, dtype=float).reshape(-1, 4).T
    found = Pieces(row.astype(np.intp), level.astype(np.intp), lo, hi)
    kept = beyond.where(~apart[beyond.row, beyond.level])
    return Regions(np.where(apart, np.nan, lower.end), np.where(apart, np.nan, upper.end), kept.joined(found))


def _pieces_of(side: Tail, i: int, j: int, sign: float) -> list[tuple[float, float]]:
    """One set of a tail as intervals, mirrored back where sign is −1."""
    here = side.beyond.where((side.beyond.row == i) & (side.beyond.level == j))
    pieces = [(-np.inf, float(side.end[i, j])), *zip(here.lo.tolist(), here.hi.tolist(), strict=True)]
    real = [(lo, hi) for lo, hi in pieces if hi > -np.inf]  # (−∞, −∞] is empty
    return real if sign > 0 else [(-hi, -lo) for lo, hi in real]


def _common(some: list[tuple[float, float]], others: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The intersection of two unions of disjoint closed intervals."""
    met = [(max(a, c), min(b, d)) for a, b in some for c, d in others]
    return [(lo, hi) for lo, hi in met if lo <= hi]
