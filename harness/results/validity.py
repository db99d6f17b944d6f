"""Decide which cells of a store keep their nominal coverage, with verdicts that hold for the whole grid at once.

`harness.statistics.verdicts` defines the verdicts. Their intervals are simultaneous: each of G cells has the level
1 − (1 − 0.95)/G (Bonferroni), so that with probability at least 0.95 no verdict in the whole grid is wrong. G is the
number of cells of the whole grid, even if only some of them are selected, but for cells that are the whole line by
arithmetic.

The target L is the exact finite-sample level where a procedure has one (conformal procedures), and 1 − α otherwise. An
exact level assumes exchangeable points. With test points on a grid or from a shifted distribution, or with θ searched
for on the training sample, a verdict measures the cost of breaking exchangeability.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from harness.core.errors import UserError
from harness.core.labels import list_axis_values
from harness.cube.aggregate import count_judged_cells, tabulate_levels
from harness.results.estimates import PARTS, find_measure, make_dataset
from harness.results.measures import MEASURES, Measure
from harness.results.replications import ReplicationReader, Slab, Where, open_replications
from harness.statistics.intervals import LEVEL, Estimate
from harness.statistics.verdicts import BoundedShare, compute_tolerance, judge_estimates, to_words
from harness.store.manifest import Manifest


def verdicts(
    url: str,
    where: Where | None = None,
    tolerance: float | None = None,
    level: float = LEVEL,
    measure: str | None = None,
) -> xr.Dataset:
    """Compute the verdict of every cell of a store, or of the selected ones.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    where : mapping, optional
        Values to select along some axes.
    tolerance : float, optional
        The tolerance τ. Default: 0.02, or α/5 if that is less.
    level : float
        Probability that no verdict in the whole grid is wrong.
    measure : str, optional
        The measure that is compared with the level. Default: coverage, the expected one if the store has it.

    Returns
    -------
    xarray.Dataset
        `verdict` ("" where there is no result), `value`, `se`, the simultaneous `low` and `high`, `target`,
        `tolerance`, `promised` (whether the target is an exact level), `exchangeable` (whether its assumptions hold,
        too), over the axes of the cube.
    """
    chosen = open_replications(url, where)
    manifest = chosen.manifest
    measure = measure or chosen.judged
    cells = count_judged_cells(manifest)
    found = _estimate_bounds(chosen, find_measure(measure), 1 - (1 - level) / cells)
    target, promised = _compute_targets(found, manifest)
    found["target"], found["promised"] = target, promised
    found["tolerance"] = xr.DataArray(
        compute_tolerance(found["alpha"].to_numpy()) if tolerance is None else np.full(found.sizes["alpha"], tolerance),
        dims="alpha",
    )
    free = xr.DataArray([manifest.is_independent(text) for text in found["theta"].values], dims="theta")
    found["exchangeable"] = promised & free & (manifest.test == "iid")
    found["verdict"] = _judge(found)
    found.attrs = {
        "description": f"verdicts on {MEASURES[measure].what}, at {level:g} for the whole grid",
        "level": level,
        "cells": cells,
    }
    return found


def _judge(found: xr.Dataset) -> xr.DataArray:
    """Return the verdicts on estimated shares, as words."""
    parts = (found[name].broadcast_like(found["low"]).transpose(*found["low"].dims) for name in PARTS)
    estimate = Estimate(*(part.to_numpy() for part in parts))
    target, tolerance, promised = (
        found[name].broadcast_like(found["low"]).transpose(*found["low"].dims).to_numpy()
        for name in ("target", "tolerance", "promised")
    )
    codes = judge_estimates(estimate, target, tolerance, promised)
    return found["low"].copy(data=to_words(codes))


def _estimate_bounds(chosen: ReplicationReader, measure: Measure, level: float) -> xr.Dataset:
    """Estimate a share in every cell, with intervals that hold whatever failed replications would have given."""
    if measure.reduction not in ("share", "probability"):
        raise UserError(f"{measure.name} isn't a share: verdicts are on coverage, coverage_expected or coverage_f")

    def of(slab: Slab) -> Estimate:
        values, ok = measure.compute(chosen, slab)
        failed, points = chosen.has_failed(slab)[..., None], chosen.manifest.test_points
        found = BoundedShare.from_replications(values, ok, failed, points, measure.reduction == "share")
        return found.estimate(level)

    return make_dataset(chosen, measure.what, of)


def _compute_targets(found: xr.Dataset, manifest: Manifest) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the target level of each procedure, n, θ and α, and whether it is an exact one."""
    grid = manifest.extent.grid
    levels = xr.DataArray(
        np.array([tabulate_levels(manifest, n) for n in grid.n]),
        dims=("n", "procedure", "theta", "alpha"),
        coords={axis: np.array(list_axis_values(grid, axis), dtype=object) for axis in ("procedure", "theta")}
        | {"n": list(grid.n), "alpha": list(grid.alpha)},
    ).sel({axis: found[axis] for axis in ("n", "procedure", "theta", "alpha")})
    promised = levels.notnull()
    return levels.where(promised, 1 - found["alpha"]), promised
