"""Notice when a run waits for nothing: its scheduler is gone, its workers are gone, or no result comes.

One rule covers all that makes a cluster silent without ending it (a network that drops packets, a clock that was set
back where the scheduler runs, a worker that hangs beyond its limits): no result in a multiple of the time that was
planned. It asks a client, and knows no Dask besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from time import monotonic, sleep
from typing import Any

from harness.core.errors import ClusterError, StoppedError
from harness.core.types import Limits, Preparation, Unit

PATIENCE = 60.0
"""Seconds that a run waits for workers to come back, or for the scheduler."""
_POLL, _LOOK = 0.02, 2.0
"""Seconds between two looks for a lost scheduler, and for workers."""
_PLANNED = 10.0
"""How many times longer than planned a unit may take."""
GRACE = 60.0
"""Seconds without a result that are allowed in any case: workers have to start, and to load the study."""


def get_scheduler_address(client: Any) -> str:
    """Where its scheduler is."""
    return str(client.scheduler.address) if client.scheduler is not None else "a scheduler"


def describe_scheduler(client: Any) -> str:
    """Its scheduler, in words."""
    return f"the scheduler at {get_scheduler_address(client)}" if client.scheduler is not None else "the scheduler"


def stall_limit(units: Iterable[tuple[Unit | Preparation, Limits]], grace: float) -> float:
    """Return the seconds without a result after which a run has stalled.

    A unit may take many times as long as planned. One step of it may take its limit before it is ended; computed in a
    sandbox, after something went wrong, each of its replications may.

    Examples
    --------
    >>> unit = Unit(10, 0, 0, range(5), range(2))
    >>> stall_limit([(unit, Limits(seconds=600.0, planned=3.0))], grace=60.0)
    1290.0
    """
    return grace + max((_longest(unit, care) for unit, care in units), default=0.0)


def _longest(unit: Unit | Preparation, care: Limits) -> float:
    steps = len(unit) if care.sandboxed and isinstance(unit, Unit) else 2
    return _PLANNED * care.planned + steps * care.seconds


@dataclass
class ClusterHealth:
    """Notices when there is nobody left to wait for."""

    client: Any
    note: Callable[[str], None]
    patience: float | None
    """Seconds without any worker after which the cluster is dead, if that isn't as usual."""
    stop: Callable[[], bool]
    limit: Callable[[], float]
    """Seconds that may pass without a result, given the units that are on their way now."""
    next: float = 0.0
    """When to look again."""
    had_workers: bool = False
    """Whether there were workers at all: at first they may wait in a queue for hours."""
    no_workers_since: float | None = None
    """When there were none any more."""
    warned: bool = False
    """Whether the user knows."""
    last: float = field(default_factory=monotonic)
    """When the last result came, or the run began."""

    def raise_if_stopped(self) -> None:
        """Ends the run if somebody asked for it."""
        if self.stop():
            raise StoppedError

    def note_result(self) -> None:
        """Results come, so there are workers."""
        self.had_workers, self.no_workers_since = True, None
        self.last = monotonic()

    def poll(self) -> None:
        """Now and then, whether scheduler and workers are there."""
        if self.client.status != "running":
            self.wait_for_scheduler()
        if monotonic() < self.next:
            return
        if self._count_workers():
            self.had_workers, self.no_workers_since = True, None
            self._check_stall()
        else:
            self.note_no_workers()
        self.next = monotonic() + _LOOK

    def _check_stall(self) -> None:
        silent = monotonic() - self.last
        if silent > self.limit():
            look = "look at the workers' logs (`ckrr logs`), their network and the clocks of all machines"
            raise ClusterError(f"no result has come for {silent:.0f} s, far longer than planned: {look}")

    def _count_workers(self) -> int:
        try:
            return len(self.client.nthreads())
        except OSError:  # the connection was lost just now
            return 0

    def note_no_workers(self) -> None:
        """Wait for workers to come back, as long as patience lasts."""
        now, patience = monotonic(), self.patience or PATIENCE
        self.last = now  # without workers no result can come, and patience is another rule
        if self.no_workers_since is None:
            self.no_workers_since, self.warned = now, False
        elif not self.warned:  # they are missed twice: nannies take a second or two to start others
            limit = f" for {patience:.0f} s" if self.had_workers and patience < inf else ""
            self.note(f"there are no workers: waiting for them{limit}")
            self.warned = True
        if self.had_workers and now - self.no_workers_since > patience:
            raise ClusterError(f"there have been no workers for {patience:.0f} s")

    def wait_for_scheduler(self) -> None:
        """Until a lost connection is there again: the client tries for a while."""
        end = monotonic() + PATIENCE
        while self.client.status != "running":
            if self.client.status != "connecting" or monotonic() > end:
                raise ClusterError(f"{describe_scheduler(self.client)} is gone")
            sleep(_POLL)
