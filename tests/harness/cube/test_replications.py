"""The tree of all replications: what the store has, sorted, in chunks, and read no earlier than it is used."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from ckrr import study
from harness.core.errors import UserError
from harness.core.labels import format_theta
from harness.core.schema.measures import list_variables
from harness.cube import replications as module
from harness.cube.reader import open_cube
from harness.cube.replications import open_replications
from harness.execution import lifecycle
from harness.results.replications import open_reader
from harness.store.layout import get_group_name
from harness.store.manifest import Manifest, cache_key
from harness.worker.task import run_unit
from tests.harness.rounds import Driver
from tests.harness.studies import prepared, replications, run_serially, serially
from tests.hostile.stores import bomb
from tests.house import ROOT

UNSORTED: dict[str, Any] = {
    "grid__n": [20, 10],
    "grid__gamma": [1.0, 0.25],
    "grid__theta": ["best", 2.5, 1],
    "grid__lam": [1, 0.1],
    "grid__alpha": [0.1, 0.05],
    "replications__paths": 23,
    "source__fails_at": 0.1,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    """A store whose axes aren't in order, with failures, and with one unit that was never computed."""
    where = tmp_path_factory.mktemp("replications") / "toy.zarr"
    one = prepared(where, keep=["pointwise"], **UNSORTED)
    assert one.plan.units[0].name == "n=10/p0_d0"
    return where, serially(one, range(1, len(one.plan.units)))


@pytest.fixture
def store(made: tuple[Path, Manifest], tmp_path: Path) -> Path:
    """A copy to be changed."""
    return Path(shutil.copytree(made[0], tmp_path / "toy.zarr"))


def list_chunks(store: Path) -> list[Path]:
    """Files of all chunks of replications, without those of labels."""
    return [path for path in store.glob("replications/*/*/c.*") if path.is_file()]


def test_it_has_what_the_store_has(made: tuple[Path, Manifest]) -> None:
    """Compared cell by cell, through the labels, with what plain Zarr reads."""
    where, manifest = made
    tree, grid = open_replications(str(where)), manifest.extent.grid
    assert list(tree.children) == ["n=10", "n=20"]
    labels = {axis: list(getattr(grid, axis)) for axis in ("procedure", "gamma", "lam", "alpha")}
    labels["theta"] = [format_theta(each) for each in grid.theta]
    for n in grid.n:
        found = tree[f"n={n}"].to_dataset()
        assert (found.coords["n"].ndim, int(found.coords["n"])) == (0, n)
        assert not any(one.chunks for one in found.coords.values()), "labels are in memory"
        assert set(found.data_vars) == {one.name for one in list_variables(manifest.keep)}
        for name, array in found.items():
            stored = replications(where, n, str(name))
            theirs = array.sel({axis: values for axis, values in labels.items() if axis in array.dims})
            assert array.dtype == stored.dtype
            np.testing.assert_array_equal(theirs.to_numpy(), stored)
            assert array.attrs == xr.open_zarr(where, group=get_group_name(n), consolidated=False)[name].attrs


def test_axes_are_sorted_as_those_of_the_cube(made: tuple[Path, Manifest]) -> None:
    cube, tree = open_cube(str(made[0])), open_replications(str(made[0]))
    for axis in ("procedure", "gamma", "theta", "lam", "alpha", "quantile"):
        assert tree["n=10"][axis].values.tolist() == cube[axis].values.tolist()
    assert cube.theta.values.tolist() == ["1", "2.5", "best"]
    assert cube.n.values.tolist() == [10, 20]
    theirs = xr.open_zarr(made[0], chunks=None).sortby(["gamma", "lam", "n", "alpha"]).isel(theta=[2, 1, 0])
    xr.testing.assert_identical(cube.load(), theirs.load())


def test_what_was_not_run_is_nan(made: tuple[Path, Manifest]) -> None:
    where, manifest = made
    first = manifest.list_units(10, manifest.extent)[0]
    found = open_replications(str(where))["n=10"].to_dataset()
    unit = found.isel(path=slice(first.paths.start, first.paths.stop), draw=slice(first.draws.start, first.draws.stop))
    assert (unit.status == 255).all()
    assert unit.coverage.isnull().all()
    assert (found.status == 255).sum() == unit.status.size
    assert (found.status == 0).any()


