"""Stores in a bucket: everything that a directory can, over HTTP against moto's server; and no credentials anywhere."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from typing import Any

import cloudpickle
import numpy as np
import pytest
import xarray as xr
import zarr
from click.testing import CliRunner
from distributed import Client, LocalCluster
from s3fs import S3FileSystem
from zarr.core.sync import sync

import harness
from harness import ClusterError
from harness.backends import errors, remote, retry
from harness.backends.base import Backend, open_backend
from harness.backends.local import LocalBackend
from harness.cli import main
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.errors import StoreRefusedError, StoreUnreachableError, UserError
from harness.core.schema.measures import list_variables
from harness.core.seeds import Seeds
from harness.core.types import Unit
from harness.cube.refresh import refresh
from harness.execution import driver, lifecycle, prepare
from harness.execution.progress import SilentProgress
from harness.maintenance.verify import verify
from harness.store import arrays as store, receipts
from harness.store.manifest import ROOT, cache_key
from harness.store.manifest_io import load_manifest
from harness.worker.sandbox_main import _compute_answer
from harness.worker.task import run_unit
from tests.harness.buckets import KEY, SECRET, Cable, Server, environment, serving
from tests.harness.commands import TOY, start
from tests.harness.studies import loaded, only, run_serially, unit, until
from tests.harness.toy import FAMILY

SMALL = {"grid__theta": [1], "grid__gamma": [1.0], "grid__lam": [1], "replications__paths": 40}
SMALLER = {**SMALL, "grid__n": [10]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("moto")) as one:
        yield one


@pytest.fixture(autouse=True)
def reached(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    for name, value in environment(server.endpoint).items():
        monkeypatch.setenv(name, value)
    fresh()


def fresh() -> None:
    """Connections that know another environment are closed and forgotten."""
    for one in list(S3FileSystem._cache.values()):
        if one.asynchronous and one._s3 is not None:
            sync(one._s3.close())
    S3FileSystem.clear_instance_cache()
    store.clear_handles()


def told(*arguments: str) -> tuple[int, str, str]:
    """A command in this process: it starts at once."""
    done = CliRunner().invoke(main, [*arguments])
    return done.exit_code, done.stdout, done.stderr


def everything(there: Backend) -> dict[str, bytes | None]:
    keys = there.list_keys("")
    return dict(zip(keys, there.get_many(keys), strict=True))


def arrays(url: str) -> dict[str, np.ndarray[Any, Any]]:
    """Every array of a store, as Zarr alone reads it."""
    root = zarr.open_group(url, mode="r", storage_options=remote.get_zarr_options(url))
    return {name: np.asarray(each[...]) for name, each in root.members(max_depth=None) if isinstance(each, zarr.Array)}


def assert_same(url: str, other: Path) -> None:
    """Every result in every bit."""
    one, two = arrays(url), arrays(str(other))
    assert one.keys() == two.keys()
    for name, values in one.items():
        same = values.tobytes() == two[name].tobytes() if values.dtype.kind in "fiu" else (values == two[name]).all()
        assert same, name


# Places


@pytest.fixture(params=["directory", "in a bucket", "a bucket", "a console's folder"])
def there(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Backend:
    name = request.node.name.partition("[")[0].replace("_", "-")[:40]
    if request.param == "a bucket":
        server.ask("PUT", name)
        return open_backend(f"s3://{name}")
    if request.param == "a console's folder":
        server.ask("PUT", f"bucket/{name}/folder/", b"")
        return open_backend(f"s3://bucket/{name}/folder")
    return open_backend(str(tmp_path / "a [1]*") if request.param == "directory" else f"s3://bucket/{name}/a [1]*/")


def test_a_bucket_is_a_place_as_a_directory_is(there: Backend) -> None:
    assert not there.exists()
    assert (there.get("x"), there.list_names(""), there.list_names("x"), there.list_keys("x")) == (None, [], [], [])
    there.put("x/1/b", b"1")
    there.put_many({f"x/2/{name}": name.encode() for name in ("b", "c1", "c2", "d [2].csv")} | {"last": b""})
    assert there.exists()
    assert sorted(there.list_names("")) == ["last", "x"]
    assert sorted(there.list_names("x")) == ["1", "2"]
    assert sorted(there.list_names("x/2", "c")) == ["c1", "c2"]
    assert there.list_names("x/2", "e") == []
    assert sorted(there.list_keys("x")) == ["1/b", "2/b", "2/c1", "2/c2", "2/d [2].csv"]
    assert there.get_many(["x/2/c2", "none", "last"]) == [b"c2", None, b""]
    there.put("x/1/b", b"another")
    assert there.get("x/1/b") == b"another"
    there.delete("x/1/b")
    there.delete("x/1/b")
    assert sorted(there.list_names("x")) in (["2"], ["1", "2"]), "a directory may be empty, a bucket has none"
    there.remove(there.list_keys(""))
    assert there.list_keys("") == [], "a directory that was empty before stays"


def test_one_claims_and_nobody_else(there: Backend) -> None:
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda i: there.claim("claim.json", str(i).encode()), range(8)))
    assert sum(won) == 1
    assert there.get("claim.json") == str(won.index(True)).encode()


def test_a_claim_whose_answer_was_lost_is_ours(server: Server) -> None:
    """Tried again it finds itself; and the removal of everything spares the bucket and what lies beside."""
    there, beside = open_backend("s3://bucket/mine"), open_backend("s3://bucket/mine-too")
    beside.put("x", b"")
    assert there.claim("claim.json", b"me")
    assert there.claim("claim.json", b"me")
    assert not there.claim("claim.json", b"you")
    there.remove(there.list_keys(""))
    assert not there.exists()
    assert beside.get("x") == b""


# A study


def killed(folder: Path, *command: str) -> int:
    """Starts a command and kills all of it with -9 when some units are done; how many are."""
    process, there = start(*command, cwd=folder), open_backend("s3://bucket/toy.zarr")
    until(lambda: len(receipts.list_receipts(there, (10, 20))) >= 2 or process.poll() is not None)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    return len(receipts.list_receipts(there, (10, 20)))


def test_a_study_in_a_bucket_runs_until_it_is_decided(server: Server, tmp_path: Path) -> None:
    file, url, local = tmp_path / "toy.toml", "s3://bucket/until.zarr", str(tmp_path / "local.zarr")
    file.write_text(TOY)
    with threads() as cluster, Client(cluster, set_as_default=False) as client:
        for there in (url, local):
            harness.run(str(file), there, client, progress=SilentProgress(), until="verdict", budget=300)
    ours, theirs = harness.verdicts(url), harness.verdicts(local)
    assert ours.identical(theirs)
    assert len(set(ours.verdict.to_numpy().ravel())) > 1
    backends = [open_backend(each) for each in (url, local)]
    kept = [{key: each.get(key) for key in each.list_keys("rounds")} for each in backends]
    assert kept[0] == kept[1]
    assert len(kept[0]) > 2


def test_replications_in_a_bucket_are_read_when_they_are_used(server: Server, tmp_path: Path) -> None:
    url, local = "s3://bucket/lazy.zarr", str(tmp_path / "local.zarr")
    for where in (url, local):
        run_serially(where, **SMALLER)  # type: ignore[arg-type]
    before = len(server.requests())
    tree = harness.open_replications(url)
    opened = [path for _, path in server.requests()[before:]]
    assert not [path for path in opened if "/coverage/c." in path], "nothing is read on opening"
    assert len(opened) < 40, opened
    xr.testing.assert_identical(tree.load(), harness.open_replications(local).load())


def test_a_study_in_a_bucket(server: Server, tmp_path: Path) -> None:
    """Run, kill -9, resume, extend, and every command that takes a store; then all of it is searched for secrets."""
    file, url, local, texts = tmp_path / "toy.toml", "s3://bucket/toy.zarr", str(tmp_path / "local.zarr"), list[str]()
    file.write_text(TOY.replace("paths = 6", "paths = 200").replace("fails_at = 0.0", "fails_at = 0.01"))
    study = ("run", str(file), "--set", "source.test_points=600")

    def said(*arguments: str, code: int = 0) -> str:
        found, out, err = told(*arguments)
        texts.extend([out, err])
        assert found == code, err
        return out

    done = killed(tmp_path, *study, "--store", url)
    facts = json.loads(said("status", url, "--json"))
    assert sum(one["done"] for one in facts["sizes"]) == done
    assert not facts["complete"]
    signed = set(open_backend(url).list_keys("receipts"))
    resumed = {"settings": study[3:], "progress": SilentProgress()}
    with threads() as cluster, Client(cluster, set_as_default=False) as client:
        for there in (url, local):
            harness.run(str(file), there, client, **resumed)
        assert signed <= set(open_backend(url).list_keys("receipts")), "signed once, for ever"
        assert "complete" in said("status", url, "--verify")
        resumed["settings"] = (*study[3:], "replications.paths=220")
        for there in (url, local):
            harness.run(str(file), there, client, **resumed)
    assert_same(url, Path(local))
    out = said(*study, "--set", "replications.paths=220", "--store", url, code=1)
    assert "nothing to do" in out
    assert f"ckrr report {url}" in out

    assert said("table", url, "--format", "csv") == said("table", local, "--format", "csv")
    assert "the toy broke" in said("errors", url)
    assert "equal" in said("replay", url, "--n", "10", "--path", "3", "--trust")
    said("figure", url, "seconds", "-o", str(tmp_path / "seconds.svg"))
    said("report", url, "--drawn", "0", "-o", str(tmp_path / "toy.html"))
    said("merge", url, local, "-o", "s3://bucket/merged.zarr")
    assert_same("s3://bucket/merged.zarr", Path(local))

    kept = [each.read_bytes() for each in (*tmp_path.glob("*.*"), server.log) if each.is_file()]
    stored = [everything(open_backend(each)) for each in (url, "s3://bucket/merged.zarr")]
    assert_no_secret(*kept, *(data for one in stored for data in one.values()), *(text.encode() for text in texts))
    assert all(server.endpoint.encode() not in (one[ROOT] or b"") for one in stored), "nor the endpoint"


def assert_no_secret(*found: bytes | None) -> None:
    for data in found:
        assert data is not None
        assert KEY.encode() not in data
        assert SECRET.encode() not in data


SILENT = """
import sys, xarray
cube = xarray.open_zarr(sys.argv[1])
cube.load()
print(float(cube.replication_count.min()), "harness" in sys.modules)
"""


@pytest.fixture(scope="module")
def study(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A small finished one."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(server.endpoint).items():
            patch.setenv(name, value)
        fresh()
        url = "s3://bucket/small.zarr"
        run_serially(url, **SMALL)  # type: ignore[arg-type]
        yield url


def test_xarray_opens_it_in_silence(study: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", SILENT, study]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert (done.stdout, done.stderr) == ("120.0 False\n", "")


@pytest.mark.parametrize("name", ["out.csv", "out.nc"])
def test_it_is_exported_as_a_directory_is(name: str, study: str, tmp_path: Path) -> None:
    if name.endswith(".nc"):
        pytest.importorskip("h5netcdf")
    run_serially(tmp_path / "small.zarr", **SMALL)
    for folder, url in ((tmp_path / "a", study), (tmp_path / "b", str(tmp_path / "small.zarr"))):
        folder.mkdir()
        assert told("export", url, str(folder / name), "--replications")[0] == 0
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_pickles_have_the_url_alone(study: str) -> None:
    cube = harness.open_cube(study)
    cube["coverage"].load()
    opened = pickle.dumps(cube)
    assert study.removeprefix("s3://").encode() in opened
    assert_no_secret(
        opened, pickle.dumps(remote.get_storage_options(study)), pickle.dumps(load_manifest(open_backend(study)))
    )


def threads() -> LocalCluster:
    """Workers of this process, so that what is patched here is patched there."""
    return LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0")


def test_tasks_carry_the_url_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent, submit = list[bytes](), Client.submit

    def noted(self: Client, *args: Any, **kwargs: Any) -> Any:
        sent.append(cloudpickle.dumps((args, kwargs)))
        return submit(self, *args, **kwargs)

    monkeypatch.setattr(Client, "submit", noted)
    url = f"s3://bucket/{tmp_path.name}.zarr"
    with threads() as cluster, Client(cluster, set_as_default=False) as client:
        driver.run_prepared(prepare.prepare(loaded(**SMALLER), url, 2, 1e8), SilentProgress(), client)
    assert len(sent) >= 4
    assert all(url.encode() in one for one in sent)
    assert_no_secret(*sent)


# Mistakes


@pytest.mark.parametrize(
    ("url", "change", "line"),
    [
        ("s3://no-such-bucket/a.zarr", {}, "s3://no-such-bucket/a.zarr: the bucket does not exist: create it first"),
        ("s3://Bad_Name!/a.zarr", {}, "s3://Bad_Name!/a.zarr: this is not a valid bucket name"),
        ("s3:///a.zarr", {}, "s3:///a.zarr names no bucket: a store is a URL such as s3://bucket/my.zarr"),
        ("s3://bucket/a.zarr?x=1", {}, "s3://bucket/a.zarr…: a store is a plain URL"),
        ("simplecache::s3://bucket/a.zarr", {}, "simplecache…: a store is a plain URL"),
        (f"s3://{KEY}:{SECRET}@bucket/a.zarr", {}, "s3://…@bucket/a.zarr: credentials don't belong in a URL"),
        (f"s3://{KEY}:{SECRET}/a.zarr", {}, "s3://…: credentials don't belong in a URL"),
        (f"simplecache::s3://{KEY}:{SECRET}@bucket/a", {}, "simplecache::s3://…@bucket/a: credentials don't belong in"),
        ("memory://a.zarr", {}, "memory://a.zarr would be in the memory of this process, where no worker sees it"),
        ("gs://bucket/a.zarr", {}, "gs://bucket/a.zarr needs a package that isn't installed: Please install gcsfs"),
        ("nonsense://a.zarr", {}, "nonsense://a.zarr: unknown protocol nonsense://: use s3://… or a path"),
        ("s3://bucket/a.zarr", {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "no server answers at http://127.0.0.1:1 ("),
        ("s3://bucket/a.zarr", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "there are no credentials: set"),
        ("s3://bucket/a.zarr", {"AWS_PROFILE": "nobody"}, "the profile does not exist: set AWS_PROFILE"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(
    url: str, change: dict[str, str], line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in change.items():
        monkeypatch.setenv(name, value)
        if not value:
            monkeypatch.delenv(name)
    fresh()
    (tmp_path / "toy.toml").write_text(TOY)
    for command in (("status", url), ("run", str(tmp_path / "toy.toml"), "--store", url)):
        code, out, err = told(*command)
        assert (code, out) == (2, "")
        assert line in err
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert_no_secret(err.encode())


def test_wrong_credentials_are_told_and_harm_nothing(server: Server, study: str) -> None:
    """moto knows no user, so that everybody's are wrong."""
    before = everything(open_backend(study))
    server.check_signatures(True)
    try:
        for command in (("status", study), ("table", study), ("replay", study, "--n", "10", "--path", "0")):
            code, out, err = told(*command)
            assert (code, out) == (2, "")
            assert err.startswith(
                f"error: {study}: the server does not know this access key: check AWS_ACCESS_KEY_ID and"
            )
        with pytest.raises(StoreRefusedError, match="access key"):
            verify(study)
        with pytest.raises(StoreRefusedError, match="access key"):
            harness.open_cube(study)
    finally:
        server.check_signatures(False)
    assert everything(open_backend(study)) == before


