"""The study as a Dask graph: the bits of a run with every scheduler, whenever and however often it is computed."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import dask
import pytest
import xarray as xr
from dask.delayed import Delayed
from dask.utils import key_split
from distributed import Client, LocalCluster

import harness
from cluster import local
from harness.backends import retry
from harness.backends.base import open_backend
from harness.core.errors import ClusterError, IncompatibleWorkerError, StoreUnreachableError, UserError
from harness.core.types import Status
from harness.execution import lifecycle, prepare
from harness.execution.graph import tasks as graph_tasks
from harness.execution.graph.build import make_graph
from harness.maintenance.verify import verify
from harness.monitor.state import status
from harness.store.heartbeat import current_driver, to_bytes
from harness.store.manifest import CLAIM, DRIVER, Manifest, cache_key
from harness.store.manifest_io import load_manifest
from harness.worker import task as worker_task
from harness.worker.task import prepare_artifact
from tests.harness.commands import TOY
from tests.harness.poison import written
from tests.harness.studies import assert_identical, prepared, replications, run, run_serially, serially, until

Tasks = dict[Any, Callable[..., str]]


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("serial") / "toy.zarr"
    run_serially(where)
    return where


def with_preparations(log: Path) -> dict[str, Any]:
    source = {"function": "tests.harness.toy_prepared:Prepared", "log": str(log)}
    return {"source": source, "grid__n": [10]}


@pytest.fixture(scope="module")
def serial_after_preparing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The definition of a study with preparations: a plain loop."""
    where = tmp_path_factory.mktemp("prepared") / "toy.zarr"
    study = prepared(where, **with_preparations(where.parent / "log"))
    record = lifecycle.begin_run(study)
    for one, _ in study.plan.preparations:
        prepare_artifact(str(where), cache_key(record), record.generation, False, one)
    serially(prepared(where, **with_preparations(where.parent / "log")))
    return where


def make(where: Path, **changes: Any) -> Delayed:
    return make_graph(prepared(where, **changes))


def compute(graph: Delayed) -> str:
    return str(graph.compute(scheduler="synchronous"))


def tasks(graph: Delayed) -> Tasks:
    """The functions of a graph by their keys, the last one last."""
    return {key: task[0] for layer in graph.dask.layers.values() for key, task in layer.items()}


def units(graph: Delayed) -> list[str]:
    return [key[1] for key in tasks(graph) if key[0].startswith("ckrr-unit-")]


def manifest(where: Path) -> Manifest:
    found = load_manifest(open_backend(str(where)))
    assert found is not None
    return found


def assert_ended(where: Path) -> None:
    """All runs ended, and neither a claim nor a driver is left."""
    assert all("end" in each for each in manifest(where).history)
    assert not (where / DRIVER).exists()
    assert not (where / CLAIM).exists()


@contextmanager
def scheduled(name: str) -> Iterator[dict[str, Any]]:
    """Options of `compute` for a scheduler, or a client that it finds by itself."""
    if name == "a cluster of threads":
        options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
        with LocalCluster(n_workers=1, threads_per_worker=3, **options) as cluster, Client(cluster):
            yield {}
    elif name == "a cluster of processes":
        with local(2, 4e9) as client:
            yield {"scheduler": client}
    else:
        yield {"scheduler": name, "num_workers": 2}


@pytest.mark.parametrize(
    "scheduler", ["synchronous", "threads", "processes", "a cluster of threads", "a cluster of processes"]
)
def test_every_scheduler_gives_the_bits_of_a_run(
    scheduler: str, serial: Path, serial_after_preparing: Path, tmp_path: Path
) -> None:
    """With preparations, and of a study without; a second computation changes nothing."""
    log = serial_after_preparing.parent / "log"  # a part of the source, so that numbers depend on its name
    log.write_text("")
    plain, needy = make(tmp_path / "toy.zarr"), make(tmp_path / "needy.zarr", **with_preparations(log))
    with scheduled(scheduler) as options:
        found = dask.compute(plain, needy, dask.delayed(sum)([1, 2]), **options)
        assert found == (str(tmp_path / "toy.zarr"), str(tmp_path / "needy.zarr"), 3), "beside other work"
        before = {each: each.stat().st_mtime_ns for each in tmp_path.glob("*/receipts/*/*")}
        assert plain.compute(**options) == found[0]
    assert before == {each: each.stat().st_mtime_ns for each in tmp_path.glob("*/receipts/*/*")}
    assert sorted(log.read_text().splitlines()) == ["level-0.25", "level-1.0"], "once each"
    assert_identical(tmp_path / "toy.zarr", serial)
    assert_identical(tmp_path / "needy.zarr", serial_after_preparing)
    for name in ("toy.zarr", "needy.zarr"):
        assert_ended(tmp_path / name)
        assert verify(str(tmp_path / name))[1] == []


