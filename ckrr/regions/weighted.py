"""Weighted conformal regions: the sets of `ckrr.regions.tail_sets` where votes have weights.

Seen from one side, residual i votes for all y ≤ u_i, and a few vote for all y ≥ v_j. The candidates whose votes weigh
at least t are ::

    {y : Σ_{u_i ≥ y} w_i + Σ_{v_j ≤ y} w_j ≥ t}

From left to right the weight of the votes rises by w_j at v_j, and falls by w_i just behind u_i. Sort these *steps*,
v_j before u_i at the same place. Between two neighbours the weight is constant. At a place itself it is the weight
behind the last v_j and before the first u_i, and no candidate beside it has more. So the set is the union of the closed
intervals between neighbours with a weight of at least t. Intervals that follow each other are one component, and
components are apart, as weights at one place rise first and then fall.

This costs a sort per test point, where counting needs only the few largest u_i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ckrr._validation import Array
from ckrr.regions.smoothing import Bools
from ckrr.regions.tail_sets import Indices, Pieces, Tail, Votes


@dataclass(frozen=True)
class ChunkWeights:
    """Weights for a chunk of test points: those of the training points, in oriented order, and the thresholds t."""

    table: Array
    """Scaled weights, a row for each of p targets, shape (p, n)."""
    owner: Indices
    """Row of the table of each test point, shape (b,)."""
    need: Array
    """Scaled t, shape (b, levels)."""
    margin: Array
    """Bound on the rounding errors of a sum and of t, shape (b,)."""
    resolve: Callable[[int], tuple[list[int], list[int]]]
    """Row → its weights and its t at each level, as whole numbers of one unit."""

    def select(self, rows: Indices) -> ChunkWeights:
        """Return the weights for some of the test points."""
        places = rows.tolist()
        return ChunkWeights(
            self.table, self.owner[rows], self.need[rows], self.margin[rows], lambda row: self.resolve(places[row])
        )


@dataclass(frozen=True)
class _Steps:
    """Steps at b test points, in ascending order, and between them the weights of the votes."""

    place: Array
    """Where the weight changes, shape (b, M)."""
    column: Indices
    """Training point whose weight it changes by, likewise."""
    sign: Array
    """1 for v, −1 for u, 0 for nothing, likewise, or of shape (1, 1)."""
    weights: ChunkWeights

    def compute_sums(self) -> Array:
        """Return the scaled weight before the first step and behind each, shape (b, M + 1)."""
        table, owner = self.weights.table, self.weights.owner
        changes = table[0].take(self.column) if len(table) == 1 else table[owner[:, None], self.column]
        changes *= self.sign
        sums = np.empty((len(self.place), self.place.shape[1] + 1))
        sums[:, 0] = table.sum(axis=1)[owner]
        np.cumsum(changes, axis=1, out=sums[:, 1:])
        sums[:, 1:] += sums[:, :1]
        return sums

    def find_sufficient(self, sums: Array, level: int) -> Bools:
        """Return where the weight is at least t, by exact sums where rounding might decide."""
        need, margin = self.weights.need[:, level, None], self.weights.margin[:, None]
        kept: Bools = sums >= need - margin
        if not margin.any():
            return kept
        sure = np.count_nonzero(sums >= need + margin, axis=1)
        for row in np.flatnonzero(np.count_nonzero(kept, axis=1) > sure).tolist():
            kept[row] = self._compare_exactly(row, level)
        return kept

    def _compare_exactly(self, row: int, level: int) -> list[bool]:
        weights, need = self.weights.resolve(row)
        sign = np.broadcast_to(self.sign, self.place.shape)[row].astype(int).tolist()
        changes = [s * weights[i] for s, i in zip(sign, self.column[row].tolist(), strict=True)]
        return [each >= need[level] for each in accumulate(changes, initial=sum(weights))]

    def bound(self) -> Array:
        """Return the places with −∞ before and ∞ behind them, shape (b, M + 2)."""
        bounded = np.empty((len(self.place), self.place.shape[1] + 2))
        bounded[:, 0], bounded[:, 1:-1], bounded[:, -1] = -np.inf, self.place, np.inf
        return bounded


def compute_weighted_tail(u: Array, votes: Votes, weights: ChunkWeights) -> Tail:
    """Return the sets of candidates with enough weight, at each level.

    Parameters
    ----------
    u : (b, n) array
        Candidate up to which each residual votes.
    votes : Votes
        The v of the test points, as candidates, with the training point of each.
    weights : ChunkWeights
        Weights of the training points and thresholds t.

    Examples
    --------
    Residuals of weights 1, 2 and 4; the first one votes for y ≥ 5, too. At least 3 are needed: 4 or 1 + 2.

    >>> weights = ChunkWeights(np.array([[1.0, 2.0, 4.0]]), np.array([0]), np.array([[3.0]]), np.zeros(1), None)
    >>> votes = Votes(np.array([0]), np.array([5.0]), np.array([0]))
    >>> S = compute_weighted_tail(np.array([[2.0, 7.0, 3.0]]), votes, weights)
    >>> S.end, S.beyond.lo, S.beyond.hi
    (array([[3.]]), array([5.]), array([7.]))
    """
    if not votes.row.size:
        return Tail(_find_ends(_sort_ends(u, weights)), Pieces.empty())
    odd = np.unique(votes.row)
    usual = np.setdiff1d(np.arange(len(u)), odd, assume_unique=True)
    end = np.empty((len(u), weights.need.shape[1]))
    end[usual] = _find_ends(_sort_ends(u[usual], weights.select(usual)))
    end[odd], beyond = _find_pieces(_sort_all(u[odd], _number_rows(votes, odd), weights.select(odd)))
    return Tail(end, Pieces(odd[beyond.row], beyond.level, beyond.lo, beyond.hi))


def _number_rows(votes: Votes, odd: Indices) -> Votes:
    """Return votes with the test points counted among the odd ones."""
    return Votes(np.searchsorted(odd, votes.row), votes.value, votes.column)


def _sort_ends(u: Array, weights: ChunkWeights) -> _Steps:
    """Return the steps of test points without v."""
    order = np.argsort(u, axis=1)
    return _Steps(np.take_along_axis(u, order, axis=1), order, np.full((1, 1), -1.0), weights)


def _sort_all(u: Array, votes: Votes, weights: ChunkWeights) -> _Steps:
    """Return the steps of test points with v. The sort is stable and v come first, so they precede equal u."""
    assert votes.column is not None
    b, n = u.shape
    counts = np.bincount(votes.row, minlength=b)
    rank = np.arange(len(votes.row)) - np.repeat(np.cumsum(counts) - counts, counts)
    most = int(counts.max())
    place, column = np.full((b, most + n), np.inf), np.zeros((b, most + n), dtype=np.intp)
    sign = np.zeros((b, most + n))
    place[votes.row, rank], column[votes.row, rank], sign[votes.row, rank] = votes.value, votes.column, 1.0
    place[:, most:], column[:, most:], sign[:, most:] = u, np.arange(n), -1.0
    order = np.argsort(place, axis=1, kind="stable")
    place, column, sign = (np.take_along_axis(each, order, axis=1) for each in (place, column, sign))
    return _Steps(place, column, sign, weights)


def _find_ends(steps: _Steps) -> Array:
    """Return the ends of the sets of test points without v, shape (b, levels): −∞ for nothing."""
    sums, bounded = steps.compute_sums(), steps.bound()
    rows = np.arange(len(sums))
    levels = steps.weights.need.shape[1]
    ends = np.empty((len(sums), levels))
    for level in range(levels):
        ends[:, level] = bounded[rows, np.count_nonzero(steps.find_sufficient(sums, level), axis=1)]
    return ends


def _find_pieces(steps: _Steps) -> tuple[Array, Pieces]:
    """Return the ends of the pieces that begin at −∞, or −∞ itself, and all other pieces."""
    sums, bounded = steps.compute_sums(), steps.bound()
    levels = steps.weights.need.shape[1]
    ends = np.full((len(sums), levels), -np.inf)
    found = [Pieces.empty()]
    for level in range(levels):
        padded = np.zeros((len(sums), sums.shape[1] + 2), dtype=np.int8)
        padded[:, 1:-1] = steps.find_sufficient(sums, level)
        changes = np.diff(padded, axis=1)
        row, first = np.nonzero(changes > 0)
        last = np.nonzero(changes < 0)[1]  # the n-th start and the n-th end belong together
        lo, hi = bounded[row, first], bounded[row, last]
        main = lo == -np.inf
        ends[row[main & (hi > -np.inf)], level] = hi[main & (hi > -np.inf)]
        rest = ~main & (lo < np.inf)
        found.append(Pieces(row[rest], np.full(np.count_nonzero(rest), level), lo[rest], hi[rest]))
    return ends, found[0].join(*found[1:])
