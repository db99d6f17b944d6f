"""Where a submitted driver is, as far as that can be seen from here. Light: `ckrr status` starts at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.store.heartbeat import other_driver
from harness.submit import process, slurm, submission
from harness.submit.submission import PROCESS, SLURM, Submission

_YOUNG = 60.0
"""Seconds in which a driver that was started may not have been heard of yet."""


def find_active_driver(backend: Backend) -> str | None:
    """Who is at work on a store, or is about to be; None if nobody is."""
    found = other_driver(backend)
    if found is not None:
        return str(found)
    one = submission.read(backend)
    return None if one is None or one.ended is not None else find_waiting_driver(one, backend.url)


def find_waiting_driver(one: Submission, url: str) -> str | None:
    """A driver that has been asked for and can't be heard of yet."""
    if one.how == PROCESS:
        running = process.is_running(one.handle, url, one.id)
        return f"process {one.handle['pid']} on {one.handle['host']}" if running else None
    if one.how == SLURM:
        queued = slurm.list_jobs(one.name)
        return f"job {min(queued)} of Slurm" if queued else None
    if one.starts:  # its scheduler starts it again if its worker dies: it can't be heard of for a while
        age = (datetime.now(UTC) - datetime.fromisoformat(one.starts[-1]["time"])).total_seconds()
        return f"a task of {one.handle.get('scheduler')}" if age < _YOUNG else None
    return f"a task that waits for a worker of {one.handle.get('scheduler')}"


def submission_to_dict(one: Submission, url: str) -> dict[str, Any]:
    """What was handed over, and who waits to begin it, as plain values."""
    waits, asked = (None, True) if one.ended is not None else _query_waiting(one, url)
    return {
        "id": one.id,
        "how": one.how,
        "host": one.host,
        "submitted": one.submitted,
        "starts": len(one.starts),
        "waits": waits,
        "asked": asked,
        "ended": one.ended,
        "outcome": one.outcome,
        "code": one.code,
    }


def _query_waiting(one: Submission, url: str) -> tuple[str | None, bool]:
    """A driver that can't be heard of yet, and whether that could be asked: a queue can't be seen from everywhere.

    A job that was never heard of may wait in it.
    """
    try:
        return find_waiting_driver(one, url), True
    except UserError:
        waits = f"job {one.handle.get('job', '?')} of Slurm, which can't be asked from here"
        return None if one.starts else waits, False
