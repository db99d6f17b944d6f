"""Newness: what a scenario asks for beyond what a store has, and what of it has to be computed. Pure.

A new n, path or draw is computed by itself. A new γ, θ or λ adds cells to the replications that are there. A new α or
procedure needs the factor of every cell again. Numbers that are there stay as they are, in every bit, in all cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain

import numpy as np

from harness.core.extent import find_included
from harness.core.schema import CELL
from harness.core.types import Bools, Extent, Grid

AXES = tuple(field.name for field in fields(Grid))


@dataclass(frozen=True)
class Diff:
    """How what is asked for differs from what is there."""

    values: Mapping[str, tuple[object, ...]]
    """By axis, those that are new."""
    paths: int
    """So many more."""
    draws: int
    cells: int
    """Over all n, those that the rules left out before and now don't."""
    unasked: Mapping[str, tuple[object, ...]]
    """By axis, those that are there and not asked for: they stay."""


def diff(backend: Sequence[Extent], asked: Extent) -> Diff:
    """What is new against extents of a store: its present one, and those at which units left over were written.

    Examples
    --------
    >>> old = Extent(Grid(("A",), (0.1,), ("ml", 10.0), (0.1,), (25,), (0.1,)), paths=5, draws=4)
    >>> new = Extent(Grid(("A", "B"), (0.1,), ("ml",), (0.1,), (25, 50), (0.1,)), paths=8, draws=2)
    >>> found = diff([old], new)
    >>> found.values, found.paths, found.draws, found.unasked
    ({'procedure': ('B',), 'n': (50,)}, 3, 0, {'theta': (10.0,)})
    """
    present = backend[0]
    missing = {axis: [_list_extra_values(asked, each, axis) for each in backend] for axis in AXES}
    missing["n"] = [
        _list_extra_values(asked, present, "n")
    ]  # an older extent than the one that brought an n has none of its units
    return Diff(
        {axis: tuple(dict.fromkeys(chain(*found))) for axis, found in missing.items() if any(found)},
        max(0, asked.paths - present.paths),  # older units were written when there were fewer, and lack none of them
        max(0, asked.draws - present.draws),
        max(_count_readmitted_cells(each, asked) for each in backend),
        {axis: values for axis in AXES if (values := _list_extra_values(present, asked, axis))},
    )


def _list_extra_values(one: Extent, other: Extent, axis: str) -> tuple[object, ...]:
    """The values on an axis that one extent has and the other hasn't."""
    return tuple(value for value in getattr(one.grid, axis) if value not in getattr(other.grid, axis))


def _count_readmitted_cells(old: Extent, new: Extent) -> int:
    """How many cells have values that are in both and were left out in the old one alone."""
    both = [[value for value in getattr(new.grid, axis) if value in getattr(old.grid, axis)] for axis in CELL]
    places = [
        [[getattr(each.grid, axis).index(value) for value in some] for axis, some in zip(CELL, both, strict=True)]
        for each in (old, new)
    ]
    sizes = [n for n in new.grid.n if n in old.grid.n]
    was, now = (
        [find_included(each, n)[np.ix_(*where)] for n in sizes] for each, where in zip((old, new), places, strict=True)
    )
    return sum(int((after & ~before).sum()) for before, after in zip(was, now, strict=True))


def diff_cells(held: Extent, whole: Extent, n: int) -> tuple[Bools, Bools]:
    """What is left to compute of a replication that was written at an extent: over γ, θ and λ.

    First the cells that it doesn't have, then those that it has and that are computed again: for a new α, for a new
    procedure, or for one that was left out.
    """
    wanted, had = find_included(whole, n), np.zeros([len(getattr(whole.grid, axis)) for axis in CELL], dtype=bool)
    places = [[getattr(whole.grid, axis).index(value) for value in getattr(held.grid, axis)] for axis in CELL]
    had[np.ix_(*places)] = find_included(held, n)
    left = np.asarray((wanted & (~had | (len(held.grid.alpha) < len(whole.grid.alpha)))).any(axis=0))
    backend = np.asarray(had.any(axis=0))
    return left & ~backend, left & backend
