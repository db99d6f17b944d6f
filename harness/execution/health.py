"""The guard of a run: it notices when there is nobody left to wait for. It asks a client, and knows no Dask besides."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from time import monotonic, sleep, time
from typing import Any

from harness.core.errors import Broken, Stopped
from harness.execution._muteness import Muteness

PATIENCE = 60.0
"""Seconds that a run waits for workers to come back, or for the scheduler."""
_BACK = 30.0
"""Seconds by which a clock may be set back: Dask's connections are silent until it has caught up."""
_POLL, _LOOK = 0.02, 2.0
"""Seconds between two looks for a lost scheduler, and for workers."""
_QUIET, _LISTEN = 60.0, 15.0
"""Seconds without a result after which a cluster may be mute, and between two looks at that."""


def address(client: Any) -> str:
    """Where its scheduler is."""
    return str(client.scheduler.address) if client.scheduler is not None else "a scheduler"


def named(client: Any) -> str:
    """Its scheduler, in words."""
    return f"the scheduler at {address(client)}" if client.scheduler is not None else "the scheduler"


@dataclass
class Guard:
    """Notices when there is nobody left to wait for."""

    client: Any
    note: Callable[[str], None]
    patience: float | None
    """Seconds without any worker after which the cluster is dead, if that isn't as usual."""
    stop: Callable[[], bool]
    sent: Collection[str]
    """Names of the tasks that are on their way, as they change."""
    next: float = 0.0
    """When to look again."""
    seen: bool = False
    """Whether there were workers at all: at first they may wait in a queue for hours."""
    since: float | None = None
    """When there were none any more."""
    told: bool = False
    """Whether the user knows."""
    ahead: float = field(default_factory=lambda: time() - monotonic())
    """The most by which the time of day was ahead of the seconds that the machine counts."""
    listen: float = field(default_factory=lambda: monotonic() + _QUIET)
    """When to look whether the cluster is mute."""
    muteness: Muteness = field(default_factory=Muteness)

    def heed(self) -> None:
        """Ends the run if somebody asked for it."""
        if self.stop():
            raise Stopped

    def heard(self) -> None:
        """Results come, so there are workers."""
        self.seen, self.since = True, None
        self.listen = monotonic() + _QUIET

    def look(self) -> None:
        """Now and then, whether scheduler and workers are there."""
        if self.client.status != "running":
            self.wait_for_scheduler()
        if monotonic() < self.next:
            return
        self._check_clock()
        if self._workers():
            self.seen, self.since = True, None
            self._check_muteness()
        else:
            self._miss()
        self.next = monotonic() + _LOOK

    def _check_clock(self) -> None:
        now = time() - monotonic()
        self.ahead = max(self.ahead, now)
        if self.ahead - now > _BACK:
            raise Broken(f"the clock of this machine was set back by {self.ahead - now:.0f} s, which silences Dask")

    def _check_muteness(self) -> None:
        if monotonic() < self.listen:
            return
        self.listen = monotonic() + _LISTEN
        with suppress(OSError):  # the connection was lost just now
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
            if self.muteness.look(workers, self.client.processing(), self.sent):
                why = "was a clock set back there?"
                raise Broken(f"{named(self.client)} doesn't reach its workers ({why}): it has to be started anew")

    def _workers(self) -> int:
        try:
            return len(self.client.nthreads())
        except OSError:  # the connection was lost just now
            return 0

    def _miss(self) -> None:
        now, patience = monotonic(), self.patience or PATIENCE
        if self.since is None:
            self.since, self.told = now, False
        elif not self.told:  # they are missed twice: nannies take a second or two to start others
            limit = f" for {patience:.0f} s" if self.seen and patience < inf else ""
            self.note(f"there are no workers: waiting for them{limit}")
            self.told = True
        if self.seen and now - self.since > patience:
            raise Broken(f"there have been no workers for {patience:.0f} s")

    def wait_for_scheduler(self) -> None:
        """Until a lost connection is there again: the client tries for a while."""
        end = monotonic() + PATIENCE
        while self.client.status != "running":
            if self.client.status != "connecting" or monotonic() > end:
                raise Broken(f"{named(self.client)} is gone")
            sleep(_POLL)
