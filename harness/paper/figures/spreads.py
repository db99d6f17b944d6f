"""Compute what figures 3, 5, 6 and 7 show: quartiles of coverage, and quantiles of widths."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from harness.core.labels import list_axis_values
from harness.core.types import Array, Status, Values
from harness.results.replications import ReplicationReader
from harness.store import arrays

QUARTILES = (0.25, 0.5, 0.75)
"""Quantiles of coverage over replications."""
WIDTHS = (0.05, 0.5, 1.0)
"""Quantiles of mean widths over test points; 1 is the maximum."""


def compute_coverage_quartiles(runs: ReplicationReader, gamma: float, theta: str, sizes: Sequence[int]) -> xr.DataArray:
    """Compute the quartiles of coverage over replications.

    Returns an array over part (the three quartiles), n, procedure, λ and α.
    """
    return _compute_spread(runs, gamma, theta, sizes, "coverage", lambda values: np.quantile(values, QUARTILES, axis=0))


def compute_width_quantiles(runs: ReplicationReader, gamma: float, theta: str, sizes: Sequence[int]) -> xr.DataArray:
    """Compute the 5 % quantile, median and maximum over test points of the mean width.

    The mean at a test point is over replications, and infinite if any of them has an unbounded region there. Returns an
    array over part (the three numbers), n, procedure, λ and α.
    """

    def over_points(values: Values) -> Array:
        found: Array = np.quantile(values.mean(axis=0, dtype=float), WIDTHS, axis=1, method="inverted_cdf")
        return found

    return _compute_spread(runs, gamma, theta, sizes, "point_width", over_points)


def _compute_spread(
    runs: ReplicationReader,
    gamma: float,
    theta: str,
    sizes: Sequence[int],
    variable: str,
    of: Callable[[Values], Array],
) -> xr.DataArray:
    """Apply `of`, which returns three numbers per α, to the replications of each cell."""
    grid = runs.manifest.extent.grid
    shape = (3, len(sizes), len(grid.procedure), len(grid.lam), len(grid.alpha))
    dims = ("part", "n", "procedure", "lam", "alpha")
    coords = {"n": list(sizes), "procedure": list(grid.procedure), "lam": list(grid.lam), "alpha": list(grid.alpha)}
    found = xr.DataArray(np.full(shape, np.nan), dims=dims, coords=coords)
    for i, n in enumerate(sizes):
        values, status = (_read(runs, gamma, theta, n, name) for name in (variable, "status"))
        for p, r in np.ndindex(status.shape[1:]):
            ok = status[:, p, r] == Status.OK
            if ok.any():
                found[:, i, p, r] = of(values[ok, p, r])
    return found


def _read(runs: ReplicationReader, gamma: float, theta: str, n: int, variable: str) -> Values:
    """Read a variable over replications, procedure, λ and its further axes."""
    grid, everything = runs.manifest.extent.grid, slice(None)
    places = (grid.gamma.index(gamma), list(list_axis_values(grid, "theta")).index(theta))
    values = arrays.read(runs.url, n, variable, runs.manifest.generation, (everything, everything, everything, *places))
    return values.reshape(-1, *values.shape[2:])