def test_chunks_are_whole_units(made: tuple[Path, Manifest], monkeypatch: pytest.MonkeyPatch) -> None:
    where, manifest = made
    whole = manifest.extent
    for limit in (1.0, 2e5, 1e6, 64e6):
        monkeypatch.setattr(module, "_CHUNK_BYTES", limit)
        for n in whole.grid.n:
            rows, columns = manifest.groups[n].block
            found = open_replications(str(where))[f"n={n}"].to_dataset()
            sizes = {axis: lengths[0] for axis, lengths in found.chunks.items()}
            assert sizes["path"] % rows == 0 or sizes["path"] == whole.paths
            assert sizes["draw"] % columns == 0 or sizes["draw"] == whole.draws
            largest = max(one.data.blocks[(0,) * one.ndim].nbytes for one in found.values())
            per_unit = max(one.nbytes for one in found.isel(path=slice(rows), draw=slice(columns)).values())
            assert largest <= max(limit, per_unit)
            assert largest + per_unit > limit or (sizes["path"], sizes["draw"]) == (whole.paths, whole.draws)
    assert rows < whole.paths, "otherwise this says little"


@pytest.mark.parametrize(
    ("unit", "cells", "chunk"),
    [
        ((2, 5), 1000, (400, 20)),  # 80 kB a unit: 800 of them, 4 along draw
        ((1, 5), 400_000, (1, 20)),  # 16 MB a unit: 4
        ((1, 5), 500_000, (1, 15)),  # 20 MB a unit: 3
        ((3, 20), 1_000_000, (3, 20)),  # a unit is larger than a chunk should be
    ],
)
def test_chunks_are_about_64_mb(unit: tuple[int, int], cells: int, chunk: tuple[int, int]) -> None:
    values = np.broadcast_to(np.zeros(()), (1000, 20, cells))
    found = xr.Dataset({"one": (("path", "draw", "cell"), values), "small": (("path", "draw"), values[..., 0])})
    assert tuple(module._choose_chunks(found, unit, {}).values()) == chunk


def test_chunks_can_be_chosen(made: tuple[Path, Manifest]) -> None:
    where, manifest = made
    rows, _ = manifest.groups[10].block
    found = open_replications(str(where), {"path": rows + 1})["n=10"].to_dataset()
    assert (found.chunks["path"][0], found.chunks["draw"]) == (2 * rows, (3,))
    found = open_replications(str(where), {"path": 1, "draw": 1})["n=10"].to_dataset()
    assert (found.chunks["path"][0], found.chunks["draw"]) == (rows, (3,))
    bad: Any
    for bad in ({"path": 0}, {"path": 2.5}, {"path": True}, {"n": 3}, {"path": "all"}):
        with pytest.raises(UserError, match="chunks must be a mapping of path and draw"):
            open_replications(str(where), bad)


def test_nothing_is_read_before_it_is_used(store: Path) -> None:
    """Every chunk is broken, and only who reads one is told."""
    for path in list_chunks(store):
        path.write_bytes(b"broken")
    found = open_replications(str(store))["n=10"].to_dataset()
    mean = found.coverage.mean(["path", "draw"])
    with pytest.raises(
        UserError, match=r"a chunk of replications/n=10/coverage can't be read .*ckrr status .* --verify"
    ):
        mean.compute()


def test_only_what_is_needed_is_read(made: tuple[Path, Manifest], store: Path) -> None:
    """One chunk is whole, the others are broken."""
    rows, columns = made[1].groups[10].block
    for path in list_chunks(store):
        if not path.name.startswith("c.1.0."):
            path.write_bytes(b"broken")
    found = open_replications(str(store), {"path": 1, "draw": 1})["n=10"].coverage
    part = found.isel(path=slice(rows, 2 * rows), draw=slice(columns)).sel(theta="1", gamma=0.25)
    stored = replications(made[0], 10, "coverage")[rows : 2 * rows, :columns, :, 1, 2]
    np.testing.assert_array_equal(part.sel(lam=[1, 0.1], alpha=[0.1, 0.05]), stored)
    one = found.isel(path=rows, draw=[0], procedure=-1, alpha=slice(None, None, -1)).sel(lam=0.1)
    assert one.shape == (1, 2, 3, 2)
    with pytest.raises(UserError):
        found.isel(path=2 * rows).load()


