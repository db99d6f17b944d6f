"""Blocks of rows (a test point with a target), the input of procedures, and chunks of them, the input of crossings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckrr._validation import Array
from ckrr.linalg.workspace import Workspace
from ckrr.regions.orientation import OrientedResiduals, TrainColumns
from ckrr.regions.tail_sets import Indices

Places = tuple[Indices, Indices]
"""Row and column indices into W; rows ascend."""


@dataclass(frozen=True)
class PointChunk:
    """A few rows with oriented residuals (see `ckrr.regions.orientation`)."""

    W: Array
    """ς Qk, shape (b, n)."""
    m: Array
    """λ + 1 − k′Qk, shape (b,)."""
    mean: Array
    """ŷ, shape (b,)."""
    columns: TrainColumns
    """Quantities of the training points: one row for each test point, or one row for all."""
    equal: Places
    """Where the test point equals a training point."""


@dataclass(frozen=True)
class PointBlock:
    """Test points, each with one target, in the units of the target: the input of every procedure.

    They belong to one problem, or to several with the same n, one after the other.
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
    """Quantities of the training points: one row for each of the p targets."""
    owner: Indices
    """Index of each row's target, shape (b,); ascending."""
    equal: Places
    """Where the test point equals a training point, with columns in oriented order."""
    orientation: OrientedResiduals | None = None
    """Orientation that W still needs; None if it is already oriented."""

    def make_chunk(self, here: slice, scratch: Workspace) -> PointChunk:
        """Return some of the rows, oriented, in scratch buffers."""
        W = self.W[here]
        if self.orientation is not None:
            W = self.orientation.orient_weights(W, scratch("flipped W", W.shape))
        columns = self.columns.take_rows(self.owner[here], scratch)
        return PointChunk(W, self.m[here], self.mean[here], columns, select_within(self.equal, here))


def select_within(places: Places, here: slice) -> Places:
    """Return the places within some of the rows, counted from the first of these."""
    row, col = places
    if not row.size:
        return places
    first, last = np.searchsorted(row, (here.start, here.stop))
    return row[first:last] - here.start, col[first:last]
