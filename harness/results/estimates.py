"""Estimates: a measure over cells, with standard errors that know the nesting, and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from harness.core.errors import Mistake
from harness.core.text import nearest
from harness.core.types import Bools, Values
from harness.results.mad import MAD, mad
from harness.results.measures import MEASURES, Measure
from harness.results.replications import Runs, Slab, Where, runs
from harness.statistics import intervals
from harness.statistics.intervals import LEVEL, Estimate

PARTS = ("value", "se", "low", "high", "paths", "replications")


def measure_named(name: str) -> Measure:
    """By its name."""
    if name not in MEASURES:
        known = [*MEASURES, MAD, "level", "verdict"]
        raise Mistake(f"there is no measure {name!r}: it must be one of {', '.join(known)}{nearest(name, known)}")
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
    chosen = runs(url, where)
    if measure == MAD:
        return _dataset(chosen, MAD, lambda slab: mad(chosen, slab, level)).isel(alpha=0, drop=True)
    one = measure_named(measure)
    return _dataset(chosen, one.what, lambda slab: summed_up(one, *one.of(chosen, slab), chosen, level))


def difference(
    url: str, versus: str, measure: str = "coverage", where: Where | None = None, level: float = LEVEL
) -> xr.Dataset:
    """A measure of each procedure less that of another, replication by replication: they saw the same data."""
    chosen = runs(url, where)
    if measure not in MEASURES and measure in (MAD, "verdict"):
        raise Mistake(f"{measure} is of a whole cell, not of a replication: there is no paired difference of it")
    one = measure_named(measure)
    if versus not in chosen.record.extent.grid.procedure:
        names = ", ".join(chosen.record.extent.grid.procedure)
        raise Mistake(f"procedure {versus!r} isn't in the store: it has {names}")
    at = chosen.record.extent.grid.procedure.index(versus)

    def of(slab: Slab) -> Estimate:
        values, ok = one.of(chosen, slab)
        others, counts = one.of(chosen, Slab(slab.n, range(at, at + 1), slab.thetas))
        with np.errstate(invalid="ignore"):
            apart = values - others
        both = ok & counts
        if one.kind == "quantile":
            return intervals.quantile(apart, both & ~np.isnan(apart), 0.5, level)
        return intervals.average(apart, both, level)

    return _dataset(chosen, f"{one.what}, less that of {versus}, paired", of)


def summed_up(measure: Measure, values: Values, ok: Bools, chosen: Runs, level: float = LEVEL) -> Estimate:
    """Over replications."""
    if measure.kind == "share":
        points = 1 if measure.name == "failed" else chosen.record.test_points
        return intervals.share(values, ok, points, level)
    if measure.kind == "mean":
        return intervals.average(values, ok, level)
    return intervals.quantile(values, ok, measure.q, level)


def _dataset(chosen: Runs, what: str, of: Callable[[Slab], Estimate]) -> xr.Dataset:
    made: dict[Slab, Estimate] = {slab: of(slab) for slab in chosen.slabs()}
    parts: Mapping[str, xr.DataArray] = {
        part: chosen.array(
            {slab: _full(getattr(one, part), one) for slab, one in made.items()}, 0 if _counts(part) else np.nan
        )
        for part in PARTS
    }
    return xr.Dataset(dict(parts), attrs={"description": what})


def _counts(part: str) -> bool:
    return part in ("paths", "replications")


def _full(values: Values, one: Estimate) -> Values:
    """Counts are the same for all α."""
    return np.broadcast_to(values, one.value.shape)
