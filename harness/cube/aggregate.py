"""Reduce replications to the cube, with standard errors clustered by path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from harness.core.extent import get_axis_lengths
from harness.core.labels import format_theta
from harness.core.schema import CUBE, MEASURES
from harness.core.types import INNER, Array, Status, Values
from harness.statistics.clustered import clustered_error
from harness.statistics.reduce import compute_centre
from harness.store.inventory import is_damaged
from harness.store.manifest import Manifest

_SLAB = 256e6
"""Largest part of a variable that is reduced at once, in bytes."""

Read = Callable[[str, tuple[Any, ...]], Values]
"""Function from the name of a variable and an index to its values at one n, over path, draw, procedure, γ, θ, λ, …"""


def compute_cube(manifest: Manifest, n: int, read: Read) -> dict[str, Values]:
    """Compute all variables of the cube at one n.

    Returns
    -------
    dict
        Name of each variable to its values, over procedure, γ, θ, λ and α (and quantile).
    """
    grid = manifest.extent.grid
    shape = tuple(len(axis) for axis in (grid.procedure, grid.gamma, grid.theta, grid.lam, grid.alpha))
    found: dict[str, Values] = {}
    for summary in CUBE:
        found[summary.name] = np.zeros((*shape, 3) if summary.quantile else shape, dtype=summary.dtype)
    found["level"][:] = tabulate_levels(manifest, n)[:, None, :, None, :]
    for p, t in iter_slabs(manifest):
        procedures, thetas = slice(p.start, p.stop), slice(t.start, t.stop)
        part = _reduce_slab(read, procedures, thetas, manifest)
        for name, values in part.items():
            found[name][procedures, :, thetas] = values
    return found


def tabulate_levels(manifest: Manifest, n: int) -> Array:
    """Return the exact levels at one n, over procedure, θ and α; NaN for procedures without an exact level."""
    grid = manifest.extent.grid
    levels = [manifest.get_levels(format_theta(theta)) for theta in grid.theta]
    rows = [[each.get(name, {}).get(n, {}) for each in levels] for name in grid.procedure]
    return np.array([[[row.get(alpha, np.nan) for alpha in grid.alpha] for row in some] for some in rows])


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


def _reduce_slab(read: Read, procedures: slice, thetas: slice, manifest: Manifest) -> dict[str, Values]:
    """Compute the variables of the cube for some procedures and θ."""
    everything = slice(None)
    where = (everything, everything, procedures, everything, thetas)
    status = read("status", where)
    ok = ((status == Status.OK) & ~is_damaged(status, read("coverage", where), manifest.extents))[..., None]
    failed = ((status != Status.OK) & (status != Status.EXCLUDED) & (status != Status.NOT_RUN)).sum(axis=(0, 1))
    found: dict[str, Values] = {}
    for one in MEASURES:
        values, counts = read(one.name, where), ok[..., None] if "quantile" in one.dims else ok
        if one.error is None:
            found[one.name] = compute_centre(values, counts, one.reduction)
        else:
            found[one.name], found[f"{one.name}_se"] = clustered_error(values, counts)
    levels = found["coverage"].shape[-1]
    runs = ok.sum(axis=(0, 1))
    found["replication_count"] = np.repeat(runs, levels, axis=-1)
    with np.errstate(invalid="ignore"):
        share = failed[..., None] / (failed[..., None] + runs)
    found["failed"] = np.repeat(share, levels, axis=-1)
    return found