def test_keys_are_readable_and_stay(tmp_path: Path) -> None:
    """The dashboard groups tasks by their names; another graph has other keys."""
    one = make(tmp_path / "toy.zarr", **with_preparations(tmp_path / "log"))
    assert {key_split(key) for key in tasks(one)} == {"ckrr-prepare", "ckrr-unit", "ckrr-cube"}
    assert {key[1] for key in tasks(one) if key[0].startswith("ckrr-prepare")} == {"level-1.0", "level-0.25"}
    assert {"n=10/p0_d0", "n=10/p1_d0"} <= set(units(one))
    assert tasks(pickle.loads(pickle.dumps(one))).keys() == tasks(one).keys()
    other = make(tmp_path / "toy.zarr", **with_preparations(tmp_path / "log"))
    assert units(other) == units(one)
    assert not tasks(other).keys() & tasks(one).keys()


def test_tasks_take_plain_values_and_return_names_of_receipts(tmp_path: Path) -> None:
    graph = make(tmp_path / "toy.zarr")

    def assert_plain(value: object) -> None:
        assert isinstance(value, str | int | float | tuple | list | dict)
        for each in (
            [*value, *value.values()] if isinstance(value, dict) else value if type(value) in (tuple, list) else []
        ):
            assert_plain(each)

    for task in tasks(graph).values():
        assert isinstance(task, partial)
        assert_plain(task.args)
    first = next(iter(tasks(graph).values()))
    assert (tmp_path / "toy.zarr" / first([])).is_file()
    assert len(pickle.dumps(graph)) < 1000 * len(units(graph)), "facts are there once"


