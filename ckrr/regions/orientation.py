"""Residuals turned so that every a_i ≥ 0, and ordered: those that had a_i ≥ 0 first.

RRCM looks at |r_i| alone, so the sign of a residual is free; with ς_i the sign of a_i, ::

    ς_i r_i = (m |a_i| − ς_i W_i s) / D_i

has |a_i| for a_i and ς_i W_i for W_i. CRR can tell from their order which residuals were turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ckrr._validation import Array
from ckrr.linalg.workspace import Workspace
from ckrr.regions.tail_sets import Indices


@dataclass(frozen=True)
class TrainColumns:
    """What the residuals of p targets have in common at all test points: turned and ordered, a row for each target."""

    a: Array
    """|Qy|, shape (p, n)."""
    y: Array
    """The train values, shape (p, n)."""
    diag_Q: Array
    """Shape (p, n)."""
    split: Indices
    """How many residuals, the first ones, had a_i ≥ 0; shape (p,)."""

    def take_rows(self, owner: Indices, scratch: Workspace) -> TrainColumns:
        """A row for each entry of `owner`, which ascend; one row if they are all of one target."""
        first, last = int(owner[0]), int(owner[-1])
        if first == last:
            only = slice(first, first + 1)
            return TrainColumns(self.a[only], self.y[only], self.diag_Q[only], self.split[only])
        shape = len(owner), self.a.shape[1]
        buffers = (scratch(name, shape) for name in ("a", "y", "diag Q"))
        arrays = (self.a, self.y, self.diag_Q)
        a, y, diag_Q = (np.take(x, owner, axis=0, out=out, mode="clip") for x, out in zip(arrays, buffers, strict=True))
        return TrainColumns(a, y, diag_Q, self.split[owner])

    @staticmethod
    def join(parts: Sequence[TrainColumns]) -> TrainColumns:
        """Those of several problems with the same n."""
        return TrainColumns(
            np.concatenate([each.a for each in parts]),
            np.concatenate([each.y for each in parts]),
            np.concatenate([each.diag_Q for each in parts]),
            np.concatenate([each.split for each in parts]),
        )


class OrientedResiduals:
    """One target's residuals, turned and ordered."""

    def __init__(self, a: Array, y: Array, diag_Q: Array) -> None:
        positive = a >= 0
        first, last = np.flatnonzero(positive), np.flatnonzero(~positive)
        self._order = np.concatenate([first, last])
        self._sign = np.ones(len(a))
        self._sign[len(first) :] = -1.0
        a, y, diag_Q = np.array([np.abs(a), y, diag_Q]).take(self._order, axis=1)
        self.columns = TrainColumns(a[None], y[None], diag_Q[None], np.array([len(first)]))

    def orient_weights(self, W: Array, out: Array) -> Array:
        """ς W in the new order, shape (b, n), written to `out`."""
        np.take(W, self._order, axis=1, out=out, mode="clip")  # any mode but "raise" spares a buffer
        out *= self._sign
        return out

    def find_places(self, col: Indices) -> Indices:
        """Where train points are in the new order."""
        if not col.size:
            return col
        place = np.empty_like(self._order)
        place[self._order] = np.arange(len(place))
        return place[col]
