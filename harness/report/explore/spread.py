"""Compute how coverage and width vary over the replications of each cell, and which replication is the worst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.core.schema.axes import QUANTILES
from harness.core.types import Array, Bools, Values
from harness.results.replications import ReplicationReader, Slab
from harness.statistics.clustered import sort_replications, take_ranks

SHARES = (0.0, 0.05, *(i / 10 for i in range(1, 10)), 0.95, 1.0)
"""Shares of the replications at which the quantiles are taken: from the least value to the largest one."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Quantiles over replications, and the worst replication, over the axes of the cube.

    Quantiles have `SHARES` along their first axis. They aren't interpolated, because infinite widths are common: each
    is the value of one replication.
    """

    coverage: Array
    """Quantiles of the judged coverage."""
    width: Array
    """Quantiles of the median width over test points."""
    path: Values
    """Path of the replication with the lowest coverage; of several, the one with the widest regions, then the first."""
    draw: Values


def compute_spread(reader: ReplicationReader) -> Spread:
    """Compute the spread of every selected cell."""
    made = {slab: _compute_slab(reader, slab) for slab in reader.iter_slabs()}
    quantiles = [
        np.stack([reader.arrange({slab: one[part][k] for slab, one in made.items()}) for k in range(len(SHARES))])
        for part in (0, 1)
    ]
    places = [reader.arrange({slab: one[part] for slab, one in made.items()}, 0) for part in (2, 3)]
    return Spread(quantiles[0], quantiles[1], places[0], places[1])


def _compute_slab(reader: ReplicationReader, slab: Slab) -> tuple[Array, Array, Values, Values]:
    coverage, ok = reader.read(slab, reader.judged), reader.is_ok(slab)[..., None]
    width = reader.read(slab, "width")[..., QUANTILES.index(0.5)]
    path, draw = find_worst(coverage, width, ok)
    return compute_quantiles(coverage, ok), compute_quantiles(width, ok), path, draw


def compute_quantiles(values: Values, ok: Bools) -> Array:
    """Return the quantiles at `SHARES` over the replications that are ok; NaN where there is none.

    Examples
    --------
    >>> widths = np.array([[3.0], [np.inf], [1.0]])
    >>> [float(one) for one in compute_quantiles(widths, np.ones_like(widths, dtype=bool))[[0, 6, -1]]]
    [1.0, 3.0, inf]
    """
    ordered, counts = sort_replications(values, ok), np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    return np.stack([take_ranks(ordered, counts, np.ceil(np.round(share * counts, 9))) for share in SHARES])


def find_worst(coverage: Values, width: Values, ok: Bools) -> tuple[Values, Values]:
    """Return path and draw of the replication with the lowest coverage.

    Examples
    --------
    >>> coverage, width = np.array([[0.9, 0.5], [0.5, 1.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> tuple(map(int, find_worst(coverage, width, np.ones_like(coverage, dtype=bool))))
    (1, 0)
    """
    ranked = np.where(ok, coverage, np.inf)
    lowest = ok & (ranked == ranked.min(axis=(0, 1)))
    wide = np.where(lowest, np.where(np.isnan(width), -1.0, width), -np.inf)
    first = wide.reshape(-1, *wide.shape[2:]).argmax(axis=0)
    return first // coverage.shape[1], first % coverage.shape[1]
