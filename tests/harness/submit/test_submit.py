"""Studies that are handed over, to a process and to a running scheduler: they go on alone, and end as asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import Client

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.monitor.follow import watch
from harness.monitor.state import status
from harness.monitor.text import format_status, format_status_line
from harness.store import arrays
from harness.store.heartbeat import from_bytes
from harness.store.manifest import CANCEL, DRIVER
from harness.store.manifest_io import load_manifest, save_manifest
from harness.submit import process, submission
from harness.submit.cancel import cancel
from harness.submit.drive import drive
from harness.submit.logs import read_logs
from tests.harness.poison import Study, written
from tests.harness.schedulers import dask
from tests.harness.studies import assert_identical, until
from tests.harness.submissions import done, handed_over


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study as a run of our own gives it."""
    one = written(tmp_path_factory.mktemp("whole"), {"all": "slow"}, replications__paths=16)
    one.run()
    return one.store


@pytest.fixture
def one(tmp_path: Path) -> Study:
    return written(tmp_path, {"all": "slow"}, replications__paths=16)


def children(pid: int) -> list[str]:
    """What is left of a driver and all that it started; what has ended and nobody asked about is gone."""
    found = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    lines = [line.split(maxsplit=2) for line in found.stdout.splitlines()]
    return [line[-1] for line in lines if line[0] == str(pid) and not line[1].startswith("Z")]


def test_it_goes_on_alone_and_is_the_same_cube(one: Study, whole: Path) -> None:
    assert handed_over(one).submission is not None
    again = handed_over(one)
    assert again.submission is None
    assert again.running is not None
    assert "process" in again.running
    told: list[str] = []
    facts = watch(str(one.store), told.append)
    assert facts["complete"]
    assert facts["submission"]["outcome"] == "complete"
    assert facts["submission"]["code"] == 0
    assert facts["last_run"]["command"] == " ".join(sys.argv), "what somebody typed, and not the driver's own"
    assert told, "it was followed"
    assert all("% done" in line for line in told), "how it ended is said once, by whoever asked"
    assert format_status_line(facts) == f"toy in {one.store}: complete"
    assert_identical(one.store, whole)
    text, _ = read_logs(open_backend(str(one.store)))
    assert "48 replications in " in text
    assert "complete" in text.splitlines()[-1]
    assert handed_over(one).submission is None, "nothing is left to do"


def test_cancelled_it_ends_with_its_workers(one: Study) -> None:
    there = open_backend(str(one.store))
    first = handed_over(one).submission
    assert first is not None
    until(lambda: done(one) >= 1)
    said: list[str] = []
    cancel(there, said.append)
    assert not process.is_running(first.handle, there.url, first.id)
    until(lambda: not children(first.handle["pid"]))  # its workers are gone, too
    assert there.get(DRIVER) is None
    assert there.get(CANCEL) is None
    facts = status(str(one.store))
    assert not facts["at_work"]
    assert facts["submission"]["code"] == 130
    assert facts["submission"]["outcome"].startswith("cancelled: ")
    assert done(one) >= 1
    assert not list(one.store.glob("**/room")), "what was kept for its last words is free again"
    with pytest.raises(UserError, match="no run is active; `ckrr status`"):
        cancel(there)


def test_told_to_end_by_a_signal_it_says_so(one: Study) -> None:
    first = handed_over(one).submission
    assert first is not None
    until(lambda: done(one) >= 1)
    os.kill(first.handle["pid"], signal.SIGTERM)
    until(lambda: not children(first.handle["pid"]))
    facts = status(str(one.store))
    assert facts["submission"]["outcome"].startswith("the driver was told to end, by a signal: what is done is kept")
    assert facts["submission"]["code"] == 130


