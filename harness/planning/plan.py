"""Plan a run: which units are left, in which order, and their total cost. Pure: numbers in, numbers out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from harness.core.errors import UserError
from harness.core.extent import is_complete
from harness.core.schema.axes import COORDINATES, REPLICATION_AXES, USED_AXES
from harness.core.schema.cube import list_cube_variables
from harness.core.schema.measures import list_variables
from harness.core.types import Extent, Preparation, Unit
from harness.planning.cost import (
    WORKER_BYTES,
    Costs,
    Families,
    ReplicationShape,
    Share,
    Work,
    clip_unit,
    count_cells_per_n,
    count_replication_bytes,
    count_variable_bytes,
    estimate_worker_memory,
)
from harness.planning.machine import Machine
from harness.store.manifest import Manifest
from harness.store.receipts import Receipt

_RECEIPT, _CHUNK = 500, 17
"""Bytes of a receipt, and overhead of a chunk in bytes."""
_ROOT_LABELS, _GROUP_LABELS = len(COORDINATES) + len(USED_AXES), len(COORDINATES) - 1 + len(REPLICATION_AXES)
"""Coordinates of the cube, and of the group of an n, which has no `n`."""
_METADATA, _MANIFEST = 1600, 8192
"""Bytes of an array's metadata in the root, and of the second copy of the manifest."""


@dataclass(frozen=True)
class SizePlan:
    """Units at one n: those to do, the number of those done, and their cost."""

    n: int
    block: tuple[int, int]
    todo: tuple[Unit, ...]
    done: int
    seconds: float
    """Duration of one unit that is computed completely."""
    work: tuple[Work, ...]
    """Work left in each unit of `todo`."""


@dataclass(frozen=True)
class Plan:
    """Units to do and preparations before them, with their total cost."""

    sizes: tuple[SizePlan, ...]
    seconds: float
    """Duration of the remaining work on one worker."""
    duration: float
    """Duration of the remaining work on all workers."""
    bytes_per_replication: Mapping[int, int]
    bytes: int
    """Bytes that the remaining work writes, before compression."""
    files: int
    disk: int
    """Bytes on disk in whole blocks of the file system, including folders."""
    memory: float
    """Bytes of memory that a worker needs."""
    work: Work
    """All remaining work, by kind."""
    generations: frozenset[int]
    """Numbers of the store's extents at which the units to extend were written."""
    preparations: tuple[tuple[Preparation, float], ...] = ()
    """Preparations that come before the units, each with its seconds."""

    @cached_property
    def units(self) -> list[Unit]:
        """All units to do, longest first."""
        return sorted((unit for size in self.sizes for unit in size.todo), key=lambda unit: -self.seconds_of[unit.name])

    @cached_property
    def replications_of(self) -> Mapping[str, int]:
        """Number of replications with work left in each unit to do, by unit name."""
        pairs = [pair for size in self.sizes for pair in zip(size.todo, size.work, strict=True)]
        return {unit.name: work.replications for unit, work in pairs}

    @cached_property
    def seconds_of(self) -> Mapping[str, float]:
        """Seconds for each unit to do, by unit name."""
        return {unit.name: work.seconds for size in self.sizes for unit, work in zip(size.todo, size.work, strict=True)}


def make_plan(
    manifest: Manifest,
    asked: Extent,
    receipts: Mapping[str, Receipt],
    shape: ReplicationShape,
    families: Families,
    machine: Machine,
    retry: bool = False,
) -> Plan:
    """Plan the units that have no receipt for everything asked for.

    Parameters
    ----------
    manifest : Manifest
        The store's manifest, already extended to what is asked for.
    asked : Extent
        What the scenario asks for.
    receipts : mapping
        The newest receipt of each unit, by unit name.
    shape : ReplicationShape
        Properties of the study that the cost depends on.
    families : sequence of StudyFamily
        The procedures, with their cost estimates.
    machine : Machine
        Resources to compute with.
    retry : bool
        Whether to compute failed cells again.
    """
    costs = Costs(manifest, shape, families, machine.flops, retry)
    sizes = sorted((_plan_size(costs, n, asked, receipts) for n in asked.grid.n), key=lambda one: (-one.seconds, one.n))
    each = [work for size in sizes for work in size.work]
    left = [unit for size in sizes for unit in size.todo]
    work = _sum_work(each)
    per = count_replication_bytes(manifest.extent, shape)
    variables = len(list_variables(shape.keep))
    return Plan(
        sizes=tuple(sizes),
        seconds=work.seconds,
        duration=max(work.seconds / machine.workers, max((one.seconds for one in each), default=0.0)),
        bytes_per_replication=dict.fromkeys(asked.grid.n, per),
        bytes=per * sum(len(unit) for unit in left) + len(left) * (_RECEIPT + variables * _CHUNK),
        files=len(left) * (variables + 1) + _count_fixed_files(len(asked.grid.n), shape),
        disk=_estimate_disk(manifest, asked, left, shape, machine.block),
        memory=estimate_worker_memory(manifest, asked, shape, families),
        work=work,
        generations=frozenset(min(receipts[unit.name].generation, manifest.generation) for unit in left if unit.signed),
    )


