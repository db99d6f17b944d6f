"""Verdicts: which cells keep their promise, decided for the whole grid at once.

With c the coverage of a cell, L its level and τ a tolerance, a cell is ::

    invalid        c < L − τ
    valid          c ≥ L − τ
    conservative   c > L + τ          (valid, too, and wider than it need be)

as far as the intervals show it: a verdict is given only if the whole of a cell's interval says so, and **undecided**
otherwise. The intervals hold together: each of G cells has the level 1 − (1 − 0.95)/G (Bonferroni), so that with
probability at least 0.95 no verdict in the whole grid is wrong. G is the whole grid's, whatever slice is looked at.

L is the exact finite-sample level where one is promised (conformal procedures), 1 − α otherwise. An exact level is for
exchangeable points: with test points on a grid or from a shifted law, or θ searched for on the train sample, a verdict
measures what breaking exchangeability costs. Unless told, τ is 0.02, or α/5 if that is less.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from harness.core.extent import count_cells
from harness.core.labels import list_axis_values
from harness.cube.aggregate import tabulate_levels
from harness.results.estimates import estimate
from harness.results.measures import MEASURES
from harness.results.replications import Where, open_replications
from harness.statistics.intervals import LEVEL
from harness.store.manifest import Manifest

VALID, CONSERVATIVE, INVALID, UNDECIDED, EMPTY = "valid", "conservative", "invalid", "undecided", ""
VERDICTS = (VALID, CONSERVATIVE, INVALID, UNDECIDED)
TOLERANCE, SHARE_OF_ALPHA = 0.02, 0.2


def compute_tolerances(alpha: xr.DataArray, tolerance: float | None) -> xr.DataArray:
    """τ at each α."""
    return xr.full_like(alpha, tolerance) if tolerance is not None else (SHARE_OF_ALPHA * alpha).clip(max=TOLERANCE)


def verdicts(
    url: str,
    where: Where | None = None,
    tolerance: float | None = None,
    level: float = LEVEL,
    measure: str = "coverage",
) -> xr.Dataset:
    """The verdict of every cell, or of those chosen, beside what it is from.

    Returns
    -------
    xarray.Dataset
        `verdict` ("" where nothing was run), `value`, `se`, the simultaneous `low` and `high`, `target`, `tolerance`,
        `promised` (the target is an exact level), `exchangeable` (and its conditions hold), over the cube's axes.
    """
    chosen = open_replications(url, where)
    manifest = chosen.manifest
    each = 1 - (1 - level) / max(count_cells(manifest.extent), 1)
    found = estimate(url, measure, where, each)
    target, promised = _compute_targets(found, manifest)
    found["target"], found["promised"] = target, promised
    found["tolerance"] = compute_tolerances(found["alpha"], tolerance)
    free = xr.DataArray([manifest.is_independent(text) for text in found["theta"].values], dims="theta")
    found["exchangeable"] = promised & free & (manifest.test == "iid")
    found["verdict"] = judge(found["low"], found["high"], target, found["tolerance"]).where(
        found["replications"] > 0, EMPTY
    )
    found.attrs = {
        "description": f"verdicts on {MEASURES[measure].what}, at {level:g} for the whole grid",
        "level": level,
        "cells": count_cells(manifest.extent),
    }
    return found


def _compute_targets(found: xr.Dataset, manifest: Manifest) -> tuple[xr.DataArray, xr.DataArray]:
    """The level of each procedure, n, θ and α, and whether it is an exact one."""
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
    """What intervals say about a target."""
    least, most = target - tolerance, target + tolerance
    verdict = xr.full_like(low, UNDECIDED, dtype=object)
    verdict = verdict.where(~(low >= least - _ROUNDING), VALID)
    verdict = verdict.where(~(low > most), CONSERVATIVE)
    return verdict.where(~(high < least), INVALID)


_ROUNDING = 1e-12
"""1 − α − τ isn't exact."""
