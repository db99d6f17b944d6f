"""Estimate the cost of computing in seconds, bytes and memory. Pure: numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import log, prod

import numpy as np

from harness.core.extent import find_included
from harness.core.families import NO_VALUE, StudyFamily
from harness.core.protocols import Family, SupportsRanges, SupportsSearchCost
from harness.core.schema.axes import get_other_lengths
from harness.core.schema.measures import Variable, list_variables
from harness.core.types import Bools, Extent, Unit
from harness.planning.diff import diff_cells
from harness.store.manifest import Manifest
from harness.store.receipts import Receipt

WORKER_BYTES = 350e6
"""Memory of an idle worker that has loaded all modules."""
_PER_TARGET, _PER_POINT = 2.5e-4, 1.2e-6
"""Seconds to compute the measures of a replication, per target, and per target and test point."""


@dataclass(frozen=True)
class FitTiming:
    """Seconds that a family takes for one target at some n, as measured.

    Examples
    --------
    >>> timing = FitTiming({25: 0.1, 100: 0.8})
    >>> [round(timing.estimate(n), 2) for n in (25, 50, 100, 200)]
    [0.1, 0.28, 0.8, 2.26]
    """

    seconds: Mapping[int, float]

    def estimate(self, n: int) -> float:
        """Return the seconds at n, by a power of n through the measured ones; at least the first power."""
        (low, fast), (high, slow) = min(self.seconds.items()), max(self.seconds.items())
        power = max(log(slow / fast) / log(high / low), 1.0) if high > low and slow > fast > 0 else 1.0
        return float(fast * (n / low) ** power)


_UNTIMED = FitTiming({50: 0.1})
"""Timing of a family that could not be tried yet, because the source needs preparations first."""


@dataclass(frozen=True)
class ReplicationShape:
    """Properties of a study that the cost of a replication depends on, besides n and its cells."""

    test_points: int
    keep: tuple[str, ...]
    dimension: int = 1
    draw_seconds: float = 4e-4
    """Seconds to draw a sample of the smallest n."""
    ranges: tuple[float, ...] = ()
    """Range of each coordinate of the inputs, in a sample of the smallest n; empty if none could be drawn."""
    timings: Mapping[str, FitTiming] = field(default_factory=dict)
    """Measured seconds of families that don't estimate their work, by the name of the family."""


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


Families = Sequence[StudyFamily]


def estimate_replication_seconds(
    extent: Extent, n: int, shape: ReplicationShape, families: Families, flops: float
) -> float:
    """Estimate the seconds for one replication at this n, with all its cells."""
    cells = find_included(extent, n)
    fits = {one.name: one.select_fits(cells, extent.grid) for one in families}
    return _estimate_seconds(fits, extent, n, shape, families, flops)


def _estimate_seconds(
    fits: Mapping[str, Bools], extent: Extent, n: int, shape: ReplicationShape, families: Families, flops: float
) -> float:
    """Estimate the seconds for some fits of a replication, given for each family over γ, θ and λ."""
    each = (_estimate_family_seconds(fits[one.name], extent, n, shape, one, flops) for one in families)
    return sum(each) + (shape.draw_seconds if any(some.any() for some in fits.values()) else 0.0)


def _estimate_family_seconds(
    fits: Bools, extent: Extent, n: int, shape: ReplicationShape, family: StudyFamily, flops: float
) -> float:
    """Estimate the seconds for some fits of a family, without those to draw the sample."""
    (thetas, lams), seconds = _list_values(family, extent), 0.0
    for theta, some in zip(thetas, fits.swapaxes(0, 1), strict=True):
        for lam, gammas in zip(lams, some.sum(axis=0).tolist(), strict=True):
            one = replace(family, family=_specialise(family.family, shape, theta, lam))
            if family.needs_target(theta):
                seconds += gammas * _estimate_fit_seconds(n, 1, True, shape, one, flops)
            elif gammas:
                seconds += _estimate_fit_seconds(n, gammas, False, shape, one, flops)
    return seconds + float(fits.sum()) * (_PER_TARGET + _PER_POINT * shape.test_points)


def _list_values(family: StudyFamily, extent: Extent) -> tuple[tuple[float | str, ...], tuple[float, ...]]:
    """Return the values of θ and of λ that a family's fits depend on."""
    grid = extent.grid
    return grid.theta if "theta" in family.axes else (NO_VALUE,), grid.lam if "lam" in family.axes else (NO_VALUE,)


def _specialise(family: Family, shape: ReplicationShape, theta: float | str, lam: float) -> Family:
    """Return the family for one θ and λ, if its work depends on them and θ is known before the data."""
    if isinstance(theta, str):
        return family.on_search(theta) if isinstance(family, SupportsSearchCost) else family
    if not shape.ranges or not isinstance(family, SupportsRanges):
        return family
    return family.on_ranges(shape.ranges, theta, lam)


def _estimate_fit_seconds(
    n: int, targets: int, searched: bool, shape: ReplicationShape, family: StudyFamily, flops: float
) -> float:
    work = family.family.flops(n, shape.test_points, targets, searched)
    return targets * shape.timings.get(family.name, _UNTIMED).estimate(n) if work is None else work / flops


def count_replication_bytes(extent: Extent, shape: ReplicationShape) -> int:
    """Return the bytes of one replication before compression."""
    return sum(count_variable_bytes(variable, extent, shape) for variable in list_variables(shape.keep))


def count_variable_bytes(variable: Variable, extent: Extent, shape: ReplicationShape) -> int:
    """Return the bytes of one variable of one replication before compression."""
    lengths = get_other_lengths(shape.test_points, shape.dimension)
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
    families: Families
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
            one = estimate_replication_seconds(self.manifest.extent, n, self.shape, self.families, self.flops)
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
            held = self.manifest.extents[generation]
            each = {one.name: diff_cells(held, extent, n, one) for one in self.families}
            new = {name: lacking for name, (lacking, _) in each.items()}
            whole = {name: lacking | again for name, (lacking, again) in each.items()}
            first, both = (
                _estimate_seconds(fits, extent, n, self.shape, self.families, self.flops) for fits in (new, whole)
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


def estimate_worker_memory(manifest: Manifest, asked: Extent, shape: ReplicationShape, families: Families) -> float:
    """Estimate the bytes that a worker needs for the most demanding n."""
    per = count_replication_bytes(manifest.extent, shape)
    return max(
        WORKER_BYTES
        + sum(_estimate_family_memory(one, asked, n, shape) for one in families)  # each may have fits in a batch
        + 2.0 * per * manifest.groups[n].block[0] * manifest.groups[n].block[1]
        for n in asked.grid.n
    )


def _estimate_family_memory(family: StudyFamily, asked: Extent, n: int, shape: ReplicationShape) -> float:
    """Estimate the bytes that a family needs at this n for the most demanding θ and λ."""
    each = (_specialise(family.family, shape, theta, lam) for theta, lam in product(*_list_values(family, asked)))
    return max(one.memory(n, shape.test_points) for one in each)
