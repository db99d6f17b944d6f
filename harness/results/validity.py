"""Decide which cells keep their nominal coverage, with verdicts that hold for the whole grid at once.

With c the coverage of a cell, L its level and τ a tolerance, a cell is ::

    invalid        c < L − τ
    valid          c ≥ L − τ
    conservative   c > L + τ          (also valid, and wider than necessary)

A verdict is given only if it holds for all c in the confidence interval of the cell; otherwise the cell is
**undecided**. The intervals are simultaneous: each of G cells has the level 1 − (1 − 0.95)/G (Bonferroni), so that with
probability at least 0.95 no verdict in the whole grid is wrong. G is the number of cells of the whole grid, even if
only some of them are selected.

A failed replication has no coverage. It counts as 0 for the lower end of the interval and as 1 for the upper end, so a
verdict holds whatever it would have been.

Where the exact level is 1, the region is the whole line by arithmetic (α = 0.001 at n = 25). Such a cell is valid,
unless a region has missed all the same.

L is the exact finite-sample level where a procedure has one (conformal procedures), and 1 − α otherwise. An exact level
assumes exchangeable points. With test points on a grid or from a shifted distribution, or with θ searched for on the
training sample, a verdict measures the cost of breaking exchangeability. The default of τ is 0.02, or α/5 if that is
less.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from harness.core.extent import count_cells
from harness.core.labels import list_axis_values
from harness.cube.aggregate import tabulate_levels
from harness.results.estimates import estimate_measure, find_measure, make_dataset
from harness.results.measures import MEASURES, Measure
from harness.results.replications import ReplicationReader, Slab, Where, open_replications
from harness.statistics.intervals import LEVEL, Estimate
from harness.store.manifest import Manifest

VALID, CONSERVATIVE, INVALID, UNDECIDED, EMPTY = "valid", "conservative", "invalid", "undecided", ""
VERDICTS = (VALID, CONSERVATIVE, INVALID, UNDECIDED)
TOLERANCE, SHARE_OF_ALPHA = 0.02, 0.2
"""The default tolerance τ is the smaller of `TOLERANCE` and `SHARE_OF_ALPHA`·α."""


def compute_tolerances(alpha: xr.DataArray, tolerance: float | None) -> xr.DataArray:
    """Return the tolerance τ at each α: `tolerance` everywhere, or the default if it is None."""
    return xr.full_like(alpha, tolerance) if tolerance is not None else (SHARE_OF_ALPHA * alpha).clip(max=TOLERANCE)


def verdicts(
    url: str,
    where: Where | None = None,
    tolerance: float | None = None,
    level: float = LEVEL,
    measure: str = "coverage",
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
    measure : str
        The measure that is compared with the level.

    Returns
    -------
    xarray.Dataset
        `verdict` ("" where there is no result), `value`, `se`, the simultaneous `low` and `high`, `target`,
        `tolerance`, `promised` (whether the target is an exact level), `exchangeable` (whether its assumptions hold,
        too), over the axes of the cube.
    """
    chosen = open_replications(url, where)
    manifest = chosen.manifest
    each = 1 - (1 - level) / max(count_cells(manifest.extent), 1)
    found = _estimate_bounds(chosen, find_measure(measure), each)
    target, promised = _compute_targets(found, manifest)
    found["target"], found["promised"] = target, promised
    found["tolerance"] = compute_tolerances(found["alpha"], tolerance)
    free = xr.DataArray([manifest.is_independent(text) for text in found["theta"].values], dims="theta")
    found["exchangeable"] = promised & free & (manifest.test == "iid")
    verdict = judge(found["low"], found["high"], target, found["tolerance"])
    is_certain = promised & (target == 1) & (found["low"].notnull() & (found["value"] == 1))
    found["verdict"] = verdict.where(~is_certain, VALID).where(found["replications"] > 0, EMPTY)
    found.attrs = {
        "description": f"verdicts on {MEASURES[measure].what}, at {level:g} for the whole grid",
        "level": level,
        "cells": count_cells(manifest.extent),
    }
    return found


def _estimate_bounds(chosen: ReplicationReader, measure: Measure, level: float) -> xr.Dataset:
    """Estimate a share in every cell, with intervals that hold whatever failed replications would have given."""

    def of(slab: Slab) -> Estimate:
        values, ok = measure.compute(chosen, slab)
        found, failed = estimate_measure(measure, values, ok, chosen, level), chosen.has_failed(slab)[..., None]
        if not failed.any():
            return found
        worst, best = (
            estimate_measure(measure, np.where(failed, filled, values), ok | failed, chosen, level)
            for filled in (0.0, 1.0)
        )
        return replace(found, low=np.fmin(found.low, worst.low), high=np.fmax(found.high, best.high))

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


def judge(low: xr.DataArray, high: xr.DataArray, target: xr.DataArray, tolerance: xr.DataArray) -> xr.DataArray:
    """Return the verdicts that follow from the ends of confidence intervals, the targets and the tolerances."""
    least, most = target - tolerance, target + tolerance
    verdict = xr.full_like(low, UNDECIDED, dtype=object)
    verdict = verdict.where(~(low >= least - _ROUNDING), VALID)
    verdict = verdict.where(~(low > most), CONSERVATIVE)
    return verdict.where(~(high < least), INVALID)


_ROUNDING = 1e-12
"""Allowance for the rounding error of 1 − α − τ."""
