"""Find units with missing chunks, from the names of files alone.

A receipt proves that a unit was written, but its chunks may have been deleted since. A missing chunk reads as the fill
value, so that a replication with the status "ok" would have no results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
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
    found, ages = set[str](), len(manifest.extents)
    for n, group in manifest.groups.items():
        here = [one for name, one in signed.items() if name.startswith(f"n={n}/")]
        starts = {i: {one.unit: _make_start(one.unit) for one in here if one.generation == i} for i in range(ages)}
        for variable in list_variables(manifest.keep) if here else ():
            there = set(backend.list_names(f"{get_group_name(n)}/{variable.name}", "c."))
            for extent, units in zip(manifest.extents, starts.values(), strict=True):
                for tail in _list_tails(variable, group, extent):
                    found.update(unit for unit, start in units.items() if start + tail not in there)
    return sorted(found)


def _make_start(unit: str) -> str:
    """Return how the keys of the chunks of a unit begin, such as "c.3.0" for "n=25/p3_d0"."""
    path, draw = unit.partition("/")[2].removeprefix("p").split("_d")
    return f"c.{int(path)}.{int(draw)}"


def _list_tails(variable: Variable, group: Group, extent: Extent) -> list[str]:
    """Return how the keys of the chunks (or shards) of a unit that was written at an extent end."""
    lengths = {axis: len(getattr(extent.grid, axis)) for axis in INNER}
    counts = (-(-lengths[dim] // group.chunks[dim]) if dim in lengths else 1 for dim in variable.dims)
    return ["".join(f".{at}" for at in place) for place in product(*map(range, counts))]


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
