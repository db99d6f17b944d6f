"""Open the cube with xarray, sorted along its axes."""

from __future__ import annotations

import numpy as np
import xarray as xr

from harness.backends.base import open_backend
from harness.backends.errors import translate_errors
from harness.store.checks.codecs import bounded_codecs
from harness.store.zarr_store import open_checked_store


def open_cube(url: str) -> xr.Dataset:
    """Open the cube of a store: coverage, widths and all other measures over the axes of the grid.

    Parameters
    ----------
    url : str
        Path or URL of the store.

    Returns
    -------
    xarray.Dataset
        Variables over procedure, gamma, theta, lam, n and alpha.

    Notes
    -----
    `xarray.open_zarr(store)` returns the same data in the order in which values were added to the store. Here numeric
    axes are sorted, and along theta the searches come last.
    """
    url = open_backend(str(url)).url
    with translate_errors(url), bounded_codecs():
        cube = xr.open_zarr(open_checked_store(url), chunks=None, consolidated=True, decode_times=False)
    by_value = np.argsort(cube["theta_value"].to_numpy(), kind="stable")  # searches are NaN, which sorts last
    in_order: xr.Dataset = cube.isel(theta=by_value).sortby(["gamma", "lam", "n", "alpha"])
    return in_order
