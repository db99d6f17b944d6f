"""The plan: how a study is cut into units, and what it costs. Pure: numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from harness.extents import holds, included
from harness.nouns import Extent, Family, Mistake, Unit
from harness.receipts import Receipt
from harness.record import Group, Record, initial_chunks, is_large
from harness.variables import CUBE, QUANTILES, replication_variables

LONGEST, SHORTEST = 20.0, 0.25
"""Seconds of a unit: long against the cost of a task, short against the life of a worker."""
PER_WORKER = 20
"""So many units at least for each worker, that none idles at the end."""
_BLOCK_BYTES = 64e6
_WORKER_BYTES = 350e6
"""A worker that has loaded everything and computes nothing."""
_PER_TARGET, _PER_POINT = 2.5e-4, 1.2e-6
"""Seconds to measure each of a replication's targets, and each test point of those."""


@dataclass(frozen=True)
class Machine:
    """What there is to compute with."""

    flops: float
    """Operations a second of one worker."""
    workers: int
    memory: float
    """Bytes that one worker may use."""
    disk: float = float("inf")
    """Bytes free where the store is."""


@dataclass(frozen=True)
class Shape:
    """What the cost of a replication depends on besides n."""

    test_points: int
    keep: tuple[str, ...]
    drawing: float = 4e-4
    """Seconds that a sample of the smallest n takes to draw."""


@dataclass(frozen=True)
class SizePlan:
    """The units at one n."""

    n: int
    block: tuple[int, int]
    todo: tuple[Unit, ...]
    done: int
    seconds: float
    """Of one unit."""


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
    memory: float
    """That a worker needs."""

    @property
    def units(self) -> list[Unit]:
        """All units to do, the longest first."""
        return [unit for size in self.sizes for unit in size.todo]


def seconds_per_replication(extent: Extent, n: int, shape: Shape, family: Family, flops: float) -> float:
    """How long one replication takes at this n, with all its cells."""
    wanted = np.asarray(included(extent, n).any(axis=0))
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
    lengths = {"quantile": len(QUANTILES), "point": shape.test_points}
    grid = extent.grid
    return sum(
        np.dtype(v.dtype).itemsize
        * int(np.prod([lengths[dim] if dim in lengths else len(getattr(grid, dim)) for dim in v.dims]))
        for v in replication_variables(shape.keep)
    )


def cut(extent: Extent, shape: Shape, family: Family, machine: Machine) -> dict[int, Group]:
    """A block for each n, so that a unit takes seconds and every worker gets many.

    Draws of one path stay together as far as they can: they share its data.
    """
    each = {n: seconds_per_replication(extent, n, shape, family, machine.flops) for n in extent.grid.n}
    total = sum(each.values()) * extent.paths * extent.draws
    target = min(max(total / (PER_WORKER * machine.workers), SHORTEST), LONGEST)
    most = max(1, int(_BLOCK_BYTES // bytes_per_replication(extent, shape)))
    chunks = initial_chunks(extent)
    groups = {}
    for n, seconds in each.items():
        rows, columns = _block(min(max(1, round(target / seconds)), most), extent.paths, extent.draws)
        shortest = int(min(SHORTEST / seconds, most)) // columns if columns == extent.draws else 1
        block = max(rows, shortest), columns  # a study that starts small may grow: its units may have room
        groups[n] = Group(block, chunks, is_large(block, chunks))
    return groups


def _block(replications: int, paths: int, draws: int) -> tuple[int, int]:
    """About so many replications as paths × draws, in equal parts.

    Examples
    --------
    >>> _block(7, paths=50, draws=20), _block(45, paths=50, draws=20), _block(9999, paths=50, draws=20)
    ((1, 7), (2, 20), (50, 20))
    """
    if replications < draws:
        return 1, _equal(draws, replications)
    return _equal(paths, replications // draws), draws


def _equal(length: int, part: int) -> int:
    """The size of parts not above `part`, as equal as they can be."""
    return ceil(length / ceil(length / min(part, length)))


def make_plan(
    record: Record,
    asked: Extent,
    receipts: Mapping[str, Receipt],
    shape: Shape,
    family: Family,
    machine: Machine,
    retry: bool = False,
) -> Plan:
    """Which units are left, the longest first, and what they cost: those without a receipt for all that is asked."""
    sizes = []
    for n in asked.grid.n:
        units = record.units(n, asked)
        todo = tuple(left_over(record, asked, units, receipts, retry))
        rows, columns = record.groups[n].block
        one = seconds_per_replication(record.extent, n, shape, family, machine.flops)
        sizes.append(SizePlan(n, (rows, columns), todo, len(units) - len(todo), one * rows * columns))
    sizes.sort(key=lambda size: (-size.seconds, size.n))
    seconds = sum(size.seconds * len(size.todo) for size in sizes)
    longest = max((size.seconds for size in sizes if size.todo), default=0.0)
    left = [unit for size in sizes for unit in size.todo]
    per = bytes_per_replication(record.extent, shape)
    variables = len(replication_variables(shape.keep))
    return Plan(
        sizes=tuple(sizes),
        seconds=seconds,
        duration=max(seconds / machine.workers, longest),
        bytes_per_replication=dict.fromkeys(asked.grid.n, per),
        bytes=per * sum(len(unit) for unit in left),
        files=len(left) * (variables + 1) + _fixed_files(len(asked.grid.n), variables),
        memory=_memory(record, asked, shape, family),
    )


def _fixed_files(sizes: int, variables: int) -> int:
    """Metadata, coordinates and the cube: two files for each array of the root, and for each n its group's."""
    return 2 * (len(CUBE) + 8) + sizes * (variables + 2 * 7 + 1 + len(CUBE))


def left_over(
    record: Record, asked: Extent, units: Iterable[Unit], receipts: Mapping[str, Receipt], retry: bool
) -> Iterable[Unit]:
    """The units that have no receipt for all that is asked of them, or failures that are to be done again."""
    for unit in units:
        receipt = receipts.get(unit.name)
        if receipt is None:
            yield unit
        elif (retry and receipt.failed) or not _covers(record, receipt.generation, asked, unit):
            yield replace(unit, signed=True)


def _covers(record: Record, generation: int, asked: Extent, unit: Unit) -> bool:
    """Whether what was written at an extent has what is asked for now: nearly always it is that very extent."""
    if generation == record.generation:
        return True
    if generation > record.generation:
        return False
    return holds(record.extents[generation], asked, _within(asked, unit))


def _within(asked: Extent, unit: Unit) -> Unit:
    """The part of a unit that is asked for."""
    paths = range(unit.paths.start, min(unit.paths.stop, asked.paths))
    draws = range(unit.draws.start, min(unit.draws.stop, asked.draws))
    return Unit(unit.n, unit.path_block, unit.draw_block, paths, draws)


def _memory(record: Record, asked: Extent, shape: Shape, family: Family) -> float:
    per = bytes_per_replication(record.extent, shape)
    return max(
        _WORKER_BYTES
        + family.memory(n, shape.test_points)
        + 2.0 * per * record.groups[n].block[0] * record.groups[n].block[1]
        for n in asked.grid.n
    )


def check_fits(plan: Plan, machine: Machine, where: str) -> None:
    """Refuses, in words, what wouldn't fit."""
    wrong = []
    if plan.memory > machine.memory:
        wrong.append(
            f"{where}: grid.n = {max(size.n for size in plan.sizes)} needs {plan.memory / 1e9:.1f} GB a worker, "
            f"there are {machine.memory / 1e9:.1f}: use fewer workers (--workers) or leave it out"
        )
    if plan.bytes > machine.disk:
        wrong.append(
            f"{where}: results take up to {plan.bytes / 1e6:.3g} MB, the disk has {machine.disk / 1e6:.3g} free: "
            "choose another place with --store, or ask for less"
        )
    if wrong:
        raise Mistake("\n".join(wrong))


def by_size(plan: Plan) -> Sequence[SizePlan]:
    """The sizes in the order of n."""
    return sorted(plan.sizes, key=lambda size: size.n)
