"""Find the cells of a stored unit that are still to compute, and merge new results with stored ones.

Stored results are kept, bitwise. Computed are: cells that weren't run, all cells if there is a new α (which needs the
factor again), and, on request, cells that failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from harness.core.extent import find_included
from harness.core.families import StudyFamily, list_unused_axes
from harness.core.schema import Variable, list_variables
from harness.core.types import FAILED, Block, Bools, Extent, Failure, Status, Values

_LEVELS_AXIS = 6
"""Axis of α in a unit's arrays: after path, draw, procedure, γ, θ and λ."""


@dataclass(frozen=True, eq=False)
class StoredUnit:
    """Stored results of a unit, in arrays of its new size, with fill values where nothing is stored."""

    values: Mapping[str, Values]
    failures: Sequence[Failure]
    levels: int
    """Number of α with results; they come first on their axis."""
    retry: bool = False
    """Whether to compute failed cells again."""

    @property
    def preserved(self) -> Bools:
        """Cells whose stored results are kept, over path, draw, procedure, γ, θ and λ."""
        return np.isin(self.values["status"], [Status.OK, *(() if self.retry else FAILED)])


def find_pending_cells(known: StoredUnit, extent: Extent, n: int) -> Bools:
    """Return the results that are still to compute, over path, draw, procedure, γ, θ and λ."""
    return np.asarray(find_included(extent, n) & (~known.preserved | (known.levels < len(extent.grid.alpha))))


def spread_results(known: StoredUnit, families: Sequence[StudyFamily], extent: Extent, n: int) -> StoredUnit:
    """Return stored results in which those of a procedure stand at every value of the axes that it doesn't use.

    The store may have got new values of θ or λ since the results were written.
    """
    grid, included = extent.grid, find_included(extent, n)
    values = {name: each.copy() for name, each in known.values.items()}
    for family in families:
        if list_unused_axes(family.axes):
            thetas = [[t] for t in range(len(grid.theta))] if "theta" in family.axes else [range(len(grid.theta))]
            lams = [[r] for r in range(len(grid.lam))] if "lam" in family.axes else [range(len(grid.lam))]
            for place, some, others in product(family.find_places(grid), thetas, lams):
                _spread_fit(values, place, list(product(some, others)), included[place])
    return replace(known, values=values)


def _spread_fit(values: Mapping[str, Values], place: int, cells: Sequence[tuple[int, int]], included: Bools) -> None:
    """Copy the results of one fit of a procedure from the first of its cells (θ, λ) that has any to those without."""
    status, everything = values["status"], slice(None)
    mine = [name for name, each in values.items() if each.ndim >= status.ndim]  # those over procedures
    where = [(everything, everything, place, everything, t, r) for t, r in cells]
    first, has = {name: values[name][where[0]].copy() for name in mine}, np.zeros(status[where[0]].shape, dtype=bool)
    for here in where:
        new = ~has & ~np.isin(status[here], (Status.NOT_RUN, Status.EXCLUDED))
        for name in mine:
            first[name][new] = values[name][here][new]
        has |= new
    for here, (t, r) in zip(where, cells, strict=True):
        lacks = has & included[:, t, r] & (status[here] == Status.NOT_RUN)
        for name in mine:
            values[name][here][lacks] = first[name][lacks]


def merge_block(block: Block, known: StoredUnit, keep: tuple[str, ...]) -> Block:
    """Return a computed block in which everything that was stored before is restored."""
    values = {v.name: _restore_values(v, block.values[v.name], known) for v in list_variables(keep)}
    old = {_get_cell_key(failure) for failure in block.failures}
    still = [one for one in known.failures if not known.retry and _get_cell_key(one) not in old]
    return Block(block.unit, values, [*still, *block.failures], block.seconds)


def _get_cell_key(failure: Failure) -> tuple[object, ...]:
    return failure.path, failure.draw, failure.gamma, failure.theta, failure.lam, failure.family


def _restore_values(variable: Variable, new: Values, known: StoredUnit) -> Values:
    old, where = known.values[variable.name], known.preserved
    if variable.dims[0] != "procedure":  # θ̂, which is missing where no stored procedure uses θ
        return np.where(where.any(axis=2) & ~np.isnan(old), old, new)
    if "alpha" not in variable.dims:
        return np.where(where, old, new)
    is_known = np.arange(new.shape[_LEVELS_AXIS]) < known.levels
    where = where[..., None] & is_known
    return np.where(where.reshape(*where.shape, *(1,) * (new.ndim - where.ndim)), old, new)
