"""Sets of candidates that receive enough votes from the residuals, one side at a time.

Seen from one side, every residual votes for a half-line of candidates y: all y ≤ u, or all y ≥ v. The candidates
with at least k votes are ::

    S_k = {y : #{u_i ≥ y} + #{v_j ≤ y} ≥ k}

Write T_1 ≥ T_2 ≥ … for the sorted u, T_0 = ∞, and v_1 ≤ v_2 ≤ … for the sorted v. On (T_{k−d+1}, T_{k−d}] exactly
k − d of the u vote, so a candidate there needs d of the v, that is y ≥ v_d. Hence ::

    S_k = (−∞, T_k] ∪ ⋃_{d ≥ 1} [max(T_{k−d+1}, v_d), T_{k−d}]

where a piece with v_d > T_{k−d} is empty, and one with v_d ≤ T_{k−d+1} continues the piece before it. So T_k is
sufficient where there is no v, and a few other order statistics are needed otherwise. For k = 0 the set is the line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.linalg.workspace import Workspace

Indices = npt.NDArray[np.intp]

_SHORT = 100
"""Rows of up to this length are sorted: as fast as a selection with AVX2, in two thirds of its time with AVX-512.
Results are bitwise independent of it."""


@dataclass(frozen=True)
class Pieces:
    """Closed intervals [lo, hi], each a part of the region of one test point at one level."""

    row: Indices
    level: Indices
    lo: Array
    hi: Array

    @staticmethod
    def empty() -> Pieces:
        """Return an instance without pieces."""
        empty = np.empty(0, dtype=np.intp)
        return Pieces(empty, empty, np.empty(0), np.empty(0))

    def mirror(self) -> Pieces:
        """Return the pieces in −y."""
        return Pieces(self.row, self.level, -self.hi, -self.lo)

    def join(self, *others: Pieces) -> Pieces:
        """Return these pieces and those of others."""
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
        """Return the pieces where `keep` is True."""
        return Pieces(self.row[keep], self.level[keep], self.lo[keep], self.hi[keep])


@dataclass(frozen=True)
class Votes:
    """The few v of a block of test points: `value[e]` belongs to test point `row[e]`; rows ascend."""

    row: Indices
    value: Array
    column: Indices | None = None
    """Training point of each, in oriented order; only weighted regions need it."""


NO_VOTES = Votes(np.empty(0, dtype=np.intp), np.empty(0))


@dataclass(frozen=True)
class Tail:
    """The sets S_k of a block of test points: (−∞, end] and the pieces beyond it."""

    end: Array
    """Shape (b, levels)."""
    beyond: Pieces

    def choose(self, second: npt.NDArray[np.bool_]) -> Tail:
        """Merge the two halves of the levels: take the first half, or the second where `second` is True."""
        levels = second.shape[1]
        half, level = np.divmod(self.beyond.level, levels)
        beyond = Pieces(self.beyond.row, level, self.beyond.lo, self.beyond.hi)
        keep = second[beyond.row, level] == half.astype(bool)
        return Tail(np.where(second, self.end[:, levels:], self.end[:, :levels]), beyond.where(keep))

    def drop_levels(self, level: npt.NDArray[np.bool_]) -> Tail:
        """Return the sets with those of the marked levels made empty."""
        return Tail(np.where(level, -np.inf, self.end), self.beyond.where(~level[self.beyond.level]))

    def mirror(self) -> Tail:
        """Return the sets in −y: [end, ∞) and the pieces before it."""
        return Tail(-self.end, self.beyond.mirror())


@dataclass(frozen=True)
class AffineMap:
    """Frame of a block of test points, in which t stands for the candidate mean + m t."""

    mean: Array
    """Shape (b,)."""
    m: Array
    """Shape (b,), above 0."""

    def apply(self, t: Array) -> Array:
        """Map values of t, one row per test point, to candidates. Monotone, so it may follow a selection."""
        return self.mean[:, None] + self.m[:, None] * t

    def apply_at(self, row: Indices, t: Array) -> Array:
        """Map single values of t, each of the test point `row`, to candidates."""
        return self.mean[row] + self.m[row] * t

    def take_rows(self, row: Indices) -> AffineMap:
        """Return the frame of some of the test points."""
        return AffineMap(self.mean[row], self.m[row])

    def make_identity_at(self, row: Indices) -> AffineMap:
        """Return a frame in which t is the candidate itself for some test points, and as before for the others."""
        mean, m = self.mean.copy(), self.m.copy()
        mean[row], m[row] = 0.0, 1.0
        return AffineMap(mean, m)

    def mirror(self) -> AffineMap:
        """Return the frame of −y, in which −t stands for the same candidate, bit for bit."""
        return AffineMap(-self.mean, self.m)


def allocate_tops(b: int, count: int, scratch: Workspace, name: str) -> Array:
    """Allocate rows T_count, …, T_2, T_1 for the largest u of b test points, followed by T_0 = ∞ and NaN."""
    top = scratch(name, (b, count + 2))
    top[:, count], top[:, count + 1] = np.inf, np.nan
    return top


def select(t: Array, top: Array) -> None:
    """Write the largest entries of each row of t, ascending, to the result of `allocate_tops`. Reorders rows of t."""
    n, count = t.shape[1], top.shape[1] - 2
    if n <= _SHORT:
        t.sort(axis=1)
    elif 0 < count < n:
        t.partition(n - count, axis=1)
    np.copyto(top[:, :count], t[:, n - count :])
    if n > _SHORT:
        top[:, :count].sort(axis=1)


def compute_upper_tail(top: Array, frame: AffineMap, votes: Votes, k: Indices) -> Tail:
    """Return the sets S_k of a block of test points, for several k at once.

    Parameters
    ----------
    top : (b, count + 2) array, made by `allocate_tops`
        The largest u of each test point in the frame, as many as the largest k needs, written by `select`.
    frame : AffineMap
        Frame of the test points.
    votes : Votes
        The v of the test points, as candidates.
    k : (levels,) array of int
        Votes needed at each level, 0 to count.

    Examples
    --------
    Three u and one v, two votes needed: only the v and one u vote for [5, 7].

    >>> frame = AffineMap(mean=np.zeros(1), m=np.ones(1))
    >>> top = allocate_tops(1, 2, Workspace(), "top")
    >>> select(np.array([[2.0, 7.0, 3.0]]), top)
    >>> S = compute_upper_tail(top, frame, Votes(np.array([0]), np.array([5.0])), np.array([2]))
    >>> S.end, S.beyond.lo, S.beyond.hi
    (array([[3.]]), array([5.]), array([7.]))
    """
    count = top.shape[1] - 2
    ends = frame.apply(top[:, count - k])
    if not votes.row.size:
        return Tail(ends, Pieces.empty())
    ranked = _RankedVotes(votes)
    T_k = ends.take(ranked.rows, axis=0)
    first_ends, beyond = _find_pieces(T_k.T, _compute_order_statistics(top, frame, ranked, k), ranked)
    ends[ranked.rows] = first_ends.T
    return Tail(ends, beyond)


class _RankedVotes:
    """Votes in ascending order at each test point: the e-th one is v_d of its test point, with d = `rank[e]`."""

    def __init__(self, votes: Votes) -> None:
        counts = np.bincount(votes.row)
        self.rows = np.flatnonzero(counts)
        """Test points that have some v."""
        self.counts = counts.take(self.rows)
        self.starts = np.cumsum(self.counts) - self.counts
        """Where the votes of each test point begin."""
        self.row = votes.row
        self.nth = np.repeat(np.arange(len(self.rows)), self.counts)
        """Index into `rows` of each vote's test point."""
        self.rank = 1 + np.arange(len(votes.row)) - self.starts.take(self.nth)
        padded = np.full((len(self.rows), int(self.counts.max())), np.inf)
        places = self.nth * padded.shape[1] + self.rank - 1
        padded.reshape(-1)[places] = votes.value
        if padded.shape[1] > 1:
            padded.sort(axis=1)
        self.v: Array = padded.reshape(-1).take(places)


