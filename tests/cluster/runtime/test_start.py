"""A cluster that can't start, or is killed while it starts: exit 3, one line, and nothing left behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import cluster
from cluster.runtime import limits
from cluster.runtime.errors import StartError, dask_failures, explain
from harness.core.errors import ClusterError
from harness.execution import clusters
from tests.cluster.commands import Desk, desk
from tests.cluster.listening import until


@pytest.fixture
def place() -> Iterator[Desk]:
    with desk() as one:
        yield one


def check(place: Desk, ended: tuple[int, str, str], told: str) -> None:
    code, _, err = ended
    assert re.fullmatch(rf"error: {told}; what is done is kept: run again to resume\n", err), err
    assert code == 3
    place.check_nothing_left()


def test_a_worker_is_killed_while_it_starts(place: Desk) -> None:
    ended = place.run(DASK_DISTRIBUTED__WORKER__PRELOAD="['tests.cluster.dying']")
    check(place, ended, r"the cluster can't be started: a worker ended while it started \(was it killed\?\)")


def test_the_fork_server_is_killed_while_it_starts_workers(place: Desk) -> None:
    """It is stopped until somebody waits for it to fork, and killed then."""
    process = place.start()
    driver = psutil.Process(process.pid)
    until(lambda: bool(_fork_servers(driver)))
    (server,) = _fork_servers(driver)
    server.send_signal(signal.SIGSTOP)
    until(lambda: _sockets(place.temporary) > 1, 120)
    server.kill()
    out, err = process.communicate(timeout=300)
    check(place, (process.returncode, out, err), r"the cluster can't be started: a worker ended while it started .*")


def _fork_servers(driver: psutil.Process) -> list[psutil.Process]:
    """Processes that are one already: each is a copy of its driver at first."""
    found = []
    for one in driver.children():
        try:
            found += [one] if "forkserver" in " ".join(one.cmdline()) else []
        except psutil.Error:
            continue
    return found


def _sockets(folder: Path) -> int:
    """How many local sockets have their name below a folder: one that listens, and those that wait for it."""
    return Path("/proc/net/unix").read_text().count(f"{folder}{os.sep}")


LIMITS = [
    ("-n 16", r"too few file descriptors: see ulimit -n, which is 16 and should be \d+ for 2 workers"),
    ("-n 40", r"too few file descriptors: see ulimit -n, which is 40 and should be \d+ for 2 workers"),
    ("-v 600000", r"too little address space: see ulimit -v, which is 600000 and should be \d+ or more"),
    ("-v 700000", r"too little address space: see ulimit -v, which is 700000 and should be \d+ or more"),
]


@pytest.mark.parametrize(("limit", "told"), LIMITS, ids=[limit for limit, _ in LIMITS])
def test_limits_of_a_shell(limit: str, told: str, place: Desk) -> None:
    before = ("bash", "-c", f'ulimit {limit}; exec "$@"', "bash")
    check(place, place.run(before=before), told)


SHARED = [
    ("-o ro", "Read-only file system"),
    ("-o size=4k,nr_inodes=1", "No space left on device"),
]
UNSHARE = ("unshare", "--mount", "bash", "-c")


def no_mounts() -> str | None:
    """Why there can be no /dev/shm of a process's own; None if there can."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "mounting a file system needs root and unshare"
    done = subprocess.run([*UNSHARE, "mount -t tmpfs tmpfs /dev/shm"], capture_output=True, text=True)
    return f"nothing can be mounted here: {done.stderr}" if done.returncode else None


@pytest.mark.skipif(no_mounts() is not None, reason=str(no_mounts()))
@pytest.mark.parametrize(("options", "told"), SHARED, ids=["read-only", "full"])
def test_no_room_for_semaphores(options: str, told: str, place: Desk) -> None:
    before = (*UNSHARE, f'mount -t tmpfs {options} tmpfs /dev/shm && exec "$@"', "bash")
    check(place, place.run(before=before), rf"no semaphore can be made: see /dev/shm \({told}\)")


def test_with_limits_that_are_just_enough_it_runs(place: Desk) -> None:
    before = ("bash", "-c", 'ulimit -n 80; exec "$@"', "bash")
    code, _, err = place.run(before=before)
    assert code == 0, err


def test_mistakes_of_ours_stay_exceptions() -> None:
    """What Dask doesn't raise is no matter of starting."""
    with pytest.raises(ZeroDivisionError), dask_failures():
        print(1 / 0)


def test_what_is_said_is_the_first_cause() -> None:
    error = RuntimeError("Cluster failed to start")
    error.__cause__ = OSError(24, "Too many open files")
    assert explain(error) == "too few file descriptors: see ulimit -n"
    assert explain(ConnectionError("a\nb")) == "ConnectionError: a b"


def test_a_run_breaks_where_a_cluster_cannot_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(limits, "_DESCRIPTORS", 1 << 30)
    with pytest.raises(StartError, match="too few file descriptors"), cluster.local(1, 1e9):
        pass
    machine = clusters.measure_machine(str(tmp_path), 1, 1e9, None)
    with pytest.raises(ClusterError, match="too few file descriptors"), clusters.connect(None, machine, print):
        pass
