"""Read and write small chunks in a local directory directly, faster than through Zarr.

Zarr takes a millisecond per chunk, because it switches between threads many times. This module handles only arrays of
the layout that `layout.py` creates: one file per chunk, all in one folder, little-endian, zstd, crc32c. Everything else
(shards, buckets, selections that are not boxes) goes through Zarr. Values and bytes are identical.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from math import prod
from time import perf_counter
from typing import Any, TypeAlias

import google_crc32c
import numpy as np
import zarr
from numcodecs.zstd import Zstd, decompress
from zarr.codecs import BytesCodec, Crc32cCodec, ZstdCodec
from zarr.core.chunk_key_encodings import DefaultChunkKeyEncoding
from zarr.core.metadata import ArrayV3Metadata
from zarr.storage import LocalStore

from harness.core.types import Values
from harness.parsing.files import read_file, resolve
from harness.store.checks.codecs import check_frame

_CODECS = [BytesCodec, ZstdCodec, Crc32cCodec]
_BATCH, _FAR, _TOGETHER, _LISTED = 64, 3e-4, 16, 10_000
"""Chunks per batch; seconds per chunk from which a file system is remote; threads that read from it; names per listing.

The fastest chunk of the first batch decides. A local file system takes a tenth of this time, and several threads would
only wait for each other.
"""
_EVERYTHING = slice(None)
_CHECK = 4
"""Bytes of the checksum at the end of a chunk."""

Box: TypeAlias = tuple[Any, ...]
"""Slices of step 1 for some or all of the leading axes; or a single ellipsis."""


@dataclass(frozen=True)
class LocalArray:
    """An array in a local directory, with the layout that this module can read and write."""

    folder: str
    path: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: Any
    zstd: Zstd

    def resolve_box(self, where: Box) -> list[slice]:
        """Return the start and stop of a selection along every axis."""
        told = () if where == (...,) else where
        wanted = [*told, *[slice(None)] * (len(self.shape) - len(told))]
        ends = [each.indices(length) for each, length in zip(wanted, self.shape, strict=True)]
        return [slice(start, max(start, stop)) for start, stop, _ in ends]

    @cached_property
    def chunk_bytes(self) -> int:
        """Size of an uncompressed chunk in bytes."""
        return prod(self.chunks) * self.dtype.itemsize

    @cached_property
    def max_file_bytes(self) -> int:
        """Largest size of a chunk's file in bytes: incompressible data get a little longer."""
        return 2 * self.chunk_bytes + 1024

    @cached_property
    def chunk_counts(self) -> tuple[int, ...]:
        """Number of chunks along every axis."""
        return tuple(-(-length // size) for length, size in zip(self.shape, self.chunks, strict=True))

    @cached_property
    def lead(self) -> int:
        """Number of axes up to the last one with several chunks. A chunk's place is its index along these."""
        return max((axis + 1 for axis, count in enumerate(self.chunk_counts) if count > 1), default=1)

    @cached_property
    def tail(self) -> str:
        """End of the keys of all chunks: the index 0 along the other axes."""
        return ".0" * (len(self.shape) - self.lead)

    def make_key(self, place: tuple[int, ...]) -> str:
        """Return the key of a chunk, relative to the array."""
        return f"c.{'.'.join(map(str, place))}{self.tail}"


def inspect_array(array: zarr.Array[Any]) -> LocalArray | None:
    """Return the description of a Zarr array that this module can read and write; None if it can't."""
    metadata, store = array.metadata, array.store
    if not isinstance(metadata, ArrayV3Metadata) or not isinstance(store, LocalStore):
        return None
    keys = metadata.chunk_key_encoding
    if not isinstance(keys, DefaultChunkKeyEncoding) or keys.separator != ".":
        return None
    codecs = metadata.codecs
    if len(codecs) != len(_CODECS) or not all(map(isinstance, codecs, _CODECS)):
        return None
    level = next(codec.level for codec in metadata.codecs if isinstance(codec, ZstdCodec))
    folder = resolve(str(store.root), f"{array.path}/_").removesuffix("/_")
    return LocalArray(folder, array.path, array.shape, array.chunks, array.dtype, array.fill_value, Zstd(level=level))


def is_box(where: tuple[Any, ...]) -> bool:
    """Return whether a selection is a box: a slice of step 1 along every axis.

    Examples
    --------
    >>> is_box((slice(2, None),)), is_box((...,)), is_box((0,)), is_box((slice(0, 9, 2),))
    (True, True, False, False)
    """
    return where == (...,) or all(isinstance(each, slice) and each.step in (None, 1) for each in where)


def read(one: LocalArray, where: Box, between: Callable[[], None] = lambda: None) -> Values:
    """Read a box of an array, with the fill value where a chunk is missing.

    Parameters
    ----------
    one : LocalArray
        The array.
    where : Box
        The selection.
    between : callable
        Called after each batch of chunks. It may wait, or raise to cancel.

    Raises
    ------
    ValueError
        If a chunk is damaged.
    """
    box = one.resolve_box(where)
    out = np.full([each.stop - each.start for each in box], one.fill, dtype=one.dtype)
    places = _find_chunks(one, box) if out.size else iter(())
    overlaps = _Overlaps(one, box)

    def put(batch: Iterable[tuple[int, ...]]) -> None:  # no two threads write to the same values
        before, chunk = b"", None
        for place in batch:
            raw = _read_file(one, place)
            if raw is None:
                continue
            if chunk is None or raw != before:  # many chunks are equal, such as the status of all that went well
                before, chunk = raw, _decode(one, raw)
            here, target = overlaps.find(place)
            out[target] = chunk[here]

    far = min((_measure_seconds(put, [place]) for place in islice(places, _BATCH)), default=0.0) >= _FAR
    batches = iter(lambda: list(islice(places, _BATCH)), [])
    with ThreadPoolExecutor(_TOGETHER) if far else nullcontext() as pool:
        for _ in map(put, batches) if pool is None else pool.map(put, batches):
            between()
    return out


def _measure_seconds(put: Callable[[list[tuple[int, ...]]], None], batch: list[tuple[int, ...]]) -> float:
    start = perf_counter()
    put(batch)
    return perf_counter() - start


def encode_chunks(one: LocalArray, where: Box, values: Values) -> Iterator[tuple[str, bytes]]:
    """Yield the keys and bytes of the chunks of a box, which must cover whole chunks up to the ends of the axes."""
    box = one.resolve_box(where)
    overlaps = _Overlaps(one, box)
    for place in product(*_get_chunk_ranges(one, box)[: one.lead]):
        here, target = overlaps.find(place)
        chunk = np.full(one.chunks, one.fill, dtype=one.dtype)
        chunk[here] = values[target]
        inner = bytes(one.zstd.encode(chunk))
        yield f"{one.path}/{one.make_key(place)}", inner + _compute_checksum(inner)


def _find_chunks(one: LocalArray, box: list[slice]) -> Iterator[tuple[int, ...]]:
    """Return the indices of the chunks to read: of less than half of the array all, otherwise those in the directory.

    A new study has hardly any chunks. And after a failed lookup by name, NFS may report a file as missing for half a
    minute, even if it exists by then.
    """
    ranges = _get_chunk_ranges(one, box)
    if 2 * prod(map(len, ranges)) < prod(one.chunk_counts):
        return product(*ranges[: one.lead])
    return _list_chunks(one, ranges[: one.lead])


def _list_chunks(one: LocalArray, ranges: list[range]) -> Iterator[tuple[int, ...]]:
    """Yield the places of existing chunks from a listing of the directory, in order.

    They are held as flat integers, because very many names would take much memory.
    """
    place = r"\.".join(["[0-9]{1,18}"] * one.lead)
    pattern = re.compile(rf"^c\.({place}){re.escape(one.tail)}$", re.MULTILINE)
    counts, found = one.chunk_counts[: one.lead], [np.zeros(0, dtype=np.int64)]
    with os.scandir(one.folder) as entries:
        while names := [entry.name for entry in islice(entries, _LISTED)]:
            if told := pattern.findall("\n".join(names)):
                axes = np.array(list(map(int, ".".join(told).split(".")))).reshape(-1, one.lead).T
                inside = [(at >= each.start) & (at < each.stop) for at, each in zip(axes, ranges, strict=True)]
                found.append(np.ravel_multi_index(axes[:, np.logical_and.reduce(inside)], counts))
    flat = np.sort(np.concatenate(found))
    for some in np.array_split(flat, -(-len(flat) // _BATCH) or 1):
        yield from zip(*(each.tolist() for each in np.unravel_index(some, counts)), strict=True)


def _get_chunk_ranges(one: LocalArray, box: list[slice]) -> list[range]:
    """Return the range of indices of the chunks that overlap a box, along every axis."""
    return [range(each.start // size, -(-each.stop // size)) for each, size in zip(box, one.chunks, strict=True)]


class _Overlaps:
    """Intersections of chunks with a box. Those along the axes with one chunk are the same for all chunks."""

    def __init__(self, one: LocalArray, box: list[slice]) -> None:
        sizes, starts, stops = one.chunks, [each.start for each in box], [each.stop for each in box]
        self._cuts = [some[: one.lead] for some in (sizes, starts, stops)]
        rest = [_intersect(0, *cut) for cut in list(zip(sizes, starts, stops, strict=True))[one.lead :]]
        self._here, self._target = tuple(here for here, _ in rest), tuple(target for _, target in rest)
        if all(here == _EVERYTHING for here in self._here):
            self._here = self._target = ()

    def find(self, place: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Return the intersection of a chunk and the box, in coordinates of the chunk and of the box."""
        here, target = zip(*map(_intersect, place, *self._cuts), strict=True)
        return here + self._here, target + self._target


def _intersect(at: int, size: int, start: int, stop: int) -> tuple[slice, slice]:
    """Return the intersection of a chunk and a box along one axis, in coordinates of the chunk and of the box."""
    first = at * size
    last = first + size
    if start <= first and last <= stop:  # nearly all are
        return _EVERYTHING, slice(first - start, last - start)
    start_here, stop_here = max(first, start), min(last, stop)
    return slice(start_here - first, stop_here - first), slice(start_here - start, stop_here - start)


def _read_file(one: LocalArray, place: tuple[int, ...]) -> bytes | None:
    try:
        return read_file(f"{one.folder}/{one.make_key(place)}", one.max_file_bytes)
    except FileNotFoundError:
        return None


def _decode(one: LocalArray, raw: bytes) -> Values:
    inner, told = raw[:-_CHECK], raw[-_CHECK:]
    if (found := _compute_checksum(inner)) != told:
        raise ValueError(f"the checksum of a chunk is {found.hex()}, and {told.hex()} was stored")
    check_frame(inner, one.chunk_bytes)
    return np.frombuffer(decompress(inner), dtype=one.dtype).reshape(one.chunks)


def _compute_checksum(data: bytes) -> bytes:
    return int(google_crc32c.value(data)).to_bytes(_CHECK, "little")
