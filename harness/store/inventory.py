"""Find units with missing chunks, from the names of files alone.

A receipt proves that a unit was written, but its chunks may have been deleted since. A missing chunk reads as the fill
value, so that a replication with the status "ok" would have no results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from harness.backends.address import is_url
from harness.backends.base import Backend
from harness.core.schema.cube import CUBE_DIMS, list_cube_variables
from harness.core.schema.measures import Variable, list_variables
from harness.core.types import INNER, Bools, Extent, Status, Values
from harness.store.layout import get_cube_chunks, get_group_name
from harness.store.manifest import Group, Manifest
from harness.store.receipts import Receipt

_MOST_REQUESTED = 10_000
"""Largest number of units in a bucket that are checked: listing many objects is slow there."""


def list_incomplete_units(backend: Backend, manifest: Manifest, signed: Mapping[str, Receipt]) -> list[str]:
    """Return the names of units that have a receipt but not all of their chunks.

    Returns an empty list for a bucket with very many units, where listing takes too long.
    """
    if is_url(backend.url) and len(signed) > _MOST_REQUESTED:
        return []
    found: set[str] = set()
    for n, group in manifest.groups.items():
        here = {name: one for name, one in signed.items() if name.startswith(f"n={n}/")}
        for variable in list_variables(manifest.keep) if here else ():
            counts = Counter(_list_blocks(backend, n, variable))
            needed = {i: _count_chunks(variable, group, extent) for i, extent in enumerate(manifest.extents)}
            found |= {name for name, one in here.items() if counts[_get_block(name)] < needed.get(one.generation, 0)}
    return sorted(found)


def _list_blocks(backend: Backend, n: int, variable: Variable) -> Iterator[str]:
    """Yield the unit of each chunk of a variable, such as "p3_d0"."""
    for name in backend.list_names(f"{get_group_name(n)}/{variable.name}", "c."):
        path, draw, *_ = *name[2:].split(".", 2), ""
        yield f"p{path}_d{draw}"


def _get_block(unit: str) -> str:
    return unit.partition("/")[2]


def _count_chunks(variable: Variable, group: Group, extent: Extent) -> int:
    """Return the number of chunks (or shards) of a variable in a unit that was written at an extent."""
    lengths = {axis: len(getattr(extent.grid, axis)) for axis in INNER}
    return prod(-(-lengths[dim] // group.chunks[dim]) for dim in variable.dims if dim in lengths)


def find_cube_gaps(backend: Backend, manifest: Manifest) -> set[int]:
    """Return the n at which a chunk of the cube is missing."""
    lengths, chunks = get_cube_chunks(manifest)
    found: set[int] = set()
    for summary in list_cube_variables(manifest.keep):
        places = Counter(name.split(".")[1 + CUBE_DIMS.index("n")] for name in _list_cube_chunks(backend, summary.name))
        needed = prod(-(-lengths[dim] // chunks[dim]) for dim in CUBE_DIMS if dim != "n")
        found |= {n for i, n in enumerate(manifest.extent.grid.n) if places[str(i)] < needed}
    return found


def _list_cube_chunks(backend: Backend, name: str) -> list[str]:
    return [each for each in backend.list_names(name, "c.") if each.count(".") >= len(CUBE_DIMS)]


def is_damaged(status: Values, coverage: Values, extents: tuple[Extent, ...]) -> Bools:
    """Return a mask of the replications that have the status "ok" but the fill value as coverage.

    If values of α were added to a store, units written before have the fill value at these alone.
    """
    grew = extents[0].grid.alpha != extents[-1].grid.alpha
    nothing = np.isnan(coverage)
    return np.asarray((status == Status.OK) & (nothing.all(axis=-1) if grew else nothing.any(axis=-1)))
