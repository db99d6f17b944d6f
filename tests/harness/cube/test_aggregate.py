"""The cube's numbers are the tables' numbers, and both are the statistics that the schema names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.labels import format_theta
from harness.core.schema.cube import VERDICT_FLAGS
from harness.core.schema.measures import DIFFERENCES, MEASURES
from harness.cube.reader import open_cube
from harness.cube.refresh import refresh
from harness.maintenance.verify import verify
from harness.results.estimates import difference, estimate
from harness.results.validity import verdicts
from harness.statistics.verdicts import WORDS
from harness.store import arrays
from harness.store.manifest_io import load_manifest
from tests.harness.studies import contents, replications, run, run_serially

MEANS = ("width_mean", "length_mean", "interval_score", "crps", "distance_lower", "distance_upper")
SHARES = ("coverage", "coverage_expected", "coverage_f", "unbounded", "empty", "disconnected")


KNOWN: dict[str, Any] = {
    "source__function": "tests.harness.toy:KnownToy",
    "grid__procedure": ["exact", "wide", "random"],
    "grid__gamma": [1.0, 0.25],
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every number is another one, so that no two statistics agree; some replications failed."""
    where = tmp_path_factory.mktemp("cube") / "toy.zarr"
    manifest = run_serially(where, source__fails_at=0.1, keep=["distribution", *DIFFERENCES], **KNOWN)
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
        error = cube[f"{name}_se"].sel(quantile=0.5) if "quantile" in cube[name].dims else cube[f"{name}_se"]
        np.testing.assert_array_equal(error.transpose(*found["se"].dims), found["se"])
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
    values = replications(store, 10, name)[:, :, 1, 0, 0, 0][ok]
    values = values if name == "crps" else values[:, 0]  # at the first α
    if name in (*MEANS, *SHARES, *DIFFERENCES):
        assert float(cube[name]) == pytest.approx(values.mean(dtype=float), rel=1e-6)
    else:
        middle = np.quantile(values[:, 1], 0.5, method="inverted_cdf")
        assert float(cube[name].sel(quantile=0.5)) == middle


def test_expected_coverage_of_a_known_interval_is_its_level(tmp_path: Path) -> None:
    """Without any noise of test values: every replication has it to the last digits."""
    run_serially(tmp_path / "known.zarr", **KNOWN)
    cube = open_cube(str(tmp_path / "known.zarr")).sel(gamma=1.0)
    exact = cube.coverage_expected.sel(procedure="exact")
    assert float(abs(exact - (1 - cube.alpha)).max()) < 1e-14
    assert float(cube.coverage_expected_se.sel(procedure="exact").max()) < 1e-14
    assert float(cube.coverage_se.sel(procedure="exact").min()) > 1e-3
    wide = cube.coverage_expected.sel(procedure="wide", alpha=0.1)
    np.testing.assert_allclose(wide, 2 * ndtr(-2 * ndtri(0.05)) - 1, rtol=1e-14)


@pytest.mark.parametrize("expected", [False, True])
def test_the_cube_has_the_verdicts_of_results(expected: bool, tmp_path: Path) -> None:
    where = str(tmp_path / "judged.zarr")
    asked = {**KNOWN, "source__fails_at": 0.02, "replications__paths": 60, "source__spread": 0.4}
    run_serially(Path(where), **asked, expected_coverage=expected)
    cube, judged, alone = open_cube(where), verdicts(where), estimate(where)
    assert len(np.unique(cube.verdict)) > 1, "otherwise the comparison says little"
    words = np.array(WORDS, dtype=object)[cube.verdict.transpose(*judged.verdict.dims)]
    assert (words == judged.verdict).all()
    np.testing.assert_array_equal(cube.target, judged.target.broadcast_like(judged.value).transpose(*cube.target.dims))
    assert (cube.coverage_low <= alone.low.transpose(*cube.coverage_low.dims)).all(), "failures may all be misses"
    assert (cube.coverage_high >= alone.high.transpose(*cube.coverage_low.dims)).all()
    assert cube.failed.max() > 0


def test_codes_of_verdicts_mean_the_words() -> None:
    assert [word.replace("no_result", "") for word in VERDICT_FLAGS] == list(WORDS)
    assert list(VERDICT_FLAGS.values()) == list(range(len(WORDS)))


def test_an_older_store_gets_the_new_variables_at_the_next_run(tmp_path: Path) -> None:
    """As version 0.1 left it: fewer arrays in the cube, and other attributes."""
    where = tmp_path / "old.zarr"
    run(where, expected_coverage=False, **KNOWN)
    new, old = contents(where), ("verdict", "target", "coverage_low", "coverage_high", "width_se")
    root = json.loads((where / "zarr.json").read_text())
    del root["attributes"]["cube_version"]
    nodes = root["consolidated_metadata"]["metadata"]
    for name in old:
        shutil.rmtree(where / name)
        del nodes[name]
    for path, node in nodes.items():
        if node["node_type"] == "array":
            node["attributes"] = {"description": "as it was"}
            (where / path / "zarr.json").write_text(json.dumps(node))
    (where / "zarr.json").write_text(json.dumps(root))
    (where / "manifest.json").unlink()
    arrays.clear_handles()
    assert verify(str(where))[1] == [], "older isn't damaged"
    assert "verdict" not in open_cube(str(where))
    estimate(str(where), "width")
    run(where, **KNOWN)
    assert contents(where).keys() == new.keys()
    assert all(np.array_equal(contents(where)[name], new[name], equal_nan=True) for name in old)
    assert open_cube(str(where)).coverage.attrs["long_name"] == "coverage of y*"
    assert verify(str(where))[1] == []


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
