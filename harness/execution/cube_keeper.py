"""Refresh the root cube in a background process while units complete.

Refreshing reads many chunks, which takes long, and workers would wait for the driver meanwhile.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from harness.backends.base import open_backend
from harness.core.errors import ClusterError, StoreUnreachableError
from harness.core.processes import start_module
from harness.cube.refresh import refresh
from harness.maintenance.verify import verify
from harness.store.identity import check_same_store
from harness.store.manifest import Manifest

_EVERY = 20.0
"""Minimum seconds between two refreshes of the cube; the interval is also at least 20 times the longest refresh."""
_LONG = 5.0
"""Seconds of a refresh above which the user is told that the end of the run takes a while."""
_QUICK = 1.0
"""Seconds that a stopped run may spend on refreshing the cube; the next run refreshes it anyway."""


class _DeadlineError(Exception):
    """The time allowed for the last refresh of an aborted run is over."""


@dataclass
class CubeKeeper:
    """Refresh the cube from time to time, spending at most a twentieth of the run's time on it."""

    url: str
    manifest: Manifest
    stale: set[int]
    """Values of n at which the cube may be out of date."""
    longest_refresh: float = 0.0
    """Seconds that the longest refresh took."""
    _next: float = field(default_factory=lambda: monotonic() + _EVERY)
    _background: BackgroundRefresh | None = None

    def note_unit(self, n: int) -> None:
        """Note that a unit at `n` was written, and start a background refresh if one is due."""
        self.stale.add(n)
        if self._background is not None and self._background.process.poll() is not None:
            self._finish_background(self._background)
        if self._background is None and monotonic() >= self._next:
            sizes, self.stale = self.stale, set()
            words = (str(os.getpid()), self.url, str(self.manifest.generation), *map(str, sorted(sizes)))
            self._background = BackgroundRefresh(start_module("harness.cube.refresh", *words, quiet=True), sizes)

    @property
    def is_slow(self) -> bool:
        """Whether the final refresh will take long enough to tell the user."""
        return self.longest_refresh > _LONG

    def finish(self) -> None:
        """Write the final cube.

        Units that cannot be read lose their receipts, so that the next run computes them again.

        Raises
        ------
        ClusterError
            If units are damaged.
        """
        self._stop_background()
        try:
            self._refresh(self.stale)
        except StoreUnreachableError:
            raise
        except Exception:
            count, torn = verify(self.url)
            found = [one for one in torn if not one.outside_units]
            if not found:
                raise
            first = f"{found[0].unit}: {found[0].what}"
            raise ClusterError(f"{len(found)} of {count} units are damaged ({first})") from None
        self.stale = set()

    def abort(self) -> None:
        """Refresh the cube briefly after a run was stopped or failed, so that its error is reported soon."""
        self._stop_background()
        end = monotonic() + _QUICK

        def hurry() -> None:
            if monotonic() > end:
                raise _DeadlineError

        if not self.is_slow:
            with suppress(Exception):
                self._refresh(self.stale, hurry)

    def _finish_background(self, beside: BackgroundRefresh) -> None:
        """Clean up after a background refresh that has ended or was killed.

        After an error (a damaged chunk, an unreachable store) its sizes stay stale: `finish` reports the cause.
        """
        if beside.process.returncode != 0:
            self.stale |= beside.sizes
        self._note_duration(beside.start)
        self._background, self._next = None, monotonic() + max(_EVERY, 20 * self.longest_refresh)

    def _stop_background(self) -> None:
        """Kill the background refresh: its result would already be out of date."""
        if self._background is not None:
            self._background.process.kill()
            self._background.process.wait()
            self._finish_background(self._background)

    def _refresh(self, sizes: Collection[int], between: Callable[[], None] = lambda: None) -> None:
        start = monotonic()
        check_same_store(open_backend(self.url), self.manifest)
        refresh(self.url, self.manifest, sorted(sizes), between)
        self._note_duration(start)

    def _note_duration(self, start: float) -> None:
        self.longest_refresh = max(self.longest_refresh, monotonic() - start)


@dataclass
class BackgroundRefresh:
    """A process that refreshes the cube at some values of n."""

    process: subprocess.Popen[bytes]
    sizes: set[int]
    start: float = field(default_factory=monotonic)
