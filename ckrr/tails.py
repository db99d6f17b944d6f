"""Sets of candidates that enough residuals vote for, one side at a time.

Seen from one side, every residual votes for a half-line of candidates y: all y ≤ u, or all y ≥ v. The candidates
with at least k votes are ::

    S_k = {y : #{u_i ≥ y} + #{v_j ≤ y} ≥ k}

Write T_1 ≥ T_2 ≥ … for the sorted u, T_0 = ∞, and v_1 ≤ v_2 ≤ … for the sorted v. On (T_{k−d+1}, T_{k−d}] exactly
k − d of the u vote, so a candidate there needs d of the v, that is y ≥ v_d. Hence ::

    S_k = (−∞, T_k] ∪ ⋃_{d ≥ 1} [max(T_{k−d+1}, v_d), T_{k−d}]

where a piece with v_d > T_{k−d} is empty, and one with v_d ≤ T_{k−d+1} continues the piece before it. So T_k is
all there is to know where there is no v, and some order statistics beside it otherwise. For k = 0 the set is the line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckrr.checks import Array

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Pieces:
    """Closed intervals [lo, hi], each of the region of one test point at one level."""

    row: Indices
    level: Indices
    lo: Array
    hi: Array

    @staticmethod
    def none() -> Pieces:
        """No pieces at all."""
        empty = np.empty(0, dtype=np.intp)
        return Pieces(empty, empty, np.empty(0), np.empty(0))

    def mirrored(self) -> Pieces:
        """The pieces in −y."""
        return Pieces(self.row, self.level, -self.hi, -self.lo)

    def joined(self, *others: Pieces) -> Pieces:
        """These pieces and those of others."""
        some = [each for each in (self, *others) if each.row.size]
        if len(some) < 2:
            return some[0] if some else self
        return Pieces(
            np.concatenate([each.row for each in some]),
            np.concatenate([each.level for each in some]),
            np.concatenate([each.lo for each in some]),
            np.concatenate([each.hi for each in some]),
        )

    def where(self, keep: npt.NDArray[np.bool_]) -> Pieces:
        """The pieces marked to keep."""
        return Pieces(self.row[keep], self.level[keep], self.lo[keep], self.hi[keep])


@dataclass(frozen=True)
class Votes:
    """The few v of a block of test points: `value[e]` belongs to test point `row[e]`; rows ascend."""

    row: Indices
    value: Array


NO_VOTES = Votes(np.empty(0, dtype=np.intp), np.empty(0))


@dataclass(frozen=True)
class Tail:
    """The sets S_k of a block of test points: (−∞, end] and the pieces beyond it."""

    end: Array
    """Shape (b, levels)."""
    beyond: Pieces

    def mirrored(self) -> Tail:
        """The sets in −y: [end, ∞) and the pieces before it."""
        return Tail(-self.end, self.beyond.mirrored())


@dataclass(frozen=True)
class Frame:
    """Where a block of test points has its candidates: t stands for the candidate mean + m t."""

    mean: Array
    """Shape (b,)."""
    m: Array
    """Shape (b,), above 0."""

    def placed(self, t: Array) -> Array:
        """Values of t, a row for each test point, as candidates. Monotone, so it may follow a selection."""
        return self.mean[:, None] + self.m[:, None] * t

    def placed_at(self, row: Indices, t: Array) -> Array:
        """Single values of t, each of the test point `row`, as candidates."""
        return self.mean[row] + self.m[row] * t

    def at(self, row: Indices) -> Frame:
        """The frame of some of the test points."""
        return Frame(self.mean[row], self.m[row])

    def neutral(self, row: Indices) -> Frame:
        """A frame that differs for some test points, in that t is their candidate itself."""
        mean, m = self.mean.copy(), self.m.copy()
        mean[row], m[row] = 0.0, 1.0
        return Frame(mean, m)

    def mirrored(self) -> Frame:
        """The frame of −y, in which −t stands for the same candidate, in every bit."""
        return Frame(-self.mean, self.m)


def select(t: Array, count: int, out: Array) -> None:
    """The `count` largest of each row of t, in any order, written to `out`. Reorders t along its rows."""
    n = t.shape[1]
    if 0 < count < n:
        t.partition(n - count, axis=1)
    np.copyto(out, t[:, n - count :])


def upper_tail(top: Array, frame: Frame, votes: Votes, k: Indices) -> Tail:
    """The sets S_k of a block of test points, for several k at once.

    Parameters
    ----------
    top : (b, count) array
        The largest u of each test point in the frame, as many as the largest k needs. Sorted along its rows.
    frame : Frame
        Where the test points have their candidates.
    votes : Votes
        The v of the test points, as candidates.
    k : (levels,) array of int
        The votes needed at each level, 0 to count.

    Examples
    --------
    Three u and one v, two votes needed: nobody but the v and one u votes for [5, 7].

    >>> frame = Frame(mean=np.zeros(1), m=np.ones(1))
    >>> S = upper_tail(np.array([[2.0, 7.0, 3.0]]), frame, Votes(np.array([0]), np.array([5.0])), np.array([2]))
    >>> S.end, S.beyond.lo, S.beyond.hi
    (array([[3.]]), array([5.]), array([7.]))
    """
    count = top.shape[1]
    top.sort(axis=1)
    ends = np.full((len(top), len(k)), np.inf)
    some = k > 0
    ends[:, some] = frame.placed(top[:, count - k[some]])
    if not votes.row.size or not count:
        return Tail(ends, Pieces.none())
    rows, v = _padded(votes, count)
    levels = np.flatnonzero(some)
    first_ends, level, row, lo, hi = _pieces(_windows(top, frame, rows, k[levels], v.shape[1]), v)
    ends[rows[:, None], levels] = first_ends.T
    return Tail(ends, Pieces(rows[row], levels[level], lo, hi))


def _windows(top: Array, frame: Frame, rows: Indices, k: Indices, depth: int) -> Array:
    """T_k, T_{k−1}, …, T_{k−depth} of some test points, NaN after T_0, as candidates, shape (k, rows, depth + 1)."""
    count = top.shape[1]
    T = np.full((len(rows), count + 1 + depth), np.nan)
    T[:, :count] = top[rows]  # T_count, …, T_2, T_1
    T[:, count] = np.inf  # T_0
    windows = np.empty((len(k), len(rows), 1 + depth))
    for window, start in zip(windows, (count - k).tolist(), strict=True):
        window[:] = T[:, start : start + 1 + depth]
    windows *= frame.m[rows, None]
    windows += frame.mean[rows, None]
    return windows


def _padded(votes: Votes, most: int) -> tuple[Indices, Array]:
    """The test points that have some v, and their v in ascending order, `most` of them; ∞ after the last, a vote for
    nothing.
    """
    counts = np.bincount(votes.row)
    rows = np.flatnonzero(counts)
    starts = np.cumsum(counts) - counts
    nth = np.cumsum(counts > 0) - 1
    v = np.full((len(rows), int(counts.max())), np.inf)
    v[nth[votes.row], np.arange(len(votes.row)) - starts[votes.row]] = votes.value
    v.sort(axis=1)
    return rows, v[:, :most]


def _pieces(T: Array, v: Array) -> tuple[Array, Indices, Indices, Array, Array]:
    """The formula above for some test points: T_k, T_{k−1}, …, NaN after T_0, at [level, row]; v_1, v_2, … at [row].

    Returns the ends of the first pieces, shape (levels, rows); and level, row, lower and upper end of every later one.
    """
    there = (v <= T[..., 1:]) & (v < np.inf)  # pieces 1, 2, …
    continues = np.zeros(T.shape, dtype=bool)  # piece d + 1 continues piece d
    continues[..., :-1] = (v <= T[..., :-1]) & there
    first = np.argmin(continues, axis=2)
    first_ends = np.take_along_axis(T, first[..., None], axis=2)[..., 0]
    starts = np.flatnonzero(there & ~continues[..., :-1])
    level, row, start = np.unravel_index(starts, there.shape)
    # The n-th start and the n-th end belong together, once the ends of the first pieces are left out.
    later = np.arange(1, T.shape[2]) > first[..., None]
    ends = T[..., 1:][there & ~continues[..., 1:] & later] if starts.size else np.empty(0)
    return first_ends, level, row, v[row, start], ends