def _plan_size(costs: Costs, n: int, asked: Extent, receipts: Mapping[str, Receipt]) -> SizePlan:
    """Plan the units at one n."""
    manifest = costs.manifest
    units = manifest.list_units(n, asked)
    todo = tuple(find_remaining_units(manifest, asked, units, receipts, costs.retry))
    rows, columns = manifest.groups[n].block
    work = tuple(costs.estimate_work(unit, receipts.get(unit.name)) for unit in todo)
    return SizePlan(
        n, (rows, columns), todo, len(units) - len(todo), costs.estimate_full_seconds(n) * rows * columns, work
    )


def _sum_work(each: Iterable[Work]) -> Work:
    """Return the total work; equal entries are counted first, because most units have the same work."""
    total = Work()
    for one, count in Counter(each).items():
        parts = (getattr(one, field.name) for field in fields(Work))
        total += Work(*(Share(p.units * count, p.replications * count, p.seconds * count) for p in parts))
    return total


def _count_fixed_files(sizes: int, shape: ReplicationShape) -> int:
    """Count the files of metadata, coordinates and cube: two per array of the root, and those of each n's group."""
    variables, cube = len(list_variables(shape.keep)), len(list_cube_variables(shape.keep))
    return 2 * (cube + _ROOT_LABELS) + sizes * (variables + 2 * _GROUP_LABELS + 1 + cube)


def _estimate_disk(manifest: Manifest, asked: Extent, left: Sequence[Unit], shape: ReplicationShape, block: int) -> int:
    """Estimate the bytes on disk: every file takes whole blocks, and every folder at least one."""

    def blocks(size: float) -> int:
        return int(max(-(-size // block), 1)) * block

    variables = list_variables(shape.keep)
    each = [count_variable_bytes(variable, manifest.extent, shape) + 0.0 for variable in variables]
    sizes = Counter(len(unit) for unit in left)
    units = sum(
        count * (blocks(_RECEIPT) + sum(blocks(size * bytes_ + _CHUNK) for bytes_ in each))
        for size, count in sizes.items()
    )
    cells = count_cells_per_n(manifest.extent)
    count = len(asked.grid.n)
    root = list_cube_variables(shape.keep)
    arrays = len(root) + _ROOT_LABELS + count * (len(variables) + _GROUP_LABELS)
    labels = _ROOT_LABELS + count * _GROUP_LABELS
    cube = count * sum(blocks(8 * cells * (3 if summary.quantile else 1)) for summary in root)
    metadata = blocks(_METADATA * arrays) + blocks(_MANIFEST)
    folders = arrays + labels + 2 * count + 4
    return units + cube + metadata + (arrays + labels + count + folders + 4) * block


def find_remaining_units(
    manifest: Manifest, asked: Extent, units: Iterable[Unit], receipts: Mapping[str, Receipt], retry: bool
) -> Iterable[Unit]:
    """Yield the units that have no receipt for everything asked for, or failures to retry."""
    for unit in units:
        receipt = receipts.get(unit.name)
        if receipt is None:
            yield unit
        elif (retry and receipt.failed) or not _is_covered(manifest, receipt.generation, asked, unit):
            yield replace(unit, signed=True)


def _is_covered(manifest: Manifest, generation: int, asked: Extent, unit: Unit) -> bool:
    """Return whether a unit written at an extent has everything asked for; usually it is the present extent."""
    if generation == manifest.generation:
        return True
    if generation > manifest.generation:
        return False
    return is_complete(manifest.extents[generation], asked, clip_unit(asked, unit))


def add_preparations(plan: Plan, missing: Sequence[Preparation], machine: Machine) -> Plan:
    """Return the plan with the missing preparations, and their cost, before the units."""
    if not missing:
        return plan
    each = tuple((one, one.operations / machine.flops) for one in missing)
    seconds = [one for _, one in each]
    return replace(
        plan,
        preparations=each,
        seconds=plan.seconds + sum(seconds),
        duration=plan.duration + max(sum(seconds) / machine.workers, *seconds),
        memory=max(plan.memory, *(WORKER_BYTES + one.memory for one in missing)),
    )


def check_fits(plan: Plan, machine: Machine, where: str) -> None:
    """Raise UserError if the plan exceeds memory, disk space or the lifetime of workers."""
    wrong = []
    if plan.memory > machine.memory:
        wrong.append(
            f"{where}: grid.n = {max(size.n for size in plan.sizes)} needs {plan.memory / 1e9:.1f} GB per worker, "
            f"{machine.memory / 1e9:.1f} GB are available: use fewer or larger workers, or leave that n out"
        )
    longest = max((size for size in plan.sizes if size.todo), key=lambda size: size.seconds, default=None)
    if longest is not None and longest.seconds > machine.lifetime / 2:
        wrong.append(
            f"{where}: a unit at n = {longest.n} takes about {longest.seconds:.0f} s, and workers live for "
            f"{machine.lifetime:.0f} s: give them a longer walltime, or leave that n out"
        )
    if plan.disk > machine.disk:
        wrong.append(
            f"{where}: results take up to {plan.disk / 1e6:.3g} MB on disk, and {machine.disk / 1e6:.3g} MB are free: "
            "choose another --store, or ask for fewer results"
        )
    if wrong:
        raise UserError("\n".join(wrong))


def sort_sizes(plan: Plan) -> Sequence[SizePlan]:
    """Return the plans of all sizes in the order of n."""
    return sorted(plan.sizes, key=lambda size: size.n)
