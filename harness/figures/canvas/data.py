"""Replications of one cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.core.errors import UserError
from harness.core.labels import list_axis_values
from harness.core.protocols import SupportsTestGrid
from harness.core.schema import CELL
from harness.core.types import Array, Bools, Status, Values
from harness.results.replications import ReplicationReader
from harness.scenario.errors import ScenarioError
from harness.scenario.sources import unpack_source
from harness.store import arrays
from harness.store.manifest import Manifest


def read_cell(runs: ReplicationReader, at: Mapping[str, Any], variable: str) -> tuple[Values, Bools]:
    """A variable over path, draw (and what else it has), and which replications of the cell are there."""
    grid, everything = runs.manifest.extent.grid, slice(None)
    places = [list(list_axis_values(grid, axis)).index(at[axis]) for axis in CELL]
    alpha = list(grid.alpha).index(at["alpha"])
    read = (runs.url, at["n"])
    generation = runs.manifest.generation
    values = arrays.read(*read, variable, generation, (everything, everything, *places, alpha))
    status = arrays.read(*read, "status", generation, (everything, everything, *places))
    return values, np.asarray(status == Status.OK)


def check_kept(manifest: Manifest) -> None:
    """Hits at every test point are kept only where the scenario says so, and comparable only on a grid."""
    if "pointwise" not in manifest.keep:
        raise UserError('pointwise needs hits at every test point: run a scenario with keep = ["pointwise"]')
    if manifest.test != "grid":
        raise UserError(f'pointwise needs test points that stay where they are: test = "grid", got {manifest.test!r}')


def find_test_points(manifest: Manifest) -> Array | None:
    """The fixed test points of a bundled source; None for any other, whose code isn't run here."""
    table = manifest.scenario["source"]
    if ":" in str(table["function"]):
        return None
    try:
        source = unpack_source(table, {})
    except ScenarioError:  # its parameters are none of ours, or it reads a file
        return None
    if not isinstance(source, SupportsTestGrid) or source.test_points != manifest.test_points:
        return None
    return source.test_grid()
