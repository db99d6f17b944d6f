"""The store: making it, growing it, and writing a unit's block to it.

Workers write whole chunks of their own with zarr itself: all variables, status last, then the receipt.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np
import zarr
from zarr.core.sync import sync

from harness import chunks, receipts
from harness.chunks import Box
from harness.nouns import Block, Unit, Values
from harness.place import Place, place
from harness.record import FILES, ROOT, Record, digest
from harness.remote import for_zarr, telling
from harness.template import group_name, template
from harness.variables import replication_variables

zarr.config.set({"array.write_empty_chunks": True})  # otherwise a chunk equal to the fill is deleted


def publish(there: Place, record: Record, files: Mapping[str, bytes]) -> None:
    """Makes a store, or grows it: every key that changes, the root's last. The old text of a mended file is kept."""
    needed = {f"{FILES}/{name}": data for name, data in files.items()}
    for key, old in zip(needed, there.gets(needed), strict=True):
        if old is not None and old != needed[key]:
            there.put(f"{key}.{sha256(old).hexdigest()[:8]}", old)
    wanted = {**needed, **template(record)}
    there_are = there.gets(wanted) if there.get(ROOT) is not None else [None] * len(wanted)
    changed = {key: data for (key, data), old in zip(wanted.items(), there_are, strict=True) if old != data}
    last = changed.pop(ROOT, None)
    there.puts(changed)
    if last is not None:
        there.put(ROOT, last)


def write(url: str, record: Record, block: Block) -> receipts.Receipt:
    """A unit's block and its receipt: all variables at once, then status, then the receipt."""
    unit = block.unit
    _check_alignment(record, unit)
    where = tuple(slice(each.start, each.stop) for each in (unit.paths, unit.draws))
    *others, status = replication_variables(record.keep)
    for variables in (others, [status]):
        paths = [f"{group_name(unit.n)}/{v.name}" for v in variables]
        _write(url, paths, record.generation, where, [block.values[v.name] for v in variables])
    return receipts.write(place(url), block, record.generation, digest(record.fingerprint))


def _write(url: str, paths: Sequence[str], generation: int, where: Box, values: Sequence[Values]) -> None:
    """Whole chunks of several arrays."""
    there, far = place(url), []
    for path, new in zip(paths, values, strict=True):
        one = plain(url, path, generation)
        if one is None:
            far.append((array(url, path, generation), new))
            continue
        for key, data in chunks.encoded(one, where, new):
            there.put(key, data, make=False)  # a store that was removed just now stays away
    if far:
        with telling(url):
            sync(_written(far, where))


async def _written(writes: Sequence[tuple[zarr.Array[Any], Values]], where: Box) -> None:
    """Together, since most of it is waiting for a network. All are waited for, also when one fails: what is left alone
    complains when the process ends.
    """
    waits = (one.async_array.setitem(where, new) for one, new in writes)
    for outcome in await gather(*waits, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def _check_alignment(record: Record, unit: Unit) -> None:
    """A unit writes its own block, whole, up to the end of the axes: two writers in one chunk would lose data."""
    rows, columns = record.groups[unit.n].block
    ends = (
        min((unit.path_block + 1) * rows, record.extent.paths),
        min((unit.draw_block + 1) * columns, record.extent.draws),
    )
    starts = unit.path_block * rows, unit.draw_block * columns
    if (unit.paths.start, unit.draws.start) != starts or (unit.paths.stop, unit.draws.stop) != ends:
        raise AssertionError(f"unit {unit.name} isn't aligned with the chunks of its group")


@lru_cache(maxsize=4096)
def array(url: str, path: str, generation: int) -> zarr.Array[Any]:
    """A handle, kept: making one costs as much as writing a chunk. `generation` makes it anew after a growth."""
    found = _root(url, generation)[path]
    assert isinstance(found, zarr.Array)
    return found


@lru_cache(maxsize=4096)
def plain(url: str, path: str, generation: int) -> chunks.Plain | None:
    """The same, where it is a directory of small chunks; None where it isn't."""
    return chunks.plain(array(url, path, generation))


@lru_cache(maxsize=64)
def _root(url: str, generation: int) -> zarr.Group:
    """One file has the metadata of all arrays; it was written after them."""
    with telling(url):
        return zarr.open_group(url, mode="r+", zarr_format=3, use_consolidated=True, storage_options=for_zarr(url))


def forget_handles() -> None:
    """Another store may have come to the place of one that was here."""
    plain.cache_clear()
    array.cache_clear()
    _root.cache_clear()


def read_unit(url: str, record: Record, unit: Unit, variable: str) -> Values:
    """A unit's part of a variable, as large as it is now; fills where nothing was written."""
    where = (slice(unit.paths.start, unit.paths.stop), slice(unit.draws.start, unit.draws.stop))
    return read(url, unit.n, variable, record.generation, where)


def read(
    url: str,
    n: int,
    variable: str,
    generation: int,
    where: tuple[Any, ...] = (...,),
    between: Callable[[], None] = lambda: None,
) -> Values:
    """A part of a variable of the replications at an n. Of many chunks, `between` is called now and then."""
    path = f"{group_name(n)}/{variable}"
    with telling(url):
        one = plain(url, path, generation)
        if one is None or not chunks.is_box(where):
            return np.asarray(array(url, path, generation)[where])
        return chunks.read(one, where, between)


def write_cube(url: str, generation: int, place_of_n: int, values: dict[str, Values]) -> None:
    """The root's arrays at one n."""
    everything = slice(None)
    where = (*[everything] * 4, slice(place_of_n, place_of_n + 1))
    _write(url, list(values), generation, where, [np.expand_dims(each, 4) for each in values.values()])
