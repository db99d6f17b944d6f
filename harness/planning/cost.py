"""What computing costs: seconds, bytes, memory. Pure: numbers in, numbers out."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from harness.core.extent import included
from harness.core.protocols import Family
from harness.core.schema import QUANTILES, Variable, replication_variables
from harness.core.types import Bools, Extent, Unit
from harness.planning.diff import cells_left
from harness.store.manifest import Record
from harness.store.receipts import Receipt

WORKER_BYTES = 350e6
"""A worker that has loaded everything and computes nothing."""
_PER_TARGET, _PER_POINT = 2.5e-4, 1.2e-6
"""Seconds to measure each of a replication's targets, and each test point of those."""


@dataclass(frozen=True)
class Shape:
    """What the cost of a replication depends on besides n."""

    test_points: int
    keep: tuple[str, ...]
    drawing: float = 4e-4
    """Seconds that a sample of the smallest n takes to draw."""


@dataclass(frozen=True)
class Share:
    """A part of the work."""

    units: int = 0
    """In which there is some of it."""
    replications: int = 0
    seconds: float = 0.0
    """On one worker."""

    def __add__(self, other: Share) -> Share:
        return Share(self.units + other.units, self.replications + other.replications, self.seconds + other.seconds)


@dataclass(frozen=True)
class Work:
    """What is to be computed of a unit, or of all: a unit may have some of each."""

    new: Share = Share()
    """Replications of which nothing is there."""
    extended: Share = Share()
    """Replications that are there, for cells that they don't have."""
    again: Share = Share()
    """Replications that are there, for cells that they have: a new α or procedure, or a failure that is retried."""

    @property
    def replications(self) -> int:
        """Those of which anything is computed."""
        return self.new.replications + max(self.extended.replications, self.again.replications)

    @property
    def seconds(self) -> float:
        """On one worker."""
        return self.new.seconds + self.extended.seconds + self.again.seconds

    def __add__(self, other: Work) -> Work:
        return Work(self.new + other.new, self.extended + other.extended, self.again + other.again)


def seconds_per_replication(extent: Extent, n: int, shape: Shape, family: Family, flops: float) -> float:
    """How long one replication takes at this n, with all its cells."""
    return _seconds(np.asarray(included(extent, n).any(axis=0)), extent, n, shape, family, flops)


def _seconds(wanted: Bools, extent: Extent, n: int, shape: Shape, family: Family, flops: float) -> float:
    """How long some cells of a replication take, over γ, θ and λ."""
    work = 0.0
    for theta, some in zip(extent.grid.theta, wanted.swapaxes(0, 1), strict=True):
        for gammas in some.sum(axis=0).tolist():  # one λ each
            if isinstance(theta, str):
                work += gammas * family.flops(n, shape.test_points, 1, True)
            elif gammas:
                work += family.flops(n, shape.test_points, gammas, False)
    return work / flops + shape.drawing + float(wanted.sum()) * (_PER_TARGET + _PER_POINT * shape.test_points)


def bytes_per_replication(extent: Extent, shape: Shape) -> int:
    """Before compression."""
    return sum(variable_bytes(variable, extent, shape) for variable in replication_variables(shape.keep))


def variable_bytes(variable: Variable, extent: Extent, shape: Shape) -> int:
    """Of one variable of one replication, before compression."""
    lengths = {"quantile": len(QUANTILES), "point": shape.test_points}
    sizes = [lengths[dim] if dim in lengths else len(getattr(extent.grid, dim)) for dim in variable.dims]
    return np.dtype(variable.dtype).itemsize * prod(sizes)


def cells_of(extent: Extent) -> int:
    """How many cells there are at one n, α among their axes, whatever the rules leave out."""
    grid = extent.grid
    return prod(len(axis) for axis in (grid.procedure, grid.gamma, grid.theta, grid.lam, grid.alpha))


@dataclass(frozen=True, eq=False)
class Costs:
    """What units cost, by what of them is there already."""

    record: Record
    shape: Shape
    family: Family
    flops: float
    retry: bool
    _known: dict[tuple[int, int | None], tuple[float, float]] = field(default_factory=dict)

    def of(self, unit: Unit, receipt: Receipt | None) -> Work:
        """The work that a unit is, given its newest receipt."""
        if receipt is None:
            return Work(new=Share(1, len(unit), self.whole(unit.n) * len(unit)))
        generation = min(receipt.generation, self.record.generation)  # another driver may have made it grow just now
        there = len(within(self.record.extents[generation], unit))
        extended, again = self._partly(unit.n, generation)
        new = _share(len(unit) - there, self.whole(unit.n))
        if self.retry and receipt.failed and not again:
            return Work(new, _share(there, extended), self._retried(unit.n, receipt.failed, there))
        return Work(new, _share(there, extended), _share(there, again))

    def whole(self, n: int) -> float:
        """Seconds of a replication with all its cells."""
        if (n, None) not in self._known:
            one = seconds_per_replication(self.record.extent, n, self.shape, self.family, self.flops)
            self._known[n, None] = one, 0.0
        return self._known[n, None][0]

    def _retried(self, n: int, failed: int, there: int) -> Share:
        """Cells that failed, as dear as they are on average; which replications they are in isn't known here."""
        cells = int(included(self.record.extent, n).any(axis=0).sum())
        return Share(1, min(failed, there), self.whole(n) * failed / max(cells, 1))

    def _partly(self, n: int, generation: int) -> tuple[float, float]:
        """Seconds of a replication that was written at an extent: for cells it doesn't have, and for cells it has."""
        if (n, generation) not in self._known:
            extent = self.record.extent
            new, again = cells_left(self.record.extents[generation], extent, n)
            first, both = (
                _seconds(cells, extent, n, self.shape, self.family, self.flops) if cells.any() else 0.0
                for cells in (new, new | again)
            )
            self._known[n, generation] = first, both - first
        return self._known[n, generation]


def _share(replications: int, seconds: float) -> Share:
    """Of one unit: so many replications of so many seconds each."""
    return Share(1, replications, replications * seconds) if replications and seconds else Share()


def within(asked: Extent, unit: Unit) -> Unit:
    """The part of a unit that is asked for."""
    paths = range(unit.paths.start, min(unit.paths.stop, asked.paths))
    draws = range(unit.draws.start, min(unit.draws.stop, asked.draws))
    return Unit(unit.n, unit.path_block, unit.draw_block, paths, draws)


def memory(record: Record, asked: Extent, shape: Shape, family: Family) -> float:
    """Bytes that a worker needs."""
    per = bytes_per_replication(record.extent, shape)
    return max(
        WORKER_BYTES
        + family.memory(n, shape.test_points)
        + 2.0 * per * record.groups[n].block[0] * record.groups[n].block[1]
        for n in asked.grid.n
    )
