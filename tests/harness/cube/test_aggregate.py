"""The cube's numbers are the tables' numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.core.schema import MEASURES
from harness.cube.reader import open_cube
from harness.cube.refresh import refresh
from harness.results.estimates import estimate
from tests.harness.studies import run_serially


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With failures, and with widths that are infinite."""
    where = tmp_path_factory.mktemp("cube") / "toy.zarr"
    manifest = run_serially(where, source__fails_at=0.1)
    refresh(str(where), manifest, manifest.extent.grid.n)
    return where


@pytest.mark.parametrize("name", [one.name for one in MEASURES])
def test_the_cube_is_the_table(name: str, store: Path) -> None:
    cube, found = open_cube(str(store)), estimate(str(store), name)
    ours = cube[name].sel(quantile=0.5) if "quantile" in cube[name].dims else cube[name]
    np.testing.assert_array_equal(ours.transpose(*found["value"].dims), found["value"])
    if f"{name}_se" in cube:
        np.testing.assert_array_equal(cube[f"{name}_se"].transpose(*found["se"].dims), found["se"])
    assert not np.isnan(ours).all() or name in ("coverage_f", "distance_lower", "distance_upper")