def _compute_order_statistics(top: Array, frame: AffineMap, ranked: _RankedVotes, k: Indices) -> Array:
    """Return T_{k−d} for each v_d, as candidates, shape (levels, votes): T_0 = ∞, and NaN for d > k."""
    count = top.shape[1] - 2
    place = np.minimum(ranked.rank + (count - k)[:, None], count + 1)
    place += ranked.row * (count + 2)
    T: Array = top.reshape(-1).take(place)
    T *= frame.m.take(ranked.row)
    T += frame.mean.take(ranked.row)
    return T


def _find_pieces(T_k: Array, T: Array, ranked: _RankedVotes) -> tuple[Array, Pieces]:
    """Apply the formula for S_k to the test points that have some v.

    T_k has entries [level, test point], T has T_{k−d} at [level, vote]. Returns the ends of the first pieces, shape
    (levels, test points), and every later piece.
    """
    there = (ranked.v <= T) & (ranked.v < np.inf)  # pieces 1, 2, …; v = ∞ votes for nothing
    before = np.empty_like(T)  # T_{k−d+1}
    before[:, 1:] = T[:, :-1]
    before[:, ranked.starts] = T_k
    continues = there & (ranked.v <= before)  # piece d continues piece d − 1
    first = np.where(continues, ranked.counts.take(ranked.nth), ranked.rank - 1)
    first = np.minimum.reduceat(first, ranked.starts, axis=1)  # how many continue the first one
    last = ranked.starts + np.maximum(first - 1, 0) + np.arange(0, T.size, T.shape[1])[:, None]
    first_ends = np.where(first > 0, T.reshape(-1).take(last), T_k)
    starts = there & ~continues
    if not starts.any():
        return first_ends, Pieces.empty()
    goes_on = np.zeros_like(continues)  # piece d + 1 continues piece d
    goes_on[:, :-1] = continues[:, 1:]
    goes_on[:, ranked.starts[1:] - 1] = False
    # The n-th start and the n-th end belong together, once the ends of the first pieces are left out.
    ends = there & ~goes_on & (ranked.rank > first.take(ranked.nth, axis=1))
    level, vote = np.nonzero(starts)
    return first_ends, Pieces(ranked.row.take(vote), level, ranked.v.take(vote), T[ends])
