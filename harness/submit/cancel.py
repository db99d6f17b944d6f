"""Ending a submitted study: its driver is asked, and then seen to be gone, with all that it started."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from time import monotonic, sleep

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.core.text import get_timestamp
from harness.store.heartbeat import BEAT, other_driver
from harness.store.manifest import CANCEL
from harness.submit import process, slurm, submission
from harness.submit.locate import find_active_driver
from harness.submit.submission import PROCESS, SLURM, Submission

GRACE = 4 * BEAT
"""Seconds that a driver has to end by itself: it looks at every beat whether somebody asked."""


def cancel(backend: Backend, note: Callable[[str], None] = lambda text: None) -> str:
    """Ends what is at work on a store; in words, what was ended."""
    who, one = find_active_driver(backend), submission.read(backend)
    if who is None:
        raise UserError(f"{backend.url}: nobody is at work on it; `ckrr status` says how far it is")
    if one is not None and one.ended is None:
        now = get_timestamp()
        one = submission.add(backend, one, ended=now, outcome="cancelled: what is done is kept", code=130)
    backend.put(CANCEL, b"{}")
    if other_driver(backend) is not None:
        note(f"asked {who} to end")
        _wait(lambda: other_driver(backend) is None, GRACE)
    if one is not None:
        _kill_driver(one, backend.url, note)
    if other_driver(backend) is not None:
        raise UserError(f"{who} is still at work on {backend.url}: it may be at a long unit; look again in a minute")
    backend.delete(CANCEL)
    return who


def _kill_driver(one: Submission, url: str, note: Callable[[str], None]) -> None:
    """What could be waiting in a queue, or doesn't listen, is ended whether it likes it or not.

    Only what is the driver of this very store: a stranger's store could name any process or job.
    """
    if one.how == SLURM:
        ours, others = _split(slurm.list_jobs(one.name), slurm.make_comment(url))
        for job in ours:
            slurm.cancel_job(job)
        for job in others:
            note(f"job {job} of Slurm doesn't say that it is for this store: `scancel {job}` ends it")
        _wait(lambda: not _split(slurm.list_jobs(one.name), slurm.make_comment(url))[0], GRACE)
    if one.how == PROCESS and process.is_running(one.handle, url, one.id):
        for number in (signal.SIGTERM, signal.SIGKILL):
            process.send_signal(one.handle, number)
            if _wait(lambda: not process.is_running(one.handle, url, one.id), BEAT):
                return


def _split(jobs: Mapping[str, str], comment: str) -> tuple[list[str], list[str]]:
    """The numbers of jobs that have a comment, and those of all others."""
    ours = [job for job, said in jobs.items() if said == comment]
    return ours, [job for job in jobs if job not in ours]


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    end = monotonic() + seconds
    while not condition():
        if monotonic() > end:
            return False
        sleep(0.2)
    return True
