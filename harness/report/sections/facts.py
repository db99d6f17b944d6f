"""Read everything that a report shows from a store, without running or unpickling code of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import xarray as xr

from harness.backends.base import Backend, open_backend
from harness.core.procedures import is_for_function
from harness.core.schema.measures import COVERAGE_EXPECTED, DISTRIBUTION
from harness.cube.levels import get_judged_measure
from harness.maintenance.failures import group_failures
from harness.monitor.state import status
from harness.results.estimates import estimate
from harness.results.mad import MAD
from harness.results.measures import REFERENCE, has_oracle
from harness.results.replications import count_damaged, open_reader
from harness.results.required_paths import Need, precision
from harness.results.validity import verdicts
from harness.results.widths import compare_widths
from harness.store.heartbeat import Driver, from_bytes
from harness.store.locate import find_store
from harness.store.manifest import DRIVER, Manifest
from harness.store.manifest_io import load_manifest
from harness.store.receipts import list_receipts, read_all

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
    "unscored",
    "crps",
    "unbounded",
    "empty",
    "disconnected",
    "failed",
)
"""Measures in the tables, besides coverage."""
TARGET = 0.005
"""Standard error of coverage for which the section on uncertainty gives the number of paths."""
_MOST_ADJUSTED = 30_000
"""Cells up to which coverage is adjusted: ten seconds."""
_MOST_RECEIPTS = 40
"""Receipts that are read to list the machines: a sample is enough, and quick."""


@dataclass(frozen=True, eq=False)
class Facts:
    """Contents of a store, as the sections of a report need them."""

    url: str
    design: str | None
    """Design of the verdicts that was requested, if any."""
    manifest: Manifest
    state: Mapping[str, Any]
    """Progress of the study, as `ckrr status --json` prints it."""
    driver: Driver | None
    """Driver that is active now."""
    verdicts: xr.Dataset
    """Verdicts on the coverage of y*, the expected one if the store has it."""
    function_verdicts: xr.Dataset | None
    """Verdicts on the coverage of f(x*), for procedures whose target it is."""
    widths: xr.Dataset
    """Comparisons of widths between procedures."""
    included: xr.DataArray
    """Cells that the scenario doesn't exclude."""
    distinct: xr.DataArray
    """Those of them that don't repeat a result; see `ReplicationReader.find_distinct`."""
    measures: Mapping[str, xr.Dataset]
    """Estimates of the judged coverage, and of each measure in `MEASURES` that the study has."""
    adjusted: xr.Dataset | None
    """Coverage adjusted by control variates, NaN in cells that have none; None if that is all, or they are too many."""
    mad: xr.Dataset
    failures: Sequence[Mapping[str, Any]]
    """Failures grouped by message."""
    machines: Sequence[Mapping[str, Any]]
    """Distinct hosts with their versions and BLAS."""
    needs: Sequence[Need]
    """For each n the paths and draws that an error of `TARGET` needs."""
    damaged: int
    """Number of replications that lack chunks which had been written."""

    @property
    def judged(self) -> str:
        """Name of the coverage that verdicts are on."""
        return get_judged_measure(self.manifest)

    @cached_property
    def paths(self) -> str:
        """Number of paths, or its range over n, as text."""
        return open_reader(self.url).format_paths()

    @property
    def coverage(self) -> str:
        """That coverage in words."""
        return "expected coverage" if self.judged == COVERAGE_EXPECTED else "coverage"

    @property
    def all_verdicts(self) -> list[xr.Dataset]:
        """Verdicts on y*, and those on f(x*) if there are any."""
        return [self.verdicts, *([] if self.function_verdicts is None else [self.function_verdicts])]


def gather_facts(url: str, design: str | None = None) -> Facts:
    """Read the facts of a store, with verdicts of the requested design."""
    backend = open_backend(find_store(str(url)))
    manifest = load_manifest(backend)
    assert manifest is not None, "find_store checks that the manifest exists"
    state = status(url)  # read first, so that numbers are at least as new
    judged = verdicts(url, design=design)
    driver = from_bytes(backend.get(DRIVER))
    return Facts(
        backend.url,
        design,
        manifest,
        state,
        driver if driver is not None and driver.alive else None,
        judged,
        _read_function_verdicts(url, manifest, design),
        compare_widths(url, judged),
        open_reader(url).find_included(),
        open_reader(url).find_distinct(),
        _estimate_measures(url, manifest),
        _estimate_adjusted(url) if judged["value"].size <= _MOST_ADJUSTED else None,
        estimate(url, MAD),
        group_failures(url),
        _list_machines(backend, manifest),
        precision(url, TARGET),
        count_damaged(url),
    )


def _estimate_measures(url: str, manifest: Manifest) -> dict[str, xr.Dataset]:
    """Estimate the measures that the study has; coverage of f(x*) isn't among them where f is unknown."""
    names = (get_judged_measure(manifest), *MEASURES)
    found = {name: estimate(url, name) for name in names if _is_available(name, manifest)}
    if not bool(found["coverage_f"]["value"].notnull().any()):
        del found["coverage_f"]
    return found


def _estimate_adjusted(url: str) -> xr.Dataset | None:
    """Adjust coverage where its expectation isn't known exactly, and where there are controls (`results.adjust`)."""
    found = estimate(url, adjust=True)
    return found.where(found["controls"] > 0) if bool((found["controls"] > 0).any()) else None


def _is_available(measure: str, manifest: Manifest) -> bool:
    needs = {
        "relative_width": REFERENCE in manifest.extent.grid.procedure,
        "oracle_width": has_oracle(manifest),
        "crps": DISTRIBUTION in manifest.keep,
    }
    return needs.get(measure, True)


def _read_function_verdicts(url: str, manifest: Manifest, design: str | None) -> xr.Dataset | None:
    """Return None if no procedure has f(x*) as its target, or f is unknown."""
    names = [name for name in manifest.extent.grid.procedure if is_for_function(name)]
    if not names:
        return None
    found = verdicts(url, {"procedure": names}, measure="coverage_f", design=design)
    return found if bool(found["value"].notnull().any()) else None


def _list_machines(backend: Backend, manifest: Manifest) -> list[Mapping[str, Any]]:
    """List the distinct hosts, versions and BLAS libraries in a sample of receipts."""
    all_of_them = sorted(list_receipts(backend, manifest.extent.grid.n).values(), key=lambda one: one.unit)
    some = all_of_them[:: max(len(all_of_them) // _MOST_RECEIPTS, 1)]
    found: dict[str, Mapping[str, Any]] = {}
    for inside in read_all(backend, some):
        one = {key: inside.get(key) for key in ("host", "python", "versions", "blas")}
        found.setdefault(repr(one), one)
    return list(found.values())
