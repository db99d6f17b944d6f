"""Find the results of a stored unit that are still to compute, and merge new results with stored ones.

Stored results are kept, bitwise. Computed are: cells that weren't run, cells without a result at a new α (which needs
the factor again), and, on request, cells that failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.core.extent import find_computed, find_included
from harness.core.families import Uses
from harness.core.schema.measures import FOUND, Variable, list_variables
from harness.core.types import FAILED, Block, Bools, Extent, Failure, Grid, Status, Values

_NO_RESULT = (Status.NOT_RUN, Status.EXCLUDED)


@dataclass(frozen=True, eq=False)
class StoredUnit:
    """Stored results of a unit, in arrays of its new size, with fill values where nothing is stored."""

    values: Mapping[str, Values]
    failures: Sequence[Failure]
    retried: frozenset[str] = frozenset()
    """Procedures whose failed cells are computed again."""
    retried_families: frozenset[str] = frozenset()
    """Families of these procedures, as failures name them."""

    def find_preserved(self, grid: Grid) -> Bools:
        """Return the cells whose stored results are kept, over path, draw, procedure, γ, θ and λ."""
        status = self.values["status"]
        is_retried = np.array([name in self.retried for name in grid.procedure]).reshape(-1, 1, 1, 1)
        return np.asarray((status == Status.OK) | (np.isin(status, FAILED) & ~is_retried))

    @property
    def known_levels(self) -> Bools:
        """Whether a cell needs nothing more at an α: it has a result there, or it failed."""
        return ~np.isnan(self.values["coverage"]) | np.isin(self.values["status"], FAILED)[..., None]


def find_pending_cells(known: StoredUnit, extent: Extent, n: int) -> Bools:
    """Return the results that are still to compute, over path, draw, procedure, γ, θ and λ."""
    is_whole = known.find_preserved(extent.grid) & known.known_levels.all(axis=-1)
    return np.asarray(find_computed(extent, n) & ~is_whole)


def spread_results(values: Mapping[str, Values], uses: Uses, extent: Extent, n: int) -> None:
    """Let stored results of a procedure stand at every value of the axes that it doesn't use; changed in place.

    The store may have got new values of θ or λ since the results were written.

    Parameters
    ----------
    values : mapping
        Arrays of a unit, by variable.
    uses : Uses
        Which of θ and λ results depend on.
    extent : Extent
        The extent of the arrays.
    n : int
        Size of the training sample.
    """
    grid, included = extent.grid, find_included(extent, n)
    for place, name in enumerate(grid.procedure):
        for cells in uses.list_results(name, grid):
            if len(cells) > 1:
                _spread_fit(values, place, cells, included[place])
    for t, theta in enumerate(grid.theta):
        if any(theta in some for some in uses.finds_lam.values()):
            _spread_found(values, t)


def _spread_found(values: Mapping[str, Values], t: int) -> None:
    """Let what a search found at one θ stand at every λ where a procedure has a result."""
    has_result = ~np.isin(values["status"][..., t, :], _NO_RESULT).all(axis=2)  # over path, draw, γ and λ
    for name in FOUND:
        if name in values:
            mine = np.moveaxis(values[name][:, :, :, t], 3, -1)  # a view, with λ last
            first = np.nanmax(mine, axis=-1, keepdims=True, initial=-np.inf)
            lacks = np.isnan(mine) & np.expand_dims(has_result, tuple(range(3, mine.ndim - 1))) & (first > -np.inf)
            np.copyto(mine, first, where=lacks)


def _spread_fit(values: Mapping[str, Values], place: int, cells: Sequence[tuple[int, int]], included: Bools) -> None:
    """Copy the results of one fit of a procedure from the first of its cells (θ, λ) that has any to those without."""
    status, everything = values["status"], slice(None)
    mine = [name for name, each in values.items() if each.ndim >= status.ndim and name not in FOUND]  # over procedures
    where = [(everything, everything, place, everything, t, r) for t, r in cells]
    first, has = {name: values[name][where[0]].copy() for name in mine}, np.zeros(status[where[0]].shape, dtype=bool)
    for here in where:
        new = ~has & ~np.isin(status[here], _NO_RESULT)
        for name in mine:
            first[name][new] = values[name][here][new]
        has |= new
    for here, (t, r) in zip(where, cells, strict=True):
        lacks = has & included[:, t, r] & np.isin(status[here], _NO_RESULT)
        for name in mine:
            values[name][here][lacks] = first[name][lacks]


def merge_block(block: Block, known: StoredUnit, keep: tuple[str, ...], grid: Grid) -> Block:
    """Return a computed block in which everything that was stored before is restored."""
    preserved = known.find_preserved(grid)
    values = {v.name: _restore_values(v, block.values[v.name], known, preserved) for v in list_variables(keep)}
    new = {failure.key for failure in block.failures}
    stored = [one for one in known.failures if one.family not in known.retried_families]
    still = [one for one in stored if one.key not in new]
    return Block(block.unit, values, [*still, *block.failures], block.seconds)


def _restore_values(variable: Variable, new: Values, known: StoredUnit, where: Bools) -> Values:
    old = known.values[variable.name]
    if variable.dims[0] != "procedure":  # what a search found, which is missing where no stored procedure uses it
        where = np.asarray(where.any(axis=2))
        where = where.reshape(*where.shape, *(1,) * (new.ndim - where.ndim))
        return np.where(where & ~np.isnan(old), old, new)
    if "alpha" in variable.dims:
        where = where[..., None] & known.known_levels
    return np.where(where.reshape(*where.shape, *(1,) * (new.ndim - where.ndim)), old, new)
