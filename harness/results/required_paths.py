"""Precision: how many more paths or draws a target standard error of coverage needs.

With variances σ_p² between paths and σ_d² between the draws of one, P paths of D draws have ::

    se² = (σ_p² + σ_d²/D) / P

so P = (σ_p² + σ_d²/D)/target² paths do, and D = σ_d²/(P·target² − σ_p²) draws, if the bracket is positive: what differs
from path to path no number of draws can reduce. The worst cell of each n decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isnan

import numpy as np

from harness.core.errors import UserError
from harness.core.types import Array
from harness.results.replications import ReplicationReader, Slab, Where, open_replications
from harness.statistics.clustered import mean, variance_components


@dataclass(frozen=True)
class Need:
    """What an n needs."""

    n: int
    se: float
    """The largest standard error of coverage over its cells, now."""
    paths: int | None
    """How many paths in all; None if it can't be told yet."""
    draws: int | None
    """How many draws of each path in all, with as many paths as there are; None if no number will do, or with one draw
    a path, where it can't be told."""


def precision(url: str, target: float, where: Where | None = None) -> list[Need]:
    """For every n (of those chosen) what the target error of coverage needs."""
    if not 0 < target < 1:
        raise UserError(f"the precision must be a standard error of coverage between 0 and 1, got {target:g}")
    chosen = open_replications(url, where)
    found: dict[int, list[Need]] = {}
    for slab in chosen.iter_slabs():
        found.setdefault(slab.n, []).append(_compute_need(chosen, slab, target))
    return [_find_worst(needs) for _, needs in sorted(found.items())]


def _compute_need(chosen: ReplicationReader, slab: Slab, target: float) -> Need:
    values, ok = chosen.read(slab, "coverage"), chosen.is_ok(slab)[..., None]
    counts = np.broadcast_to(ok, values.shape).sum(axis=1)
    paths, draws = (counts > 0).sum(axis=0), counts.max(axis=0)
    between, within = variance_components(values, ok)
    least = _compute_least_variance(mean(values, ok), counts.sum(axis=0), chosen.manifest.test_points)
    within = np.where(np.isnan(within), 0.0, within)
    with np.errstate(invalid="ignore", divide="ignore"):
        one_path = np.maximum(between + within / draws, least / draws)
        se = np.sqrt(one_path / paths)
        room = paths * target**2 - between
        more = np.where(room > 0, within / room, inf)
    if not np.isfinite(se).any():
        return Need(slab.n, float("nan"), None, None)
    most = float(np.nanmax(more))
    enough = int(draws.max()) if float(np.nanmax(se)) <= target else None
    known = draws.max() > 1
    return Need(
        slab.n,
        float(np.nanmax(se)),
        ceil(float(np.nanmax(one_path)) / target**2 - 1e-9),
        enough or (max(ceil(most), int(draws.max())) if known and most < inf else None),
    )


def _compute_least_variance(share: Array, count: Array, points: int) -> Array:
    """The variance of one replication's coverage that m independent points would have, never quite 0."""
    total = count * points
    kept = (share * total + 2) / (total + 4)
    return kept * (1 - kept) / points


def _find_worst(needs: list[Need]) -> Need:
    """Over the slabs of one n."""
    known = [need for need in needs if not isnan(need.se)]
    if not known:
        return needs[0]
    draws = [need.draws for need in known]
    return Need(
        known[0].n,
        max(need.se for need in known),
        max(need.paths or 0 for need in known),
        None if None in draws else max(each for each in draws if each is not None),
    )
