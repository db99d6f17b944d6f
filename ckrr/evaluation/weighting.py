"""Weights of the rows of evaluators, and weighted regions, chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ckrr._validation import Array
from ckrr.procedures import ConformityScore, Levels
from ckrr.regions.conformal import Side, intersect_tails
from ckrr.regions.crossings import Crossings
from ckrr.regions.intervals import Regions, stack_regions
from ckrr.regions.orientation import OrientedResiduals
from ckrr.regions.smoothing import Bools
from ckrr.regions.tail_sets import AffineMap, Indices, Tail
from ckrr.regions.weighted import ChunkWeights, compute_weighted_tail
from ckrr.regions.weights import SampleWeights

_Owner = tuple[SampleWeights, OrientedResiduals]


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights of rows (a test point with a target): those of an evaluator, or of all problems."""

    owners: Sequence[_Owner]
    """Weights of each problem with the orientation of each of its targets."""
    owner: Indices
    """Index of each row's owner, shape (b,); ascending."""
    point: Indices
    """Index of each row's test point among those of its problem, shape (b,)."""

    @staticmethod
    def join(problems: Sequence[tuple[SampleWeights, Sequence[OrientedResiduals]]]) -> RowWeights:
        """Return the weights of all rows, ordered by problem, then target, then test point.

        A problem has its weights and the orientation of each of its targets.
        """
        owners = [(weights, flip) for weights, targets in problems for flip in targets]
        sizes = [len(each.test) for each, _ in owners]
        points = np.concatenate([np.arange(size) for size in sizes])
        return RowWeights(owners, np.repeat(np.arange(len(owners)), sizes), points)

    def take(self, places: Sequence[slice]) -> RowWeights:
        """Return the weights of an evaluator's rows, given those of all rows and where the evaluator's are."""
        owner, point = (np.concatenate([each[here] for here in places]) for each in (self.owner, self.point))
        first, last = int(owner[0]), int(owner[-1])
        return RowWeights(self.owners[first : last + 1], owner - first, point)

    def make_chunks(self, levels: Levels, sides: int) -> ChunkWeights:
        """Return training weights in oriented order, and thresholds for all rows, at α/sides."""
        alpha = [each / sides for each in levels.alpha]
        need, margin = np.empty((len(self.owner), len(alpha))), np.empty(len(self.owner))
        table = [flip.orient_column(weights.scaled[0]) for weights, flip in self.owners]
        for i, (weights, _) in enumerate(self.owners):
            here = slice(*np.searchsorted(self.owner, (i, i + 1)))
            need[here] = weights.compute_thresholds(alpha, levels.boundary)[self.point[here]]
            margin[here] = weights.margin[self.point[here]]

        def resolve(row: int) -> tuple[list[int], list[int]]:
            weights, flip = self.owners[self.owner[row]]
            whole, order = weights.get_exact_weights(), flip.orient_column(np.arange(len(weights.train)))
            exact = weights.list_exact_thresholds(int(self.point[row]), alpha, levels.boundary)
            return [whole[i] for i in order.tolist()], exact

        return ChunkWeights(np.array(table), self.owner, need, margin, resolve)

    def compute_p_values(self, counted: tuple[Bools, ...], here: slice) -> Array:
        """Return p = min(1, sides·min(Σ of the counted weights + w*)/S) for the rows `here`."""
        sides = len(counted)
        shares = np.empty((sides, here.stop - here.start))
        for j, row in enumerate(range(here.start, here.stop)):
            weights, flip = self.owners[self.owner[row]]
            for i, side in enumerate(counted):
                shares[i, j] = weights.compute_p_value(int(self.point[row]), flip.restore_column(side[j]), sides)
        p: Array = np.minimum(1.0, shares.min(axis=0))
        return p


class WeightedCounter:
    """Collect one procedure's weighted regions of b test points."""

    def __init__(self, name: str, score: ConformityScore, weights: ChunkWeights) -> None:
        self.name, self._score, self._weights = name, score, weights
        self._found: list[Regions] = []

    def add(self, crossings: Crossings, here: slice) -> None:
        """Add the crossings of the test points `here`."""
        weights = self._weights.select(np.arange(here.start, here.stop))
        upper, lower = self._score.votes(crossings, crossings.n + 1)  # as many as there are, so no column is left out
        frame = crossings.frame
        above, below = _compute_tail(upper, frame, weights), _compute_tail(lower, frame.mirror(), weights)
        self._found.append(intersect_tails(below.mirror(), above))

    def compute_regions(self) -> Regions:
        """Return the regions at each level, after all chunks have been added."""
        return stack_regions(self._found)


def _compute_tail(side: Side, frame: AffineMap, weights: ChunkWeights) -> Tail:
    return compute_weighted_tail(frame.apply(side.t), side.votes, weights)
