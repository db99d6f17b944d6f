"""Create and grow a store, and read and write the blocks of its units.

A worker writes whole chunks that no other worker writes: first all other variables, then status, then the receipt.
"""

from __future__ import annotations

import os
from asyncio import gather
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from math import prod
from typing import Any

import numpy as np
import zarr
from zarr.core.sync import sync

from harness.backends.base import Backend, open_backend
from harness.backends.errors import translate_errors
from harness.core.errors import UserError
from harness.core.schema.measures import list_variables
from harness.core.text import fold_whitespace
from harness.core.types import Block, Unit, Values
from harness.store import chunk_io, receipts
from harness.store.checks.codecs import bounded_codecs as bounded_codecs
from harness.store.chunk_io import Box
from harness.store.layout import WRITE_EMPTY_CHUNKS, get_group_name, make_template
from harness.store.manifest import COPY, FILES, LARGEST_FILE, LARGEST_ROOT, ROOT, Manifest, hash_fingerprint
from harness.store.manifest_io import check_readable, dump_copy, load_manifest
from harness.store.zarr_store import open_checked_store


def publish(backend: Backend, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    """Create a store, or grow it: write the copy of the manifest first, then every key that changes, the root last.

    Parameters
    ----------
    backend : Backend
        Where the store is.
    manifest : Manifest
        The new manifest.
    files : Mapping
        Content of the files that the source needs, by name. If a file changes, the store keeps its old content under a
        name that ends in its hash.
    """
    check_readable(backend.url, manifest)
    wanted = make_template(manifest)
    if len(wanted[ROOT]) > LARGEST_ROOT:
        size = f"{len(wanted[ROOT]) / 1e6:.1f} MB, and {LARGEST_ROOT / 1e6:.1f} MB are the most"
        raise UserError(f"{backend.url} can't hold this study: its metadata take {size}: ask for fewer n or procedures")
    backend.put(COPY, dump_copy(manifest))
    needed = {f"{FILES}/{name}": data for name, data in files.items()}
    for key in needed:
        old = backend.get(key, LARGEST_FILE)
        if old is not None and old != needed[key]:
            backend.put(f"{key}.{sha256(old).hexdigest()[:8]}", old)
    there_are = backend.get_many(wanted) if backend.get(ROOT) is not None else [None] * len(wanted)
    changed = {key: data for (key, data), old in zip(wanted.items(), there_are, strict=True) if old != data}
    changed |= {key: data for key, data in needed.items() if backend.get(key, LARGEST_FILE) != data}
    last = changed.pop(ROOT, None)
    backend.put_many(changed)
    if last is not None:
        backend.put(ROOT, last)


def restore_root(backend: Backend) -> bool:
    """Rebuild a lost or damaged root from the copy of the manifest; return whether that was necessary."""
    manifest = load_manifest(backend)
    if manifest is None or not manifest.root_is_lost:
        return False
    publish(backend, manifest, {})
    clear_handles()
    return True


def write_unit(url: str, manifest: Manifest, block: Block) -> receipts.Receipt:
    """Write a unit's block and its receipt: all other variables first, then status, then the receipt."""
    unit = block.unit
    _check_alignment(manifest, unit)
    where = tuple(slice(each.start, each.stop) for each in (unit.paths, unit.draws))
    *others, status = list_variables(manifest.keep)
    for variables in (others, [status]):
        paths = [f"{get_group_name(unit.n)}/{v.name}" for v in variables]
        _write_chunks(url, paths, manifest.generation, where, [block.values[v.name] for v in variables])
    return receipts.write(open_backend(url), block, manifest.generation, hash_fingerprint(manifest.fingerprint))


def _write_chunks(url: str, paths: Sequence[str], generation: int, where: Box, values: Sequence[Values]) -> None:
    """Write whole chunks of several arrays."""
    backend, far = open_backend(url), []
    for path, new in zip(paths, values, strict=True):
        one = open_local_array(url, path, generation)
        if one is None:
            far.append((open_array(url, path, generation), new))
            continue
        for key, data in chunk_io.encode_chunks(one, where, new):
            backend.put(key, data, make=False)  # don't recreate folders of a store that was removed meanwhile
    if far:
        with translate_errors(url):
            sync(_write_arrays(far, where))


async def _write_arrays(writes: Sequence[tuple[zarr.Array[Any], Values]], where: Box) -> None:
    """Write to several arrays concurrently, since most of the time is spent waiting for the network.

    All writes are awaited even if one fails: asyncio would otherwise report abandoned tasks at exit.
    """
    waits = (one.async_array.setitem(where, new) for one, new in writes)
    for outcome in await gather(*waits, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def _check_alignment(manifest: Manifest, unit: Unit) -> None:
    """Raise AssertionError unless a unit covers its whole block: two writers in one chunk would lose data."""
    rows, columns = manifest.groups[unit.n].block
    ends = (
        min((unit.path_block + 1) * rows, manifest.extent.paths),
        min((unit.draw_block + 1) * columns, manifest.extent.draws),
    )
    starts = unit.path_block * rows, unit.draw_block * columns
    if (unit.paths.start, unit.draws.start) != starts or (unit.paths.stop, unit.draws.stop) != ends:
        raise AssertionError(f"unit {unit.name} isn't aligned with the chunks of its group")


@lru_cache(maxsize=4096)
def open_array(url: str, path: str, generation: int) -> zarr.Array[Any]:
    """Return a cached handle of an array: opening one costs as much as writing a chunk.

    `generation` is part of the cache key, so that the array is opened again after a growth. The handle writes chunks
    that equal the fill value, too, whatever the settings of Zarr in this process are.
    """
    try:
        found = _open_root(url, generation)[path]
    except KeyError:
        raise UserError(f"{url} has no {path}: it was made by a version of ckrr that doesn't store it") from None
    assert isinstance(found, zarr.Array)
    return found.with_config(WRITE_EMPTY_CHUNKS)


@lru_cache(maxsize=4096)
def open_local_array(url: str, path: str, generation: int) -> chunk_io.LocalArray | None:
    """Return the description of an array that `chunk_io` can read and write; None if only Zarr can."""
    return chunk_io.inspect_array(open_array(url, path, generation))


@lru_cache(maxsize=64)
def _open_root(url: str, generation: int) -> zarr.Group:
    """Open the root group. Its consolidated metadata, written last, describe all arrays."""
    with translate_errors(url), bounded_codecs():
        return zarr.open_group(open_checked_store(url), mode="r+", zarr_format=3, use_consolidated=True)


def clear_handles() -> None:
    """Forget all cached handles, because the store at a URL may have been replaced by another."""
    open_local_array.cache_clear()
    open_array.cache_clear()
    _open_root.cache_clear()


_seen: dict[str, str] = {}
"""Key of the manifest of the store at each URL that this process has used handles of."""


def forget_other_stores(url: str, key: str) -> None:
    """Forget all handles if another store was at this URL when this process used it last.

    Parameters
    ----------
    url : str
        Path or URL of the store.
    key : str
        Key of its present manifest (`manifest.cache_key`).
    """
    if _seen.setdefault(url, key) != key:
        clear_handles()
        _seen[url] = key


def read_unit(url: str, manifest: Manifest, unit: Unit, variable: str) -> Values:
    """Read a unit's part of a variable in its current size, with the fill value where nothing was written."""
    where = (slice(unit.paths.start, unit.paths.stop), slice(unit.draws.start, unit.draws.stop))
    return read(url, unit.n, variable, manifest.generation, where)


def read(
    url: str,
    n: int,
    variable: str,
    generation: int,
    where: tuple[Any, ...] = (...,),
    between: Callable[[], None] = lambda: None,
    bounded: bool = True,
) -> Values:
    """Read a selection of a variable of the replications at one n.

    Parameters
    ----------
    url : str
        Path or URL of the store.
    n : int
        Size of the training sample.
    variable : str
        Name of the variable.
    generation : int
        Generation of the store's manifest, for the cache of handles.
    where : tuple
        Index into the array; everything by default.
    between : callable
        Called now and then while many chunks are read. It may wait, or raise to cancel.
    bounded : bool
        Whether to refuse a selection that takes more than a quarter of this machine's memory.

    Raises
    ------
    UserError
        If the selection is too large, or a chunk can't be decoded.
    """
    path = f"{get_group_name(n)}/{variable}"
    with translate_errors(url), translate_decode_errors(url, path):
        if bounded:
            _check_fits(url, open_array(url, path, generation), where)
        one = open_local_array(url, path, generation)
        if one is None or not chunk_io.is_box(where):
            return np.asarray(open_array(url, path, generation)[where])
        return chunk_io.read(one, where, between)


def _check_fits(url: str, found: zarr.Array[Any], where: tuple[Any, ...]) -> None:
    """Raise `UserError` if a selection takes more than a quarter of this machine's memory."""
    slices = [each if isinstance(each, slice) else slice(None) for each in (() if where == (...,) else where)]
    lengths = [len(range(*each.indices(length))) for each, length in zip(slices, found.shape, strict=False)]
    size = found.dtype.itemsize * prod([*lengths, *found.shape[len(slices) :]])
    if size > get_memory_limit():
        what = f"{found.path} takes {size / 1e9:.3g} GB, more than a quarter of this machine's memory"
        raise UserError(f"{url}: {what}: select less with --where, or use a larger machine")


@cache
def get_memory_limit() -> float:
    """Return the largest number of bytes that is read at once: a quarter of this machine's memory."""
    if not hasattr(os, "sysconf"):
        return 4e9
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 4


@contextmanager
def translate_decode_errors(url: str, path: str) -> Iterator[None]:
    """Raise a `UserError` that names the array if a chunk can't be decoded: truncated, corrupted, or not from ckrr."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        mend = f"`ckrr status {url} --verify` finds damaged units, and `ckrr run` computes them again"
        raise UserError(f"{url}: a chunk of {path} can't be read ({fold_whitespace(error)}): {mend}") from None


def write_cube(url: str, generation: int, place_of_n: int, values: dict[str, Values]) -> None:
    """Write the arrays of the cube at one n, which is at the index `place_of_n` of its axis."""
    everything = slice(None)
    where = (*[everything] * 4, slice(place_of_n, place_of_n + 1))
    _write_chunks(url, list(values), generation, where, [np.expand_dims(each, 4) for each in values.values()])
