"""Crossings: the candidates at which a training residual equals the test point's own, or its negative.

With a_i ≥ 0 (see `ckrr.regions.orientation`) residual i meets the test point's own where m a_i − W_i s = D_i s, and its
negative where m a_i − W_i s = −D_i s, that is at s = m u_i and at s = −m l_i with ::

    u_i = a_i / (D_i + W_i)            l_i = a_i / (D_i − W_i)

As a rule |W_i| < D_i and both are ≥ 0. Where one of the slopes D_i ± W_i is negative, or 0 together with a_i, the
residual is *exceptional*: there are few of these, and they are listed beside the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.linalg.workspace import Workspace
from ckrr.regions.blocks import Places, PointChunk
from ckrr.regions.tail_sets import AffineMap, Indices


@dataclass(frozen=True)
class ExceptionalCrossings:
    """Exceptional residuals of a block: entry e is residual `col[e]` of test point `row[e]`; rows ascend."""

    row: Indices
    col: Indices
    plus: Array
    """D + W."""
    minus: Array
    """D − W."""
    start: Array
    """m u, as a candidate; NaN for 0/0."""
    end: Array
    """−m l, likewise."""


_NOWHERE = np.empty(0, dtype=np.intp)
_NONE = ExceptionalCrossings(_NOWHERE, _NOWHERE, np.empty(0), np.empty(0), np.empty(0), np.empty(0))


class Crossings:
    """Crossings of b test points, in scratch buffers that the next instance overwrites.

    At a training point, x* = x_i, residual i equals the test point's own if and only if z = y_i, whatever the kind of
    residual: exchanging the two points changes nothing. Rounding would miss that by an ulp and break the tie that
    counts for a repeated value. So that crossing is set to y_i, and the row is stored as values of y, with the identity
    as its frame.
    """

    def __init__(self, chunk: PointChunk, D: Array, scratch: Workspace) -> None:
        self.chunk, self.scratch = chunk, scratch
        self.n = chunk.W.shape[1]
        self.right: Array = np.add(D, chunk.W, out=scratch("right", chunk.W.shape))
        """u, in the frame."""
        self.left: Array = np.subtract(D, chunk.W, out=scratch("left", chunk.W.shape))
        """l, in the mirrored frame."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # 0/0 is exceptional, a/0 = ∞ is intended
            np.divide(chunk.columns.a, self.right, out=self.right)
            np.divide(chunk.columns.a, self.left, out=self.left)
        self.frame = AffineMap(chunk.mean, chunk.m)
        usual = chunk.columns.a.min() > 0 and self.right.min() > 0 and self.left.min() > 0  # −0 of a tiny a is not > 0
        self.exceptional = _NONE if usual else self._find_exceptional(D)
        self.equal = self._find_ordinary(D) if chunk.equal[0].size else chunk.equal
        if self.equal[0].size:
            self._put_equal()

    def get_right(self, row: Indices, col: Indices) -> Array:
        """Return u at some places, as candidates."""
        return self.frame.apply_at(row, self.right[row, col])

    def get_left(self, row: Indices, col: Indices) -> Array:
        """Return −l at some places, as candidates."""
        return -self.frame.mirror().apply_at(row, self.left[row, col])

    def is_positive(self, row: Indices, col: Indices) -> npt.NDArray[np.bool_]:
        """Return whether the residuals at some places had a_i ≥ 0, so that their sign was not flipped."""
        positive: npt.NDArray[np.bool_] = col < (
            self.chunk.columns.split[row] if len(self.chunk.columns.split) > 1 else self.chunk.columns.split
        )
        return positive

    def get_same_sign(self, first: int, last: int) -> tuple[Array, Array]:
        """Return where residuals with their original signs equal the test point's: at u if a_i was ≥ 0, else at −l.

        The first array has the columns before `last`, in the frame; the second has the columns from `first` on, in the
        mirrored frame. Both are scratch buffers. All columns before `first` had a_i ≥ 0, none from `last` on had.
        """
        b, both = len(self.right), slice(first, last)
        upper, lower = self.scratch("first", (b, last)), self.scratch("second", (b, self.n - first))
        np.copyto(upper, self.right[:, :last])
        np.copyto(lower, self.left[:, first:])
        if first < last:
            positive = np.arange(first, last) < self.chunk.columns.split[:, None]
            same = np.where(positive, upper[:, both], -self.left[:, both])
            row, col = self.equal
            same[row, col - first] = take_broadcast(self.chunk.columns.y, row, col)
            upper[:, both], lower[:, : last - first] = same, -same
        return upper, lower

    def _find_exceptional(self, D: Array) -> ExceptionalCrossings:
        W, (mean, m) = self.chunk.W, (self.frame.mean, self.frame.m)
        size = np.abs(W, out=self.scratch("second", W.shape))
        place = np.flatnonzero(size >= D)
        row, col = np.divmod(place, self.n)
        W, right, left = (each.reshape(-1).take(place) for each in (W, self.right, self.left))  # faster than [row, col]
        D, a, mean, m = (
            take_broadcast(D, row, col),
            take_broadcast(self.chunk.columns.a, row, col),
            mean.take(row),
            m.take(row),
        )
        odd = ExceptionalCrossings(row, col, D + W, D - W, mean + m * right, mean - m * left)
        half_lines = (np.abs(W) == D) & (a > 0)
        return (
            odd if not half_lines.any() else ExceptionalCrossings(*(each[~half_lines] for each in vars(odd).values()))
        )

    def _find_ordinary(self, D: Array) -> Places:
        """Return the places where test points equal training points and both slopes are above 0."""
        row, col = self.chunk.equal
        good = np.abs(self.chunk.W[row, col]) < take_broadcast(D, row, col)
        return row[good], col[good]

    def _put_equal(self) -> None:
        """Set crossings of equal points to y_i, keeping the prediction between the two crossings of each residual."""
        row, col = self.equal
        y, mean = take_broadcast(self.chunk.columns.y, row, col), self.chunk.mean[row]
        opposite = np.where(self.is_positive(row, col), self.get_left(row, col), self.get_right(row, col))
        kept = np.unique(row)
        own = self.frame.take_rows(kept)
        self.right[kept], self.left[kept] = own.apply(self.right[kept]), own.mirror().apply(self.left[kept])
        self.right[row, col] = np.maximum(np.maximum(y, opposite), mean)
        self.left[row, col] = -np.minimum(np.minimum(y, opposite), mean)
        self.frame = self.frame.make_identity_at(kept)


def take_broadcast(values: Array, row: Indices, col: Indices) -> Array:
    """Return entries of an array as if broadcast: it may have one row for all, or one entry for all."""
    b, n = values.shape
    if b > 1:
        row = row * n
        row += col
        return values.reshape(-1).take(row)
    return values[0].take(col) if n > 1 else values[0, :1]
