"""Short studies are computed in processes without Dask, and what goes wrong there is left to a cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import psutil
import pytest

from cluster.runtime.children import NICE
from harness.core.errors import ClusterError, StoppedError, StoreRefusedError, StoreReplacedError
from harness.core.types import Limits, Unit
from harness.execution import clusters, driver, prepare, processes
from harness.execution.processes import ExtendedQueue, TasksLeftError, run_here, run_processes
from harness.execution.progress import SilentProgress
from harness.execution.tasks import TaskList
from harness.scenario.load import load
from tests.harness.studies import ROOT, assert_identical, serially

SETTINGS = ["replications.paths=12", "grid.n=[25,50]", "source.test_points=20"]


def make(where: Path, *more: str) -> prepare.Prepared:
    """A study of several units, for two processes."""
    prepared = prepare.prepare(load("quickstart", [*SETTINGS, *more]), str(where), speed=1e8)
    assert prepared.plan.seconds > 1
    assert prepared.runs_here
    assert len(prepared.plan.units) >= 4
    return replace(prepared, machine=replace(prepared.machine, workers=2))


class Progress(SilentProgress):
    """Does something after the first unit, and keeps what is told."""

    def __init__(self, then: Any = lambda: None) -> None:
        self.then, self.notes = then, list[str]()

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        then, self.then = self.then, lambda: None
        then()

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_processes_compute_the_same_bits_without_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "connect", lambda *_: pytest.fail("a cluster was started"))
    outcome = driver.run_prepared(make(tmp_path / "a.zarr"), SilentProgress())
    assert outcome.failed == 0
    assert multiprocessing.active_children() == []
    serially(make(tmp_path / "b.zarr"))
    assert_identical(tmp_path / "a.zarr", tmp_path / "b.zarr")


def test_a_study_that_goes_on_until_it_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "connect", lambda *_: pytest.fail("a cluster was started"))
    scenario = load("quickstart", ["grid.n=[25]", "source.test_points=20"], "se=0.05", 200)
    prepared = prepare.prepare(scenario, str(tmp_path / "a.zarr"), speed=1e9)
    assert prepared.runs_here
    outcome = driver.run_prepared(replace(prepared, machine=replace(prepared.machine, workers=2)), SilentProgress())
    assert outcome.is_complete


def kill_children() -> None:
    """As the kernel does where memory is short."""
    for child in multiprocessing.active_children():
        os.kill(child.pid or 0, signal.SIGKILL)


def test_a_cluster_goes_on_where_a_process_was_killed(tmp_path: Path) -> None:
    progress = Progress(kill_children)
    outcome = driver.run_prepared(make(tmp_path / "a.zarr"), progress)
    (note,) = [note for note in progress.notes if "on a cluster of this machine" in note]
    assert note.startswith("a process has ended: computing n=")
    assert outcome.failed == 0
    assert outcome.replications == 24
    serially(make(tmp_path / "b.zarr"))
    assert_identical(tmp_path / "a.zarr", tmp_path / "b.zarr")


def work(how: str, unit: Unit, limits: Limits) -> dict[str, Any]:
    """A unit that fails, hangs, or tells its number."""
    if how == "tells":
        names = ("CKRR_TEST_NOW", "OPENBLAS_NUM_THREADS", "PYTHONSAFEPATH")
        return {"unit": {name: os.environ.get(name) for name in names}, "nice": os.nice(0)}
    if unit.path_block == 2:
        if how == "replaced":
            raise StoreReplacedError("the store was removed")
        if how == "refused":
            raise StoreRefusedError("the store is read-only")
        if how == "raises":
            raise ValueError("two")
        if how == "exits":
            os._exit(1)
        while how == "hangs":
            sleep(0.01)
    return {"unit": unit.path_block}


def list_tasks(count: int) -> list[tuple[Unit, Limits]]:
    return [(Unit(25, i, 0, range(1), range(1)), Limits()) for i in range(count)]


WHY = {"raises": "^ValueError: two$", "exits": "^a process has ended$"}


@pytest.mark.parametrize("how", WHY)
def test_what_fails_is_left(how: str) -> None:
    tasks, done = list_tasks(6), list[int]()
    queue = TaskList(tasks)
    with pytest.raises(TasksLeftError, match=WHY[how]) as left:  # noqa: PT012 - results come before
        for result in run_processes(work, (how,), queue, 2, lambda: False):
            done.append(result["unit"])
    rest = [unit.path_block for unit, _ in ExtendedQueue(left.value.tasks, queue).take(9, 0)]
    assert sorted([*done, *rest]) == list(range(6))
    assert 2 in rest[:2]
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("how", "error"), [("replaced", StoreReplacedError), ("refused", ClusterError)], ids=["replaced", "refused"]
)
@pytest.mark.parametrize("run", [run_here, partial(run_processes, workers=2)], ids=["here", "processes"])
def test_errors_that_a_cluster_would_meet_too(how: str, error: type[Exception], run: Any) -> None:
    with pytest.raises(error, match=r"^the store "):
        list(run(work, (how,), queue=TaskList(list_tasks(6)), stop=lambda: False))
    assert multiprocessing.active_children() == []


def test_what_fails_in_this_process_is_left() -> None:
    tasks, done = list_tasks(6), list[int]()
    with pytest.raises(TasksLeftError, match=r"^ValueError: two$") as left:  # noqa: PT012 - results come before
        for result in run_here(work, ("raises",), TaskList(tasks), lambda: False):
            done.append(result["unit"])
    assert (done, [unit.path_block for unit, _ in left.value.tasks]) == ([0, 1], [2])


def test_a_process_that_never_answers_is_left() -> None:
    """No watchdog ends one that the system has stopped: its step isn't even slow."""
    tasks = [(unit, Limits(seconds=0.0)) for unit, _ in list_tasks(3)[2:]]
    with pytest.raises(TasksLeftError, match=r"^no result for \d+ s$") as left:
        list(run_processes(work, ("hangs",), TaskList(tasks), 1, lambda: False, grace=1.0))
    assert [unit.path_block for unit, _ in left.value.tasks] == [2]
    assert multiprocessing.active_children() == []


