"""Replications of one cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.core.labels import axis_values
from harness.core.schema import CELL
from harness.core.types import Bools, Status, Values
from harness.results.replications import Runs
from harness.store import arrays


def cell(runs: Runs, at: Mapping[str, Any], variable: str) -> tuple[Values, Bools]:
    """A variable over path, draw (and what else it has), and which replications of the cell are there."""
    grid, everything = runs.record.extent.grid, slice(None)
    places = [list(axis_values(grid, axis)).index(at[axis]) for axis in CELL]
    alpha = list(grid.alpha).index(at["alpha"])
    read = (runs.url, at["n"])
    generation = runs.record.generation
    values = arrays.read(*read, variable, generation, (everything, everything, *places, alpha))
    status = arrays.read(*read, "status", generation, (everything, everything, *places))
    return values, np.asarray(status == Status.OK)
