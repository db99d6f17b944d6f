"""Read what figures need beyond estimates: the replications of one cell, and the fixed test points."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Any

import numpy as np

from harness.core.errors import UserError
from harness.core.labels import list_axis_values
from harness.core.protocols import SupportsTestGrid
from harness.core.schema.axes import BINS, CELL
from harness.core.types import Array, Bools, Status, Values
from harness.results.replications import ReplicationReader
from harness.scenario.errors import ScenarioError
from harness.scenario.sources import unpack_source
from harness.store import arrays
from harness.store.manifest import Manifest


def read_cell(runs: ReplicationReader, at: Mapping[str, Any], variable: str) -> tuple[Values, Bools]:
    """Read a variable for all replications of one cell that results are made from.

    Parameters
    ----------
    runs : ReplicationReader
        Open store.
    at : mapping
        Value of every axis of the cube.
    variable : str
        Name of a variable with an α axis.

    Returns
    -------
    values : array
        Over path, draw and any further axes of the variable, such as test points.
    ok : array of bool
        Over path and draw: which replications have a result.
    """
    grid, everything = runs.manifest.extent.grid, slice(None)
    places = [list(list_axis_values(grid, axis)).index(at[axis]) for axis in CELL]
    alpha = list(grid.alpha).index(at["alpha"])
    read, paths = (runs.url, at["n"]), slice(0, runs.count_paths(at["n"]))
    generation = runs.manifest.generation
    values = arrays.read(*read, variable, generation, (paths, everything, *places, alpha))
    status = arrays.read(*read, "status", generation, (paths, everything, *places))
    return values, np.asarray(status == Status.OK)


def check_kept(manifest: Manifest) -> None:
    """Raise UserError unless the store keeps hits at every test point, and test points lie on a grid."""
    if "pointwise" not in manifest.keep:
        raise UserError('pointwise needs hits at every test point: run a scenario with keep = ["pointwise"]')
    if manifest.test != "grid":
        raise UserError(f'pointwise needs fixed test points: test = "grid", got {manifest.test!r}')


def find_bin_centres(manifest: Manifest) -> Array:
    """Return the centres of the bins of x, shape (bins, dimension); raise UserError unless the store keeps these.

    The first variable varies fastest, as in `harness.compute.bins`.
    """
    if "bins" not in manifest.keep:
        raise UserError('conditional needs coverage in bins of x: run a scenario with keep = ["bins"]')
    side = BINS if len(manifest.box) == 1 else isqrt(BINS)
    axes = [low + (np.arange(side) + 0.5) * ((high - low) / side) for low, high in manifest.box]
    return np.stack([each.ravel() for each in np.meshgrid(*axes)], axis=1)


def find_test_points(manifest: Manifest) -> Array | None:
    """Return the fixed test points of a bundled source.

    Returns None for custom sources, whose code isn't run here, and for sources without a grid of test points.
    """
    table = manifest.scenario["source"]
    if ":" in str(table["function"]):
        return None
    try:
        source = unpack_source(table, {})
    except ScenarioError:  # it reads a file, or this version doesn't know its parameters
        return None
    if not isinstance(source, SupportsTestGrid) or source.test_points != manifest.test_points:
        return None
    return source.test_grid()