def test_without_s3fs_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "s3fs.py").write_text("raise ImportError('no')")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from harness.cli import main; main(['status', 's3://bucket/a'])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120)
    line = "error: s3://bucket/a needs a package that isn't installed: pip install 'ckrr[s3]'\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_a_file_url_is_a_directory(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/toy.zarr"
    (tmp_path / "toy.toml").write_text(TOY)
    assert isinstance(open_backend(url), LocalBackend)
    assert told("run", str(tmp_path / "toy.toml"), "--store", url, "--workers", "1")[0] == 0
    for command in (
        ("status", url),
        ("table", url),
        ("errors", url),
        ("replay", url, "--n", "10", "--path", "0", "--trust"),
    ):
        assert told(*command)[::2] == (0, "")


# A network that goes away


@pytest.fixture
def cable(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cable]:
    one = Cable(server.port)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{one.port}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    fresh()
    yield one
    one.cut()
    fresh()


class Cutting(SilentProgress):
    """Cuts the cable when the second unit is done; mends it after some seconds, if that is asked for."""

    def __init__(self, cable: Cable, mended: float | None) -> None:
        self._cable, self._mended, self._done = cable, mended, 0

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        self._done += 1
        if self._done == 2:
            self._cable.cut()
            if self._mended is not None:
                Timer(self._mended, self._cable.mend).start()


