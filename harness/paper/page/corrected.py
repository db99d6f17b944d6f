"""Define the corrected studies: the paper's, as its text describes them, with many independent paths.

Each exists in two versions: with test points on a regular grid, as in the text, and with test points from the training
distribution. Only the latter guarantees the exact level of conformal regions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from harness.backends.address import join
from harness.backends.base import open_backend
from harness.core.schema.cube import CUBE_DIMS
from harness.core.types import Grid
from harness.planning.matching import check_families, check_fingerprint
from harness.scenario.load import Loaded, load
from harness.store.manifest import split_fingerprint
from harness.store.manifest_io import load_manifest as record_at

GRID, IID = "grid", "iid"
NAMES = ("gp1", "gp2", "f6", "heaviside", "pressure2", "f2", "f5")
"""Bundled scenarios."""
GAUSSIAN = ("gp1", "gp2")
"""Studies on Gaussian processes, where the model can be right."""
QUICK: Mapping[str, tuple[int, ...]] = {"gp1": (25, 50, 100), "heaviside": (25, 50, 100), "f2": (150,)}
"""Studies and values of n that `--quick` runs."""


@dataclass(frozen=True)
class CorrectedStudy:
    """One corrected study: a bundled scenario and a layout of test points."""

    scenario: str
    test: str
    """Layout of test points: `GRID` or `IID`."""

    @property
    def name(self) -> str:
        """Name of the study and of its store."""
        return self.scenario if self.test == GRID else f"{self.scenario}-{self.test}"

    @property
    def settings(self) -> list[str]:
        """Settings that differ from the bundled scenario."""
        return [] if self.test == GRID else [f"name={self.name}", f"source.test={self.test}"]

    def load(self, quick: bool = False) -> Loaded:
        """Load the scenario, with `quick` only at the n of `QUICK`."""
        fewer = [f"grid.n={json.dumps(QUICK[self.scenario])}"] if quick else []
        return load(self.scenario, [*self.settings, *fewer])

    def get_store_url(self, results: str) -> str:
        """Return the store of the study in the folder `results`."""
        return join(results, f"{self.name}.zarr")

    def format_command(self, results: str) -> str:
        """Return the command that runs the study."""
        store = [] if results == "results" else ["--store", self.get_store_url(results)]
        return " ".join(["ckrr", "run", self.scenario, *(f"--set {one}" for one in self.settings), *store])


ALL = [CorrectedStudy(name, test) for name in NAMES for test in (GRID, IID)]


def list_studies(quick: bool) -> list[CorrectedStudy]:
    """List the studies that a report runs: all, or those of `--quick`."""
    return [one for one in ALL if not quick or one.scenario in QUICK]


def find_stores(results: str) -> dict[CorrectedStudy, str]:
    """Find the corrected studies that have a store with all axes but n complete.

    Returns
    -------
    dict
        URL of the store of each study found.

    Raises
    ------
    UserError
        If a store belongs to another study; the message names the difference.
    """
    found = {}
    for one in ALL:
        manifest = record_at(open_backend(one.get_store_url(results)))
        if manifest is not None:
            loaded = one.load()
            url, (study, _) = one.get_store_url(results), split_fingerprint(manifest.fingerprint)
            check_fingerprint(url, study, loaded.with_variables_of(manifest.keep).fingerprint)
            check_families(url, manifest.families, loaded.records)
            if _has_grid(manifest.extent.grid, loaded.extent.grid):
                found[one] = one.get_store_url(results)
    return found


def _has_grid(grid: Grid, asked: Grid) -> bool:
    """Return whether a grid contains all values of another one, on every axis but n."""
    return all({*getattr(grid, axis)} >= {*getattr(asked, axis)} for axis in CUBE_DIMS if axis != "n")
