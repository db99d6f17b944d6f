"""Find the cells of a stored unit that are still to compute, and merge new results with stored ones.

Stored results are kept, bitwise. Computed are: cells that weren't run, all cells if there is a new α (which needs the
factor again), and, on request, cells that failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.core.extent import find_included
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
    """Return the cells that any procedure still has to compute, over path, draw, γ, θ and λ."""
    fresh = find_included(extent, n) & (~known.preserved | (known.levels < len(extent.grid.alpha)))
    return np.asarray(fresh.any(axis=2))


def merge_block(block: Block, known: StoredUnit, keep: tuple[str, ...]) -> Block:
    """Return a computed block in which everything that was stored before is restored."""
    values = {v.name: _restore_values(v, block.values[v.name], known) for v in list_variables(keep)}
    old = {_get_cell_key(failure) for failure in block.failures}
    still = [one for one in known.failures if not known.retry and _get_cell_key(one) not in old]
    return Block(block.unit, values, [*still, *block.failures], block.seconds)


def _get_cell_key(failure: Failure) -> tuple[object, ...]:
    return failure.path, failure.draw, failure.gamma, failure.theta, failure.lam


def _restore_values(variable: Variable, new: Values, known: StoredUnit) -> Values:
    old, where = known.values[variable.name], known.preserved
    if variable.dims[0] != "procedure":
        return np.where(where.any(axis=2), old, new)
    if "alpha" not in variable.dims:
        return np.where(where, old, new)
    is_known = np.arange(new.shape[_LEVELS_AXIS]) < known.levels
    where = where[..., None] & is_known
    return np.where(where.reshape(*where.shape, *(1,) * (new.ndim - where.ndim)), old, new)
