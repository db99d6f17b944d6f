"""Stack the rows of several small problems in one evaluator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckrr.evaluation.case import ProcedureEvaluator
from ckrr.linalg.workspace import Workspace
from ckrr.regions.blocks import PointBlock
from ckrr.regions.orientation import TrainColumns


@dataclass(frozen=True)
class RowSpan:
    """Consecutive rows of an evaluator, and their positions among the rows of all problems."""

    rows: slice
    """Positions among the evaluator's rows."""
    places: slice
    """Positions among the rows of all problems, ordered by problem, then target, then test point."""


class Stack:
    """Collect rows of several small problems with the same n, up to `size` entries of W."""

    def __init__(self, size: int, scratch: Workspace) -> None:
        self._size, self._scratch = size, scratch
        self.spans: list[RowSpan] = []
        self._parts: list[PointBlock] = []
        self._b = 0

    def has_room_for(self, rows: PointBlock) -> bool:
        """Return whether the rows can be added."""
        if not self.spans:
            return True
        n = rows.W.shape[1]
        return bool(n == self._parts[0].W.shape[1] and (self._b + len(rows.m)) * n <= self._size)

    def add(self, place: int, rows: PointBlock) -> None:
        """Add rows, the first at position `place` among all. W is copied, since its buffer is reused."""
        here = slice(self._b, self._b + len(rows.m))
        if rows.W.size and rows.orientation is not None:
            n = rows.W.shape[1]
            W = self._scratch("stacked W", (self._size,))[: self._size // n * n].reshape(-1, n)
            rows.orientation.orient_weights(rows.W, out=W[here])
        self._add_span(here, place)
        self._parts.append(rows)
        self._b = here.stop

    def _add_span(self, here: slice, place: int) -> None:
        if self.spans and self.spans[-1].places.stop == place:
            last = self.spans.pop()
            here, place = slice(last.rows.start, here.stop), last.places.start
        self.spans.append(RowSpan(here, slice(place, place + here.stop - here.start)))

    def pop_evaluator(self) -> tuple[ProcedureEvaluator, list[RowSpan]]:
        """Return an evaluator of all rows added so far, with their spans, and empty the stack."""
        spans, parts, b = self.spans, self._parts, self._b
        self.spans, self._parts, self._b = [], [], 0
        counts = [len(each.m) for each in parts]
        starts = np.cumsum([0, *counts[:-1]])
        n = parts[0].W.shape[1]
        joined = PointBlock(
            self._scratch("stacked W", (b, n)) if parts[0].W.size else parts[0].W,
            np.concatenate([each.m for each in parts]),
            np.concatenate([each.variance for each in parts]),
            np.concatenate([each.mean for each in parts]),
            np.concatenate([each.sigma2 for each in parts]),
            TrainColumns.join([each.columns for each in parts]),
            np.repeat(np.arange(len(parts)), counts),
            (
                np.concatenate([each.equal[0] + start for each, start in zip(parts, starts, strict=True)]),
                np.concatenate([each.equal[1] for each in parts]),
            ),
        )
        return ProcedureEvaluator(joined, self._scratch), spans
