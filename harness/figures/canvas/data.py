"""Replications of one cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.core.errors import Mistake
from harness.core.labels import axis_values
from harness.core.protocols import Gridded
from harness.core.schema import CELL
from harness.core.types import Array, Bools, Status, Values
from harness.results.replications import Runs
from harness.scenario.errors import Wrong
from harness.scenario.sources import unpacked
from harness.store import arrays
from harness.store.manifest import Record


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


def check_kept(record: Record) -> None:
    """Hits at every test point are kept only where the scenario says so, and comparable only on a grid."""
    if "pointwise" not in record.keep:
        raise Mistake('pointwise needs hits at every test point: run a scenario with keep = ["pointwise"]')
    if record.test != "grid":
        raise Mistake(f'pointwise needs test points that stay where they are: test = "grid", got {record.test!r}')


def test_points(record: Record) -> Array | None:
    """The fixed test points of a bundled source; None for any other, whose code isn't run here."""
    table = record.scenario["source"]
    if ":" in str(table["function"]):
        return None
    try:
        source = unpacked(table, {})
    except Wrong:  # its parameters are none of ours, or it reads a file
        return None
    if not isinstance(source, Gridded) or source.test_points != record.test_points:
        return None
    return source.test_grid()
