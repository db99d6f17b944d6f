"""Cancel a run: ask its driver to end, then end the driver and its workers if it does not."""

from __future__ import annotations

from collections.abc import Callable

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.core.text import get_timestamp
from harness.store.heartbeat import other_driver
from harness.store.manifest import CANCEL
from harness.submit import submission
from harness.submit.launchers import GRACE, find_launcher, wait_until
from harness.submit.locate import find_active_driver


def cancel(backend: Backend, note: Callable[[str], None] = lambda text: None) -> str:
    """End the run that is active on a store, and return a description of its driver.

    Raises
    ------
    UserError
        If no run is active, or if the driver does not end in time.
    """
    who, one = find_active_driver(backend), submission.read(backend)
    if who is None:
        raise UserError(f"{backend.url}: no run is active; `ckrr status` shows its progress")
    if one is not None and one.ended is None:
        now = get_timestamp()
        one = submission.add(backend, one, ended=now, outcome="cancelled: what is done is kept", code=130)
    backend.put(CANCEL, b"{}")
    if other_driver(backend) is not None:
        note(f"asked {who} to end")
        wait_until(lambda: other_driver(backend) is None, GRACE)
    if one is not None:
        find_launcher(one).cancel(one, backend.url, note)
    if other_driver(backend) is not None:
        raise UserError(
            f"{who} is still running on {backend.url}: it may be computing a long unit; run `ckrr status` in a minute"
        )
    backend.delete(CANCEL)
    return who
