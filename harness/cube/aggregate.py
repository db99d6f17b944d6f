"""Reduce replications to the cube, with standard errors clustered by path."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from harness.core.extent import get_axis_lengths
from harness.core.schema.cube import list_cube_variables
from harness.core.schema.measures import list_measures
from harness.core.types import INNER, Values
from harness.cube.anytime import Cells, Read, read_cells
from harness.cube.judging import get_level, judge_cells
from harness.cube.levels import compute_targets, tabulate_levels
from harness.statistics.reduce import compute_centre, compute_error
from harness.statistics.verdicts import BoundedShare
from harness.store.manifest import Manifest

_SLAB = 256e6
"""Largest part of a variable that is reduced at once, in bytes."""


def compute_cube(manifest: Manifest, n: int, read: Read, paths: int) -> dict[str, Values]:
    """Compute all variables of the cube at one n from its first paths.

    Returns
    -------
    dict
        Name of each variable to its values, over procedure, γ, θ, λ and α (and quantile).
    """
    grid = manifest.extent.grid
    shape = tuple(len(axis) for axis in (grid.procedure, grid.gamma, grid.theta, grid.lam, grid.alpha))
    found: dict[str, Values] = {}
    for summary in list_cube_variables(manifest.keep):
        found[summary.name] = np.zeros((*shape, 3) if summary.quantile else shape, dtype=summary.dtype)
    found["level"][:] = tabulate_levels(manifest, n)[:, None, :, None, :]
    found["target"][:], _ = compute_targets(manifest, n)
    for p, t in iter_slabs(manifest):
        procedures, thetas = slice(p.start, p.stop), slice(t.start, t.stop)
        where = (slice(0, paths), slice(None), procedures, slice(None), thetas)
        cells = read_cells(manifest, n, read, paths, procedures, thetas, get_level(manifest))
        part = _reduce_slab(read, cells, where, manifest)
        for name, values in part.items():
            found[name][procedures, :, thetas] = values
    return found


def iter_slabs(manifest: Manifest) -> Iterator[tuple[range, range]]:
    """Yield index ranges along procedure and θ that fit into memory together with all other axes.

    The whole store is one slab if it is small. Otherwise each procedure and θ is a slab, as in the store's shards.
    """
    lengths = get_axis_lengths(manifest.extent.grid)
    procedures, thetas = range(lengths["procedure"]), range(lengths["theta"])
    count = prod(lengths[axis] for axis in INNER)
    if 8.0 * manifest.extent.paths * manifest.extent.draws * count <= _SLAB:
        yield procedures, thetas
        return
    for p, t in product(procedures, thetas):
        yield range(p, p + 1), range(t, t + 1)


def _reduce_slab(read: Read, cells: Cells, where: tuple[slice, ...], manifest: Manifest) -> dict[str, Values]:
    """Compute the variables of the cube for some procedures and θ, but for those that need no replications."""
    ok, failed = cells.ok, cells.failed
    found = _judge_slab(cells, manifest)
    for one in list_measures(manifest.keep):
        values, counts = read(one.name, where), ok[..., None] if "quantile" in one.dims else ok
        if "alpha" not in one.dims:
            values = values[..., None]  # the same at each α, as `ok` is
        if one.error is None:
            found[one.name] = compute_centre(values, counts, one.reduction)
        else:
            found[one.name], found[f"{one.name}_se"] = compute_error(values, counts, one.reduction)
    levels = found["coverage"].shape[-1]
    runs, lost = ok.sum(axis=(0, 1)), failed.sum(axis=(0, 1))
    found["replication_count"] = np.repeat(runs, levels, axis=-1)
    with np.errstate(invalid="ignore"):
        found["failed"] = np.repeat(lost / (lost + runs), levels, axis=-1)
    return found


def _judge_slab(cells: Cells, manifest: Manifest) -> dict[str, Values]:
    """Return the confidence interval of coverage in each cell, and the verdict on it."""
    share = BoundedShare.from_replications(cells.values, cells.ok, cells.failed, cells.points, cells.is_counted)
    alone, judged = share.estimate(), judge_cells(manifest, cells, share, get_level(manifest))
    return {"coverage_low": alone.low, "coverage_high": alone.high, "verdict": judged.codes}
