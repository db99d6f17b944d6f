"""Opening the cube with xarray: sorted along its axes, whatever the order in which they grew."""

from __future__ import annotations

import numpy as np
import xarray as xr

from harness.backends.base import open_backend
from harness.backends.errors import translate_errors
from harness.store.codecs import bounded_codecs
from harness.store.zarr_store import open_checked_store


def open_cube(url: str) -> xr.Dataset:
    """The cube of a store: coverage, widths and the rest over procedure, gamma, theta, lam, n and alpha.

    `xarray.open_zarr(store)` gives the same; here numeric axes are sorted, and θ has its searches last.
    """
    url = open_backend(str(url)).url
    with translate_errors(url), bounded_codecs():
        cube = xr.open_zarr(open_checked_store(url), chunks=None, consolidated=True, decode_times=False)
    by_value = np.argsort(cube["theta_value"].to_numpy(), kind="stable")  # NaN, a search, goes last
    in_order: xr.Dataset = cube.isel(theta=by_value).sortby(["gamma", "lam", "n", "alpha"])
    return in_order