def whole(tmp_path: Path) -> Path:
    where = tmp_path / "whole.zarr"
    run_serially(where, **SMALLER)
    return where


def ran(url: str, progress: SilentProgress) -> driver.Outcome:
    with threads() as cluster, Client(cluster, set_as_default=False) as client:
        return driver.run_prepared(prepare.prepare(loaded(**SMALLER), url, 2, 5e7), progress, client)


@pytest.mark.soak
def test_a_short_cut_is_waited_for(cable: Cable, tmp_path: Path) -> None:
    url = f"s3://bucket/{tmp_path.name}.zarr"
    outcome = ran(url, Cutting(cable, 4.0))
    assert outcome.seconds > 4
    assert outcome.failed == 0
    assert_same(url, whole(tmp_path))


def test_a_long_cut_ends_the_run_and_the_next_goes_on(
    cable: Cable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "PATIENCE", 1.0)
    url = f"s3://bucket/{tmp_path.name}.zarr"
    with pytest.raises(ClusterError) as caught:
        ran(url, Cutting(cable, None))
    text = str(caught.value)
    assert text.startswith(f"{url}: no server answers at http://127.0.0.1:{cable.port} (")
    assert text.endswith("; what is done is kept: run again to resume")
    with pytest.raises(StoreUnreachableError, match="no server answers"):
        verify(url)
    cable.mend()
    there = open_backend(url)
    before = set(there.list_keys("receipts"))
    assert 2 <= len(before) < 10
    assert ran(url, SilentProgress()).failed == 0
    assert before <= set(there.list_keys("receipts"))
    assert_same(url, whole(tmp_path))


