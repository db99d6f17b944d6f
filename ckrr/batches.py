"""Test points on their way to the procedures: large problems are cut into strips, small ones are stacked.

Either way a case holds about `STRIP` numbers, so that the cost of calling NumPy is small against the arithmetic. Rows
are independent of each other, so no bit depends on how they were cut or stacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ckrr.checks import Array
from ckrr.conformal import Slopes
from ckrr.procedures import Case, Rows
from ckrr.residuals import Scale
from ckrr.ridge import Projection, Ridge, Target
from ckrr.scratch import Scratch
from ckrr.tails import Indices

STRIP = 1 << 18
"""Numbers in one array of a case."""


@dataclass(frozen=True)
class Problem:
    """One factorisation, its targets, and its test points."""

    ridge: Ridge
    targets: Sequence[Target]
    X_new: Array


@dataclass(frozen=True)
class Span:
    """Where some rows of a case belong."""

    problem: int
    target: int
    points: slice
    """Of the problem's test points."""
    rows: slice
    """Of the case's rows."""


def cases(problems: Sequence[Problem], weights: bool = True) -> Iterator[tuple[Case, list[Span]]]:
    """All rows of all problems; W is empty where no `weights` are asked for. Ask a case before you take the next."""
    scratch = Scratch()
    stack = Stack(scratch)
    for number, problem in enumerate(problems):
        n = problem.ridge.n if weights else 1
        for block in problem.ridge.project(problem.X_new, problem.targets, weights):
            if 2 * n * len(block.m) > STRIP:
                yield from _strips(number, problem, block, max(1, STRIP // n), scratch)
                continue
            for t, target in enumerate(problem.targets):
                if not stack.fits(block):
                    yield stack.case()
                stack.add(number, t, block.points, _rows(problem, block, target, t, slice(None)))
    if stack.spans:
        yield stack.case()


def _strips(
    number: int, problem: Problem, block: Projection, size: int, scratch: Scratch
) -> Iterator[tuple[Case, list[Span]]]:
    for start in range(0, len(block.m), size):
        here = slice(start, min(start + size, len(block.m)))
        points = slice(block.points.start + here.start, block.points.start + here.stop)
        slopes: dict[Scale, Slopes] = {}
        for t, target in enumerate(problem.targets):
            rows = _rows(problem, block, target, t, here)
            yield Case(rows, scratch, slopes), [Span(number, t, points, slice(0, len(rows.m)))]


def _rows(problem: Problem, block: Projection, target: Target, t: int, here: slice) -> Rows:
    return Rows(
        block.W[here],
        block.m[here],
        block.variance[here],
        block.means[t][here],
        target.y[None],
        target.a[None],
        problem.ridge.diag_Q[None],
        np.array([target.sigma2]),
        _within(block.equal, here),
    )


def _within(equal: tuple[Indices, Indices], here: slice) -> tuple[Indices, Indices]:
    row, col = equal
    if not row.size or here == slice(None):
        return equal
    inside = (row >= here.start) & (row < here.stop)
    return row[inside] - here.start, col[inside]


class Stack:
    """Rows of several small problems with the same n, to be made into one case."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self.spans: list[Span] = []
        self._rows: list[Rows] = []
        self._size = 0

    def fits(self, block: Projection) -> bool:
        """Whether the block may go on top of what is there."""
        if not self.spans:
            return True
        n = self._rows[0].W.shape[1]
        return bool(block.W.shape[1] == n and (self._size + len(block.m)) * n <= STRIP)

    def add(self, problem: int, target: int, points: slice, rows: Rows) -> None:
        """Put rows on top. W is copied: its buffer will be used again."""
        here = slice(self._size, self._size + len(rows.m))
        W = self._scratch("stacked W", (STRIP,))
        if rows.W.size:
            n = rows.W.shape[1]
            W[: STRIP // n * n].reshape(-1, n)[here] = rows.W
        self.spans.append(Span(problem, target, points, here))
        self._rows.append(rows)
        self._size = here.stop

    def case(self) -> tuple[Case, list[Span]]:
        """All that was put on the stack, which is empty afterwards."""
        spans, rows, b = self.spans, self._rows, self._size
        self.spans, self._rows, self._size = [], [], 0
        n = rows[0].W.shape[1]
        W = self._scratch("stacked W", (b, n)) if rows[0].W.size else rows[0].W
        counts = [len(each.m) for each in rows]

        def each_row(parts: list[Array]) -> Array:
            return parts[0] if len(parts) == 1 else np.repeat(np.concatenate(parts), counts, axis=0)

        joined = Rows(
            W,
            np.concatenate([each.m for each in rows]),
            np.concatenate([each.variance for each in rows]),
            np.concatenate([each.mean for each in rows]),
            each_row([each.y for each in rows]),
            each_row([each.a for each in rows]),
            each_row([each.diag_Q for each in rows]),
            each_row([each.sigma2 for each in rows]),
            (
                np.concatenate([each.equal[0] + span.rows.start for each, span in zip(rows, spans, strict=True)]),
                np.concatenate([each.equal[1] for each in rows]),
            ),
        )
        return Case(joined, self._scratch, {}), spans
