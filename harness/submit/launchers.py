"""The ways to run a submitted driver: a process of this machine, a Slurm job, or a task on a running scheduler.

Each is one small class that starts a driver, finds one that has been started and hasn't reported yet, and ends it. A
new way is a new class and an entry in `LAUNCHERS`. This module is light: `ckrr status` imports it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Protocol

from harness.core.errors import UserError
from harness.store.heartbeat import BEAT
from harness.submit import process, slurm, submission
from harness.submit.submission import PROCESS, SLURM, TASK, Submission

if TYPE_CHECKING:
    from harness.backends.base import Backend
    from harness.execution.prepare import Prepared

Note = Callable[[str], None]
GRACE = 4 * BEAT
"""Seconds that a driver has to end by itself: at every heartbeat it looks whether it was cancelled."""
_STARTUP = 60.0
"""Seconds in which a task that was started may not have reported yet."""


class Launcher(Protocol):
    """A way to run a submitted driver."""

    patience: float
    """Seconds that `ckrr submit` waits for the driver's first report; 0 where it may wait in a queue for long."""
    is_queued: bool
    """Whether a driver that hasn't reported counts as started, since it waits in a queue."""

    def start(self, prepared: Prepared, one: Submission, note: Note) -> dict[str, Any]:
        """Start the driver, and return the handle by which it is found again, as JSON values."""
        ...

    def find_waiting(self, one: Submission, url: str) -> str | None:
        """Return the name of a driver that was started and hasn't reported yet; None if there is none."""
        ...

    def cancel(self, one: Submission, url: str, note: Note) -> None:
        """End the driver of this very store, if it runs or waits: a stranger's store could name any process or job."""
        ...


class ProcessLauncher:
    """A process of this machine, in a session of its own."""

    patience, is_queued = 30.0, False

    def start(self, prepared: Prepared, one: Submission, note: Note) -> dict[str, Any]:
        """Start the process."""
        return process.start(prepared.backend, one.id)

    def find_waiting(self, one: Submission, url: str) -> str | None:
        """Return the process if it runs."""
        running = process.is_running(one.handle, url, one.id)
        return f"process {one.handle['pid']} on {one.handle['host']}" if running else None

    def cancel(self, one: Submission, url: str, note: Note) -> None:
        """Send SIGTERM, then SIGKILL to the process and all that it started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not process.is_running(one.handle, url, one.id):
                return
            process.send_signal(one.handle, number)
            wait_until(lambda: not process.is_running(one.handle, url, one.id), BEAT)


class SlurmLauncher:
    """A Slurm job, which is followed by another one if it doesn't end by itself."""

    patience, is_queued = 0.0, True

    def start(self, prepared: Prepared, one: Submission, note: Note) -> dict[str, Any]:
        """Queue the job."""
        backend, file = prepared.backend, prepared.cluster
        Path(file.log_directory).mkdir(parents=True, exist_ok=True)  # Slurm makes none
        command = process.make_command(backend.url, one.id, file.python or sys.executable)
        comment = slurm.make_comment(backend.url)
        directives, prologue = file.list_driver_directives(), file.job_script_prologue
        text = slurm.make_script(one.name, comment, one.folder, command, directives, prologue)
        submission.add(backend, one, handle={"script": text})  # the job may start at once, and queues its follower
        return {"script": text, "job": slurm.start(text)}

    def find_waiting(self, one: Submission, url: str) -> str | None:
        """Return the first job that waits or runs."""
        queued = slurm.list_jobs(one.name)
        return f"job {min(queued)} of Slurm" if queued else None

    def cancel(self, one: Submission, url: str, note: Note) -> None:
        """Cancel the jobs that carry this store's mark, and name those that don't."""
        comment = slurm.make_comment(url)
        for job, said in slurm.list_jobs(one.name).items():
            if said == comment:
                slurm.cancel_job(job)
            else:
                note(f"job {job} of Slurm doesn't say that it is for this store: `scancel {job}` ends it")
        wait_until(lambda: comment not in slurm.list_jobs(one.name).values(), GRACE)


class TaskLauncher:
    """A task on a running scheduler, which starts it again if its worker dies."""

    patience, is_queued = 10.0, False

    def start(self, prepared: Prepared, one: Submission, note: Note) -> dict[str, Any]:
        """Submit the task, and stay until it has reported: a client that leaves at once may take its task away."""
        from harness.execution import clusters
        from harness.submit import task

        with clusters.connect(prepared.cluster, prepared.machine, note) as client:
            handle = task.start(client, prepared.backend.url, one.id, one.name)
            wait_for_driver(prepared.backend, self.patience)
            return handle

    def find_waiting(self, one: Submission, url: str) -> str | None:
        """Return the task if it waits for a worker, or was started a moment ago."""
        scheduler = one.handle.get("scheduler")
        if not one.starts:
            return f"a task that waits for a worker of {scheduler}"
        age = (datetime.now(UTC) - datetime.fromisoformat(one.starts[-1]["time"])).total_seconds()
        return f"a task of {scheduler}" if age < _STARTUP else None

    def cancel(self, one: Submission, url: str, note: Note) -> None:
        """Do nothing: the task sees at its next heartbeat, or when it starts, that it was cancelled."""


LAUNCHERS: dict[str, Launcher] = {PROCESS: ProcessLauncher(), SLURM: SlurmLauncher(), TASK: TaskLauncher()}
"""By the name that a submission keeps."""
_BY_CLUSTER = {"slurm": SLURM, "address": TASK}


def choose_launcher(cluster_kind: str | None) -> str:
    """Return the name of the launcher for a kind of cluster; a process of this machine for all that has no other."""
    return _BY_CLUSTER.get(cluster_kind or "", PROCESS)


def find_launcher(one: Submission) -> Launcher:
    """Return the launcher of a submission."""
    if one.how not in LAUNCHERS:
        raise UserError(f"the submission {one.id} was started by {one.how!r}, which this version doesn't know")
    return LAUNCHERS[one.how]


def wait_for_driver(backend: Backend, seconds: float) -> bool:
    """Wait until the driver of the last submission has reported or ended, and return whether it has."""

    def has_reported() -> bool:
        now = submission.read(backend)
        return now is not None and (bool(now.starts) or now.ended is not None)

    return wait_until(has_reported, seconds)


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition, for so many seconds at most, and return whether it holds."""
    end = monotonic() + seconds
    while not condition():
        if monotonic() > end:
            return False
        sleep(0.1)
    return True