def test_units_with_receipts_are_left_out(serial: Path, tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    total = len(units(make(where)))
    run_serially(where, order=range(3))
    graph = make(where)
    assert len(units(graph)) == total - 3
    assert compute(graph) == str(where)
    assert_identical(where, serial)
    complete = make(where)
    assert [key_split(key) for key in tasks(complete)] == ["ckrr-cube"]
    compute(complete)
    assert status(str(where))["settled"]


def test_the_cube_is_refreshed_where_units_were_computed(serial: Path, tmp_path: Path) -> None:
    """Also if it was current for what a graph was asked for, and while another may still write units."""
    where = tmp_path / "toy.zarr"
    make(where)
    compute(make(where, replications__paths=3))
    assert not status(str(where))["settled"]
    compute(make(where))
    assert status(str(where))["settled"]
    assert_identical(where, serial)


def test_a_graph_grows_a_store(serial: Path, tmp_path: Path) -> None:
    """Also one whose last units get longer."""
    where = tmp_path / "toy.zarr"
    run_serially(where, replications__paths=3, grid__alpha=[0.05])
    graph = make(where)
    assert manifest(where).generation == 1
    compute(graph)
    grown = tmp_path / "grown.zarr"
    run_serially(grown, replications__paths=3, grid__alpha=[0.05])
    run_serially(grown)
    assert_identical(where, grown)
    before = sorted(each.name for each in where.glob("receipts/*/*"))
    compute(graph)
    assert sorted(each.name for each in where.glob("receipts/*/*")) == before, "nothing was computed again"


def test_a_store_does_not_grow_under_another_driver(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    run_serially(where)
    open_backend(str(where)).put(DRIVER, to_bytes(replace(current_driver(), host="elsewhere")))
    before = (where / "zarr.json").read_bytes()
    with pytest.raises(UserError, match=r"can't grow .* while process \d+ on elsewhere is running on it: wait"):
        make(where, replications__paths=20)
    assert (where / "zarr.json").read_bytes() == before


def test_a_graph_of_a_store_that_has_grown_since_is_refused(tmp_path: Path) -> None:
    """Its last unit was shorter, and would overwrite a part of the longer one."""
    where = tmp_path / "toy.zarr"
    graph = make(where)
    first, *_, middle, last = tasks(graph).values()
    first([])  # this process knows the study from now on
    run_serially(where, replications__paths=9)
    grown = {each: each.read_bytes() for each in where.rglob("c.*")}
    with pytest.raises(UserError, match=r"toy.zarr was removed, replaced or grown since this graph was made: make the"):
        middle([])
    with pytest.raises(UserError, match=r"toy.zarr was removed, replaced or grown since this graph was made: make the"):
        last([], [])
    assert {each: each.read_bytes() for each in where.rglob("c.*")} == grown


def test_failed_replications_are_data(tmp_path: Path) -> None:
    source = {"function": "tests.harness.toy:Toy", "test_points": 10, "fails_at": 0.3}
    compute(make(tmp_path / "toy.zarr", source=source))
    run_serially(tmp_path / "serial.zarr", source=source)
    assert_identical(tmp_path / "toy.zarr", tmp_path / "serial.zarr")
    assert (replications(tmp_path / "toy.zarr", 10, "status") == Status.ERROR).any()
    graph = make(tmp_path / "toy.zarr", source=source)
    assert units(graph) == [], "failures aren't computed again"
    assert units(make_graph(prepared(tmp_path / "toy.zarr", retry=True, source=source))) != []


def test_a_unit_that_fails_fails_the_graph_which_then_resumes(serial: Path, tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    graph = make(where)
    folder = where / "replications/n=10/status"
    folder.rename(tmp_path / "status")
    folder.touch()
    with pytest.raises((OSError, UserError)):
        compute(graph)
    done = {each: each.stat().st_mtime_ns for each in where.glob("receipts/*/*")}
    assert 0 < len(done) < len(units(graph))
    assert not status(str(where))["settled"]
    folder.unlink()
    (tmp_path / "status").rename(folder)
    compute(graph)
    assert {each: each.stat().st_mtime_ns for each in done} == done, "they are not computed again"
    assert_identical(where, serial)
    assert_ended(where)


def test_a_driver_is_registered_while_the_root_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody grows the store meanwhile."""
    where, finish = tmp_path / "toy.zarr", graph_tasks.finish_run

    def finish_when_registered(*arguments: Any) -> None:
        until((where / DRIVER).exists)
        finish(*arguments)

    graph = make(where)
    assert not (where / DRIVER).exists()
    monkeypatch.setattr(graph_tasks, "finish_run", finish_when_registered)
    compute(graph)
    assert_ended(where)


def test_a_receipt_that_vanished_is_told(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    graph = make(where)
    *parts, last = tasks(graph).values()
    found = [part([]) for part in parts]
    (where / found[1]).unlink()
    lost = rf"1 of {len(found)} units lost their receipts after being computed \({units(graph)[1]}\): make the graph"
    with pytest.raises(UserError, match=lost):
        last(found, [])
    assert not (where / DRIVER).exists()
    compute(make(where))
    assert status(str(where))["complete"]


def test_damaged_units_are_told_and_recorded(tmp_path: Path) -> None:
    """What tells it crosses processes as it is."""
    where = tmp_path / "toy.zarr"
    graph = make(where)
    *parts, last = tasks(graph).values()
    found = [part([]) for part in parts]
    next(where.glob("replications/n=10/coverage/c.*")).write_bytes(b"torn")
    with pytest.raises(ClusterError, match=r"1 of \d+ units are damaged") as caught:
        last(found, [])
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert "broke" in manifest(where).history[-1]
    assert not (where / DRIVER).exists()
    compute(make(where))
    assert verify(str(where))[1] == []


def test_a_run_may_complete_it_meanwhile(serial: Path, tmp_path: Path) -> None:
    """Then the graph finds everything there; and it ends its own run alone in the history."""
    where = tmp_path / "toy.zarr"
    graph = make(where)
    run_serially(where)
    before = {each: each.stat().st_mtime_ns for each in where.glob("receipts/*/*")}
    assert ["end" in each for each in manifest(where).history] == [False, False]
    for _ in range(2):
        compute(graph)
        assert ["end" in each for each in manifest(where).history] == [True, False]
    assert before == {each: each.stat().st_mtime_ns for each in where.glob("receipts/*/*")}
    assert_identical(where, serial)


def test_a_study_that_runs_until_it_is_decided_is_refused(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(
        TOY.replace("paths = 6\ndraws = 2", "until = { verdict = 0.95 }\nbudget = { paths = 200 }")
    )
    with pytest.raises(UserError, match=r"toy.toml: replications.until adds paths while .*: use `study.run`, or set"):
        harness.graph(tmp_path / "toy.toml", store=tmp_path / "toy.zarr")
    assert not (tmp_path / "toy.zarr").exists()


def test_a_workers_environment_must_be_the_same(tmp_path: Path) -> None:
    first = next(iter(tasks(make(tmp_path / "toy.zarr")).values()))
    assert isinstance(first, partial)
    *others, facts = first.args
    with pytest.raises(IncompatibleWorkerError, match=r"differs from the driver: numpy is .* there and 1.0.0 here"):
        first.func(*others, {**facts, "numpy": "1.0.0"}, [])
    assert not list((tmp_path / "toy.zarr").glob("receipts/*/*"))


def test_a_time_limit_of_the_user_needs_a_sandbox(tmp_path: Path) -> None:
    """Where no nanny restarts this process: a replication that ends its process ends another one."""
    clean = written(tmp_path / "one", {}, replications__seconds=60)
    study = written(tmp_path / "one", {clean.fate(0, 0): "exit"}, replications__seconds=60)
    compute(make_graph(prepare.prepare(study.loaded, str(study.store), 1, 2e9)))
    assert study.messages() == {(0, 0): ("ERROR", "its process ended with exit code 7")}


def test_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOY)
    graph = harness.graph("toy.toml", settings="grid.n=[10]", workers=1)
    cube = xr.open_zarr(graph.compute(scheduler="synchronous"))
    assert cube.sizes["n"] == 1
    assert (cube.replication_count == 12).all()
    assert harness.status("toy.toml")["complete"]


@pytest.mark.skipif(
    find_spec("graphviz") is None or which("dot") is None, reason="needs graphviz: the package, and its program dot"
)
def test_dask_draws_it(tmp_path: Path) -> None:
    graph = make(tmp_path / "toy.zarr", **with_preparations(tmp_path / "log"))
    graph.visualize(str(tmp_path / "graph.svg"))
    assert (tmp_path / "graph.svg").read_text().count("<ellipse") >= len(tasks(graph))


def test_the_graph_of_a_complete_study_changes_nothing(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    run(where)
    before = manifest(where)
    for _ in range(2):
        graph = make(where)
        assert manifest(where) == before
        assert before.is_settled
        assert compute(graph) == str(where)
    assert manifest(where).history == before.history


def test_units_of_a_graph_that_was_overtaken_reach_the_cube(tmp_path: Path) -> None:
    """A smaller request is completed after a graph was made, which then writes units and is killed before its end."""
    where = tmp_path / "toy.zarr"
    late = make(where)
    run(where, replications__paths=3)
    assert not manifest(where).is_settled
    for task in list(tasks(late).values())[:-1]:
        task([])
    run(where)
    assert int(xr.open_zarr(where).replication_count.min()) == 21
    assert manifest(where).is_settled, "nothing is left for the graph to write"
    assert not verify(str(where))[1]


def test_a_unit_is_not_written_if_the_store_grew_before_an_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = tmp_path / "toy.zarr"
    graph = make(where, replications__paths=4)
    write, calls = worker_task.write, []

    def write_later(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) > 1:
            return write(*arguments)
        run(where, replications__paths=9)  # while the store didn't answer
        raise StoreUnreachableError("it is gone for a while")

    monkeypatch.setattr(worker_task, "write", write_later)
    monkeypatch.setattr(retry, "sleep", lambda seconds: None)
    with pytest.raises(UserError, match="make the graph again"):
        next(iter(tasks(graph).values()))([])
    assert int(xr.open_zarr(where).replication_count.min()) == 27
