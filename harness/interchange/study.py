"""Open what is exported of a store: selected cells of its cube and replications, and a description of the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import xarray as xr

from harness.backends.base import open_backend
from harness.backends.errors import translate_errors
from harness.core.errors import UserError
from harness.core.labels import list_axis_values
from harness.core.schema.cube import CUBE, CUBE_DIMS
from harness.core.text import escape
from harness.cube.reader import open_cube
from harness.interchange.attributes import set_attributes
from harness.parsing.selections import Selection
from harness.results.replications import ReplicationReader, open_reader
from harness.scenario.dump import dump_scenario
from harness.store.arrays import translate_decode_errors
from harness.store.manifest import REFERENCES, Manifest, describe_study, hash_fingerprint
from harness.store.receipts import list_receipts


@dataclass(frozen=True, eq=False)
class StoredStudy:
    """A store and the cells of it that are exported."""

    runs: ReplicationReader
    axes: Mapping[str, list[Any]]
    """The selected values of each axis of the cube, sorted."""

    @property
    def url(self) -> str:
        """Path or URL of the store."""
        return self.runs.url

    @property
    def manifest(self) -> Manifest:
        """Manifest of the store."""
        return self.runs.manifest

    @cached_property
    def cube(self) -> xr.Dataset:
        """The selected cells of the cube in memory, in the order of the schema."""
        with translate_errors(self.url), translate_decode_errors(self.url, "the cube"):
            try:
                found = open_cube(self.url).sel(self.axes).load()
            except KeyError:
                mend = f"`ckrr status {self.url} --verify` finds the damage, and `ckrr run` repairs it"
                raise UserError(f"{self.url}: labels of the cube differ from those of the manifest: {mend}") from None
        return set_attributes(found[[one.name for one in CUBE if one.name in found]])

    @cached_property
    def signed(self) -> Mapping[int, frozenset[tuple[int, int]]]:
        """For each selected n, the units that have a receipt: their blocks of paths and of draws."""
        found: dict[int, set[tuple[int, int]]] = {n: set() for n in self.axes["n"]}
        for name in list_receipts(open_backend(self.url), found):
            n, paths, draws = name.removeprefix("n=").replace("/p", "_d").split("_d")
            found[int(n)].add((int(paths), int(draws)))
        return {n: frozenset(blocks) for n, blocks in found.items()}

    def get_positions(self, axis: str) -> list[int]:
        """Return the positions of the selected values along an axis of the store."""
        known = list(list_axis_values(self.manifest.extent.grid, axis))
        return [known.index(each) for each in self.axes[axis]]


def open_study(store: str | Path, where: Selection | None) -> StoredStudy:
    """Open a store, and find the cells to export.

    Raises
    ------
    UserError
        If there is no such store, or it doesn't have a value of `where`.
    """
    runs = open_reader(str(store), where)
    return StoredStudy(runs, {axis: list(dict.fromkeys(runs.sort_values(axis))) for axis in CUBE_DIMS})


def describe_file(study: StoredStudy) -> dict[str, str | int]:
    """Return what a file says about its study as a whole: title, description, scenario and origin."""
    manifest = study.manifest
    return {
        "title": str(manifest.scenario["name"]),
        "description": escape(describe_study(manifest)),
        "references": REFERENCES,
        "scenario": dump_scenario(manifest.scenario),
        "fingerprint": hash_fingerprint(manifest.fingerprint),
        "test_points": manifest.test_points,
        "test": escape(manifest.test),
        "source": f"ckrr {version('ckrr')}",
    }
