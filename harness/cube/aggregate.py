"""Reduce replications to the cube, with standard errors clustered by path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from harness.core.extent import find_included, get_axis_lengths
from harness.core.labels import format_theta
from harness.core.schema import COVERAGE_EXPECTED, list_cube_variables, list_measures
from harness.core.types import FAILED, INNER, Array, Bools, Status, Values
from harness.statistics.intervals import LEVEL
from harness.statistics.reduce import compute_centre, compute_error
from harness.statistics.verdicts import BoundedShare, compute_tolerance, judge_estimates
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
    for summary in list_cube_variables(manifest.keep):
        found[summary.name] = np.zeros((*shape, 3) if summary.quantile else shape, dtype=summary.dtype)
    found["level"][:] = tabulate_levels(manifest, n)[:, None, :, None, :]
    found["target"][:], _ = compute_targets(manifest, n)
    for p, t in iter_slabs(manifest):
        procedures, thetas = slice(p.start, p.stop), slice(t.start, t.stop)
        part = _reduce_slab(read, procedures, thetas, manifest, n)
        for name, values in part.items():
            found[name][procedures, :, thetas] = values
    return found


def tabulate_levels(manifest: Manifest, n: int) -> Array:
    """Return the exact levels at one n, over procedure, θ and α; NaN for procedures without an exact level."""
    grid = manifest.extent.grid
    levels = [manifest.get_levels(format_theta(theta)) for theta in grid.theta]
    rows = [[each.get(name, {}).get(n, {}) for each in levels] for name in grid.procedure]
    return np.array([[[row.get(alpha, np.nan) for alpha in grid.alpha] for row in some] for some in rows])


def compute_targets(manifest: Manifest, n: int) -> tuple[Array, Bools]:
    """Return what coverage is compared with at one n, and whether it is an exact level.

    Returns
    -------
    target, exact : array
        Over procedure, γ, θ, λ and α; the axes γ and λ have length 1.
    """
    levels = tabulate_levels(manifest, n)[:, None, :, None, :]
    exact = ~np.isnan(levels)
    return np.where(exact, levels, 1.0 - np.array(manifest.extent.grid.alpha)), exact


def count_judged_cells(manifest: Manifest) -> int:
    """Return the number of cells among which verdicts share their probability of error.

    Cells whose exact level is 1 are not among them: their regions are the whole line by arithmetic.
    """
    extent = manifest.extent
    count = 0
    for n in extent.grid.n:
        target, exact = compute_targets(manifest, n)
        uncertain = np.broadcast_to(~(exact & (target == 1)), (*find_included(extent, n).shape, len(extent.grid.alpha)))
        count += int((uncertain & find_included(extent, n)[..., None]).sum())
    return max(count, 1)


def get_judged_measure(manifest: Manifest) -> str:
    """Return the name of the coverage that verdicts are on: the expected one if the store has it."""
    return COVERAGE_EXPECTED if COVERAGE_EXPECTED in manifest.keep else "coverage"


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


def _reduce_slab(read: Read, procedures: slice, thetas: slice, manifest: Manifest, n: int) -> dict[str, Values]:
    """Compute the variables of the cube for some procedures and θ, but for those that need no replications."""
    everything = slice(None)
    where = (everything, everything, procedures, everything, thetas)
    status = read("status", where)
    ok = ((status == Status.OK) & ~is_damaged(status, read("coverage", where), manifest.extents))[..., None]
    failed = np.isin(status, FAILED)[..., None]
    found: dict[str, Values] = {}
    for one in list_measures(manifest.keep):
        values, counts = read(one.name, where), ok[..., None] if "quantile" in one.dims else ok
        if one.error is None:
            found[one.name] = compute_centre(values, counts, one.reduction)
        else:
            found[one.name], found[f"{one.name}_se"] = compute_error(values, counts, one.reduction)
        if one.name == get_judged_measure(manifest):
            share = BoundedShare.from_replications(
                values, ok, failed, manifest.test_points, is_counted=one.reduction == "share"
            )
            found |= _judge_share(share, manifest, n, procedures, thetas)
    levels = found["coverage"].shape[-1]
    runs, lost = ok.sum(axis=(0, 1)), failed.sum(axis=(0, 1))
    found["replication_count"] = np.repeat(runs, levels, axis=-1)
    with np.errstate(invalid="ignore"):
        found["failed"] = np.repeat(lost / (lost + runs), levels, axis=-1)
    return found


def _judge_share(
    share: BoundedShare, manifest: Manifest, n: int, procedures: slice, thetas: slice
) -> dict[str, Values]:
    """Return the confidence interval of coverage in each cell, and the verdict on it."""
    alone = share.estimate()
    together = share.estimate(1 - (1 - LEVEL) / count_judged_cells(manifest))
    target, exact = compute_targets(manifest, n)
    tolerance = compute_tolerance(np.array(manifest.extent.grid.alpha))
    verdict = judge_estimates(together, target[procedures, :, thetas], tolerance, exact[procedures, :, thetas])
    return {"coverage_low": alone.low, "coverage_high": alone.high, "verdict": verdict}
