"""Orient residuals: flip signs so that every a_i ≥ 0, and put those that had a_i ≥ 0 first.

RRCM depends on |r_i| alone, so the sign of a residual is free; with ς_i the sign of a_i, ::

    ς_i r_i = (m |a_i| − ς_i W_i s) / D_i

has |a_i| in place of a_i and ς_i W_i in place of W_i. For CRR the order tells which residuals were flipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.linalg.workspace import Workspace
from ckrr.regions.tail_sets import Indices

One = TypeVar("One", bound=np.generic)


@dataclass(frozen=True)
class TrainColumns:
    """Oriented quantities of the training points that all test points share, one row for each of p targets."""

    a: Array
    """|Qy|, shape (p, n)."""
    y: Array
    """Training values, shape (p, n)."""
    diag_Q: Array
    """Diagonal of Q, shape (p, n)."""
    split: Indices
    """Number of residuals, the first ones, that had a_i ≥ 0; shape (p,)."""

    def take_rows(self, owner: Indices, scratch: Workspace) -> TrainColumns:
        """Return one row for each entry of `owner`, which ascends; a single row if all are of one target."""
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
        """Concatenate the rows of several problems with the same n."""
        return TrainColumns(
            np.concatenate([each.a for each in parts]),
            np.concatenate([each.y for each in parts]),
            np.concatenate([each.diag_Q for each in parts]),
            np.concatenate([each.split for each in parts]),
        )


class OrientedResiduals:
    """Orientation of one target's residuals: their signs and their order."""

    def __init__(self, a: Array, y: Array, diag_Q: Array) -> None:
        positive = a >= 0
        first, last = np.flatnonzero(positive), np.flatnonzero(~positive)
        self._order = np.concatenate([first, last])
        self._sign = np.ones(len(a))
        self._sign[len(first) :] = -1.0
        a, y, diag_Q = np.array([np.abs(a), y, diag_Q]).take(self._order, axis=1)
        self.columns = TrainColumns(a[None], y[None], diag_Q[None], np.array([len(first)]))

    def orient_weights(self, W: Array, out: Array) -> Array:
        """Write ς W in the new order, shape (b, n), to `out`, and return it."""
        np.take(W, self._order, axis=1, out=out, mode="clip")  # any mode but "raise" avoids a buffer
        out *= self._sign
        return out

    def orient_column(self, values: npt.NDArray[One]) -> npt.NDArray[One]:
        """Return values of the training points in the new order, shape (n,); no sign is flipped."""
        return values.take(self._order)

    def restore_column(self, values: npt.NDArray[One]) -> npt.NDArray[One]:
        """Return values in the new order in the original one."""
        restored = np.empty_like(values)
        restored[self._order] = values
        return restored

    def find_places(self, col: Indices) -> Indices:
        """Return the positions of training points in the new order."""
        if not col.size:
            return col
        place = np.empty_like(self._order)
        place[self._order] = np.arange(len(place))
        return place[col]
