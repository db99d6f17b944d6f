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
from harness.core.schema.axes import REPLICATION_AXES
from harness.core.text import shorten_repr
from harness.core.types import Values
from harness.cube.reader import guard_opening, sort_axes
from harness.store import arrays
from harness.store.layout import get_group_name
from harness.store.locate import find_store
from harness.store.manifest import Manifest, cache_key
from harness.store.manifest_io import load_manifest
from harness.store.rounds import count_shown_paths
from harness.store.zarr_store import open_checked_store

_CHUNK_BYTES = 64e6
"""Largest size of a chunk, unless a unit is larger: large enough that a million replications take few tasks."""
_MOST_LABELS = 10**8
"""Most labels of paths and draws over all n, which are in memory: 0.8 GB."""


def open_replications(url: str, chunks: Mapping[str, Any] | None = None) -> xr.DataTree:
    """Open the results of every replication as a tree of datasets, one for each n. Nothing is read before it is used.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    chunks : mapping, optional
        Replications of a Dask chunk along `path` and `draw`, such as ``{"path": 5000}``; −1 for all, "auto" for the
        default. They are rounded up to whole units, since a smaller chunk would be decoded several times. Default:
        chunks of up to 64 MB.

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
        counts = _count_replications(backend, manifest)
        labels = {n: _load_labels(one, n, title, counts[n]) for n, one in found.items()}
    tree = {f"n={n}": _make_lazy(found[n], labels[n], backend, manifest, n, chunks or {}) for n in found}
    return xr.DataTree.from_dict(tree)


def _count_replications(backend: Backend, manifest: Manifest) -> dict[int, tuple[int, int]]:
    """Return the paths that results are made from and the draws, at each n, if their labels fit into memory."""
    found = {n: (count_shown_paths(backend, manifest, n), manifest.extent.draws) for n in manifest.extent.grid.n}
    if sum(map(sum, found.values())) > _MOST_LABELS:
        raise UserError(f"{backend.url} has more than {_MOST_LABELS:.0e} paths and draws: open its groups with xarray")
    return found


def _load_labels(stored: xr.Dataset, n: int, title: Mapping[str, Any], counts: tuple[int, int]) -> xr.Dataset:
    """Return the coordinates at one n in memory. Those of path and draw count from 0, and aren't read."""
    numbers = {
        axis: (axis, np.arange(count), stored[axis].attrs if axis in stored.coords else {})
        for axis, count in zip(REPLICATION_AXES, counts, strict=True)
    }
    others = stored.coords.to_dataset().drop_vars(REPLICATION_AXES, errors="ignore").load()
    return others.assign_coords({"n": ((), n, title), **numbers})


def _make_lazy(
    stored: xr.Dataset, labels: xr.Dataset, backend: Backend, manifest: Manifest, n: int, chunks: Mapping[str, Any]
) -> xr.Dataset:
    """Return the replications at one n: labels in memory, and all other variables as Dask arrays."""
    lazy = {}
    paths = labels.sizes["path"]
    for name, one in stored.items():
        source = StoredVariable(backend.url, n, str(name), manifest, one.shape, one.dtype)
        lazy[name] = xr.Variable(one.dims, indexing.LazilyIndexedArray(source), one.attrs)[:paths]
    whole = labels.assign(lazy).assign_attrs(stored.attrs)
    found = sort_axes(whole)
    sizes = _choose_chunks(found, manifest.groups[n].block, chunks)
    # keys in Dask's graph are new ones each time: a run may write to the store before it is opened again
    return found.chunk(sizes, token=uuid4().hex).assign_coords(found.coords)


def _choose_chunks(found: xr.Dataset, unit: tuple[int, int], asked: Mapping[str, Any]) -> dict[str, int]:
    """Return the length of chunks along path and draw: whole units, the same for all variables."""
    block = dict(zip(REPLICATION_AXES, unit, strict=True))
    asked = _parse_chunks(asked, {axis: found.sizes[axis] for axis in block})
    each = max(one.dtype.itemsize * one.size / prod(found.sizes[axis] for axis in block) for one in found.values())
    fitting = max(1, int(_CHUNK_BYTES // (each * prod(unit))))
    across = min(fitting, _count_blocks(found.sizes["draw"], block["draw"]))
    usual = {"path": fitting // across * block["path"], "draw": across * block["draw"]}
    return {axis: _count_blocks(asked.get(axis, usual[axis]), size) * size for axis, size in block.items()}


def _parse_chunks(asked: Any, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the lengths that are asked for along some axes; raise UserError for all but numbers, −1 and "auto"."""
    if asked == "auto":
        return {}
    found = {}
    for axis, length in asked.items() if isinstance(asked, Mapping) else [("", asked)]:
        if axis in sizes and isinstance(length, str) and length == "auto":
            continue
        whole = isinstance(length, int | np.integer) and not isinstance(length, bool)
        if axis not in sizes or not whole or (length < 1 and length != -1):
            how = 'a mapping of path and draw to whole numbers of at least 1, to -1 (all) or to "auto"'
            raise UserError(f"chunks must be {how}, got {shorten_repr(asked)}")
        found[str(axis)] = max(1, sizes[axis]) if length == -1 else int(length)
    return found


def _count_blocks(length: int, block: int) -> int:
    return -(-length // block)


class StoredVariable(BackendArray):
    """A variable of the replications at one n, for xarray: reads from the store what it is indexed with.

    It reads through `harness.store.arrays`, as everything does that reads replications: the store's metadata are
    checked, chunks are no larger than they may be, and errors say what to do. It holds no open handles, so that Dask
    can send it to workers.
    """

    def __init__(
        self, url: str, n: int, name: str, manifest: Manifest, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self._place, self._key = (url, n, name, manifest.generation), cache_key(manifest)
        self.shape, self.dtype = shape, dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, where: tuple[slice | int, ...]) -> Values:
        box = tuple(each if isinstance(each, slice) else slice(each, each + 1) for each in where)
        arrays.forget_other_stores(self._place[0], self._key)
        values = arrays.read(*self._place, box)
        return np.asarray(values[tuple(slice(None) if isinstance(each, slice) else 0 for each in where)])
