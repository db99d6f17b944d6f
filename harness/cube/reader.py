"""Open the cube with xarray, sorted along its axes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import xarray as xr

from harness.backends.base import open_backend
from harness.backends.errors import translate_errors
from harness.store import arrays
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
    with guard_opening(url):
        cube = xr.open_zarr(open_checked_store(url), chunks=None, consolidated=True, decode_times=False)
    return sort_axes(cube)


@contextmanager
def guard_opening(url: str) -> Iterator[None]:
    """Guard the opening of arrays, which may come from a stranger: chunks are bounded, bad labels are a `UserError`."""
    with translate_errors(url), arrays.translate_decode_errors(url, "the labels"), bounded_codecs():
        yield


def sort_axes(found: xr.Dataset) -> xr.Dataset:
    """Sort numeric axes, and put searches last along theta. Axes that are in order cost nothing when data are read."""
    by = {axis: axis for axis in ("gamma", "lam", "n", "alpha") if axis in found.dims} | {"theta": "theta_value"}
    orders = {axis: np.argsort(found[name].to_numpy(), kind="stable") for axis, name in by.items()}  # NaN is last
    return found.isel({axis: order for axis, order in orders.items() if (np.diff(order) < 0).any()})