class Gone:
    """A source that finds its store gone."""

    test, test_points, dimension, knows_f, redraws = "iid", 10, 1, True, ()

    def path(self, streams: Any) -> Any:
        raise StoreUnreachableError("s3://bucket/a: no server answers")


def test_a_store_that_is_gone_is_no_failure_of_a_replication() -> None:
    one = loaded(**SMALL)
    study = Study(one.extent, Gone(), only(FAMILY), Seeds.from_source(1, {}))  # type: ignore[arg-type]
    some = unit(10, range(2), range(1))
    with pytest.raises(StoreUnreachableError, match="no server answers"):
        compute_unit(study, some)
    assert isinstance(_compute_answer(study, some, np.ones((1, 1, 1, 1, 1, 1), dtype=bool)), StoreUnreachableError)


# Requests


def test_a_unit_costs_a_request_a_variable_and_two(server: Server, tmp_path: Path) -> None:
    """Its receipt is asked for and then written; a study costs little besides."""
    url = f"s3://bucket/{tmp_path.name}.zarr"
    prepared = prepare.prepare(loaded(**SMALLER), url, 2, 1e8)
    units = len(prepared.plan.units)
    with server.counted() as counts:
        record = lifecycle.begin_run(prepared)
    assert counts["HEAD"] == 0
    assert counts["GET"] <= 6
    with server.counted() as counts:
        for each in prepared.plan.units:
            run_unit(url, cache_key(record), record.generation, False, each)
    assert counts["HEAD"] == 0
    assert counts["PUT"] == units * (len(list_variables(record.keep)) + 1)
    assert counts["GET"] <= units + 6, "the record, where the arrays are, and now and then whether they still are"
    with server.counted() as counts:
        refresh(url, record, record.extent.grid.n)
    assert counts["HEAD"] == 0
    assert counts["GET"] <= units * len(list_variables(record.keep))


