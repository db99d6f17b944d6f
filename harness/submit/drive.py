"""What a submitted driver does: it runs the study that its store tells of, and writes down how that ended.

`python -m harness.submit.drive URL ID` is a process of its own, on the machine of the submitter or in a Slurm job.
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

from harness.backends.base import Place, place
from harness.core.errors import Broken, Mistake, Stopped, Unreachable
from harness.core.processes import brief
from harness.core.text import timestamp
from harness.execution import clusters, driver, prepare
from harness.scenario.load import Loaded, check
from harness.scenario.sources import portable
from harness.store import receipts
from harness.store.heartbeat import Presence
from harness.store.manifest_io import load
from harness.submit import reserve, slurm, submission
from harness.submit.logs import Logbook
from harness.submit.submission import SLURM, Submission

COMPLETE, FAILED, MISTAKE, CLUSTER, STOPPED = 0, 1, 2, 3, 130
GIVE_UP = 3
"""So many starts in a row without a unit more, and a driver isn't started again."""


def drive(url: str, identity: str, client: Any = None) -> int:
    """Runs a submission; the code is the one that `ckrr run` would have had."""
    there = place(url)
    found = submission.read(there)
    if found is None or found.id != identity or found.ended is not None:
        return COMPLETE  # another submission has taken its place, or it was cancelled meanwhile
    logbook = Logbook(there)
    found = _started(there, found)
    reserve.keep(there)
    logbook.note(f"driver of {found.id} started: process {os.getpid()} on {platform.node()}")
    follower = slurm.follow(found, logbook.note) if found.how == SLURM else None
    code, outcome = _outcome(there, found, logbook, client)
    goes_on = code == CLUSTER and follower is not None and not _hopeless(found)
    logbook.note(f"{outcome}; job {follower} goes on" if goes_on else outcome)
    with suppress(Unreachable):  # a store that can't be written to: `ckrr status` sees that nobody is at work any more
        if _is_ours(there, found):  # otherwise it was removed, and isn't made anew
            reserve.give(there)
            if not goes_on:
                submission.add(there, found, ended=timestamp(), outcome=outcome, code=code)
            logbook.keep()
    slurm.cancel_job(None if goes_on else follower)
    return code


def _started(there: Place, found: Submission) -> Submission:
    start = {
        "time": timestamp(),
        "host": platform.node(),
        "pid": os.getpid(),
        "job": slurm.here(),
        "done": _done(there),
    }
    return submission.add(there, found, starts=(*found.starts, start))


def _done(there: Place) -> int:
    record = load(there)
    return 0 if record is None else len(receipts.listed(there, record.extent.grid.n))


def _hopeless(found: Submission) -> bool:
    """Whether the last few drivers did nothing at all."""
    last = [one["done"] for one in found.starts[-GIVE_UP:]]
    return len(last) == GIVE_UP and len(set(last)) == 1


def _outcome(there: Place, found: Submission, logbook: Logbook, client: Any) -> tuple[int, str]:
    """The exit code, and how it ended in words."""
    try:
        done = _run(there, found, logbook, client)
    except Mistake as mistake:
        return MISTAKE, str(mistake)
    except Broken as broken:
        return CLUSTER, str(broken)
    except (Stopped, KeyboardInterrupt):
        driver.stopped_at(there)
        if _cancelled(there, found):
            return STOPPED, "cancelled: what is done is kept, `ckrr submit` goes on"
        if found.how == SLURM:  # its time is over, or its node is needed
            return CLUSTER, "the driver's job was ended; what is done is kept"
        return STOPPED, "the driver was told to end, by a signal: what is done is kept, `ckrr submit` goes on"
    except Exception as error:
        logbook.note(_trace(error))
        return CLUSTER, f"the driver failed: {type(error).__name__}: {error}"
    if done.failed:
        return FAILED, f"complete, but {done.failed} replications of cells failed: `ckrr errors` says why"
    return COMPLETE, "complete"


def _is_ours(there: Place, found: Submission) -> bool:
    """Whether it is still the last submission of the store."""
    now = submission.read(there)
    return now is not None and now.id == found.id


def _cancelled(there: Place, found: Submission) -> bool:
    now = submission.read(there)
    return now is None or now.id != found.id or now.ended is not None


def _trace(error: Exception) -> str:
    import traceback

    return "".join(traceback.format_exception(error)).rstrip()


def _run(there: Place, found: Submission, logbook: Logbook, client: Any) -> driver.Outcome:
    presence = Presence(there, logbook.keep, _interrupt() if client is None else None)
    logbook.ask(lambda: presence.worker_logs())
    cluster = submission.get_cluster(there, found)
    file = None if cluster is None else clusters.again(cluster)
    with tempfile.TemporaryDirectory(prefix="ckrr-") as folder:
        loaded = _loaded(there, found, Path(folder))
    prepared = prepare.prepare(
        loaded,
        there.url,
        found.workers,
        retry=found.retry,
        cluster=file,
        client=client,
        accept_changed=found.accept_changed,
    )
    return driver.run(replace(prepared, command=found.command or None), logbook, client, presence=presence)


def _interrupt() -> Callable[[], None]:
    """How to end a driver that has a process of its own, whatever it is at: as Ctrl-C does, once."""

    def hear(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, hear)
    return lambda: os.kill(os.getpid(), signal.SIGINT)


def _loaded(there: Place, found: Submission, folder: Path) -> Loaded:
    """The scenario with the files that went along."""
    for name, data in submission.get_files(there, found).items():
        (folder / name).write_bytes(data)
    plain = {**found.scenario, "source": portable(found.scenario["source"])}
    return check(plain, found.where, folder)


if __name__ == "__main__":
    brief()
    sys.exit(drive(*sys.argv[1:3]))
