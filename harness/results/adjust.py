"""Adjust estimates by the coverages of conformal procedures in the same replications, whose expectations are exact.

`harness.statistics.controls` has the formulas. This module finds the controls of each cell, by a rule that doesn't look
at any result. They are the procedures with an exact level, in the order of the store, at the same γ, λ and α, and at
the same θ if that is given. Expected coverages adjust everything but shares of counted test points, where the store has
them. Cells whose θ is searched for are adjusted by those of the first given θ. Test points must
be exchangeable with training points. A procedure that has an exact level itself isn't adjusted: its expectation is
known.
"""

from __future__ import annotations

import numpy as np

from harness.core.errors import UserError
from harness.core.labels import format_theta
from harness.core.types import Array, Bools, Values
from harness.cube.levels import tabulate_levels
from harness.results.measures import Measure
from harness.results.replications import ReplicationReader, Slab
from harness.statistics.controls import AdjustedEstimate, adjust
from harness.store.manifest import Manifest


def estimate_adjusted(chosen: ReplicationReader, slab: Slab, measure: Measure, level: float) -> AdjustedEstimate:
    """Estimate a measure in the cells of a slab, adjusted by all controls that each cell has.

    Raises
    ------
    UserError
        If the measure isn't a mean over all replications.
    """
    if measure.reduction in ("median", "bounded_mean"):  # exact levels hold over all replications
        raise UserError(f"{measure.name} isn't a mean over all replications: only means and shares can be adjusted")
    values, ok = measure.compute(chosen, slab)
    hits = measure.name in ("coverage", "coverage_f")  # controls that share the noise of the test values
    controls, controls_ok, levels = read_controls(chosen, slab, "coverage" if hits else chosen.judged)
    points = 1 if measure.counts_replications else chosen.manifest.test_points
    return adjust(values, ok, controls, controls_ok, levels, measure.get_reduction(chosen), level, points)


def read_controls(chosen: ReplicationReader, slab: Slab, coverage: str) -> tuple[Values, Bools, Array]:
    """Return coverages and masks over path, draw, control, procedure, γ, θ, λ and α, and the controls' levels."""
    manifest = chosen.manifest
    thetas = _find_control_thetas(manifest, slab)
    table = tabulate_levels(manifest, slab.n)
    names = [p for p in range(len(table)) if not np.isnan(table[p][thetas]).all()] if manifest.test == "iid" else []
    whole = range(len(manifest.extent.grid.theta))
    parts = [Slab(slab.n, range(p, p + 1), whole) for p in names]
    shape = (*chosen.read(slab, "status").shape[:2], 0, 1, 1, 1, 1, 1)
    if not parts:
        return np.zeros(shape), np.zeros(shape, bool), np.zeros((0, 1, 1, 1, 1, 1))
    values = np.stack([chosen.read(part, coverage)[:, :, :, :, thetas] for part in parts], axis=2)
    masks = np.stack([chosen.is_ok(part)[:, :, :, :, thetas] for part in parts], axis=2)[..., None]
    levels = np.array([table[p][thetas] for p in names])[:, None, None, :, None, :]
    own = table[slab.procedures.start : slab.procedures.stop, slab.thetas.start : slab.thetas.stop]
    known = ~np.isnan(own) & _is_independent(manifest, slab)[..., None]
    return values, masks, np.where(known[None, :, None, :, None, :], np.nan, levels)


def _is_independent(manifest: Manifest, slab: Slab) -> Bools:
    """Return whether θ doesn't depend on the training points, over procedure and θ."""
    grid = manifest.extent.grid
    thetas, names = [format_theta(grid.theta[t]) for t in slab.thetas], [grid.procedure[p] for p in slab.procedures]
    return np.array([[manifest.is_independent(theta, name) for theta in thetas] for name in names])


def _find_control_thetas(manifest: Manifest, slab: Slab) -> list[int]:
    """Return the place of the θ whose coverages adjust each θ of a slab: itself, or the first that is given."""
    given = [t for t, theta in enumerate(manifest.extent.grid.theta) if manifest.is_independent(format_theta(theta))]
    return [t if t in given else given[0] for t in slab.thetas] if given else []
