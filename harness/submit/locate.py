"""Find the active driver of a store, as far as it can be determined from this machine.

Keep imports light: `ckrr status` imports this module.
"""

from __future__ import annotations

from typing import Any

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.store.heartbeat import other_driver
from harness.submit import submission
from harness.submit.launchers import find_launcher
from harness.submit.submission import Submission


def find_active_driver(backend: Backend) -> str | None:
    """Return a description of the driver that is running on a store or about to start; None if no run is active."""
    found = other_driver(backend)
    if found is not None:
        return str(found)
    one = submission.read(backend)
    return None if one is None or one.ended is not None else find_launcher(one).find_waiting(one, backend.url)


def submission_to_dict(one: Submission, url: str) -> dict[str, Any]:
    """Return a submission as JSON values for `ckrr status`.

    `waits` describes a driver that has not reported yet, or is None; `asked` says whether that could be determined.
    """
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
    """Return a description of a driver that has not reported yet, and whether the launcher could be queried.

    Slurm's queue cannot be queried from every machine. Then a job that has never reported is assumed to be waiting.
    """
    try:
        return find_launcher(one).find_waiting(one, url), True
    except UserError:
        waits = f"job {one.handle.get('job', '?')} of Slurm, which can't be queried from here"
        return None if one.starts else waits, False
