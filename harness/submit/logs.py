"""The logs of a submitted driver and of its workers, kept in the store, so that whoever sees it can read them."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from threading import Lock
from time import monotonic

from harness.backends.base import Place
from harness.core.types import Unit
from harness.execution.progress import Tally
from harness.planning.plan import Plan
from harness.store.manifest import SUBMISSION

DRIVER_LOG, WORKER_LOG = f"{SUBMISSION}/driver.log", f"{SUBMISSION}/workers.log"
_KEPT = 2000
"""Lines of the driver."""
_EVERY, _WORKERS = 60.0, 30.0
"""Seconds between two lines of progress, and between two looks at the workers' logs."""


class Logbook:
    """A driver's progress and notes, line by line with their time; written to the store at every heartbeat."""

    def __init__(self, there: Place) -> None:
        self._there, self._lock = there, Lock()
        before = (there.get(DRIVER_LOG) or b"").decode(errors="replace").splitlines()
        self._lines = deque(before, maxlen=_KEPT)
        self._dirty = False
        self._tally: Tally | None = None
        self._next = self._look = 0.0
        self._ask: Callable[[], Mapping[str, str]] = dict

    def start(self, plan: Plan) -> None:
        """Work is about to start."""
        self._tally = Tally(plan)
        count, units = self._tally.replications, len(plan.units)
        self.note(f"{count} replication{'s' * (count != 1)} in {units} unit{'s' * (units != 1)} to do")

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        """A unit is on disk."""
        assert self._tally is not None
        self._tally.add(unit, failed, seconds)
        if monotonic() >= self._next:
            self.note(self._tally.line())
            self._next = monotonic() + _EVERY

    def note(self, text: str) -> None:
        """Something worth knowing."""
        line = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {text}"
        print(line, file=sys.stderr, flush=True)
        with self._lock:
            self._lines.append(line)
            self._dirty = True

    def finish(self) -> None:
        """Nothing more will come."""
        if self._tally is not None:
            self.note(self._tally.line())

    def ask(self, workers: Callable[[], Mapping[str, str]]) -> None:
        """For the workers' logs, from now on."""
        self._ask = workers

    def keep(self) -> None:
        """Writes to the store what is new."""
        with self._lock:
            text, new = "\n".join(self._lines) + "\n", self._dirty
            self._dirty = False
        if new:
            self._there.put(DRIVER_LOG, text.encode())
        if monotonic() >= self._look:
            self.keep_workers()
            self._look = monotonic() + _WORKERS

    def keep_workers(self) -> None:
        """The workers' logs; what a cluster that is ending doesn't tell any more stays as it was."""
        found: Mapping[str, str] = {}
        with suppress(Exception):  # a log is no reason to end a run
            found = self._ask()
        told = [f"{name}\n{text}" for name, text in sorted(found.items()) if text.strip()]
        if told:
            self._there.put(WORKER_LOG, "\n".join(told).encode())


def logs(there: Place) -> tuple[str, str]:
    """Those of the driver and of the workers, as far as they are in the store."""
    driver, workers = ((there.get(key) or b"").decode(errors="replace") for key in (DRIVER_LOG, WORKER_LOG))
    return driver, workers