@pytest.mark.parametrize("sharded", [False, True])
def test_chunks_that_would_explode_are_refused(sharded: bool, tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    one = prepared(where, grid__n=[10], replications__paths=2)
    groups = {n: replace(group, sharded=sharded) for n, group in one.manifest.groups.items()}
    record = lifecycle.begin_run(replace(one, manifest=replace(one.manifest, groups=groups)))
    for unit in one.plan.units:
        run_unit(str(where), cache_key(record), record.generation, False, unit)
    tree = open_replications(str(where))
    assert np.array_equal(tree["n=10"].coverage.sel(theta="1"), replications(where, 10, "coverage")[..., ::-1, 0, :, :])
    for path in list_chunks(where):
        path.write_bytes(bomb())
    with pytest.raises(UserError):
        tree["n=10"].coverage.load()


def test_dask_can_send_it_to_other_processes(made: tuple[Path, Manifest]) -> None:
    """Without open handles; what it opens there is checked there."""
    tree = open_replications(str(made[0]))
    sent = pickle.dumps(tree["n=10"].coverage)
    assert len(sent) < 20_000
    code = "import pickle, sys\nprint(float(pickle.load(sys.stdin.buffer).mean()))"
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True, cwd=ROOT)
    assert float(done.stdout) == float(tree["n=10"].coverage.mean())


def test_a_store_that_grows_is_opened_anew(tmp_path: Path) -> None:
    """Keys in Dask's graph differ, so that a cluster that keeps results doesn't mix them up."""
    where = tmp_path / "toy.zarr"
    run_serially(where, [0], grid__n=[10])
    before = open_replications(str(where))["n=10"].coverage
    run_serially(where, grid__n=[10, 20], replications__paths=9)
    after = open_replications(str(where))
    assert (before.sizes["path"], after["n=10"].sizes["path"], list(after.children)) == (7, 9, ["n=10", "n=20"])
    assert before.data.name != after["n=10"].coverage.data.name
    assert after["n=10"].coverage.notnull().all()
    np.testing.assert_array_equal(before.load(), after["n=10"].coverage.isel(path=slice(7)))


def test_a_study_with_until_has_the_paths_of_its_results(tmp_path: Path) -> None:
    driver = Driver(tmp_path / "toy.zarr")
    driver.go_on(most=1)
    assert open_replications(driver.url)["n=10"].sizes["path"] == 100, "those of the first round"
    cube = driver.go_on().finish()
    for name, one in open_replications(driver.url).children.items():
        counts = cube.replication_count.sel(n=int(name[2:]))
        assert one.sizes["path"] * one.sizes["draw"] == int(counts.max())
        assert (one.status == 0).all()


def test_a_scenario_stands_for_its_store_and_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is neither a store nor a scenario here"):
        study.open_replications(str(tmp_path / "none.zarr"))
    with pytest.raises(UserError, match="there is no store here"):
        study.open_replications(str(tmp_path))


def test_a_store_made_anew_at_the_same_place_is_read_anew(tmp_path: Path) -> None:
    """Handles of the old store, whose chunks had another shape, must not be used."""
    for name, block in {"first.zarr": (4, 1), "second.zarr": (2, 2)}.items():
        made = prepared(tmp_path / name, replications__paths=8, replications__draws=4)
        groups = {n: replace(group, block=block) for n, group in made.manifest.groups.items()}
        manifest = lifecycle.begin_run(replace(made, manifest=replace(made.manifest, groups=groups)))
        for unit in (unit for n in groups for unit in manifest.list_units(n, manifest.extent)):
            run_unit(str(tmp_path / name), cache_key(manifest), manifest.generation, False, unit)
    where = tmp_path / "first.zarr"
    for _ in range(2):
        plain = xr.open_zarr(where, group="replications/n=10", chunks=None).sortby("gamma")
        found = open_replications(str(where))["n=10"].to_dataset().drop_vars("n")
        np.testing.assert_array_equal(found.coverage.values, plain.coverage.values)
        reader = open_reader(str(where))
        assert all(np.isfinite(reader.read(slab, "coverage")).all() for slab in reader.iter_slabs())
        shutil.rmtree(where)
        if (tmp_path / "second.zarr").exists():
            (tmp_path / "second.zarr").rename(where)


@pytest.mark.parametrize("chunks", ["auto", {"path": -1}, {"path": "auto", "draw": -1}, {"path": np.int64(3)}])
def test_chunks_are_given_as_for_xarray(chunks: Any, tmp_path: Path) -> None:
    run_serially(tmp_path / "toy.zarr")
    assert open_replications(str(tmp_path / "toy.zarr"), chunks)["n=10"].coverage.chunks is not None


@pytest.mark.parametrize("chunks", [5, -1, "all", {"path": 0}, {"n": 1}, {"path": True}])
def test_other_chunks_are_refused(chunks: Any, tmp_path: Path) -> None:
    run_serially(tmp_path / "toy.zarr")
    with pytest.raises(UserError, match="chunks must be a mapping of path and draw"):
        open_replications(str(tmp_path / "toy.zarr"), chunks)
