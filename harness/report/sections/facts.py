"""Facts: everything that a report tells, read from a store. Nothing of the user's code is run or unpacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from harness.backends.base import Place, place
from harness.core.extent import included
from harness.core.schema import CUBE_DIMS
from harness.maintenance.failures import groups
from harness.monitor.state import status
from harness.report.sections.glossary import OF_THE_FUNCTION
from harness.results.estimates import estimate
from harness.results.mad import MAD
from harness.results.measures import REFERENCE, normal_noise
from harness.results.replications import count_damaged, runs
from harness.results.required_paths import Need, precision
from harness.results.validity import verdicts
from harness.store.heartbeat import Driver, heard
from harness.store.locate import store_of
from harness.store.manifest import DRIVER, Record
from harness.store.manifest_io import load
from harness.store.receipts import listed, read_all

MEASURES = (
    "coverage_f",
    "coverage_q05",
    "coverage_q95",
    "width",
    "width_q05",
    "width_q95",
    "relative_width",
    "oracle_width",
    "interval_score",
    "unbounded",
    "empty",
    "disconnected",
    "failed",
)
"""What the tables have besides coverage."""
TARGET = 0.005
"""The standard error of coverage that "how sure" counts paths for."""
_LOOKED_INTO = 40
"""Receipts that are read for the machines: more would only take time."""


@dataclass(frozen=True, eq=False)
class Facts:
    """What a store says."""

    url: str
    record: Record
    state: Mapping[str, Any]
    driver: Driver | None
    """The one that is at work now."""
    judged: xr.Dataset
    """Verdicts on the coverage of y*."""
    judged_f: xr.Dataset | None
    """Those on the coverage of f(x*), of the procedures that are for it."""
    included: xr.DataArray
    """Which cells the rules leave in."""
    measures: Mapping[str, xr.Dataset]
    mad: xr.Dataset
    failures: Sequence[Mapping[str, Any]]
    machines: Sequence[Mapping[str, Any]]
    needs: Sequence[Need]
    damaged: int
    """Replications that lack chunks which were written."""


def gathered(url: str) -> Facts:
    """Reads a store."""
    there = place(store_of(str(url)))
    record = load(there)
    assert record is not None, "or store_of would have said so"
    state = status(url)  # before the numbers: they are of this state, or a later one
    judged = verdicts(url)
    driver = heard(there.get(DRIVER))
    return Facts(
        there.url,
        record,
        state,
        driver if driver is not None and driver.alive else None,
        judged,
        _judged_f(url, record),
        _included(url, judged),
        {name: estimate(url, name) for name in MEASURES if _askable(name, record)},
        estimate(url, MAD),
        groups(url),
        _machines(there, record),
        precision(url, TARGET),
        count_damaged(url),
    )


def _askable(measure: str, record: Record) -> bool:
    needs = {"relative_width": REFERENCE in record.extent.grid.procedure, "oracle_width": normal_noise(record)}
    return needs.get(measure, True)


def _judged_f(url: str, record: Record) -> xr.Dataset | None:
    """None where there is no such procedure, or f isn't known."""
    names = [name for name in record.extent.grid.procedure if name in OF_THE_FUNCTION]
    if not names:
        return None
    found = verdicts(url, {"procedure": names}, measure="coverage_f")
    return found if bool(found["value"].notnull().any()) else None


def _included(url: str, like: xr.Dataset) -> xr.DataArray:
    """In the order of the results, α among the axes."""
    found = runs(url)
    grid = found.record.extent.grid
    masks = {n: included(found.record.extent, n)[..., None] for n in grid.n}
    slabs = {slab: masks[slab.n][_of(slab.procedures), :, _of(slab.thetas)] for slab in found.slabs()}
    whole = {slab: np.repeat(mask, len(grid.alpha), axis=-1) for slab, mask in slabs.items()}
    return found.array(whole, False).reindex_like(like).transpose(*CUBE_DIMS)


def _of(places: range) -> slice:
    return slice(places.start, places.stop)


def _machines(there: Place, record: Record) -> list[Mapping[str, Any]]:
    """Where units were computed: each host, its versions and its BLAS once, from receipts all over the store."""
    all_of_them = sorted(listed(there, record.extent.grid.n).values(), key=lambda one: one.unit)
    some = all_of_them[:: max(len(all_of_them) // _LOOKED_INTO, 1)]
    found: dict[str, Mapping[str, Any]] = {}
    for inside in read_all(there, some):
        one = {key: inside.get(key) for key in ("host", "python", "versions", "blas")}
        found.setdefault(repr(one), one)
    return list(found.values())
