"""Find the driver of a store, as far as that can be seen from this machine. Light: `ckrr status` imports it."""

from __future__ import annotations

from typing import Any

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.store.heartbeat import other_driver
from harness.submit import submission
from harness.submit.launchers import find_launcher
from harness.submit.submission import Submission


def find_active_driver(backend: Backend) -> str | None:
    """Return who is at work on a store, or is about to be; None if no run is active."""
    found = other_driver(backend)
    if found is not None:
        return str(found)
    one = submission.read(backend)
    return None if one is None or one.ended is not None else find_launcher(one).find_waiting(one, backend.url)


def submission_to_dict(one: Submission, url: str) -> dict[str, Any]:
    """Return a submission, and the driver that waits to begin it, as plain values."""
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
    """Return a driver that hasn't reported yet, and whether that could be asked: not every machine sees the queue.

    A job that has never reported may wait in it.
    """
    try:
        return find_launcher(one).find_waiting(one, url), True
    except UserError:
        waits = f"job {one.handle.get('job', '?')} of Slurm, which can't be asked from here"
        return None if one.starts else waits, False
