"""Short studies are computed in processes without Dask, and what goes wrong there is left to a cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import psutil
import pytest

from harness.core.errors import StoppedError
from harness.core.types import Limits, Unit
from harness.execution import clusters, driver, prepare
from harness.execution.processes import ExtendedQueue, TasksLeftError, run_processes
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
    assert [note for note in progress.notes if "on a cluster of this machine" in note]
    assert outcome.failed == 0
    assert outcome.replications == 24
    serially(make(tmp_path / "b.zarr"))
    assert_identical(tmp_path / "a.zarr", tmp_path / "b.zarr")


def work(how: str, unit: Unit, limits: Limits) -> dict[str, Any]:
    """A unit that fails, hangs, or tells its number."""
    if unit.path_block == 2:
        if how == "raises":
            raise ValueError("two")
        if how == "exits":
            os._exit(1)
        while how == "hangs":
            sleep(0.01)
    return {"unit": unit.path_block}


def list_tasks(count: int) -> list[tuple[Unit, Limits]]:
    return [(Unit(25, i, 0, range(1), range(1)), Limits()) for i in range(count)]


@pytest.mark.parametrize("how", ["raises", "exits"])
def test_what_fails_is_left(how: str) -> None:
    tasks, done = list_tasks(6), list[int]()
    queue = TaskList(tasks)
    with pytest.raises(TasksLeftError, match="left") as left:  # noqa: PT012 - results come before
        for result in run_processes(work, (how,), queue, 2, 1e9, lambda: False):
            done.append(result["unit"])
    rest = [unit.path_block for unit, _ in ExtendedQueue(left.value.tasks, queue).take(9, 0)]
    assert sorted([*done, *rest]) == list(range(6))
    assert 2 in rest[:2]
    assert multiprocessing.active_children() == []


def test_a_run_that_is_stopped_leaves_no_process() -> None:
    asked = iter([False, False, True])
    with pytest.raises(StoppedError):
        list(run_processes(work, ("hangs",), TaskList(list_tasks(6)), 2, 1e9, lambda: next(asked)))
    assert multiprocessing.active_children() == []


def test_an_extended_queue() -> None:
    first, then = list_tasks(2), list_tasks(5)[2:]
    queue = ExtendedQueue(first, TaskList(then))
    taken = [[unit.path_block for unit, _ in queue.take(room, 0)] for room in (1, 2, 9)]
    assert taken == [[0], [1, 2], [3, 4]]
    assert queue.is_empty


RUN = """
from harness.execution import driver, prepare
from harness.execution.progress import SilentProgress
from tests.harness.execution.test_processes import Progress, make
from pathlib import Path
import multiprocessing, sys, time
def tell():
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    time.sleep(60)
driver.run_prepared(make(Path(sys.argv[1])), Progress(tell))
"""


def test_processes_end_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", RUN, str(tmp_path / "a.zarr")]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
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
