"""Compute how many paths or draws a target standard error of coverage needs.

With variances σ_p² between paths and σ_d² between draws of a path, the mean over P paths of D draws has ::

    se² = (σ_p² + σ_d²/D) / P

so P = (σ_p² + σ_d²/D)/target² paths suffice, or D = σ_d²/(P·target² − σ_p²) draws if the bracket is positive: no number
of draws reduces the variance between paths (`test_precision_needs_as_many_paths_as_it_says`).

Variances are estimated, and the largest of many noisy ones is too large. So they are pooled: averaged over γ, θ and λ
for each procedure, n and α. `paths` is what the worst of these means needs; `most_paths` is what the worst single cell
would need if its own estimate were the truth (`test_pooled_variances_are_not_too_large`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isnan

import numpy as np

from harness.core.errors import UserError
from harness.core.types import Array
from harness.parsing.selections import Selection
from harness.results.replications import ReplicationReader, Slab, open_reader
from harness.statistics.clustered import mean, variance_components


@dataclass(frozen=True)
class Need:
    """Paths, or draws, that the target standard error needs at one n."""

    n: int
    se: float
    """Current standard error of coverage, the largest over the cells."""
    paths: int | None
    """Required number of paths in all, from pooled variances; None if it can't be estimated yet."""
    draws: int | None
    """Required number of draws per path in all, with the current number of paths.

    None if no number suffices, or if there is one draw per path, from which it can't be estimated.
    """
    most_paths: int | None = None
    """Required number of paths by the cell with the largest estimated variance."""

    @property
    def paths_text(self) -> str:
        """The required number of paths as a range, or a dash if it is unknown.

        Examples
        --------
        >>> Need(25, 0.004, 557, None, 856).paths_text, Need(25, 0.004, 557, None, 557).paths_text
        ('557 to 856', '557')
        """
        if self.paths is None or self.most_paths is None:
            return str(self.paths or "–")
        return str(self.paths) if self.paths == self.most_paths else f"{self.paths} to {self.most_paths}"


def precision(url: str, target: float, where: Selection | None = None) -> list[Need]:
    """Compute the paths or draws that a target standard error of coverage needs, for each n.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    target : float
        Standard error that no cell may exceed.
    where : mapping or str, optional
        Values to select along some axes.

    Raises
    ------
    UserError
        If `target` isn't between 0 and 1.
    """
    if not 0 < target < 1:
        raise UserError(f"the precision must be a standard error of coverage between 0 and 1, got {target:g}")
    chosen = open_reader(url, where)
    found: dict[int, list[Need]] = {}
    for slab in chosen.iter_slabs():
        found.setdefault(slab.n, []).append(_compute_need(chosen, slab, target))
    return [_find_worst(needs) for _, needs in sorted(found.items())]


def _compute_need(chosen: ReplicationReader, slab: Slab, target: float) -> Need:
    """Compute what the worst cell of a slab needs."""
    values, ok = chosen.read(slab, chosen.judged), chosen.is_ok(slab)[..., None]
    counts = np.broadcast_to(ok, values.shape).sum(axis=1)
    paths, draws = (counts > 0).sum(axis=0), counts.max(axis=0)
    between, within = variance_components(values, ok)
    points = chosen.manifest.test_points if chosen.judged == "coverage" else 4 * (slab.n + 2)
    least = _compute_least_variance(mean(values, ok), counts.sum(axis=0), points)
    within = np.where(np.isnan(within), 0.0, within)
    with np.errstate(invalid="ignore", divide="ignore"):
        one_path = np.maximum(between + within / draws, least / draws)
        se = np.sqrt(one_path / paths)
        room = paths * target**2 - between
        more = np.where(room > 0, within / room, inf)
    if not np.isfinite(se).any():
        return Need(slab.n, float("nan"), None, None)
    most, pooled = float(np.nanmax(more)), _pool(one_path)
    enough = int(draws.max()) if float(np.nanmax(se)) <= target else None
    known = draws.max() > 1
    return Need(
        slab.n,
        float(np.nanmax(se)),
        ceil(float(np.nanmax(pooled)) / target**2 - 1e-9),
        enough or (max(ceil(most), int(draws.max())) if known and most < inf else None),
        ceil(float(np.nanmax(one_path)) / target**2 - 1e-9),
    )


def _pool(variances: Array) -> Array:
    """Return the mean over γ, θ and λ of variances over procedure, γ, θ, λ and α; NaN where there is none."""
    known = ~np.isnan(variances)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, variances, 0.0).sum(axis=(1, 2, 3)) / known.sum(axis=(1, 2, 3)))


def _compute_least_variance(share: Array, count: Array, points: int) -> Array:
    """Return the variance of a replication's coverage if test points were independent; it is never quite 0."""
    total = count * points
    kept = (share * total + 2) / (total + 4)
    return kept * (1 - kept) / points


def _find_worst(needs: list[Need]) -> Need:
    """Combine the needs of the slabs of one n: the largest of each number."""
    known = [need for need in needs if not isnan(need.se)]
    if not known:
        return needs[0]
    draws = [need.draws for need in known]
    return Need(
        known[0].n,
        max(need.se for need in known),
        max(need.paths or 0 for need in known),
        None if None in draws else max(each for each in draws if each is not None),
        max(need.most_paths or 0 for need in known),
    )
