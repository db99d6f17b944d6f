"""Launch submitted drivers as a process of this machine, a Slurm job, or a task on a running scheduler.

Each launcher is one small class that starts a driver, finds one that was started and has not reported yet, and ends it.
To add a launcher, write a class and add it to `LAUNCHERS`. Keep imports light: `ckrr status` imports this module.
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
"""Seconds that a cancelled driver has to end by itself: it checks for cancellation at least once per heartbeat."""
_TASK_PATIENCE = 10.0
"""Seconds that a client stays connected for its task to start; it may wait for a worker much longer."""
_STARTUP = 60.0
"""Seconds after a start during which a task without a heartbeat counts as starting up."""


class Launcher(Protocol):
    """Interface of a launcher, which starts, finds and ends submitted drivers."""

    patience: float
    """Seconds that `ckrr submit` waits for the driver to report its start; 0 if it may be queued for long."""
    is_queued: bool
    """Whether drivers wait in a queue, so that one that has not reported counts as alive."""

    def start(self, prepared: Prepared, one: Submission, note: Note) -> dict[str, Any]:
        """Start the driver, and return a handle of JSON values by which it is found again."""
        ...

    def find_waiting(self, one: Submission, url: str) -> str | None:
        """Return a description of a driver that was started and has not reported yet; None if there is none."""
        ...

    def cancel(self, one: Submission, url: str, note: Note) -> None:
        """End the driver, if it runs or waits.

        Implementations verify that it belongs to the store `url`: a store from an untrusted origin could name any
        process or job.
        """
        ...


class ProcessLauncher:
    """Launch drivers as processes of this machine, each in a new session."""

    patience, is_queued = 30.0, False

    def start(self, prepared: Prepared, one: Submission, note: Note) -> dict[str, Any]:
        """Start the process."""
        return process.start(prepared.backend, one.id)

    def find_waiting(self, one: Submission, url: str) -> str | None:
        """Return a description of the process if it runs on this machine."""
        running = process.is_running(one.handle, url, one.id)
        return f"process {one.handle['pid']} on {one.handle['host']}" if running else None

    def cancel(self, one: Submission, url: str, note: Note) -> None:
        """Send SIGTERM to the process and, if it does not end, SIGKILL to its whole process group."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not process.is_running(one.handle, url, one.id):
                return
            process.send_signal(one.handle, number)
            wait_until(lambda: not process.is_running(one.handle, url, one.id), BEAT)


class SlurmLauncher:
    """Launch drivers as Slurm jobs, each followed by another job if it is ended before it has finished."""

    patience, is_queued = 0.0, True

    def start(self, prepared: Prepared, one: Submission, note: Note) -> dict[str, Any]:
        """Submit the job, and return its script and number."""
        backend, file = prepared.backend, prepared.cluster
        Path(file.log_directory).mkdir(parents=True, exist_ok=True)  # Slurm does not create it
        command = process.make_command(backend.url, one.id, file.python or sys.executable)
        comment = slurm.make_comment(backend.url)
        directives, prologue = file.list_driver_directives(), file.job_script_prologue
        text = slurm.make_script(one.name, comment, one.folder, command, directives, prologue)
        submission.add(backend, one, handle={"script": text})  # a job that starts at once needs it for its follower
        return {"script": text, "job": slurm.start(text)}

    def find_waiting(self, one: Submission, url: str) -> str | None:
        """Return a description of the first job that waits or runs."""
        queued = slurm.list_jobs(one.name)
        return f"job {min(queued, key=int)} of Slurm" if queued else None

    def cancel(self, one: Submission, url: str, note: Note) -> None:
        """Cancel the jobs whose comment names this store, and report the others."""
        comment = slurm.make_comment(url)
        for job, said in slurm.list_jobs(one.name).items():
            if said == comment:
                slurm.cancel_job(job)
            else:
                note(f"job {job} of Slurm is not cancelled, as it may belong to another store: `scancel {job}` ends it")
        wait_until(lambda: comment not in slurm.list_jobs(one.name).values(), GRACE)


class TaskLauncher:
    """Launch drivers as tasks on a running scheduler, which restarts them if their worker dies."""

    patience, is_queued = 0.0, False

    def start(self, prepared: Prepared, one: Submission, note: Note) -> dict[str, Any]:
        """Submit the task, and stay connected until it has reported or `patience` is over.

        If a client disconnects at once, its task may be lost.
        """
        from harness.execution import clusters
        from harness.submit import task

        with clusters.connect(prepared.cluster, prepared.machine, note) as client:
            handle = task.start(client, prepared.backend.url, one.id, one.name)
            wait_for_driver(prepared.backend, _TASK_PATIENCE)
            return handle

    def find_waiting(self, one: Submission, url: str) -> str | None:
        """Return a description of the task if it waits for a worker, or started less than a minute ago."""
        scheduler = one.handle.get("scheduler")
        if not one.starts:
            return f"a task that waits for a worker of {scheduler}"
        age = (datetime.now(UTC) - datetime.fromisoformat(one.starts[-1]["time"])).total_seconds()
        return f"a task of {scheduler}" if age < _STARTUP else None

    def cancel(self, one: Submission, url: str, note: Note) -> None:
        """Do nothing: the task checks for cancellation when it starts, and at every heartbeat."""


LAUNCHERS: dict[str, Launcher] = {PROCESS: ProcessLauncher(), SLURM: SlurmLauncher(), TASK: TaskLauncher()}
"""Launchers by the name in `Submission.how`."""
_BY_CLUSTER = {"slurm": SLURM, "address": TASK}
"""Names of launchers by kind of cluster, where it is not `PROCESS`."""


def choose_launcher(cluster_kind: str | None) -> str:
    """Return the name of the launcher for a kind of cluster. Default: `PROCESS`."""
    return _BY_CLUSTER.get(cluster_kind or "", PROCESS)


def find_launcher(one: Submission) -> Launcher:
    """Return the launcher of a submission; raise UserError if this version does not have it."""
    if one.how not in LAUNCHERS:
        raise UserError(f"the submission {one.id} was started by {one.how!r}, which this version doesn't know")
    return LAUNCHERS[one.how]


def wait_for_driver(backend: Backend, seconds: float) -> bool:
    """Wait at most `seconds` until the driver of the latest submission has started or ended; return whether it has."""

    def has_reported() -> bool:
        now = submission.read(backend)
        return now is not None and (bool(now.starts) or now.ended is not None)

    return wait_until(has_reported, seconds)


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait at most `seconds` until a condition holds, and return whether it does."""
    end = monotonic() + seconds
    while not condition():
        if monotonic() > end:
            return False
        sleep(0.1)
    return True
