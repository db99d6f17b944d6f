"""Rows: test points, each with one target, as the procedures see them. And chunks of rows, as crossings are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckrr._validation import Array
from ckrr.linalg.workspace import Workspace
from ckrr.regions.orientation import OrientedResiduals, TrainColumns
from ckrr.regions.tail_sets import Indices

Places = tuple[Indices, Indices]
"""Rows and columns of W; rows ascend."""


@dataclass(frozen=True)
class PointChunk:
    """A few rows, their residuals turned and ordered."""

    W: Array
    """ς Qk, shape (b, n)."""
    m: Array
    """λ + 1 − k′Qk, shape (b,)."""
    mean: Array
    """ŷ, shape (b,)."""
    columns: TrainColumns
    """A row for each, or one for all."""
    equal: Places
    """Where the test point is a train point."""


@dataclass(frozen=True)
class PointBlock:
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
    columns: TrainColumns
    """The p targets."""
    owner: Indices
    """Which target is the row's, shape (b,); ascending."""
    equal: Places
    """Where the test point is a train point, in the order of the columns."""
    orientation: OrientedResiduals | None = None
    """What W is still to be turned and ordered by."""

    def make_chunk(self, here: slice, scratch: Workspace) -> PointChunk:
        """Some of the rows, in scratch buffers."""
        W = self.W[here]
        if self.orientation is not None:
            W = self.orientation.orient_weights(W, scratch("flipped W", W.shape))
        columns = self.columns.take_rows(self.owner[here], scratch)
        return PointChunk(W, self.m[here], self.mean[here], columns, select_within(self.equal, here))


def select_within(places: Places, here: slice) -> Places:
    """The places in some of the rows, counted from the first of them."""
    row, col = places
    if not row.size:
        return places
    first, last = np.searchsorted(row, (here.start, here.stop))
    return row[first:last] - here.start, col[first:last]
