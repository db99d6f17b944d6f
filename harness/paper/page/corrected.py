"""The corrected studies: the paper's, as its text describes them, with many independent paths.

Each is there twice. With test points on a regular grid, as in the text; and with test points from the law of the train
points, for which alone conformal regions are promised an exact level.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from harness.backends.address import join
from harness.backends.base import open_backend
from harness.core.schema import CUBE_DIMS
from harness.core.types import Grid
from harness.execution.prepare import check_fingerprint
from harness.scenario.load import Loaded, load
from harness.store.manifest_io import load_manifest as record_at

GRID, IID = "grid", "iid"
NAMES = ("gp1", "gp2", "f6", "heaviside", "pressure2", "f2", "f5")
GAUSSIAN = ("gp1", "gp2")
"""Where the model may be right."""
QUICK: Mapping[str, tuple[int, ...]] = {"gp1": (25, 50, 100), "heaviside": (25, 50, 100), "f2": (150,)}
"""What a first look runs: studies and values of n."""


@dataclass(frozen=True)
class CorrectedStudy:
    """One of them."""

    scenario: str
    test: str
    """How test points are laid out."""

    @property
    def name(self) -> str:
        """Of its store, too."""
        return self.scenario if self.test == GRID else f"{self.scenario}-{self.test}"

    @property
    def settings(self) -> list[str]:
        """What it changes in the packaged scenario."""
        return [] if self.test == GRID else [f"name={self.name}", f"source.test={self.test}"]

    def load(self, quick: bool = False) -> Loaded:
        """The scenario, or what a first look runs of it."""
        fewer = [f"grid.n={json.dumps(QUICK[self.scenario])}"] if quick else []
        return load(self.scenario, [*self.settings, *fewer])

    def get_store_url(self, results: str) -> str:
        """Its store: the default one, as far as `results` is."""
        return join(results, f"{self.name}.zarr")

    def format_command(self, results: str) -> str:
        """What runs it."""
        store = [] if results == "results" else ["--store", self.get_store_url(results)]
        return " ".join(["ckrr", "run", self.scenario, *(f"--set {one}" for one in self.settings), *store])


ALL = [CorrectedStudy(name, test) for name in NAMES for test in (GRID, IID)]


def list_studies(quick: bool) -> list[CorrectedStudy]:
    """Those that a report runs by itself: all, or those of a first look."""
    return [one for one in ALL if not quick or one.scenario in QUICK]


def find_stores(results: str) -> dict[CorrectedStudy, str]:
    """Those that have a store, and where. A store of something else is refused, with the difference told."""
    found = {}
    for one in ALL:
        manifest = record_at(open_backend(one.get_store_url(results)))
        if manifest is not None:
            loaded = one.load()
            check_fingerprint(one.get_store_url(results), manifest.fingerprint, loaded.fingerprint)
            if _has_grid(manifest.extent.grid, loaded.extent.grid):
                found[one] = one.get_store_url(results)
    return found


def _has_grid(grid: Grid, asked: Grid) -> bool:
    """Whether it has all that claims are of: every axis but n."""
    return all({*getattr(grid, axis)} >= {*getattr(asked, axis)} for axis in CUBE_DIMS if axis != "n")
