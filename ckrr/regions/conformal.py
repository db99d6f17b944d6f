"""Exact conformal regions from residuals r_i = (m a_i − W_i s)/D_i and r_N = s, for a block of test points.

The crossings u_i and l_i of `ckrr.regions.crossings`, moved by ŷ to the scale of y, are all that a region depends on.

**RRCM** counts {s : |r_i| ≥ |s|}, a set that contains s = 0. With a_i ≥ 0 it is, in units of m,

- |W_i| < D_i: the interval [−l_i, u_i];
- |W_i| > D_i: all but the open interval (u_i, −l_i), which lies on one side of 0: above it for W_i > D_i, where
  l_i < 0, and below it for W_i < −D_i, where u_i < 0;
- |W_i| = D_i: [−l_i, u_i] with one end infinite; and the whole line where a_i = 0.

**CRR** counts {s : r_i ≥ s} above and {s : r_i ≤ s} below. For a residual whose sign was not flipped these are
half-lines that end at u_i: for D_i + W_i > 0 the upper one is s ≤ u_i, for D_i + W_i < 0 it is s ≥ u_i, and for
D_i + W_i = 0 it is the line. For a flipped one they end at −l_i, and everything is mirrored. The region is where both
counts reach the level: the intersection of an upper and a lower set. It is empty only if some slope is exactly 0:
otherwise the counts exchange their values from one end of the line to the other, their sum is N + 1 at least, and so
both reach ⌈N/2⌉ where they meet.

Either way each side of the region is a set of `ckrr.regions.tail_sets`; a lower side is an upper one in −y. Both halves
of RRCM share s = 0; the two sets of CRR overlap in their main parts almost always. Then the region is a middle interval
and the pieces that the two tails have beyond it.

Crossings are compared as numbers of y, after rounding ŷ + m t (a monotone map, so it may follow a selection). So a
region contains its own ends, and membership in it agrees with p ≥ α exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.regions.crossings import Crossings
from ckrr.regions.intervals import Regions
from ckrr.regions.smoothing import Bools
from ckrr.regions.tail_sets import NO_VOTES, Indices, Pieces, Tail, Votes


@dataclass(frozen=True)
class Side:
    """Votes of the residuals for one side of the regions: half-lines y ≤ u of most, y ≥ v of a few."""

    t: Array
    """The u of each test point in its frame, or the largest of them; a scratch buffer."""
    votes: Votes
    """The v of the test points, as candidates."""


def compute_rrcm_sides(crossings: Crossings, count: int) -> tuple[Side, Side]:
    """Return the upper and, in −y, the lower side of RRCM regions. Overwrites the crossings.

    The regions are {y : #{i ≤ n : |r_i| ≥ |r_N|} ≥ k} for k ≤ count.
    """
    right, left, odd = crossings.right, crossings.left, crossings.exceptional
    if not odd.row.size:
        return Side(right, NO_VOTES), Side(left, NO_VOTES)
    gap = odd.start < odd.end  # false for a_i = 0, and for a gap below the resolution of y: then it is the line
    below, above = gap & (odd.plus < 0), gap & (odd.minus < 0)
    place = odd.row * crossings.n + odd.col
    right.reshape(-1)[place.compress(~above)] = np.inf
    left.reshape(-1)[place.compress(~below)] = np.inf
    above_votes = Votes(odd.row.compress(above), odd.end.compress(above), odd.col.compress(above))
    below_votes = Votes(odd.row.compress(below), -odd.start.compress(below), odd.col.compress(below))
    return Side(right, above_votes), Side(left, below_votes)


def compute_crr_sides(crossings: Crossings, count: int) -> tuple[Side, Side]:
    """Return the upper and, in −y, the lower side of CRR regions.

    The regions are {y : #{i ≤ n : r_i ≥ r_N} ≥ k and #{i ≤ n : r_i ≤ r_N} ≥ k} for k ≤ count. As a rule the upper end
    is among the residuals with a_i ≥ 0 and the lower one among the others. So, where these are enough for k, the sides
    consist of the first and of the last columns only.
    """
    row, col, v, turned = _find_turned_or_free(crossings)
    first, last = _find_column_range(crossings, row, turned, count)
    upper, lower = crossings.get_same_sign(first, last)
    if not row.size:
        return Side(upper, NO_VOTES), Side(lower, NO_VOTES)
    value = np.where(turned, -np.inf, np.inf)
    head, tail = np.flatnonzero(col < last), np.flatnonzero(col >= first)
    upper.reshape(-1)[(row * last + col).take(head)] = value.take(head)
    lower.reshape(-1)[(row * lower.shape[1] + col - first).take(tail)] = value.take(tail)
    row, v, col = row.compress(turned), v.compress(turned), col.compress(turned)
    return Side(upper, Votes(row, v, col)), Side(lower, Votes(row, -v, col))


def intersect_tails(lower: Tail, upper: Tail) -> Regions:
    """Intersect the lower sets [end, ∞) ∪ … with the upper sets (−∞, end] ∪ ….

    Where the main parts overlap, the pieces of either beyond its main part lie in the main part of the other. The few
    other sets are intersected piece by piece.
    """
    apart = (lower.end > upper.end) | (upper.end == -np.inf) | (lower.end == np.inf)
    beyond = lower.beyond.join(upper.beyond)
    if not apart.any():
        return Regions(lower.end, upper.end, beyond)
    common = [
        (i, j, *piece)
        for i, j in np.argwhere(apart)
        for piece in _intersect_intervals(_list_pieces(lower.mirror(), i, j, -1.0), _list_pieces(upper, i, j, 1.0))
    ]
    row, level, lo, hi = np.array(common, dtype=float).reshape(-1, 4).T
    found = Pieces(row.astype(np.intp), level.astype(np.intp), lo, hi)
    kept = beyond.where(~apart[beyond.row, beyond.level])
    return Regions(np.where(apart, np.nan, lower.end), np.where(apart, np.nan, upper.end), kept.join(found))


def find_rrcm_counted(crossings: Crossings, y: Array) -> tuple[Bools, ...]:
    """Return where |r_i| ≥ |r_N| for the candidate y of each test point, shape (b, n)."""
    hi = crossings.frame.apply(crossings.right)
    lo = -crossings.frame.mirror().apply(crossings.left)
    counted = (lo <= y[:, None]) & (y[:, None] <= hi)
    odd = crossings.exceptional
    at = y[odd.row]
    counted[odd.row, odd.col] = ~((odd.start < at) & (at < odd.end))  # true for 0/0 too
    return (counted,)


def compute_rrcm_p_values(crossings: Crossings, y: Array, tau: Array | None = None) -> Array:
    """Return p = #{i ≤ N : |r_i| ≥ |r_N|} / N for the candidate y of each test point, shape (b,).

    The test point itself counts τ, or 1 without smoothing.
    """
    (counted,) = find_rrcm_counted(crossings, y)
    p: Array = ((1 if tau is None else tau) + np.count_nonzero(counted, axis=1)) / (1 + crossings.n)
    return p


def find_crr_counted(crossings: Crossings, y: Array) -> tuple[Bools, ...]:
    """Return where r_i ≥ r_N, and where r_i ≤ r_N, for the candidate y of each test point, shape (b, n) each."""
    ends = crossings.frame.apply(crossings.get_same_sign(0, crossings.n)[0])
    upper, lower = ends >= y[:, None], ends <= y[:, None]
    row, col, _, turned = _find_turned_or_free(crossings)
    upper[row, col], lower[row, col] = lower[row, col] | ~turned, upper[row, col] | ~turned
    return upper, lower


def compute_crr_p_values(crossings: Crossings, y: Array, tau: Array | None = None) -> Array:
    """Return p = min(1, 2 min(#{i ≤ N : r_i ≥ r_N}, #{i ≤ N : r_i ≤ r_N}) / N), shape (b,).

    The test point itself counts τ above and 1 − τ below, or 1 in both without smoothing.
    """
    upper, lower = find_crr_counted(crossings, y)
    above, below = (1, 1) if tau is None else (tau, 1 - tau)
    fewer = np.minimum(above + np.count_nonzero(upper, axis=1), below + np.count_nonzero(lower, axis=1))
    p: Array = np.minimum(1.0, 2 * fewer / (1 + crossings.n))
    return p


def _find_turned_or_free(crossings: Crossings) -> tuple[Indices, Indices, Array, npt.NDArray[np.bool_]]:
    """Find the residuals whose half-line points the other way, or is the line for both sides (slope 0 = a_i).

    Returns row, column, end as a candidate, and a mask of the former.
    """
    odd = crossings.exceptional
    positive = crossings.is_positive(odd.row, odd.col)
    slope, v = np.where(positive, odd.plus, odd.minus), np.where(positive, odd.start, odd.end)
    here = np.flatnonzero(slope <= 0)
    return odd.row.take(here), odd.col.take(here), v.take(here), slope.take(here) < 0


def _find_column_range(
    crossings: Crossings, row: Indices, turned: npt.NDArray[np.bool_], count: int
) -> tuple[int, int]:
    """Return where the columns begin that a lower side needs, and where those end that an upper side needs.

    Ordinary residuals with a_i ≥ 0 end at or above ŷ, the others at or below it: the `count` highest ends are among
    the former if there are that many. Equal points, placed at y_i, may be on the wrong side by an ulp.
    """
    n, split = crossings.n, crossings.chunk.columns.split
    first, last = int(split.min()), int(split.max())
    most = int(np.bincount(row).max()) if row.size else 0
    enough = min(first, n - last) - most >= count
    return (first, last) if enough and turned.all() and not crossings.equal[0].size else (0, n)


def _list_pieces(side: Tail, i: int, j: int, sign: float) -> list[tuple[float, float]]:
    """Return one set of a tail as intervals, mirrored back if `sign` is −1."""
    here = side.beyond.where((side.beyond.row == i) & (side.beyond.level == j))
    pieces = [(-np.inf, float(side.end[i, j])), *zip(here.lo.tolist(), here.hi.tolist(), strict=True)]
    real = [(lo, hi) for lo, hi in pieces if hi > -np.inf]  # (−∞, −∞] is empty
    return real if sign > 0 else [(-hi, -lo) for lo, hi in real]


def _intersect_intervals(
    some: list[tuple[float, float]], others: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Intersect two unions of disjoint closed intervals."""
    met = [(max(a, c), min(b, d)) for a, b in some for c, d in others]
    return [(lo, hi) for lo, hi in met if lo <= hi]
