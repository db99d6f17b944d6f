"""Batch test points for the procedures: cut large problems into strips, stack small ones.

A row is one test point with one target. An evaluator holds many rows, so that NumPy's overhead per call is small
against the arithmetic. Rows are independent of each other, so results are bitwise independent of how they are cut or
stacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ckrr._validation import Array
from ckrr.evaluation.case import ProcedureEvaluator
from ckrr.evaluation.stacking import RowSpan, Stack
from ckrr.linalg.workspace import Workspace, shared_workspace
from ckrr.regions.blocks import PointBlock, select_within
from ckrr.regions.orientation import OrientedResiduals
from ckrr.ridge.exact import Projection, Target
from ckrr.ridge.interface import FactorisedRidge

STRIP = 1 << 20
"""Maximum number of entries of W in one evaluator."""

STACK = 1 << 19
"""Maximum number of entries of W in an evaluator of stacked problems, where they are copied. Each has a quarter."""


@dataclass(frozen=True)
class Problem:
    """One factorisation with its targets and its test points."""

    ridge: FactorisedRidge
    targets: Sequence[Target]
    X_new: Array

    @property
    def size(self) -> int:
        """Number of rows: all test points for the first target, then all for the second, and so on."""
        return len(self.targets) * len(self.X_new)

    @cached_property
    def oriented(self) -> list[OrientedResiduals]:
        """Oriented residuals of each target."""
        return [OrientedResiduals(target.a, target.y, self.ridge.diag_Q) for target in self.targets]


def iter_evaluators(
    problems: Sequence[Problem], weights: bool = True
) -> Iterator[tuple[ProcedureEvaluator, list[RowSpan]]]:
    """Yield evaluators that together hold all rows of all problems, each with the spans of its rows.

    With `weights=False` W is left empty. Evaluators share buffers: use each before taking the next.
    """
    scratch = shared_workspace()
    stack = Stack(STACK, scratch)
    for place, rows in _iter_blocks(problems, weights):
        n = rows.W.shape[1] if weights else 1
        if 4 * n * len(rows.m) > STACK:
            yield from _iter_strips(place, rows, max(1, STRIP // n), scratch)
            continue
        if not stack.has_room_for(rows):
            yield stack.pop_evaluator()
        stack.add(place, rows)
    if stack.spans:
        yield stack.pop_evaluator()


def _iter_blocks(problems: Sequence[Problem], weights: bool) -> Iterator[tuple[int, PointBlock]]:
    """Yield the position of the first row, and the rows, of each block of test points and each target."""
    start = 0
    for problem in problems:
        for block in problem.ridge.project(problem.X_new, problem.targets, weights):
            for t in range(len(problem.targets)):
                yield start + t * len(problem.X_new) + block.points.start, _make_block(problem, block, t)
        start += problem.size


def _make_block(problem: Problem, block: Projection, t: int) -> PointBlock:
    flip = problem.oriented[t]
    row, col = block.equal
    return PointBlock(
        block.W,
        block.m,
        block.variance,
        block.means[t],
        np.array([problem.targets[t].sigma2]),
        flip.columns,
        np.zeros(len(block.m), dtype=np.intp),
        (row, flip.find_places(col)),
        flip,
    )


def _iter_strips(
    place: int, rows: PointBlock, size: int, scratch: Workspace
) -> Iterator[tuple[ProcedureEvaluator, list[RowSpan]]]:
    b = len(rows.m)
    for start in range(0, b, size):
        here = slice(start, min(start + size, b))
        part = replace(
            rows,
            W=rows.W[here],
            m=rows.m[here],
            variance=rows.variance[here],
            mean=rows.mean[here],
            owner=rows.owner[here],
            equal=select_within(rows.equal, here),
        )
        places = slice(place + here.start, place + here.stop)
        yield ProcedureEvaluator(part, scratch), [RowSpan(slice(0, len(part.m)), places)]
