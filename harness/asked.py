"""What the latest scenario of a store asks for, and which units have that. Light: `ckrr status` starts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from harness.extents import holds
from harness.nouns import Extent, Grid, Unit
from harness.record import Record


def latest(record: Record) -> Extent:
    """What the latest run asked for; the store may hold more, or be meant to."""
    grid, told = record.scenario["grid"], record.scenario["replications"]
    axes = {f.name: tuple(grid[f.name]) for f in fields(Grid)}
    return Extent(Grid(**axes), int(told["paths"]), int(told["draws"]), record.extent.exclude)


def count(record: Record, n: int, asked: Extent) -> int:
    """How many units that is, at one n."""
    rows, columns = record.groups[n].block
    return -(-asked.paths // rows) * -(-asked.draws // columns)


def done(record: Record, n: int, asked: Extent) -> Callable[[int, int, int], bool]:
    """Whether a unit, by its blocks of paths and draws, has what is asked of it if written at a generation.

    The same as `planning.left_over` says, without looking at every cell for every unit.
    """
    rows, columns = record.groups[n].block
    cells = [holds(held, asked, Unit(n, 0, 0, range(0), range(0))) for held in record.extents]
    ends = [(held.paths, held.draws) for held in record.extents]

    def has(path_block: int, draw_block: int, generation: int) -> bool:
        first = path_block * rows, draw_block * columns
        if first[0] >= asked.paths or first[1] >= asked.draws or generation >= len(cells) or not cells[generation]:
            return False
        paths, draws = ends[generation]
        return paths >= min(first[0] + rows, asked.paths) and draws >= min(first[1] + columns, asked.draws)

    return has
