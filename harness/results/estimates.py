"""Estimates: a measure over cells, with standard errors that know the nesting, and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from harness.core.errors import UserError
from harness.core.text import suggest_name
from harness.core.types import Bools, Values
from harness.results.mad import MAD, estimate_mad
from harness.results.measures import MEASURES, Measure
from harness.results.replications import ReplicationReader, Slab, Where, open_replications
from harness.statistics.intervals import LEVEL, Estimate
from harness.statistics.reduce import reduce_replications

PARTS = ("value", "se", "low", "high", "paths", "replications")


def find_measure(name: str) -> Measure:
    """By its name."""
    if name not in MEASURES:
        known = [*MEASURES, MAD, "level", "verdict"]
        raise UserError(
            f"there is no measure {name!r}: it must be one of {', '.join(known)}{suggest_name(name, known)}"
        )
    return MEASURES[name]


def estimate(url: str, measure: str = "coverage", where: Where | None = None, level: float = LEVEL) -> xr.Dataset:
    """A measure of every cell, or of those chosen.

    Parameters
    ----------
    url : the store
    measure : a name of `catalog.MEASURES`, or "mad"
    where : for some axes the values that are wanted, as {"n": [100, 400], "theta": ["ml"]}
    level : of the intervals

    Returns
    -------
    xarray.Dataset
        `value`, `se` (NaN where it can't be known), `low`, `high`, `paths`, `replications`, over the cube's axes.
    """
    chosen = open_replications(url, where)
    if measure == MAD:
        return _make_dataset(chosen, MAD, lambda slab: estimate_mad(chosen, slab, level)).isel(alpha=0, drop=True)
    one = find_measure(measure)
    return _make_dataset(
        chosen, one.what, lambda slab: estimate_measure(one, *one.compute(chosen, slab), chosen, level)
    )


def difference(
    url: str, versus: str, measure: str = "coverage", where: Where | None = None, level: float = LEVEL
) -> xr.Dataset:
    """A measure of each procedure less that of another, replication by replication: they saw the same data."""
    chosen = open_replications(url, where)
    if measure not in MEASURES and measure in (MAD, "verdict"):
        raise UserError(f"{measure} is of a whole cell, not of a replication: there is no paired difference of it")
    one = find_measure(measure)
    if versus not in chosen.manifest.extent.grid.procedure:
        names = ", ".join(chosen.manifest.extent.grid.procedure)
        raise UserError(f"procedure {versus!r} isn't in the store: it has {names}")
    at = chosen.manifest.extent.grid.procedure.index(versus)

    def of(slab: Slab) -> Estimate:
        values, ok = one.compute(chosen, slab)
        others, counts = one.compute(chosen, Slab(slab.n, range(at, at + 1), slab.thetas))
        with np.errstate(invalid="ignore"):
            apart = values - others
        both = ok & counts
        if one.reduction == "median":
            return reduce_replications(apart, both & ~np.isnan(apart), "median", level=level)
        return reduce_replications(apart, both, "mean", level=level)

    return _make_dataset(chosen, f"{one.what}, less that of {versus}, paired", of)


def estimate_measure(
    measure: Measure, values: Values, ok: Bools, chosen: ReplicationReader, level: float = LEVEL
) -> Estimate:
    """Reduce the replications of a measure."""
    points = 1 if measure.name == "failed" else chosen.manifest.test_points
    return reduce_replications(values, ok, measure.reduction, points, measure.q, level)


def _make_dataset(chosen: ReplicationReader, what: str, of: Callable[[Slab], Estimate]) -> xr.Dataset:
    made: dict[Slab, Estimate] = {slab: of(slab) for slab in chosen.iter_slabs()}
    parts: Mapping[str, xr.DataArray] = {
        part: chosen.make_array(
            {slab: _broadcast(getattr(one, part), one) for slab, one in made.items()}, 0 if _is_count(part) else np.nan
        )
        for part in PARTS
    }
    return xr.Dataset(dict(parts), attrs={"description": what})


def _is_count(part: str) -> bool:
    return part in ("paths", "replications")


def _broadcast(values: Values, one: Estimate) -> Values:
    """Counts are the same for all α."""
    return np.broadcast_to(values, one.value.shape)
