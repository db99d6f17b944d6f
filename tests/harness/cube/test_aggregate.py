"""The cube's numbers are the tables' numbers, and both are the statistics that the schema names."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.labels import format_theta
from harness.core.schema import MEASURES
from harness.cube.reader import open_cube
from harness.cube.refresh import refresh
from harness.results.estimates import difference, estimate
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


def test_the_mean_score_is_that_of_bounded_replications(store: Path, tmp_path: Path) -> None:
    """In one cell some are infinite, in another all; the cube, the table and the share left out agree."""
    store = copytree(store, tmp_path / "toy.zarr")
    manifest = load_manifest(open_backend(str(store)))
    assert manifest is not None
    array = arrays.open_array(str(store), "replications/n=20/interval_score", manifest.generation)
    values = array[...]
    values[:3, :, 0, 0, 0, 0, 0] = np.inf
    values[:, :, 1, 0, 0, 0, 0] = np.inf
    array[...] = values
    refresh(str(store), manifest, [20])
    grid = manifest.extent.grid
    cell = {"gamma": grid.gamma[0], "theta": format_theta(grid.theta[0]), "lam": grid.lam[0], "alpha": grid.alpha[0]}
    place = {"procedure": list(grid.procedure[:2]), "n": 20, **cell}
    found, left_out = (estimate(str(store), name).sel(place) for name in ("interval_score", "unscored"))
    np.testing.assert_array_equal(open_cube(str(store))["interval_score"].sel(place), found["value"])
    ok = replications(store, 20, "status")[:, :, :2, 0, 0, 0] == 0
    kept = values[3:, :, 0, 0, 0, 0, 0][ok[3:, :, 0]]
    np.testing.assert_allclose(found["value"], [kept.mean(dtype=float), np.nan], rtol=1e-6)
    assert found["paths"].values.tolist() == [ok[3:, :, 0].any(axis=1).sum(), 0]
    assert left_out["value"].values.tolist() == [pytest.approx(ok[:3, :, 0].sum() / ok[:, :, 0].sum()), 1.0]
    apart = difference(str(store), grid.procedure[0], "interval_score").sel({**place, "procedure": grid.procedure[2]})
    both = ok[3:, :, 0] & (replications(store, 20, "status")[3:, :, 2, 0, 0, 0] == 0)
    by_hand = (values[3:, :, 2, 0, 0, 0, 0] - values[3:, :, 0, 0, 0, 0, 0])[both]
    assert float(apart["value"]) == pytest.approx(by_hand.mean(dtype=float), rel=1e-5)
    with pytest.raises(UserError, match="interval_score isn't a mean over all replications"):
        estimate(str(store), "interval_score", adjust=True)
