"""A cluster that dies is told in one line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from threading import Thread
from time import sleep, time

import pytest
from distributed import Client

import cluster
from harness import ClusterError
from harness.backends.base import open_backend
from harness.core.types import Limits, Unit
from harness.execution import driver, prepare
from harness.execution.on_dask import executor, health
from harness.execution.tasks import stall_limit
from harness.monitor.state import status
from harness.monitor.text import format_status
from harness.store import receipts
from tests.harness.notes import Noted
from tests.harness.poison import Study, written
from tests.harness.schedulers import dask
from tests.harness.studies import until


def test_a_cluster_without_workers_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only worker dies, and nobody replaces it. (`tests/faults` has what heals.)"""
    monkeypatch.setattr(health, "PATIENCE", 3.0)
    one, notes = written(tmp_path / "one", {"all": "slow"}), list[str]()
    file = tmp_path / "scheduler.json"
    where = ("--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file))
    worker = ("worker", "--scheduler-file", str(file), "--host", "127.0.0.1", "--no-nanny", "--nthreads", "1")
    worker = (*worker, "--no-dashboard", "--local-directory", str(tmp_path))
    with dask("scheduler", *where), dask(*worker) as victim:
        until(file.exists)
        with Client(scheduler_file=str(file), timeout=60, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
            assert broken(one, client, victim, notes) == (
                "there have been no workers for 3 s; what is done is kept: run again to resume"
            )
    assert notes == ["there are no workers: waiting for them for 3 s"]
    assert ", aborted 20" in format_status(status(str(one.store)))


def broken(one: Study, client: Client, victim: subprocess.Popen[bytes], notes: list[str]) -> str:
    """Runs a study, kills a process of the cluster when the first unit is at work, and says how the run ended."""

    def kill() -> None:
        until(lambda: any(pid != os.getpid() for _, pid, _ in one.log()))
        victim.kill()

    killer = Thread(target=kill)
    killer.start()
    prepared = prepare.prepare(one.loaded, str(one.store), 2, speed=2e7)
    with pytest.raises(ClusterError) as caught:
        driver.run_prepared(prepared, Noted(notes), client)
    killer.join()
    assert not receipts.list_receipts(open_backend(str(one.store)), (10,)), "it was too late"
    return str(caught.value)


def units(count: int, **limits: float) -> list[tuple[Unit, Limits]]:
    return [(Unit(10, i, 0, range(i, i + 1), range(1)), Limits(**limits)) for i in range(count)]


def test_a_cluster_that_gives_no_result_is_told() -> None:
    """A clock that is set back where the scheduler runs leaves its streams to workers waiting; all else looks well."""
    with cluster.local(1, 1e9) as client:
        list(executor.run_dask(client, _quick, ("", "v", 0), units(1)))
        stream = client.cluster.scheduler.stream_comms[next(iter(client.nthreads()))]

        def silence() -> bool:
            stream.next_deadline = time() + 3600
            return False

        silence()
        terms = executor.RunOptions(grace=2.0, stop=silence)
        with pytest.raises(
            ClusterError, match=r"no result has come for \d s, far longer than planned: look at .* clocks"
        ):
            list(executor.run_dask(client, _quick, ("", "w", 0), units(20, seconds=0.1), terms))


def test_a_long_unit_is_no_stall() -> None:
    with cluster.local(1, 1e9) as client:
        terms = executor.RunOptions(grace=0.1)
        results = list(executor.run_dask(client, _long, ("", "v", 0), units(2, seconds=60.0), terms))
    assert results == [{"name": "n=10/p0_d0"}, {"name": "n=10/p1_d0"}]


@pytest.mark.soak
def test_tasks_of_others_are_waited_for() -> None:
    """Whoever shares the cluster may hold its workers for longer than our units take."""
    with cluster.local(1, 1e9) as client:
        other = client.submit(sleep, 9, key="another's", pure=False)
        options = executor.RunOptions(grace=3.0)
        results = list(executor.run_dask(client, _quick, ("", "v", 0), units(2, seconds=0.1), options))
        assert len(results) == 2
        other.release()


def test_a_suspended_driver_has_not_stalled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds in which it didn't look don't count; nor do they count twice where results came meanwhile."""
    now = [1000.0]
    monkeypatch.setattr(health, "monotonic", lambda: now[0])
    with cluster.local(1, 1e9) as client:
        one = health.ClusterHealth(client, print, None, lambda: False, lambda: 60.0, {}, last=1000.0)
        one.poll()
        now[0] += 3600.0
        one.poll()
        assert one.last > now[0] - 60.0
        one.note_result()
        now[0] += 600.0
        one.poll()
        assert one.last <= now[0]
        for _ in range(25):
            now[0] += 2.5
            if now[0] - one.last > 60.0:
                break
            one.poll()
        with pytest.raises(ClusterError, match=r"no result has come for 6. s"):
            one.poll()


def test_what_may_take_long() -> None:
    """Each replication in a sandbox may take its limit; a unit that was planned to take long may take longer."""
    unit = Unit(10, 0, 0, range(50), range(2))
    assert stall_limit([(unit, Limits(seconds=600.0, sandboxed=True))], 60.0) == 60 + 100 * 600
    assert stall_limit([(unit, Limits(seconds=30.0, user_set=True))], 60.0) == 60 + 100 * 30, "without a nanny"
    assert stall_limit([(unit, Limits(seconds=600.0, planned=1e4))], 60.0) > 1e5


def _quick(url: str, fingerprint: str, generation: int, unit: Unit, care: Limits) -> dict[str, str]:
    return {"name": unit.name}


def _long(url: str, fingerprint: str, generation: int, unit: Unit, care: Limits) -> dict[str, str]:
    sleep(4)
    return {"name": unit.name}
