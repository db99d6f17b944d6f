"""Detect a run that waits in vain: the scheduler is lost, all workers are lost, or no result arrives.

One rule covers everything that silences a cluster without ending it (a network that drops packets, a scheduler whose
clock was set back, a worker that hangs beyond its limits): no result within a multiple of the planned time. Uses a
client, and nothing else of Dask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import inf
from time import monotonic, sleep
from typing import Any

from harness.core.errors import ClusterError, StoppedError

PATIENCE = 60.0
"""Seconds to wait for lost workers or for a lost scheduler."""
_POLL, _LOOK = 0.02, 2.0
"""Seconds between two checks for a lost scheduler, and between two checks for workers."""
_DRIVER = re.compile(r"ckrr-[^=]*-[0-9a-f]{8}")
"""Keys of tasks that are drivers of submitted studies."""
_SUSPENDED = 30.0
"""Seconds between two checks that only a suspended process takes."""


def get_scheduler_address(client: Any) -> str:
    """Return the address of a client's scheduler."""
    return str(client.scheduler.address) if client.scheduler is not None else "a scheduler"


def describe_scheduler(client: Any) -> str:
    """Describe a client's scheduler for messages."""
    return f"the scheduler at {get_scheduler_address(client)}" if client.scheduler is not None else "the scheduler"


@dataclass
class ClusterHealth:
    """Watch a cluster during a run, and raise if waiting for it is pointless."""

    client: Any
    note: Callable[[str], None]
    patience: float | None
    """Seconds without any worker after which the cluster counts as dead. None: `PATIENCE`."""
    stop: Callable[[], bool]
    limit: Callable[[], float]
    """Returns the seconds that may pass without a result, given the units submitted now."""
    submitted: Collection[str]
    """Keys of the tasks submitted now."""
    next: float = 0.0
    """Time of the next check."""
    had_workers: bool = False
    """Whether there have been any workers yet: the first ones may wait in a queue for hours."""
    no_workers_since: float | None = None
    """When the last worker was lost; None while there are workers."""
    warned: bool = False
    """Whether the user has been told that there are no workers."""
    last: float = field(default_factory=monotonic)
    """When the last result arrived, or the run started."""

    def raise_if_stopped(self) -> None:
        """Raise `StoppedError` if the run was asked to stop."""
        if self.stop():
            raise StoppedError

    def note_result(self) -> None:
        """Note that a result arrived, so there are workers."""
        self.had_workers, self.no_workers_since = True, None
        self.last = monotonic()

    def poll(self) -> None:
        """Check scheduler and workers, if a check is due."""
        if self.client.status != "running":
            self.wait_for_scheduler()
        now = monotonic()
        if now < self.next:
            return
        if self.next and now - self.next > _SUSPENDED:
            # this process was suspended, and so may its workers have been (or results came all the time)
            self.last = min(now, self.last + now - self.next)
        if self._count_workers():
            self.had_workers, self.no_workers_since = True, None
            self._check_stall()
        else:
            self.note_no_workers()
        self.next = monotonic() + _LOOK

    def _check_stall(self) -> None:
        silent = monotonic() - self.last
        if silent > self.limit():
            if self._has_other_tasks():
                self.last = monotonic()
                return
            look = "look at the workers' logs (`ckrr logs`), their network and the clocks of all machines"
            raise ClusterError(f"no result has come for {silent:.0f} s, far longer than planned: {look}")

    def _has_other_tasks(self) -> bool:
        """Return whether workers have tasks of others, which ours may wait behind. (Drivers hold no thread.)"""
        try:
            return any(
                key not in self.submitted and not _DRIVER.fullmatch(str(key))
                for keys in self.client.processing().values()
                for key in keys
            )
        except OSError:  # the connection has just been lost
            return True

    def _count_workers(self) -> int:
        try:
            return len(self.client.nthreads())
        except OSError:  # the connection has just been lost
            return 0

    def note_no_workers(self) -> None:
        """Tell the user that there are no workers; raise `ClusterError` once `patience` is exceeded."""
        now, patience = monotonic(), self.patience or PATIENCE
        self.last = now  # no result is possible without workers: `patience` applies instead of the stall limit
        if self.no_workers_since is None:
            self.no_workers_since, self.warned = now, False
        elif not self.warned:  # missing in two checks: a nanny replaces a worker within a second or two
            limit = f" for {patience:.0f} s" if self.had_workers and patience < inf else ""
            self.note(f"there are no workers: waiting for them{limit}")
            self.warned = True
        if self.had_workers and now - self.no_workers_since > patience:
            raise ClusterError(f"there have been no workers for {patience:.0f} s")

    def wait_for_scheduler(self) -> None:
        """Wait until the client has reconnected; raise `ClusterError` if it gives up."""
        end = monotonic() + PATIENCE
        while self.client.status != "running":
            if self.client.status != "connecting" or monotonic() > end:
                raise ClusterError(f"{describe_scheduler(self.client)} is gone")
            sleep(_POLL)
