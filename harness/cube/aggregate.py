"""From replications to the cube: means over all replications, with errors that know which of them share a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from harness.core.extent import get_axis_lengths
from harness.core.labels import format_theta
from harness.core.schema import CUBE
from harness.core.types import INNER, Array, Status, Values
from harness.statistics.clustered import clustered_error, mean, quantile
from harness.store.inventory import is_damaged
from harness.store.manifest import Manifest

_SLAB = 256e6
"""Bytes of a variable that are reduced at a time."""

Read = Callable[[str, tuple[Any, ...]], Values]
"""Reads a part of a variable of the replications at one n: over path, draw, procedure, γ, θ, λ and so on."""


def compute_cube(manifest: Manifest, n: int, read: Read) -> dict[str, Values]:
    """All variables of the cube at one n, over procedure, γ, θ, λ and α (and quantile)."""
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
    """What is promised at one n: over procedure, θ and α, NaN where nothing is."""
    grid = manifest.extent.grid
    levels = [manifest.get_levels(format_theta(theta)) for theta in grid.theta]
    rows = [[each.get(name, {}).get(n, {}) for each in levels] for name in grid.procedure]
    return np.array([[[row.get(alpha, np.nan) for alpha in grid.alpha] for row in some] for some in rows])


def iter_slabs(manifest: Manifest) -> Iterator[tuple[range, range]]:
    """Places along procedure and θ: all at once if that is small, or else one by one, as shards are cut."""
    lengths = get_axis_lengths(manifest.extent.grid)
    procedures, thetas = range(lengths["procedure"]), range(lengths["theta"])
    count = prod(lengths[axis] for axis in INNER)
    if 8.0 * manifest.extent.paths * manifest.extent.draws * count <= _SLAB:
        yield procedures, thetas
        return
    for p, t in product(procedures, thetas):
        yield range(p, p + 1), range(t, t + 1)


def _reduce_slab(read: Read, procedures: slice, thetas: slice, manifest: Manifest) -> dict[str, Values]:
    everything = slice(None)
    where = (everything, everything, procedures, everything, thetas)
    status = read("status", where)
    ok = ((status == Status.OK) & ~is_damaged(status, read("coverage", where), manifest.extents))[..., None]
    failed = ((status != Status.OK) & (status != Status.EXCLUDED) & (status != Status.NOT_RUN)).sum(axis=(0, 1))
    found: dict[str, Values] = {}
    for name in ("coverage", "coverage_f"):
        found[name], found[f"{name}_se"] = clustered_error(read(name, where), ok)
    for name in ("width_mean", "length_mean", "interval_score", "distance_lower", "distance_upper"):
        found[name] = mean(read(name, where), ok)
    for name in ("unbounded", "empty", "disconnected"):
        found[name] = mean(read(name, where), ok)
    for name in ("width", "length"):
        found[name] = quantile(read(name, where), ok[..., None])
    levels = found["coverage"].shape[-1]
    runs = ok.sum(axis=(0, 1))
    found["replication_count"] = np.repeat(runs, levels, axis=-1)
    with np.errstate(invalid="ignore"):
        share = failed[..., None] / (failed[..., None] + runs)
    found["failed"] = np.repeat(share, levels, axis=-1)
    return found
