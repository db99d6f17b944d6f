"""Choose the block sizes that divide a study into units. Pure: numbers in, numbers out."""

from __future__ import annotations

from math import ceil

from harness.core.types import Extent
from harness.planning.cost import Families, ReplicationShape, count_replication_bytes, estimate_replication_seconds
from harness.planning.machine import Machine
from harness.store.manifest import Group, get_initial_chunks, is_large

LONGEST, SHORTEST = 20.0, 0.25
"""Bounds on the seconds of a unit: long compared with the overhead of a task, short compared with a worker's life."""
_UNITS_PER_LIFETIME = 20.0
"""Minimum ratio of a worker's lifetime to the duration of a unit: a unit that its worker leaves is computed again."""
UNITS_PER_WORKER = 20
"""Minimum number of units per worker, so that none idles at the end."""
_BLOCK_BYTES = 64e6
"""Maximum size of a unit's block before compression."""


def choose_blocks(
    extent: Extent, shape: ReplicationShape, families: Families, machine: Machine, most_paths: int | None = None
) -> dict[int, Group]:
    """Choose a block size (paths × draws) for each n, so that units take seconds and every worker gets many.

    `most_paths` limits the paths of a unit, for a study that adds paths in rounds. Draws of one path stay together as
    far as possible, because they share its data.
    """
    each = {n: estimate_replication_seconds(extent, n, shape, families, machine.flops) for n in extent.grid.n}
    total = sum(each.values()) * extent.paths * extent.draws
    target = min(
        max(total / (UNITS_PER_WORKER * machine.workers), SHORTEST), LONGEST, machine.lifetime / _UNITS_PER_LIFETIME
    )
    most = max(1, int(_BLOCK_BYTES // count_replication_bytes(extent, shape)))
    chunks = get_initial_chunks(extent)
    groups = {}
    for n, seconds in each.items():
        rows, columns = _choose_block(min(max(1, round(target / seconds)), most), extent.paths, extent.draws)
        shortest = int(min(SHORTEST / seconds, most)) // columns if columns == extent.draws else 1
        rows = max(rows, shortest)  # leave room in the units: a study that starts small may grow
        block = rows if most_paths is None else min(rows, most_paths), columns
        groups[n] = Group(block, chunks, is_large(block, chunks))
    return groups


def _choose_block(replications: int, paths: int, draws: int) -> tuple[int, int]:
    """Return a block of paths × draws with about this number of replications, dividing the axes evenly.

    Examples
    --------
    >>> [_choose_block(most, paths=50, draws=20) for most in (7, 45, 9999)]
    [(1, 7), (2, 20), (50, 20)]
    """
    if replications < draws:
        return 1, _compute_equal_size(draws, replications)
    return _compute_equal_size(paths, replications // draws), draws


def _compute_equal_size(length: int, part: int) -> int:
    """Return the size of parts, at most `part`, that divide `length` as evenly as possible."""
    return ceil(length / ceil(length / min(part, length)))
