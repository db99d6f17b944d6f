"""The store: opened by others in silence, grown in one step, and never by two writers in one chunk."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import harness
from harness.backends.base import open_backend
from harness.backends.local import LocalBackend
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.errors import UserError
from harness.core.types import Unit
from harness.execution import lifecycle
from harness.monitor.state import status
from harness.store import arrays, receipts
from harness.store.heartbeat import current_driver, to_bytes
from harness.store.layout import make_template
from harness.store.manifest import CLAIM, cache_key, from_attributes, to_attributes
from harness.store.manifest_io import load_manifest
from harness.worker.task import run_unit
from tests.harness.studies import contents, prepared, replications, run_serially, serially
from tests.plain import link_packages, run_alone


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("store") / "toy.zarr"
    run_serially(where)
    return where


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to import from that has xarray and zarr and what they need, and nothing else."""
    folder = link_packages(tmp_path_factory.mktemp("site"), ["xarray", "zarr"])
    assert not any((folder / name).exists() for name in ("dask", "scipy"))
    return folder


def alone(site: Path, code: str) -> str:
    """Runs code with nothing but those, warnings being errors."""
    return run_alone([site], f"import xarray\n{code}")


def test_xarray_alone_opens_it_in_silence(made: Path, site: Path) -> None:
    out = alone(
        site,
        f"cube = xarray.open_zarr({str(made)!r})\n"
        "print(dict(cube.sizes))\n"
        "print(cube.coverage.sel(procedure='wide', theta='best', gamma=0.25, lam=0.1, n=20, alpha=0.1).item())\n"
        "print(cube.coverage.sel(theta=cube.theta_value == 2.5).sizes['theta'])\n",
    )
    sizes, coverage, selected = out.splitlines()
    assert eval(sizes) == {"procedure": 4, "gamma": 2, "theta": 3, "lam": 2, "n": 2, "alpha": 2, "quantile": 3}
    assert float(coverage) == contents(made)["coverage"][1, 1, 2, 0, 1, 1]
    assert selected == "1"


def test_xarray_alone_opens_the_tree(made: Path, site: Path) -> None:
    out = alone(
        site,
        f"tree = xarray.open_datatree({str(made)!r})\n"
        "group = tree['replications/n=10']\n"
        "print(sorted(tree['replications'].children), dict(group.sizes)['path'])\n"
        "print(group['coverage'].sel(procedure='exact', theta='1', gamma=1.0, lam=0.1, alpha=0.05).mean().item())\n"
        f"one = xarray.open_zarr({str(made)!r}, group='replications/n=20')\n"
        "print(one.width.sel(quantile=0.5).shape)\n",
    )
    first, mean, shape = out.splitlines()
    assert first == "['n=10', 'n=20'] 7"
    assert float(mean) == pytest.approx(replications(made, 10, "coverage")[:, :, 0, 0, 0, 0, 0].mean())
    assert shape == "(7, 3, 4, 2, 3, 2, 2)"


def test_every_array_says_what_it_is(made: Path) -> None:
    tree = xr.open_datatree(made, engine="zarr")
    for node in tree.subtree:
        for name in node.dataset.variables:
            assert node.dataset[name].attrs["description"], name


def test_the_cube_is_the_mean_of_the_replications(made: Path) -> None:
    cube = harness.open_cube(str(made))
    for n in (10, 20):
        values = replications(made, n, "coverage")
        mean = cube["coverage"].sel(
            n=n, theta=["1", "2.5", "best"], gamma=[1.0, 0.25], lam=[0.1, 1.0], alpha=[0.05, 0.1]
        )
        np.testing.assert_allclose(mean.to_numpy(), values.mean(axis=(0, 1)))
        widths = replications(made, n, "width").reshape(-1, 4, 2, 3, 2, 2, 3)
        middle = cube["width"].sel(n=n, theta=["1", "2.5", "best"], gamma=[1.0, 0.25], lam=[0.1, 1.0])
        np.testing.assert_allclose(middle.to_numpy(), np.quantile(widths, 0.5, axis=0, method="inverted_cdf"))


def test_open_cube_sorts(tmp_path: Path) -> None:
    run_serially(tmp_path / "a.zarr", grid__n=[20, 10], grid__theta=["best", 2.5, 1], grid__lam=[1, 0.1])
    cube = harness.open_cube(str(tmp_path / "a.zarr"))
    assert cube["n"].to_numpy().tolist() == [10, 20]
    assert cube["theta"].to_numpy().tolist() == ["1", "2.5", "best"]
    assert cube["lam"].to_numpy().tolist() == [0.1, 1.0]


