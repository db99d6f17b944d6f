"""Open the results of every replication with xarray, without reading them: one lazy tree, in chunks for Dask."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any
from uuid import uuid4

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from harness.backends.base import Backend, open_backend
from harness.core.errors import UserError
from harness.core.text import shorten_repr
from harness.core.types import Values
from harness.cube.reader import guard_opening, sort_axes
from harness.store import arrays
from harness.store.layout import get_group_name
from harness.store.locate import find_store
from harness.store.manifest import Manifest
from harness.store.manifest_io import load_manifest
from harness.store.rounds import count_shown_paths
from harness.store.zarr_store import open_checked_store

_CHUNK_BYTES = 64e6
"""Largest size of a chunk, unless a unit is larger: large enough that a million replications take few tasks."""


def open_replications(url: str, chunks: Mapping[str, int] | None = None) -> xr.DataTree:
    """Open the results of every replication as a tree of datasets, one for each n. Nothing is read before it is used.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    chunks : mapping, optional
        Replications of a Dask chunk along `path` and `draw`, such as ``{"path": 5000}``. They are rounded up to whole
        units, since a smaller chunk would be decoded several times. Default: chunks of up to 64 MB.

    Returns
    -------
    xarray.DataTree
        Children ``n=25``, ``n=50`` and so on, in this order. Each has all measures over path, draw and the axes of the
        grid, sorted as those of `open_cube`, and the scalar coordinate `n`. Replications that weren't run are NaN, with
        the status 255. In a study with `until`, it has the paths that results are made from.

    Raises
    ------
    UserError
        If there is no such store, or it is invalid. When data are read later: if they can't be decoded.

    Examples
    --------
    The mean coverage at each n and its standard error between paths. A million replications take as much memory as a
    chunk for each thread:

    >>> from ckrr import study
    >>> def reduce(runs):
    ...     paths = runs.coverage.mean("draw")
    ...     return xr.Dataset({"mean": paths.mean("path"), "se": paths.std("path", ddof=1) / runs.sizes["path"] ** 0.5})
    >>> tree = study.open_replications("results/jump.zarr")  # doctest: +SKIP
    >>> xr.concat([reduce(runs) for runs in tree.children.values()], "n").load()  # doctest: +SKIP
    """
    backend = open_backend(find_store(str(url)))
    manifest = load_manifest(backend)  # before the store, which may grow meanwhile
    assert manifest is not None, "find_store raises if there is no manifest"
    with guard_opening(backend.url):
        store: Any = open_checked_store(backend.url)
        groups = xr.open_groups(store, engine="zarr", chunks=None, consolidated=True, decode_times=False)
        found = {n: groups[f"/{get_group_name(n)}"] for n in sorted(manifest.extent.grid.n)}
        title = groups["/"]["n"].attrs
        labels = {n: one.coords.to_dataset().assign_coords(n=((), n, title)).load() for n, one in found.items()}
    tree = {f"n={n}": _make_lazy(found[n], labels[n], backend, manifest, n, chunks or {}) for n in found}
    return xr.DataTree.from_dict(tree)


def _make_lazy(
    stored: xr.Dataset, labels: xr.Dataset, backend: Backend, manifest: Manifest, n: int, chunks: Mapping[str, int]
) -> xr.Dataset:
    """Return the replications at one n: labels in memory, and all other variables as Dask arrays."""
    lazy = {}
    for name, one in stored.items():
        source = StoredVariable(backend.url, n, str(name), manifest.generation, one.shape, one.dtype)
        lazy[name] = xr.Variable(one.dims, indexing.LazilyIndexedArray(source), one.attrs)
    whole = labels.assign(lazy).assign_attrs(stored.attrs)
    found = sort_axes(whole).isel(path=slice(count_shown_paths(backend, manifest, n)))
    sizes = _choose_chunks(found, manifest.groups[n].block, chunks)
    # keys in Dask's graph are new ones each time: a run may write to the store before it is opened again
    return found.chunk(sizes, token=uuid4().hex).assign_coords(found.coords)


def _choose_chunks(found: xr.Dataset, unit: tuple[int, int], asked: Mapping[str, int]) -> dict[str, int]:
    """Return the length of chunks along path and draw: whole units, the same for all variables."""
    block = dict(zip(("path", "draw"), unit, strict=True))
    for axis, length in asked.items():
        if axis not in block or isinstance(length, bool) or not isinstance(length, int) or length < 1:
            told = f"{axis}={shorten_repr(length)}"
            raise UserError(f"chunks are whole numbers of at least 1 along path and draw, got {told}")
    each = max(one.dtype.itemsize * one.size / prod(found.sizes[axis] for axis in block) for one in found.values())
    fitting = max(1, int(_CHUNK_BYTES // (each * prod(unit))))
    across = min(fitting, _count_blocks(found.sizes["draw"], block["draw"]))
    usual = {"path": fitting // across * block["path"], "draw": across * block["draw"]}
    return {axis: _count_blocks(asked.get(axis, usual[axis]), size) * size for axis, size in block.items()}


def _count_blocks(length: int, block: int) -> int:
    return -(-length // block)


class StoredVariable(BackendArray):
    """A variable of the replications at one n, for xarray: reads from the store what it is indexed with.

    It reads through `harness.store.arrays`, as everything does that reads replications: the store's metadata are
    checked, chunks are no larger than they may be, and errors say what to do. It holds no open handles, so that Dask
    can send it to workers.
    """

    def __init__(
        self, url: str, n: int, name: str, generation: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self._place = url, n, name, generation
        self.shape, self.dtype = shape, dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, where: tuple[slice | int, ...]) -> Values:
        box = tuple(each if isinstance(each, slice) else slice(each, each + 1) for each in where)
        values = arrays.read(*self._place, box)
        return np.asarray(values[tuple(slice(None) if isinstance(each, slice) else 0 for each in where)])
