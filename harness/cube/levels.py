"""Find what coverage is compared with in each cell of a store, and which coverage that is."""

from __future__ import annotations

import numpy as np

from harness.core.extent import find_distinct, find_included
from harness.core.labels import format_theta
from harness.core.schema.axes import CELL
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.core.types import Array, Bools, Extent
from harness.store.manifest import Manifest


def tabulate_levels(manifest: Manifest, n: int) -> Array:
    """Return the exact levels at one n, over procedure, θ and α; NaN for procedures without an exact level."""
    return _tabulate_levels(manifest, manifest.extent, n)


def _tabulate_levels(manifest: Manifest, extent: Extent, n: int) -> Array:
    grid = extent.grid
    thetas = [format_theta(theta) for theta in grid.theta]
    rows = [[manifest.get_levels(theta, name).get(n, {}) for theta in thetas] for name in grid.procedure]
    return np.array([[[row.get(alpha, np.nan) for alpha in grid.alpha] for row in some] for some in rows])


def compute_targets(manifest: Manifest, n: int) -> tuple[Array, Bools]:
    """Return what coverage is compared with at one n, and whether it is an exact level.

    Returns
    -------
    target, exact : array
        Over procedure, γ, θ, λ and α; the axes γ and λ have length 1.
    """
    return _compute_targets(manifest, manifest.extent, n)


def _compute_targets(manifest: Manifest, extent: Extent, n: int) -> tuple[Array, Bools]:
    levels = _tabulate_levels(manifest, extent, n)[:, None, :, None, :]
    exact = ~np.isnan(levels)
    return np.where(exact, levels, 1.0 - np.array(extent.grid.alpha)), exact


def count_judged_cells(manifest: Manifest) -> int:
    """Return the number of distinct cells among which verdicts share their probability of error.

    These are all cells that any extent of the store has had, but for those whose exact level is 1: they are the whole
    line by arithmetic, so nothing can be wrong about them. Cells that differ only in a θ or λ that their procedure
    doesn't use have the same results, and count once.
    """
    whole = manifest.extent
    masks = (find_uncertain(manifest, whole, n) & find_ever_included(manifest, n)[..., None] for n in whole.grid.n)
    return max(sum(int(find_distinct(mask, manifest.uses, whole.grid).sum()) for mask in masks), 1)


def find_ever_included(manifest: Manifest, n: int) -> Bools:
    """Return the cells at one n that some extent of a store includes, over procedure, γ, θ and λ."""
    grid = manifest.extent.grid
    found = np.zeros([len(getattr(grid, axis)) for axis in CELL], dtype=bool)
    for extent in manifest.extents:
        if n in extent.grid.n:
            places = [[getattr(grid, axis).index(each) for each in getattr(extent.grid, axis)] for axis in CELL]
            found[np.ix_(*places)] |= find_included(extent, n)
    return found


def find_uncertain(manifest: Manifest, extent: Extent, n: int) -> Bools:
    """Return which cells of an extent aren't the whole line by arithmetic, over procedure, γ, θ, λ and α."""
    target, exact = _compute_targets(manifest, extent, n)
    grid = extent.grid
    shape = tuple(len(axis) for axis in (grid.procedure, grid.gamma, grid.theta, grid.lam, grid.alpha))
    return np.broadcast_to(~(exact & (target == 1)), shape)


def get_judged_measure(manifest: Manifest) -> str:
    """Return the name of the coverage that verdicts are on: the expected one if the store has it."""
    return COVERAGE_EXPECTED if COVERAGE_EXPECTED in manifest.keep else "coverage"
