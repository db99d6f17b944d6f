"""The cube's numbers are the tables' numbers, and both are the statistics that the schema names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.backends.base import open_backend
from harness.core.labels import format_theta
from harness.core.schema import MEASURES
from harness.cube.reader import open_cube
from harness.cube.refresh import refresh
from harness.results.estimates import estimate
from harness.store import arrays
from harness.store.manifest_io import load_manifest
from tests.harness.studies import replications, run_serially

MEANS = ("width_mean", "length_mean", "interval_score", "distance_lower", "distance_upper")
SHARES = ("coverage", "coverage_f", "unbounded", "empty", "disconnected")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every number is another one, so that no two statistics agree; some replications failed."""
    where = tmp_path_factory.mktemp("cube") / "toy.zarr"
    manifest = run_serially(where, source__fails_at=0.1)
    rng = np.random.default_rng(1)
    for n in manifest.extent.grid.n:
        for one in MEASURES:
            array = arrays.open_array(str(where), f"replications/n={n}/{one.name}", manifest.generation)
            array[...] = rng.exponential(size=array.shape).astype(one.dtype)
    refresh(str(where), manifest, manifest.extent.grid.n)
    return where


@pytest.mark.parametrize("name", [one.name for one in MEASURES])
def test_the_cube_is_the_table(name: str, store: Path) -> None:
    cube, found = open_cube(str(store)), estimate(str(store), name)
    ours = cube[name].sel(quantile=0.5) if "quantile" in cube[name].dims else cube[name]
    np.testing.assert_array_equal(ours.transpose(*found["value"].dims), found["value"])
    if f"{name}_se" in cube:
        np.testing.assert_array_equal(cube[f"{name}_se"].transpose(*found["se"].dims), found["se"])
    assert not np.isnan(ours).any()


@pytest.mark.parametrize("name", [one.name for one in MEASURES])
def test_it_is_the_statistic_by_hand(name: str, store: Path) -> None:
    """Means of shares and of what may be infinite; medians of widths and lengths."""
    manifest = load_manifest(open_backend(str(store)))
    assert manifest is not None
    grid = manifest.extent.grid
    place = {"procedure": grid.procedure[1], "gamma": grid.gamma[0], "theta": format_theta(grid.theta[0])}
    cube = open_cube(str(store)).sel(n=10, lam=grid.lam[0], alpha=grid.alpha[0], **place)
    ok = replications(store, 10, "status")[:, :, 1, 0, 0, 0] == 0
    assert 0 < ok.sum() < ok.size
    values = replications(store, 10, name)[:, :, 1, 0, 0, 0, 0][ok]
    if name in (*MEANS, *SHARES):
        assert float(cube[name]) == pytest.approx(values.mean(dtype=float), rel=1e-6)
    else:
        middle = np.quantile(values[:, 1], 0.5, method="inverted_cdf")
        assert float(cube[name].sel(quantile=0.5)) == middle
