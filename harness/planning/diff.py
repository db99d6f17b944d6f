"""Compare what a scenario asks for with what a store has, and find the cells to compute. Pure.

A new n, path or draw is computed on its own. A new γ, θ or λ adds cells to stored replications. A new α or procedure
needs the factor of every cell again. In all cases stored results stay bitwise as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain

import numpy as np

from harness.core.extent import find_computed, find_included, list_extra_values
from harness.core.families import StudyFamily, list_unused_axes
from harness.core.schema.axes import CELL
from harness.core.types import Bools, Extent, Grid

AXES = tuple(field.name for field in fields(Grid))


@dataclass(frozen=True)
class Diff:
    """Differences between what a scenario asks for and what a store has."""

    values: Mapping[str, tuple[object, ...]]
    """New values, by axis."""
    paths: int
    """Number of additional paths."""
    draws: int
    """Number of additional draws per path."""
    cells: int
    """Number of cells, over all n, that the rules excluded before and no longer exclude."""
    unasked: Mapping[str, tuple[object, ...]]
    """Stored values that are not asked for, by axis; they are kept."""


def diff(extents: Sequence[Extent], asked: Extent) -> Diff:
    """Return how the extent asked for differs from those of a store.

    Parameters
    ----------
    extents : sequence of Extent
        The store's present extent, followed by the older ones at which incomplete units were written.
    asked : Extent
        What the scenario asks for.

    Examples
    --------
    >>> old = Extent(Grid(("A",), (0.1,), ("ml", 10.0), (0.1,), (25,), (0.1,)), paths=5, draws=4)
    >>> new = Extent(Grid(("A", "B"), (0.1,), ("ml",), (0.1,), (25, 50), (0.1,)), paths=8, draws=2)
    >>> found = diff([old], new)
    >>> found.values, found.paths, found.draws, found.unasked
    ({'procedure': ('B',), 'n': (50,)}, 3, 0, {'theta': (10.0,)})
    """
    present = extents[0]
    lacking = [list_extra_values(asked, each) for each in extents]
    missing = {axis: [one.get(axis, ()) for one in lacking] for axis in AXES}
    missing["n"] = missing["n"][:1]  # an extent older than the one that introduced an n has no units of it
    return Diff(
        {axis: tuple(dict.fromkeys(chain(*found))) for axis, found in missing.items() if any(found)},
        max(0, asked.paths - present.paths),  # older units, written when there were fewer paths, lack none of those
        max(0, asked.draws - present.draws),
        max(_count_readmitted_cells(each, asked) for each in extents),
        list_extra_values(present, asked),
    )


def _count_readmitted_cells(old: Extent, new: Extent) -> int:
    """Count the cells whose values are in both extents and that only the old one excludes."""
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


def diff_cells(held: Extent, whole: Extent, n: int, family: StudyFamily) -> tuple[Bools, Bools]:
    """Return the fits to compute of a replication that was written at an older extent, over γ, θ and λ.

    Parameters
    ----------
    held : Extent
        The extent at which the replication was written.
    whole : Extent
        The present extent of the store.
    n : int
        Sample size of the replication.
    family : StudyFamily
        The family that computes them. Axes that it doesn't use have length 1.

    Returns
    -------
    missing, again : array of bool
        Fits that the replication lacks, and fits that it has but that are computed again: for a new α, for a new
        procedure of the family, or for one that was excluded.
    """
    wanted, had = find_included(whole, n), np.zeros([len(getattr(whole.grid, axis)) for axis in CELL], dtype=bool)
    places = [[getattr(whole.grid, axis).index(value) for value in getattr(held.grid, axis)] for axis in CELL]
    had[np.ix_(*places)] = find_computed(held, n)
    more, mine = len(held.grid.alpha) < len(whole.grid.alpha), family.find_places(whole.grid)
    unused = tuple(CELL.index(axis) for axis in list_unused_axes(family.axes))
    each_fit = (np.asarray(each[mine].any(axis=unused, keepdims=True)) for each in (had, wanted))
    has, wants = (family.join_results(each, whole.grid) for each in each_fit)
    left, has_any = np.asarray((wants & (~has | more)).any(axis=0)), np.asarray(has.any(axis=0))
    return left & ~has_any, left & has_any
