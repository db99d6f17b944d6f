"""The plan: which units are left, in which order, and what they cost in all. Pure: numbers in, numbers out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from harness.core.errors import UserError
from harness.core.extent import is_complete
from harness.core.protocols import Family
from harness.core.schema import COORDINATES, CUBE, list_variables
from harness.core.types import Extent, Preparation, Unit
from harness.planning.cost import (
    WORKER_BYTES,
    Costs,
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
"""Bytes of a receipt, and of what stands around a chunk's data."""
_METADATA, _MANIFEST = 1600, 8192
"""Bytes of an array's metadata at the root, and of the second copy of the manifest."""


@dataclass(frozen=True)
class SizePlan:
    """The units at one n."""

    n: int
    block: tuple[int, int]
    todo: tuple[Unit, ...]
    done: int
    seconds: float
    """Of one unit that is computed whole."""
    work: tuple[Work, ...]
    """Of each unit to do."""


@dataclass(frozen=True)
class Plan:
    """What is to be done, longest first, and what it costs."""

    sizes: tuple[SizePlan, ...]
    seconds: float
    """Of work that is left, on one worker."""
    duration: float
    """Until the end, on all of them."""
    bytes_per_replication: Mapping[int, int]
    bytes: int
    """That the work left writes, before compression."""
    files: int
    disk: int
    """Bytes that all of it takes on the disk, in whole blocks of the file system, folders among them."""
    memory: float
    """That a worker needs."""
    work: Work
    """All that is left."""
    generations: frozenset[int]
    """At which extents of the store the units were written that are there and to be extended."""
    preparations: tuple[tuple[Preparation, float], ...] = ()
    """What comes before the units, each with its seconds."""

    @cached_property
    def units(self) -> list[Unit]:
        """All units to do, the longest first."""
        return sorted((unit for size in self.sizes for unit in size.todo), key=lambda unit: -self.seconds_of[unit.name])

    @cached_property
    def replications_of(self) -> Mapping[str, int]:
        """Of how many replications each unit to do computes anything, by its name."""
        pairs = [pair for size in self.sizes for pair in zip(size.todo, size.work, strict=True)]
        return {unit.name: work.replications for unit, work in pairs}

    @cached_property
    def seconds_of(self) -> Mapping[str, float]:
        """What each unit to do takes, by its name."""
        return {unit.name: work.seconds for size in self.sizes for unit, work in zip(size.todo, size.work, strict=True)}


def make_plan(
    manifest: Manifest,
    asked: Extent,
    receipts: Mapping[str, Receipt],
    shape: ReplicationShape,
    family: Family,
    machine: Machine,
    retry: bool = False,
) -> Plan:
    """Which units are left, the longest first, and what they cost: those without a receipt for all that is asked."""
    costs = Costs(manifest, shape, family, machine.flops, retry)
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
        files=len(left) * (variables + 1) + _count_fixed_files(len(asked.grid.n), variables),
        disk=_estimate_disk(manifest, asked, left, shape, machine.block),
        memory=estimate_worker_memory(manifest, asked, shape, family),
        work=work,
        generations=frozenset(min(receipts[unit.name].generation, manifest.generation) for unit in left if unit.signed),
    )


def _plan_size(costs: Costs, n: int, asked: Extent, receipts: Mapping[str, Receipt]) -> SizePlan:
    """The units at one n that are left."""
    manifest = costs.manifest
    units = manifest.list_units(n, asked)
    todo = tuple(find_remaining_units(manifest, asked, units, receipts, costs.retry))
    rows, columns = manifest.groups[n].block
    work = tuple(costs.estimate_work(unit, receipts.get(unit.name)) for unit in todo)
    return SizePlan(
        n, (rows, columns), todo, len(units) - len(todo), costs.estimate_full_seconds(n) * rows * columns, work
    )


def _sum_work(each: Iterable[Work]) -> Work:
    """All of it; the same work many times is the rule."""
    total = Work()
    for one, count in Counter(each).items():
        parts = (getattr(one, field.name) for field in fields(Work))
        total += Work(*(Share(p.units * count, p.replications * count, p.seconds * count) for p in parts))
    return total


def _count_fixed_files(sizes: int, variables: int) -> int:
    """Metadata, coordinates and the cube: two files for each array of the root, and for each n its group's."""
    return 2 * (len(CUBE) + 8) + sizes * (variables + 2 * 7 + 1 + len(CUBE))


def _estimate_disk(manifest: Manifest, asked: Extent, left: Sequence[Unit], shape: ReplicationShape, block: int) -> int:
    """Bytes on the disk: every file takes whole blocks, and every folder one, however little is in it."""

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
    arrays = len(CUBE) + len(COORDINATES) + count * (len(variables) + len(COORDINATES) - 1)
    labels = (1 + count) * len(COORDINATES)
    cube = count * sum(blocks(8 * cells * (3 if summary.quantile else 1)) for summary in CUBE)
    metadata = blocks(_METADATA * arrays) + blocks(_MANIFEST)
    folders = arrays + labels + 2 * count + 4
    return units + cube + metadata + (arrays + labels + count + folders + 4) * block


def find_remaining_units(
    manifest: Manifest, asked: Extent, units: Iterable[Unit], receipts: Mapping[str, Receipt], retry: bool
) -> Iterable[Unit]:
    """The units that have no receipt for all that is asked of them, or failures that are to be done again."""
    for unit in units:
        receipt = receipts.get(unit.name)
        if receipt is None:
            yield unit
        elif (retry and receipt.failed) or not _is_covered(manifest, receipt.generation, asked, unit):
            yield replace(unit, signed=True)


def _is_covered(manifest: Manifest, generation: int, asked: Extent, unit: Unit) -> bool:
    """Whether what was written at an extent has what is asked for now: nearly always it is that very extent."""
    if generation == manifest.generation:
        return True
    if generation > manifest.generation:
        return False
    return is_complete(manifest.extents[generation], asked, clip_unit(asked, unit))


def add_preparations(plan: Plan, missing: Sequence[Preparation], machine: Machine) -> Plan:
    """With what has to be prepared before the units."""
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
    """Refuses, in words, what wouldn't fit."""
    wrong = []
    if plan.memory > machine.memory:
        wrong.append(
            f"{where}: grid.n = {max(size.n for size in plan.sizes)} needs {plan.memory / 1e9:.1f} GB a worker, "
            f"there are {machine.memory / 1e9:.1f}: use fewer workers, or larger ones, or leave it out"
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
            "choose another place with --store, or ask for less"
        )
    if wrong:
        raise UserError("\n".join(wrong))


def sort_sizes(plan: Plan) -> Sequence[SizePlan]:
    """The sizes in the order of n."""
    return sorted(plan.sizes, key=lambda size: size.n)