def test_on_a_running_scheduler_the_driver_is_a_task(one: Study, whole: Path, tmp_path: Path) -> None:
    """It survives that the submitter leaves, and that its worker is killed."""
    file = tmp_path / "scheduler.json"
    where = ("--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file))
    worker = ("worker", "--scheduler-file", str(file), "--host", "127.0.0.1", "--nworkers", "2", "--nthreads", "1")
    worker = (*worker, "--no-dashboard", "--local-directory", str(tmp_path), "--death-timeout", "120")
    (tmp_path / "running.toml").write_text(f'kind = "address"\nscheduler_file = "{file}"\n')
    there = open_backend(str(one.store))
    with dask("scheduler", *where), dask(*worker):
        until(file.exists)
        with Client(scheduler_file=str(file), timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        given = handed_over(one, str(tmp_path / "running.toml"))
        assert given.submission is not None
        assert given.submission.how == submission.TASK
        until(lambda: done(one) >= 1)
        found = from_bytes(there.get(DRIVER))
        assert found is not None
        os.kill(found.pid, signal.SIGKILL)  # the worker with the driver
        until(lambda: len((submission.read(there) or given.submission).starts) >= 2)
        facts = watch(str(one.store), [].append)
    assert facts["complete"]
    assert facts["submission"]["outcome"] == "complete"
    assert_identical(one.store, whole)


def test_a_task_that_waits_for_a_worker_can_be_cancelled(one: Study, tmp_path: Path) -> None:
    there = open_backend(str(one.store))
    empty = ("toy-01234567", {}, "", (), None, None, False, "", "", "2026-01-01")
    waiting = submission.Submission(*empty, how=submission.TASK)
    submission.write(there, waiting)
    facts = status(str(one.store))
    assert facts["at_work"]
    assert "a task that waits for a worker" in format_status(facts)
    cancel(there)
    assert not status(str(one.store))["at_work"]
    assert drive(str(one.store), "x") == 0, "it does nothing when a worker comes"
    assert (submission.read(there) or waiting).starts == ()


def test_what_cannot_be_handed_over_leaves_no_trace(one: Study, tmp_path: Path) -> None:
    (tmp_path / "nobody.toml").write_text('kind = "address"\naddress = "tcp://127.0.0.1:9"\ntimeout = 0.5\n')
    with pytest.raises(UserError, match=r"nobody.toml: no scheduler answers at tcp://127.0.0.1:9"):
        handed_over(one, str(tmp_path / "nobody.toml"))
    assert not one.store.exists()


def test_a_cube_that_is_behind_is_told_and_brought_up_to_date(one: Study, whole: Path) -> None:
    """As where the last unit was written when its driver had ended already."""
    one.run()
    there = open_backend(str(one.store))
    record = load_manifest(there)
    assert record is not None
    save_manifest(there, replace(record, history=({"start": "then", "stopped": "then"},)))
    arrays.open_array(str(one.store), "coverage", record.generation)[...] = 0.0
    assert "complete, but its cube may be out of date" in format_status_line(status(str(one.store)))
    assert handed_over(one).submission is not None
    watch(str(one.store), lambda text: None)
    assert format_status_line(status(str(one.store))).endswith(": complete")
    assert_identical(one.store, whole)


def test_more_than_is_at_work_is_refused(one: Study, tmp_path: Path) -> None:
    """It would be dropped in silence."""
    assert handed_over(one).submission is not None
    until(lambda: load_manifest(open_backend(str(one.store))) is not None)
    more = written(tmp_path, {"all": "slow"}, replications__paths=32)
    with pytest.raises(UserError, match=r"is active with an earlier request that differs from this one: submit again"):
        handed_over(more)
    cancel(open_backend(str(one.store)))


def test_a_submission_that_cannot_be_read_is_told(one: Study) -> None:
    there = open_backend(str(one.store))
    there.put("submission/submission.json", b"{")
    with pytest.raises(UserError, match=r"submission.json can't be read \(it must be JSON\): delete it"):
        status(str(one.store))


def pending(one: Study, **values: object) -> submission.Submission:
    """Handed over a while after the last run, and not begun."""
    scenario = one.loaded.scenario.model_dump(mode="json")
    plain = submission.Submission("toy-01234567", scenario, "", (), None, None, False, "", "", "2999-01-01")
    return replace(plain, **values)  # type: ignore[arg-type]


def test_a_study_to_which_more_was_handed_over_is_not_complete(tmp_path: Path) -> None:
    one = written(tmp_path, {}, replications__paths=16)
    one.run(workers=1, speed=2e9)
    there = open_backend(str(one.store))
    submission.write(there, pending(one, how=submission.TASK))
    assert status(str(one.store))["complete"], "the same once more is nothing more"
    more = written(tmp_path, {}, replications__paths=32)
    waits = pending(more, how=submission.TASK)
    submission.write(there, waits)
    facts = status(str(one.store))
    assert not facts["complete"]
    assert (
        "100% done of the previous request, its driver has not started yet: a task that waits for a worker"
        in format_status_line(facts)
    )
    submission.write(there, replace(waits, submitted="2026-01-01"))
    assert status(str(one.store))["complete"], "a run has begun since"


def test_from_where_slurm_cannot_be_asked_a_job_may_wait(
    one: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = open_backend(str(one.store))
    queued = pending(one, how=submission.SLURM)
    submission.write(there, queued)
    queued = submission.add(there, queued, handle={"job": "77"})
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = status(str(one.store))
    assert facts["at_work"]
    assert "its driver has not started yet: job 77 of Slurm, which can't be queried from here" in format_status_line(
        facts
    )
    submission.add(there, queued, starts=({"time": "2026-01-01T00:00:00+00:00", "done": 0},))
    facts = status(str(one.store))
    assert not facts["at_work"]
    assert "no run is active (Slurm's queue can't be queried from here)" in format_status_line(facts)