def test_a_driver_that_pauses_stalls_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was done meanwhile waits in a pipe. Time passes nowhere else."""
    clock, done = [0.0], []
    monkeypatch.setattr(processes, "monotonic", lambda: clock[0])
    for result in run_processes(work, ("",), TaskList(list_tasks(6)), 2, lambda: False, grace=1.0):
        done.append(result["unit"])
        clock[0] += 1e6
    assert sorted(done) == list(range(6))


def test_a_run_goes_on_with_the_processes_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    original, started = clusters.start_process, list[object]()

    def start_one(*arguments: Any) -> Any:
        if started:
            raise ClusterError("no more processes")
        started.append(original(*arguments))
        return started[0]

    monkeypatch.setattr(clusters, "start_process", start_one)
    found = run_processes(work, ("",), TaskList(list_tasks(6)), 3, lambda: False)
    assert sorted(one["unit"] for one in found) == list(range(6))
    with pytest.raises(ClusterError, match="no more"):
        next(run_processes(work, ("",), TaskList(list_tasks(6)), 3, lambda: False))


def test_processes_have_the_environment_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for value in ("first", "second"):  # the fork server keeps that in which it was started
        monkeypatch.setenv("CKRR_TEST_NOW", value)
        found += list(run_processes(work, ("tells",), TaskList(list_tasks(1)), 1, lambda: False))
    assert [one["unit"]["CKRR_TEST_NOW"] for one in found] == ["first", "second"]
    assert {one["unit"]["PYTHONSAFEPATH"] for one in found} == {os.environ.get("PYTHONSAFEPATH")}
    assert {one["nice"] for one in found} == {NICE + os.nice(0)}


SPAWN = """
import multiprocessing
multiprocessing.set_start_method("forkserver")
from harness.execution.processes import run_processes
from harness.execution.tasks import TaskList
from tests.harness.execution.test_processes import list_tasks, work
(one,) = run_processes(work, ("tells",), TaskList(list_tasks(1)), 1, lambda: False)
print(one["unit"]["OPENBLAS_NUM_THREADS"])
"""


def test_without_a_fork_server_processes_have_one_thread_for_blas() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    words = [sys.executable, "-c", SPAWN]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n", done


def run_in_pool(where: str) -> int:
    return driver.run_prepared(make(Path(where)), SilentProgress()).failed


def test_a_process_that_may_not_have_children_computes_itself(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(run_in_pool, [str(tmp_path / "a.zarr")]) == 0


def test_too_few_descriptors_are_the_machines(tmp_path: Path) -> None:
    run = f"{sys.executable} -m harness.cli run quickstart --set replications.paths=250 --store {tmp_path}/a"
    command = f"ulimit -n 24; {run}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done
    assert "too few file descriptors: see ulimit -n, which is 24" in done.stderr


def test_a_run_that_is_stopped_leaves_no_process() -> None:
    asked = iter([False, False, True])
    with pytest.raises(StoppedError):
        list(run_processes(work, ("hangs",), TaskList(list_tasks(6)), 2, lambda: next(asked)))
    assert multiprocessing.active_children() == []


def test_an_extended_queue() -> None:
    first, then = list_tasks(2), list_tasks(5)[2:]
    queue = ExtendedQueue(first, TaskList(then))
    taken = [[unit.path_block for unit, _ in queue.take(room, 0)] for room in (1, 2, 9)]
    assert taken == [[0], [1, 2], [3, 4]]
    assert queue.is_empty


BUSY = """
import multiprocessing
from harness.execution.processes import run_processes
from harness.execution.tasks import TaskList
from tests.harness.execution.test_processes import list_tasks, work
def stop():
    children = multiprocessing.active_children()
    if len(children) == 2:
        print(*(child.pid for child in children), flush=True)
    return False
list(run_processes(work, ("hangs",), TaskList(list_tasks(3)[2:] * 2), 2, stop))
"""


def test_processes_end_with_a_driver_that_is_killed() -> None:
    """In the middle of a unit."""
    with subprocess.Popen([sys.executable, "-c", BUSY], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        children = [psutil.Process(int(pid)) for pid in process.stdout.readline().split()]
        assert len(children) == 2
        process.kill()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert alive == []


LIGHT = """
import sys
from harness.cli import main
try:
    main(["run", "quickstart", "--set", "replications.paths=4", "--store", sys.argv[1]])
finally:
    print(sorted({"distributed", "matplotlib", "sklearn"} & set(sys.modules)))
"""


def test_a_short_run_loads_no_dask(tmp_path: Path) -> None:
    words = [sys.executable, "-c", LIGHT, str(tmp_path / "a.zarr")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout
