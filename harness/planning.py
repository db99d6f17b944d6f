"""The plan: how a study is cut into units, and what it costs. Pure: numbers in, numbers out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import ceil

import numpy as np

from harness.extents import holds, included
from harness.newness import cells_left
from harness.nouns import Bools, Extent, Family, Mistake, Preparation, Unit
from harness.receipts import Receipt
from harness.record import Group, Record, initial_chunks, is_large
from harness.variables import CUBE, QUANTILES, replication_variables

LONGEST, SHORTEST = 20.0, 0.25
"""Seconds of a unit: long against the cost of a task, short against the life of a worker."""
_LIVES = 20.0
"""A worker should live so many times as long as a unit takes: what it is at when it goes is computed again."""
PER_WORKER = 20
"""So many units at least for each worker, that none idles at the end."""
_BLOCK_BYTES = 64e6
_RECEIPT, _CHUNK = 500, 17
"""Bytes of a receipt, and of what stands around a chunk's data."""
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
    lifetime: float = float("inf")
    """Seconds that a worker surely lives."""


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
    target = min(max(total / (PER_WORKER * machine.workers), SHORTEST), LONGEST, machine.lifetime / _LIVES)
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
    costs = _Costs(record, shape, family, machine.flops, retry)
    sizes = sorted((_size(costs, n, asked, receipts) for n in asked.grid.n), key=lambda one: (-one.seconds, one.n))
    each = [work for size in sizes for work in size.work]
    left = [unit for size in sizes for unit in size.todo]
    work = _sum(each)
    per = bytes_per_replication(record.extent, shape)
    variables = len(replication_variables(shape.keep))
    return Plan(
        sizes=tuple(sizes),
        seconds=work.seconds,
        duration=max(work.seconds / machine.workers, max((one.seconds for one in each), default=0.0)),
        bytes_per_replication=dict.fromkeys(asked.grid.n, per),
        bytes=per * sum(len(unit) for unit in left) + len(left) * (_RECEIPT + variables * _CHUNK),
        files=len(left) * (variables + 1) + _fixed_files(len(asked.grid.n), variables),
        memory=_memory(record, asked, shape, family),
        work=work,
        generations=frozenset(receipts[unit.name].generation for unit in left if unit.signed),
    )


def _size(costs: _Costs, n: int, asked: Extent, receipts: Mapping[str, Receipt]) -> SizePlan:
    """The units at one n that are left."""
    record = costs.record
    units = record.units(n, asked)
    todo = tuple(left_over(record, asked, units, receipts, costs.retry))
    rows, columns = record.groups[n].block
    work = tuple(costs.of(unit, receipts.get(unit.name)) for unit in todo)
    return SizePlan(n, (rows, columns), todo, len(units) - len(todo), costs.whole(n) * rows * columns, work)


def _sum(each: Iterable[Work]) -> Work:
    """All of it; the same work many times is the rule."""
    total = Work()
    for one, count in Counter(each).items():
        parts = (getattr(one, field.name) for field in fields(Work))
        total += Work(*(Share(p.units * count, p.replications * count, p.seconds * count) for p in parts))
    return total


@dataclass(frozen=True, eq=False)
class _Costs:
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
        there = len(_within(self.record.extents[generation], unit))
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


def prepared_first(plan: Plan, missing: Sequence[Preparation], machine: Machine) -> Plan:
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
        memory=max(plan.memory, *(_WORKER_BYTES + one.memory for one in missing)),
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
