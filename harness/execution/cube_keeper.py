"""Keeping the root cube fresh while units come in, beside the run: reading many chunks takes long, and workers wait."""

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
"""Seconds between two refreshes of the cube, and at least twenty times what one takes."""
_LONG = 5.0
"""Seconds of a refresh after which whoever waits for the end of a run should be told of it."""
_QUICK = 1.0
"""Seconds that a run which is stopped spends on refreshing the cube; the next run does it anyway."""


class _DeadlineError(Exception):
    """Somebody waits."""


@dataclass
class CubeKeeper:
    """Has the cube written now and then, without spending more than a twentieth of the time on it."""

    url: str
    manifest: Manifest
    stale: set[int]
    """Where the cube may be behind the replications."""
    longest_refresh: float = 0.0
    """Seconds of the longest refresh."""
    _next: float = field(default_factory=lambda: monotonic() + _EVERY)
    _background: BackgroundRefresh | None = None

    def note_unit(self, n: int) -> None:
        """A unit at this n was written."""
        self.stale.add(n)
        if self._background is not None and self._background.process.poll() is not None:
            self._finish_background(self._background)
        if self._background is None and monotonic() >= self._next:
            sizes, self.stale = self.stale, set()
            words = (str(os.getpid()), self.url, str(self.manifest.generation), *map(str, sorted(sizes)))
            self._background = BackgroundRefresh(start_module("harness.cube.refresh", *words, quiet=True), sizes)

    @property
    def is_slow(self) -> bool:
        """Whether the end will take its time."""
        return self.longest_refresh > _LONG

    def finish(self) -> None:
        """The cube as it stays. If a unit can't be read, it loses its receipt, so that the next run computes it."""
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
            raise ClusterError(f"{len(found)} of {count} units are no good ({first})") from None
        self.stale = set()

    def abort(self) -> None:
        """The run was stopped, or broke: what ended it is to be told, and soon."""
        self._stop_background()
        end = monotonic() + _QUICK

        def hurry() -> None:
            if monotonic() > end:
                raise _DeadlineError

        if not self.is_slow:
            with suppress(Exception):
                self._refresh(self.stale, hurry)

    def _finish_background(self, beside: BackgroundRefresh) -> None:
        """It has ended, or was ended. What went wrong (a torn chunk, a store that doesn't answer) is for the end."""
        if beside.process.returncode != 0:
            self.stale |= beside.sizes
        self._note_duration(beside.start)
        self._background, self._next = None, monotonic() + max(_EVERY, 20 * self.longest_refresh)

    def _stop_background(self) -> None:
        """What is being computed beside the run is old already."""
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
    """A process that refreshes the cube at some n."""

    process: subprocess.Popen[bytes]
    sizes: set[int]
    start: float = field(default_factory=monotonic)
