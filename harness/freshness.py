"""Keeping the root cube fresh while units come in, beside the run: reading many chunks takes long, and workers wait."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic, thread_time

from harness.execute import Broken
from harness.nouns import Unreachable
from harness.record import Record
from harness.refreshing import refresh
from harness.verify import verify

_EVERY = 20.0
"""Seconds between two refreshes of the cube, and at least twenty times what one takes."""
_REST = 4.0
"""Beside a run, so many times the time that is spent on it is rest."""
_QUICK = 1.0
"""A run that is stopped refreshes the cube if that takes no longer; the next run does it anyway."""


class _Unwanted(Exception):
    """The run is over, so the cube that was being computed beside it is old already."""


@dataclass
class _Pace:
    """Slows down what is done beside the run, which has the same interpreter: units must not wait for it."""

    over: Event
    paused: float = 0.0
    """Seconds in all."""
    _since: float = field(default_factory=thread_time)

    def __call__(self) -> None:
        """A rest, by what was done since the last one."""
        rest = _REST * (thread_time() - self._since)
        start = monotonic()
        if self.over.wait(rest):
            raise _Unwanted
        self.paused += monotonic() - start
        self._since = thread_time()


@dataclass
class Keeper:
    """Writes the cube now and then, without spending more than a twentieth of the time on it."""

    url: str
    record: Record
    stale: set[int]
    """Where the cube may be behind the replications."""
    took: float = 0.0
    """Seconds of the last refresh, also of one that was given up."""
    _next: float = field(default_factory=lambda: monotonic() + _EVERY)
    _thread: Thread | None = None
    _over: Event = field(default_factory=Event)

    def done(self, n: int) -> None:
        """A unit at this n was written."""
        self.stale.add(n)
        if monotonic() >= self._next and (self._thread is None or not self._thread.is_alive()):
            self._thread = Thread(target=self._beside, args=(self._taken(),), name="cube", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """The cube as it stays. If a unit can't be read, it loses its receipt, so that the next run computes it."""
        self._end()
        sizes = self._taken()
        try:
            self._refresh(sizes)
        except Unreachable:
            self.stale |= sizes
            raise
        except Exception:
            count, torn = verify(self.url)
            found = [one for one in torn if not one.frame]
            if not found:
                raise
            first = f"{found[0].unit}: {found[0].what}"
            raise Broken(f"{len(found)} of {count} units are no good ({first})") from None

    def leave(self) -> None:
        """The run was stopped, or broke: what ended it is to be told, and soon."""
        ended = self._end(_QUICK)
        if ended and self.took <= _QUICK:
            with suppress(Exception):
                self._refresh(self._taken())

    def _taken(self) -> set[int]:
        """What is stale now; what comes in from here on is stale again."""
        sizes, self.stale = self.stale, set()
        return sizes

    def _beside(self, sizes: set[int]) -> None:
        try:
            self._refresh(sizes, _Pace(self._over))
        except Exception:  # it isn't wanted, a store that doesn't answer, a torn chunk: at the end is early enough
            self.stale |= sizes
        self._next = monotonic() + max(_EVERY, 20 * self.took)

    def _refresh(self, sizes: Collection[int], pace: _Pace | None = None) -> None:
        start = monotonic()
        try:
            refresh(self.url, self.record, sorted(sizes), pace or (lambda: None))
        finally:
            self.took = monotonic() - start - (pace.paused if pace else 0.0)

    def _end(self, patience: float | None = None) -> bool:
        """What is being computed beside the run isn't wanted any more; whether it has ended."""
        self._over.set()
        if self._thread is None:
            return True
        self._thread.join(patience)
        return not self._thread.is_alive()
