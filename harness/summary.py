"""From replications to the cube: means over all replications, with errors that know which of them share a path.

With x_pd the value of draw d on path p, N of them in all and mean x̄, the standard error is that of clusters ::

    se² = P/(P − 1) · Σ_p (Σ_d (x_pd − x̄))² / N²

because draws on one path see the same function, pool and test values. One path has no error between paths: NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from harness.nouns import Array, Bools, Status, Values
from harness.record import Record
from harness.variables import CUBE

_SLAB = 256e6
"""Bytes of a variable that are reduced at a time."""

Read = Callable[[str, tuple[Any, ...]], Values]
"""Reads a part of a variable of the replications at one n: over path, draw, procedure, γ, θ, λ and so on."""


def cube_at(record: Record, read: Read) -> dict[str, Values]:
    """All variables of the cube at one n, over procedure, γ, θ, λ and α (and quantile)."""
    grid = record.extent.grid
    shape = tuple(len(axis) for axis in (grid.procedure, grid.gamma, grid.theta, grid.lam, grid.alpha))
    found: dict[str, Values] = {}
    for summary in CUBE:
        found[summary.name] = np.zeros((*shape, 3) if summary.quantile else shape, dtype=summary.dtype)
    for procedures, thetas in _slabs(record, shape):
        part = _reduced(read, procedures, thetas)
        for name, values in part.items():
            found[name][procedures, :, thetas] = values
    return found


def _slabs(record: Record, shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """All at once if that is small; otherwise one procedure and θ at a time, as the store's shards are cut."""
    if 8.0 * record.extent.paths * record.extent.draws * prod(shape) <= _SLAB:
        yield slice(None), slice(None)
        return
    for p in range(shape[0]):
        for t in range(shape[2]):
            yield slice(p, p + 1), slice(t, t + 1)


def _reduced(read: Read, procedures: slice, thetas: slice) -> dict[str, Values]:
    everything = slice(None)
    where = (everything, everything, procedures, everything, thetas)
    status = read("status", where)
    ok = (status == Status.OK)[..., None]
    failed = ((status != Status.OK) & (status != Status.EXCLUDED) & (status != Status.NOT_RUN)).sum(axis=(0, 1))
    found: dict[str, Values] = {}
    for name in ("coverage", "coverage_f"):
        found[name], found[f"{name}_se"] = clustered(read(name, where), ok)
    for name in ("width_mean", "length_mean", "interval_score", "distance_lower", "distance_upper"):
        found[name] = mean(read(name, where), ok)
    for name in ("unbounded", "empty", "disconnected"):
        found[name] = mean(read(name, where), ok)
    for name in ("width", "length"):
        found[name] = medians(read(name, where), ok[..., None])
    levels = found["coverage"].shape[-1]
    runs = ok.sum(axis=(0, 1))
    found["replication_count"] = np.repeat(runs, levels, axis=-1)
    with np.errstate(invalid="ignore"):
        share = failed[..., None] / (failed[..., None] + runs)
    found["failed"] = np.repeat(share, levels, axis=-1)
    return found


def mean(values: Values, ok: Bools) -> Array:
    """Over paths and draws, of those that are ok; NaN where none is."""
    counts = ok.sum(axis=(0, 1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(ok, values, 0.0).sum(axis=(0, 1), dtype=float) / counts)


def clustered(values: Values, ok: Bools) -> tuple[Array, Array]:
    """Mean over all replications, and its standard error between paths.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0]])              # two paths with two equal draws each
    >>> centre, error = clustered(x, np.ones_like(x, dtype=bool))
    >>> float(centre), float(error)
    (0.5, 0.5)
    """
    centre = mean(values, ok)
    sums = np.where(ok, values - centre, 0.0).sum(axis=1)
    paths = ok.any(axis=1).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        square = paths / (paths - 1.0) * (sums**2).sum(axis=0) / ok.sum(axis=(0, 1)) ** 2
        return centre, np.where(paths > 1, np.sqrt(square), np.nan)


def medians(values: Values, ok: Bools) -> Array:
    """Over paths and draws, of those that are ok: the ⌈N/2⌉-th smallest, since inf is common."""
    flat = np.where(ok, values, np.nan).reshape(-1, *values.shape[2:])
    counts = np.broadcast_to(ok, values.shape).sum(axis=(0, 1))
    places = np.maximum((counts + 1) // 2 - 1, 0)
    ordered = np.sort(flat, axis=0)  # NaN goes last
    return np.asarray(np.take_along_axis(ordered, places[None], axis=0)[0], dtype=float)
