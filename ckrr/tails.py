"""Sets of candidates that enough residuals vote for, one side at a time.

Seen from one side, every residual votes for a half-line of candidates y: all y ≤ u, or all y ≥ v. The candidates
with at least k votes are ::

    S_k = {y : #{u_i ≥ y} + #{v_j ≤ y} ≥ k}

Write T_1 ≥ T_2 ≥ … for the sorted u, T_0 = ∞, and v_1 ≤ v_2 ≤ … for the sorted v. On (T_{k−d+1}, T_{k−d}] exactly
k − d of the u vote, so a candidate there needs d of the v, that is y ≥ v_d. Hence ::

    S_k = (−∞, T_k] ∪ ⋃_{d ≥ 1} [max(T_{k−d+1}, v_d), T_{k−d}]

where a piece with v_d > T_{k−d} is empty, and one with v_d ≤ T_{k−d+1} continues the piece before it. Only as many
order statistics below the k-th are looked at as there are v: usually none, otherwise a few. For k ≤ 0 it is the line.
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


@dataclass(frozen=True)
class Tail:
    """The sets S_k of a block of test points: (−∞, end] and the pieces beyond it."""

    end: Array
    """Shape (b, levels)."""
    beyond: Pieces

    def mirrored(self) -> Tail:
        """The sets in −y: [end, ∞) and the pieces before it."""
        return Tail(-self.end, self.beyond.mirrored())


def largest(t: Array, count: int) -> Array:
    """The `count` largest of each row, in descending order: a selection, then a sort of the selected."""
    n = t.shape[1]
    if count < n:
        t = np.partition(t, n - count, axis=1)[:, n - count :]
    return np.sort(t, axis=1)[:, ::-1]


def smallest(t: Array, count: int) -> Array:
    """The `count` smallest of each row, in ascending order."""
    if count < t.shape[1]:
        t = np.partition(t, count - 1, axis=1)[:, :count]
    return np.sort(t, axis=1)


def tail(T: Array, votes: Votes, k: Indices) -> Tail:
    """The sets S_k of a block of test points, for several k at once.

    Parameters
    ----------
    T : (b, max(k)) array
        The largest u of each test point, in descending order.
    votes : Votes
        The v of the test points.
    k : (levels,) array of int
        The votes needed at each level.

    Examples
    --------
    Three u and one v, two votes needed: nobody but the v and one u votes for [5, 7].

    >>> S = tail(np.array([[7.0, 3.0, 2.0]]), Votes(np.array([0]), np.array([5.0])), np.array([2]))
    >>> S.end, S.beyond.lo, S.beyond.hi
    (array([[3.]]), array([5.]), array([7.]))
    """
    end = np.full((len(T), len(k)), np.inf)
    some = k > 0
    end[:, some] = T[:, k[some] - 1]
    if not votes.row.size:
        return Tail(end, Pieces.none())
    rows, v = _padded(votes)
    first_end, beyond = _pieces(T[rows], v, k)
    end[rows] = first_end
    return Tail(end, Pieces(rows[beyond.row], beyond.level, beyond.lo, beyond.hi))


def _padded(votes: Votes) -> tuple[Indices, Array]:
    """The test points that have some v, and these in ascending order along the rows of a table, NaN after the last."""
    rows, first, counts = np.unique(votes.row, return_index=True, return_counts=True)
    v = np.full((len(rows), int(counts.max())), np.nan)
    at = np.repeat(np.arange(len(rows)), counts)
    v[at, np.arange(len(votes.row)) - first[at]] = votes.value
    v[np.isinf(v)] = np.nan  # a vote for y ≥ ∞ is none
    return rows, np.sort(v, axis=1)


def _pieces(T: Array, v: Array, k: Indices) -> tuple[Array, Pieces]:
    """The end of the first piece, and the later ones: the formula above, piece d along the last axis.

    The piece d = 0 is (−∞, T_k]. Comparisons with NaN are false, so what doesn't exist is neither start nor end.
    """
    T = np.concatenate([np.full((len(T), 1), np.inf), T], axis=1)  # T_0 = ∞, T_1, T_2, …
    d = np.arange(v.shape[1] + 1)
    at = np.maximum(k, 0)[:, None] - d
    hi = np.where(at >= 0, T[:, np.maximum(at, 0)], np.nan)  # T_{k−d}, shape (rows, levels, d)
    lo = np.broadcast_to(v[:, None, :], (*hi.shape[:2], v.shape[1]))
    there = np.ones(hi.shape, dtype=bool)
    there[..., 1:] = lo <= hi[..., 1:]
    continues = np.zeros((*hi.shape[:2], len(d) + 1), dtype=bool)
    continues[..., 1:-1] = (lo <= hi[..., :-1]) & there[..., 1:]
    first, last = there & ~continues[..., :-1], there & ~continues[..., 1:]
    row, level, start = np.nonzero(first)
    ends = hi[last]
    later = start > 0
    beyond = Pieces(row[later], level[later], v[row[later], start[later] - 1], ends[later])
    return ends[~later].reshape(hi.shape[:2]), beyond
