"""Keeping the root cube fresh while units come in, beside the run: reading many chunks takes long, and workers wait."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from harness.backends.base import place
from harness.core.errors import Broken, Unreachable
from harness.core.processes import started
from harness.cube.refresh import refresh
from harness.maintenance.verify import verify
from harness.store.identity import check_still
from harness.store.manifest import Record

_EVERY = 20.0
"""Seconds between two refreshes of the cube, and at least twenty times what one takes."""
_LONG = 5.0
"""Seconds of a refresh after which whoever waits for the end of a run should be told of it."""
_QUICK = 1.0
"""Seconds that a run which is stopped spends on refreshing the cube; the next run does it anyway."""


class _TooLong(Exception):
    """Somebody waits."""


@dataclass
class Keeper:
    """Has the cube written now and then, without spending more than a twentieth of the time on it."""

    url: str
    record: Record
    stale: set[int]
    """Where the cube may be behind the replications."""
    took: float = 0.0
    """Seconds of the longest refresh."""
    _next: float = field(default_factory=lambda: monotonic() + _EVERY)
    _beside: _Beside | None = None

    def done(self, n: int) -> None:
        """A unit at this n was written."""
        self.stale.add(n)
        if self._beside is not None and self._beside.process.poll() is not None:
            self._heard(self._beside)
        if self._beside is None and monotonic() >= self._next:
            sizes, self.stale = self.stale, set()
            words = (str(os.getpid()), self.url, str(self.record.generation), *map(str, sorted(sizes)))
            self._beside = _Beside(started("harness.cube.refresh", *words, quiet=True), sizes)

    @property
    def is_slow(self) -> bool:
        """Whether the end will take its time."""
        return self.took > _LONG

    def finish(self) -> None:
        """The cube as it stays. If a unit can't be read, it loses its receipt, so that the next run computes it."""
        self._end()
        try:
            self._refresh(self.stale)
        except Unreachable:
            raise
        except Exception:
            count, torn = verify(self.url)
            found = [one for one in torn if not one.frame]
            if not found:
                raise
            first = f"{found[0].unit}: {found[0].what}"
            raise Broken(f"{len(found)} of {count} units are no good ({first})") from None
        self.stale = set()

    def leave(self) -> None:
        """The run was stopped, or broke: what ended it is to be told, and soon."""
        self._end()
        end = monotonic() + _QUICK

        def hurry() -> None:
            if monotonic() > end:
                raise _TooLong

        if not self.is_slow:
            with suppress(Exception):
                self._refresh(self.stale, hurry)

    def _heard(self, beside: _Beside) -> None:
        """It has ended, or was ended. What went wrong (a torn chunk, a store that doesn't answer) is for the end."""
        if beside.process.returncode != 0:
            self.stale |= beside.sizes
        self._spent(beside.start)
        self._beside, self._next = None, monotonic() + max(_EVERY, 20 * self.took)

    def _end(self) -> None:
        """What is being computed beside the run is old already."""
        if self._beside is not None:
            self._beside.process.kill()
            self._beside.process.wait()
            self._heard(self._beside)

    def _refresh(self, sizes: Collection[int], between: Callable[[], None] = lambda: None) -> None:
        start = monotonic()
        check_still(place(self.url), self.record)
        refresh(self.url, self.record, sorted(sizes), between)
        self._spent(start)

    def _spent(self, start: float) -> None:
        self.took = max(self.took, monotonic() - start)


@dataclass
class _Beside:
    """A process that refreshes the cube at some n."""

    process: subprocess.Popen[bytes]
    sizes: set[int]
    start: float = field(default_factory=monotonic)