def status_of_many(server: Server, study: str, count: int) -> int:
    """Requests that it takes to know how far a store with so many receipts is."""
    there = open_backend("s3://bucket/many.zarr")
    there.put(ROOT, open_backend(study).get(ROOT) or b"")
    there.put_many(
        {receipts.Receipt(0, 0, 0, f"n={n}/p{i}_d0").key: b"{}" for n in (10, 20) for i in range(count // 2)}
    )
    with server.counted() as counts:
        assert harness.status(there.url)["sizes"]
    return sum(counts.values())


def test_a_status_is_a_few_readings_and_a_listing(server: Server, study: str) -> None:
    """The record twice, the driver, what was submitted; the receipts."""
    assert status_of_many(server, study, 40) == 5


@pytest.mark.soak
def test_the_status_of_many_units_takes_no_more(server: Server, study: str) -> None:
    assert status_of_many(server, study, 2000) <= 6, "a listing has a thousand receipts"


def test_a_mistake_is_a_mistake_of_ours_alone() -> None:
    """What is wrong in a store isn't told as a fault of the way to it."""
    with pytest.raises(ValueError, match="crc"), errors.translate_errors("s3://bucket/a"):
        raise ValueError("crc")
    with pytest.raises(UserError, match="mine"), errors.translate_errors("s3://bucket/a"):
        raise UserError("mine")
    with pytest.raises(PermissionError), errors.translate_errors("/a/directory"):
        raise PermissionError("no")
