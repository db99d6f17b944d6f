"""Estimate the cost of computing in seconds, bytes and memory. Pure: numbers in, numbers out."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from harness.core.extent import find_included
from harness.core.protocols import Family
from harness.core.schema import QUANTILES, Variable, list_variables
from harness.core.types import Bools, Extent, Unit
from harness.planning.diff import diff_cells
from harness.store.manifest import Manifest
from harness.store.receipts import Receipt

WORKER_BYTES = 350e6
"""Memory of an idle worker that has loaded all modules."""
_PER_TARGET, _PER_POINT = 2.5e-4, 1.2e-6
"""Seconds to compute the measures of a replication, per target, and per target and test point."""


@dataclass(frozen=True)
class ReplicationShape:
    """Properties of a study that the cost of a replication depends on, besides n and its cells."""

    test_points: int
    keep: tuple[str, ...]
    draw_seconds: float = 4e-4
    """Seconds to draw a sample of the smallest n."""


@dataclass(frozen=True)
class Share:
    """Amount of work: units, replications and seconds."""

    units: int = 0
    """Number of units that contain some of this work."""
    replications: int = 0
    seconds: float = 0.0
    """Duration on one worker."""

    def __add__(self, other: Share) -> Share:
        return Share(self.units + other.units, self.replications + other.replications, self.seconds + other.seconds)


@dataclass(frozen=True)
class Work:
    """Work left in one unit or in all units, by kind; a unit may have work of each kind."""

    new: Share = Share()
    """Replications that are not in the store."""
    extended: Share = Share()
    """Stored replications, for cells that they lack."""
    again: Share = Share()
    """Stored replications, for cells that they have: because of a new α or procedure, or to retry a failure."""

    @property
    def replications(self) -> int:
        """Number of replications of which anything is computed."""
        return self.new.replications + max(self.extended.replications, self.again.replications)

    @property
    def seconds(self) -> float:
        """Duration on one worker."""
        return self.new.seconds + self.extended.seconds + self.again.seconds

    def __add__(self, other: Work) -> Work:
        return Work(self.new + other.new, self.extended + other.extended, self.again + other.again)


def estimate_replication_seconds(
    extent: Extent, n: int, shape: ReplicationShape, family: Family, flops: float
) -> float:
    """Estimate the seconds for one replication at this n, with all its cells."""
    return _estimate_seconds(np.asarray(find_included(extent, n).any(axis=0)), extent, n, shape, family, flops)


def _estimate_seconds(
    wanted: Bools, extent: Extent, n: int, shape: ReplicationShape, family: Family, flops: float
) -> float:
    """Estimate the seconds for the `wanted` cells of a replication, given over γ, θ and λ."""
    work = 0.0
    for theta, some in zip(extent.grid.theta, wanted.swapaxes(0, 1), strict=True):
        for gammas in some.sum(axis=0).tolist():  # one λ each
            if isinstance(theta, str):
                work += gammas * family.flops(n, shape.test_points, 1, True)
            elif gammas:
                work += family.flops(n, shape.test_points, gammas, False)
    return work / flops + shape.draw_seconds + float(wanted.sum()) * (_PER_TARGET + _PER_POINT * shape.test_points)


def count_replication_bytes(extent: Extent, shape: ReplicationShape) -> int:
    """Return the bytes of one replication before compression."""
    return sum(count_variable_bytes(variable, extent, shape) for variable in list_variables(shape.keep))


def count_variable_bytes(variable: Variable, extent: Extent, shape: ReplicationShape) -> int:
    """Return the bytes of one variable of one replication before compression."""
    lengths = {"quantile": len(QUANTILES), "point": shape.test_points}
    sizes = [lengths[dim] if dim in lengths else len(getattr(extent.grid, dim)) for dim in variable.dims]
    return np.dtype(variable.dtype).itemsize * prod(sizes)


def count_cells_per_n(extent: Extent) -> int:
    """Return the number of cells at one n, counting each α, and including those that rules exclude."""
    grid = extent.grid
    return prod(len(axis) for axis in (grid.procedure, grid.gamma, grid.theta, grid.lam, grid.alpha))


@dataclass(frozen=True, eq=False)
class Costs:
    """Estimate the cost of units, given what the store already has of them."""

    manifest: Manifest
    shape: ReplicationShape
    family: Family
    flops: float
    retry: bool
    _cache: dict[tuple[int, int | None], tuple[float, float]] = field(default_factory=dict)

    def estimate_work(self, unit: Unit, receipt: Receipt | None) -> Work:
        """Return the work left in a unit, given its newest receipt."""
        if receipt is None:
            return Work(new=Share(1, len(unit), self.estimate_full_seconds(unit.n) * len(unit)))
        generation = min(receipt.generation, self.manifest.generation)  # another driver may have extended the store
        there = len(clip_unit(self.manifest.extents[generation], unit))
        extended, again = self._estimate_partial_seconds(unit.n, generation)
        new = _make_share(len(unit) - there, self.estimate_full_seconds(unit.n))
        if self.retry and receipt.failed and not again:
            return Work(new, _make_share(there, extended), self._estimate_retry(unit.n, receipt.failed, there))
        return Work(new, _make_share(there, extended), _make_share(there, again))

    def estimate_full_seconds(self, n: int) -> float:
        """Estimate the seconds for a replication at this n with all its cells."""
        if (n, None) not in self._cache:
            one = estimate_replication_seconds(self.manifest.extent, n, self.shape, self.family, self.flops)
            self._cache[n, None] = one, 0.0
        return self._cache[n, None][0]

    def _estimate_retry(self, n: int, failed: int, there: int) -> Share:
        """Estimate the work to retry failed cells at the average cost of a cell; their replications aren't known."""
        cells = int(find_included(self.manifest.extent, n).any(axis=0).sum())
        return Share(1, min(failed, there), self.estimate_full_seconds(n) * failed / max(cells, 1))

    def _estimate_partial_seconds(self, n: int, generation: int) -> tuple[float, float]:
        """Estimate the seconds to update a replication of an older extent: for cells it lacks, and for cells it has."""
        if (n, generation) not in self._cache:
            extent = self.manifest.extent
            new, again = diff_cells(self.manifest.extents[generation], extent, n)
            first, both = (
                _estimate_seconds(cells, extent, n, self.shape, self.family, self.flops) if cells.any() else 0.0
                for cells in (new, new | again)
            )
            self._cache[n, generation] = first, both - first
        return self._cache[n, generation]


def _make_share(replications: int, seconds: float) -> Share:
    """Return the work of one unit, given its number of replications and the seconds for each."""
    return Share(1, replications, replications * seconds) if replications and seconds else Share()


def clip_unit(asked: Extent, unit: Unit) -> Unit:
    """Return the part of a unit that lies within the extent asked for."""
    paths = range(unit.paths.start, min(unit.paths.stop, asked.paths))
    draws = range(unit.draws.start, min(unit.draws.stop, asked.draws))
    return Unit(unit.n, unit.path_block, unit.draw_block, paths, draws)


def estimate_worker_memory(manifest: Manifest, asked: Extent, shape: ReplicationShape, family: Family) -> float:
    """Estimate the bytes that a worker needs for the most demanding n."""
    per = count_replication_bytes(manifest.extent, shape)
    return max(
        WORKER_BYTES
        + family.memory(n, shape.test_points)
        + 2.0 * per * manifest.groups[n].block[0] * manifest.groups[n].block[1]
        for n in asked.grid.n
    )
