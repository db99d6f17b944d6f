"""Find units whose chunks aren't all there, from the names of files alone.

A receipt proves that a unit was written, not that its chunks were never deleted since. A chunk that is missing reads as
the fill, so that a replication with the status "ok" would have no numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from harness.backends.address import is_url
from harness.backends.base import Place
from harness.core.schema import CUBE, CUBE_DIMS, Variable, replication_variables
from harness.core.types import INNER, Bools, Extent, Status, Values
from harness.store.layout import cube_chunks, group_name
from harness.store.manifest import Group, Record
from harness.store.receipts import Receipt

_MOST_REQUESTED = 10_000
"""Units of a store in a bucket that are looked for: listing many objects takes long there."""


def incomplete_units(there: Place, record: Record, signed: Mapping[str, Receipt]) -> list[str]:
    """Return the names of units that have a receipt, and not all of the chunks that belong to it."""
    if is_url(there.url) and len(signed) > _MOST_REQUESTED:
        return []
    found: set[str] = set()
    for n, group in record.groups.items():
        here = {name: one for name, one in signed.items() if name.startswith(f"n={n}/")}
        for variable in replication_variables(record.keep) if here else ():
            counts = Counter(_blocks(there, n, variable))
            needed = {i: _chunk_count(variable, group, extent) for i, extent in enumerate(record.extents)}
            found |= {name for name, one in here.items() if counts[_block(name)] < needed.get(one.generation, 0)}
    return sorted(found)


def _blocks(there: Place, n: int, variable: Variable) -> Iterator[str]:
    """The unit of each chunk of a variable, as "p3_d0"."""
    for name in there.names(f"{group_name(n)}/{variable.name}", "c."):
        path, draw, *_ = *name[2:].split(".", 2), ""
        yield f"p{path}_d{draw}"


def _block(unit: str) -> str:
    return unit.partition("/")[2]


def _chunk_count(variable: Variable, group: Group, extent: Extent) -> int:
    """How many chunks (or shards) of a variable a unit has that was written at an extent."""
    lengths = {axis: len(getattr(extent.grid, axis)) for axis in INNER}
    return prod(-(-lengths[dim] // group.chunks[dim]) for dim in variable.dims if dim in lengths)


def cube_gaps(there: Place, record: Record) -> set[int]:
    """Return the n at which a chunk of the cube is missing."""
    lengths, chunks = cube_chunks(record)
    found: set[int] = set()
    for summary in CUBE:
        places = Counter(name.split(".")[1 + CUBE_DIMS.index("n")] for name in _cube_chunks(there, summary.name))
        needed = prod(-(-lengths[dim] // chunks[dim]) for dim in CUBE_DIMS if dim != "n")
        found |= {n for i, n in enumerate(record.extent.grid.n) if places[str(i)] < needed}
    return found


def _cube_chunks(there: Place, name: str) -> list[str]:
    return [each for each in there.names(name, "c.") if each.count(".") >= len(CUBE_DIMS)]


def is_damaged(status: Values, coverage: Values, extents: tuple[Extent, ...]) -> Bools:
    """Return which replications have the status "ok" and the fill for numbers.

    Where α was added to a store, units that don't have it yet have the fill there, and only there.
    """
    grew = extents[0].grid.alpha != extents[-1].grid.alpha
    nothing = np.isnan(coverage)
    return np.asarray((status == Status.OK) & (nothing.all(axis=-1) if grew else nothing.any(axis=-1)))
