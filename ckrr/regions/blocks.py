"""Rows: test points, each with one target, as the procedures see them. And chunks of rows, as crossings are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckrr._validation import Array
from ckrr.linalg.workspace import Scratch
from ckrr.regions.orientation import Columns, Flipped
from ckrr.regions.tail_sets import Indices

Places = tuple[Indices, Indices]
"""Rows and columns of W; rows ascend."""


@dataclass(frozen=True)
class Chunk:
    """A few rows, their residuals turned and ordered."""

    W: Array
    """ς Qk, shape (b, n)."""
    m: Array
    """λ + 1 − k′Qk, shape (b,)."""
    mean: Array
    """ŷ, shape (b,)."""
    columns: Columns
    """A row for each, or one for all."""
    equal: Places
    """Where the test point is a train point."""


@dataclass(frozen=True)
class Rows:
    """Test points, each with one target, in the units of the target: all that a procedure is given of them.

    They may be of one problem or of several with the same n, one after the other.
    """

    W: Array
    """Qk, shape (b, n)."""
    m: Array
    """λ + 1 − k′Qk, shape (b,)."""
    variance: Array
    """1 − k′Qk, shape (b,)."""
    mean: Array
    """ŷ, shape (b,)."""
    sigma2: Array
    """σ̂² of each target, shape (p,)."""
    columns: Columns
    """The p targets."""
    owner: Indices
    """Which target is the row's, shape (b,); ascending."""
    equal: Places
    """Where the test point is a train point, in the order of the columns."""
    flip: Flipped | None = None
    """What W is still to be turned and ordered by."""

    def chunk(self, here: slice, scratch: Scratch) -> Chunk:
        """Some of the rows, in scratch buffers."""
        W = self.W[here]
        if self.flip is not None:
            W = self.flip.weights(W, scratch("flipped W", W.shape))
        columns = self.columns.of_rows(self.owner[here], scratch)
        return Chunk(W, self.m[here], self.mean[here], columns, within(self.equal, here))


def within(places: Places, here: slice) -> Places:
    """The places in some of the rows, counted from the first of them."""
    row, col = places
    if not row.size:
        return places
    first, last = np.searchsorted(row, (here.start, here.stop))
    return row[first:last] - here.start, col[first:last]