def test_records_survive_json(made: Path) -> None:
    record = load_manifest(open_backend(str(made)))
    assert record is not None
    assert from_attributes(json.loads(json.dumps(to_attributes(record)))) == record


def test_the_root_is_written_last(made: Path) -> None:
    record = load_manifest(open_backend(str(made)))
    assert record is not None
    assert list(make_template(record))[-1] == "zarr.json"


def test_a_creation_that_was_killed_is_done_again(tmp_path: Path) -> None:
    """After any number of writes, the next run makes the store; and until the root is there nobody sees one."""
    study = prepared(tmp_path / "none.zarr")
    keys = make_template(study.manifest)
    for count in (0, 1, len(keys) // 2, len(keys) - 1):
        where = tmp_path / f"{count}.zarr"
        there = LocalBackend(str(where))
        there.put(CLAIM, to_bytes(current_driver()))
        for key in list(keys)[:count]:
            there.put(key, keys[key])
        assert load_manifest(there) is None
        with pytest.raises(Exception, match=r"zarr|group|exist|No such"):
            xr.open_zarr(where)
        run_serially(where)
        assert load_manifest(there) is not None
        assert there.get(CLAIM) is None


def test_two_writers_in_one_chunk_are_refused(tmp_path: Path) -> None:
    study = prepared(tmp_path / "toy.zarr")
    record = lifecycle.begin_run(study)
    source, family, seeds = study.loaded.built.source, study.loaded.families, study.loaded.seeds
    rows, columns = record.groups[10].block
    crooked = Unit(10, 0, 0, range(1, rows + 1), range(columns))
    block = compute_unit(Study(record.extent, source, family, seeds), crooked)
    with pytest.raises(AssertionError, match="isn't aligned with the chunks of its group"):
        arrays.write_unit(str(tmp_path / "toy.zarr"), record, block)


def test_stores_of_other_formats_are_refused(made: Path, tmp_path: Path) -> None:
    root = json.loads((made / "zarr.json").read_text())
    for change, message in [
        ({**root["attributes"], "ckrr_schema": 99}, r"has store format 99, this version of ckrr reads 2"),
        ({}, r"is not a ckrr store"),
    ]:
        open_backend(str(tmp_path)).put("zarr.json", json.dumps({**root, "attributes": change}).encode())
        with pytest.raises(UserError, match=message):
            load_manifest(open_backend(str(tmp_path)))
    open_backend(str(tmp_path)).put("zarr.json", b"{")
    with pytest.raises(
        UserError, match=r"zarr.json is damaged: zarr.json must be JSON; manifest.json, to rebuild it from, is missing"
    ):
        load_manifest(open_backend(str(tmp_path)))


@pytest.mark.parametrize(
    "changes",
    [
        {"replications__paths": 12},
        {"replications__draws": 5},
        {"grid__n": [10, 20, 30]},
        {"grid__theta": [1, 2.5, "best", 7]},
        {"grid__alpha": [0.05, 0.10, 0.25], "grid__gamma": [1.0, 0.25, 0.5]},
        {"grid__procedure": ["exact", "wide", "random", "split"], "replications__paths": 9, "grid__lam": [0.1, 1, 3]},
    ],
)
def test_a_grown_store_is_the_store_made_at_once(changes: dict[str, Any], made: Path, tmp_path: Path) -> None:
    """The same numbers, and those that were there before haven't moved; a study that grew is judged otherwise."""
    where, fresh = tmp_path / "grown.zarr", tmp_path / "fresh.zarr"
    shutil.copytree(made, where)
    before = contents(where)
    run_serially(where, **changes)
    run_serially(fresh, **changes)
    after, expected = contents(where), contents(fresh)
    assert after.keys() == expected.keys()
    for name, values in expected.items():
        if name != "verdict":
            np.testing.assert_array_equal(after[name], values, err_msg=name)
    for name, values in before.items():
        if name.startswith("replications/"):
            old = tuple(slice(0, size) for size in values.shape)
            np.testing.assert_array_equal(after[name][old], values, err_msg=name)


def run_sharded(where: Path, **changes: Any) -> None:
    study = prepared(where, **changes)
    groups = {n: replace(group, sharded=True) for n, group in study.manifest.groups.items()}
    serially(replace(study, manifest=replace(study.manifest, groups=groups)))


def test_shards_are_read_in_parts(tmp_path: Path) -> None:
    """A large unit is sharded, and has the numbers of the plain one."""
    plain, sharded = tmp_path / "plain.zarr", tmp_path / "sharded.zarr"
    small = {"grid__n": [10], "grid__procedure": ["exact", "wide"], "grid__theta": [1, "best"]}
    run_serially(plain, **small)
    run_sharded(sharded, **small)
    one, other = contents(plain), contents(sharded)
    for name in one:
        if name.startswith("replications/"):
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def make_empty_chunks(where: Path) -> dict[str, bytes]:
    """The files of arrays in a store whose shards, cube and labels have chunks with nothing but fill values."""
    run_sharded(where, grid__gamma=[0.0], grid__theta=[13], replications__paths=2)
    return {str(file.relative_to(where)): file.read_bytes() for file in [*where.rglob("c.*"), *where.rglob("c/*")]}


def test_settings_of_zarr_in_the_process_do_not_matter(tmp_path: Path) -> None:
    """All chunks are written, also those that equal the fill value; and other users of Zarr keep their settings."""
    assert not zarr.config.get("array.write_empty_chunks")
    found = make_empty_chunks(tmp_path / "one.zarr")
    assert {"gamma/c/0", "coverage/c.0.0.0.0.0.0", "replications/n=10/coverage/c.0.0.0.0.0.0.0"} <= found.keys()
    with zarr.config.set({"array.write_empty_chunks": True}):
        assert make_empty_chunks(tmp_path / "other.zarr") == found


def test_receipts_are_counted_as_they_are_listed(tmp_path: Path) -> None:
    """A unit may have two, of which the newest counts; what is no receipt doesn't."""
    names = ["p0_d0.g0.a0.f0.json", "p1_d0.g0.a9.f2.json", "p1_d0.g0.a10.f12.json", "p2_d0.g1.a0.f3.json"]
    names += ["notes.txt", "p_d.g0.a0.f9.json", "other.g0.a0.f9.json"]
    here = open_backend(str(tmp_path))
    for n, some in ((10, names), (20, names[1:2]), (30, [])):
        for name in some:
            here.put(f"receipts/n={n}/{name}", b"")
    for sizes in ((10,), (10, 20, 30)):
        found = receipts.list_receipts(here, sizes)
        slow = {n: [one for name, one in found.items() if name.startswith(f"n={n}/")] for n in sizes}
        counted = receipts.count_done(here, dict.fromkeys(sizes, lambda generation: (99, 99)))
        assert counted == {n: (len(some), sum(one.failed for one in some)) for n, some in slow.items()}
    assert counted == {10: (3, 15), 20: (1, 2), 30: (0, 0)}
    old = receipts.count_done(here, {10: lambda generation: (99, 99) if generation == 0 else (0, 0)})
    assert old == {10: (2, 15)}
    assert receipts.count_done(here, {10: lambda generation: (1, 1)}) == {10: (1, 15)}
    everything = receipts.count_done(here, dict.fromkeys((10, 20, 30), lambda generation: None))
    assert everything == counted, "all, without a look at each"


@pytest.mark.parametrize(
    "changes",
    [
        {"grid__theta": [1, 2.5, 7]},
        {"grid__alpha": [0.05, 0.2]},
        {"grid__n": [20, 30]},
        {"replications": {"paths": 12, "draws": 3}},
        {"replications": {"paths": 4, "draws": 5}},
        {"replications": {"paths": 3, "draws": 2}},
        {"exclude": [{"theta": [1]}]},
    ],
)
def test_the_state_is_of_what_was_asked_for_last(changes: dict[str, Any], tmp_path: Path) -> None:
    """As the plan says, unit by unit: before a growth is computed, while it is, and when it is done."""
    where = tmp_path / "one.zarr"
    run_serially(where, exclude=[{"theta": [2.5]}])
    study = prepared(where, **changes)
    record, units = lifecycle.begin_run(study), study.plan.units
    for done, unit in enumerate([*units, None]):
        facts = status(str(where))
        units_in_all, units_done = (sum(one[key] for one in facts["sizes"]) for key in ("units", "done"))
        assert (facts["complete"], units_done) == (unit is None, units_in_all - len(units) + done)
        if unit is not None:
            run_unit(str(where), cache_key(record), record.generation, False, unit)


def test_a_measure_that_an_older_store_lacks_is_told(made: Path) -> None:
    with pytest.raises(UserError, match=r"has no replications/n=10/novelty: it was made by a version of ckrr that"):
        arrays.read(str(made), 10, "novelty", 0)


def test_what_a_manifest_claims_does_not_fill_memory(made: Path) -> None:
    """A stranger's store may claim a billion paths; then these have no coordinate."""
    manifest = load_manifest(open_backend(str(made)))
    assert manifest is not None
    huge = replace(manifest, extents=(*manifest.extents, replace(manifest.extent, paths=10**9)))
    wanted = make_template(huge)
    assert "replications/n=10/draw/zarr.json" in wanted
    assert "replications/n=10/path/zarr.json" not in wanted
    assert "replications/n=10/path/zarr.json" in make_template(manifest)
