"""Keeping the root cube fresh while units come in, beside the run: reading many chunks takes long, and workers wait."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from time import monotonic

from harness.execute import Broken
from harness.nouns import Unreachable
from harness.record import Record
from harness.refreshing import refresh
from harness.verify import verify

_EVERY = 20.0
"""Seconds between two refreshes of the cube, and at least twenty times what one takes."""
_QUICK = 1.0
"""A run that is stopped refreshes the cube if that takes no longer; the next run does it anyway."""


@dataclass
class Keeper:
    """Writes the cube now and then, without spending more than a twentieth of the time on it."""

    url: str
    record: Record
    stale: set[int]
    """Where the cube may be behind the replications."""
    took: float = 0.0
    """Seconds of the last refresh."""
    _next: float = field(default_factory=lambda: monotonic() + _EVERY)
    _thread: Thread | None = None
    _left: bool = False

    def done(self, n: int) -> None:
        """A unit at this n was written."""
        self.stale.add(n)
        if monotonic() >= self._next and (self._thread is None or not self._thread.is_alive()):
            self._thread = Thread(target=self._beside, args=(self._taken(),), name="cube", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """The cube as it stays. If a unit can't be read, it loses its receipt, so that the next run computes it."""
        self._left = True  # what is being computed beside the run is old already
        self._join()
        self._left, sizes = False, self._taken()
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
        self._left = self.took > _QUICK
        if not self._left:
            self._join()
            with suppress(Exception):
                self._refresh(self._taken())

    def _taken(self) -> set[int]:
        """What is stale now; what comes in from here on is stale again."""
        sizes, self.stale = self.stale, set()
        return sizes

    def _beside(self, sizes: set[int]) -> None:
        try:
            self._refresh(sizes)
        except Exception:  # it isn't wanted, a store that doesn't answer, a torn chunk: at the end is early enough
            self.stale |= sizes
        self._next = monotonic() + max(_EVERY, 20 * self.took)

    def _refresh(self, sizes: Collection[int]) -> None:
        start = monotonic()
        refresh(self.url, self.record, sorted(sizes), lambda: not self._left)
        self.took = monotonic() - start

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
