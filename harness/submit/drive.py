"""Run a submitted study, as its store describes it, and record how it ended.

`python -m harness.submit.drive URL ID` is the driver's process, on the submitting machine or in a Slurm job.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from harness.backends.base import Backend, open_backend
from harness.core.errors import ClusterError, StoppedError, StoreUnreachableError, UserError
from harness.core.processes import limit_garbage_collection
from harness.core.text import get_timestamp
from harness.execution import clusters, driver, lifecycle, prepare
from harness.execution.facts import Outcome
from harness.scenario.families import make_portable_families
from harness.scenario.load import Loaded, check
from harness.scenario.sources import make_portable
from harness.store import receipts
from harness.store.heartbeat import Heartbeat
from harness.store.manifest_io import load_manifest
from harness.submit import reserve, slurm, submission
from harness.submit.logs import Logbook
from harness.submit.submission import Submission

COMPLETE, FAILED, USER_ERROR, CLUSTER, STOPPED = 0, 1, 2, 3, 130
"""Exit codes, the same as those of `ckrr run`."""
MAX_IDLE_STARTS = 3
"""Number of starts in a row without a completed unit after which no further driver is started."""


def drive(url: str, identity: str, client: Any = None) -> int:
    """Run a submission, and return the exit code that `ckrr run` would have returned.

    Does nothing if the submission has ended or another one has replaced it.

    Parameters
    ----------
    url : str
        The store.
    identity : str
        The submission's id.
    client : distributed.Client, optional
        Client of the scheduler that runs this driver as a task. Default: this process is the driver, and starts
        the workers or the cluster of the submission.
    """
    backend = open_backend(url)
    found = submission.read(backend)
    if found is None or found.id != identity or found.ended is not None:
        return COMPLETE  # another submission replaced it, or it was cancelled meanwhile
    logbook = Logbook(backend)
    found = _add_start(backend, found)
    reserve.allocate(backend)
    logbook.note(f"driver of {found.id} started: process {os.getpid()} on {platform.node()}")
    follower = slurm.submit_follower(found, logbook.note)
    code, outcome = _run_to_outcome(backend, found, logbook, client)
    goes_on = code == CLUSTER and follower is not None and not _is_stuck(found)
    logbook.note(f"{outcome}; job {follower} goes on" if goes_on else outcome)
    with suppress(StoreUnreachableError):  # `ckrr status` then infers the end from the heartbeat
        if _is_ours(backend, found):  # otherwise the store was removed, or has a newer submission
            reserve.release(backend)
            if not goes_on:
                submission.add(backend, found, ended=get_timestamp(), outcome=outcome, code=code)
            logbook.flush()
    slurm.cancel_job(None if goes_on else follower)
    return code


def _add_start(backend: Backend, found: Submission) -> Submission:
    start = {
        "time": get_timestamp(),
        "host": platform.node(),
        "pid": os.getpid(),
        "job": slurm.get_current_job(),
        "done": _count_done(backend),
    }
    return submission.add(backend, found, starts=(*found.starts, start))


def _count_done(backend: Backend) -> int:
    manifest = load_manifest(backend)
    return 0 if manifest is None else len(receipts.list_receipts(backend, manifest.extent.grid.n))


def _is_stuck(found: Submission) -> bool:
    """Return whether no unit was completed between the last `MAX_IDLE_STARTS` starts."""
    last = [one["done"] for one in found.starts[-MAX_IDLE_STARTS:]]
    return len(last) == MAX_IDLE_STARTS and len(set(last)) == 1


def _run_to_outcome(backend: Backend, found: Submission, logbook: Logbook, client: Any) -> tuple[int, str]:
    """Run a submission, and return its exit code and a sentence that says how it ended."""
    try:
        done = _run(backend, found, logbook, client)
    except UserError as mistake:
        return USER_ERROR, str(mistake)
    except ClusterError as broken:
        return CLUSTER, str(broken)
    except (StoppedError, KeyboardInterrupt):
        lifecycle.mark_store_stopped(backend)
        if _is_cancelled(backend, found):
            return STOPPED, "cancelled: what is done is kept, `ckrr submit` goes on"
        if slurm.is_job(found):  # by Slurm: walltime reached, or the node is needed
            return CLUSTER, "the driver's job was ended; what is done is kept"
        return STOPPED, "the driver was told to end, by a signal: what is done is kept, `ckrr submit` goes on"
    except Exception as error:
        logbook.note(_format_traceback(error))
        return CLUSTER, f"the driver failed: {type(error).__name__}: {error}"
    ended = "complete" if done.is_complete else "the budget of hours is spent, `ckrr submit` goes on"
    if done.failed:
        return FAILED, f"{ended}, but {done.failed} replications of cells failed: `ckrr errors` says why"
    return COMPLETE, ended


def _is_ours(backend: Backend, found: Submission) -> bool:
    """Return whether this is still the latest submission of the store."""
    now = submission.read(backend)
    return now is not None and now.id == found.id


def _is_cancelled(backend: Backend, found: Submission) -> bool:
    now = submission.read(backend)
    return now is None or now.id != found.id or now.ended is not None


def _format_traceback(error: Exception) -> str:
    import traceback

    return "".join(traceback.format_exception(error)).rstrip()


def _run(backend: Backend, found: Submission, logbook: Logbook, client: Any) -> Outcome:
    presence = Heartbeat(backend, logbook.flush, _install_handlers() if client is None else None)
    logbook.set_worker_logs(lambda: presence.worker_logs())
    cluster = submission.get_cluster(backend, found)
    file = None if cluster is None else clusters.restore(cluster)
    with tempfile.TemporaryDirectory(prefix="ckrr-") as folder:
        loaded = _load_scenario(backend, found, Path(folder))
    prepared = prepare.prepare(
        loaded,
        backend.url,
        found.workers,
        retry=found.retry,
        cluster=file,
        client=client,
        accept_changed=found.accept_changed,
    )
    return driver.run_prepared(replace(prepared, command=found.command or None), logbook, client, presence=presence)


def _install_handlers() -> Callable[[], None]:
    """Raise KeyboardInterrupt at the first SIGTERM or SIGINT, and return a function that interrupts this process so.

    Later signals are ignored. Only for a driver with a separate process: it is interrupted whatever it is doing.
    """

    def hear(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, hear)
    return lambda: os.kill(os.getpid(), signal.SIGINT)


def _load_scenario(backend: Backend, found: Submission, folder: Path) -> Loaded:
    """Write the submitted files to `folder`, and load the submitted scenario with them."""
    for name, data in submission.get_files(backend, found).items():
        (folder / name).write_bytes(data)
    scenario = found.scenario
    portable = {"source": make_portable(scenario["source"]), "family": make_portable_families(scenario["family"])}
    plain = {**scenario, **portable}
    return check(plain, found.where, folder)


if __name__ == "__main__":
    limit_garbage_collection()
    sys.exit(drive(*sys.argv[1:3]))
