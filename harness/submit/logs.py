"""The logs of a submitted driver and of its workers, kept in the store, so that whoever sees it can read them."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from threading import Lock
from time import monotonic

from harness.backends.base import Backend
from harness.core.types import Unit
from harness.execution.progress import ProgressCounter
from harness.planning.plan import Plan
from harness.store.manifest import SUBMISSION

DRIVER_LOG, WORKER_LOG = f"{SUBMISSION}/driver.log", f"{SUBMISSION}/workers.log"
_KEPT = 2000
"""Lines of the driver."""
_EVERY, _WORKERS = 60.0, 30.0
"""Seconds between two lines of progress, and between two looks at the workers' logs."""


class Logbook:
    """A driver's progress and notes, line by line with their time; written to the store at every heartbeat."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self._lock = backend, Lock()
        before = (backend.get(DRIVER_LOG) or b"").decode(errors="replace").splitlines()
        self._lines = deque(before, maxlen=_KEPT)
        self._dirty = False
        self._counter: ProgressCounter | None = None
        self._next = self._next_worker_flush = 0.0
        self._get_worker_logs: Callable[[], Mapping[str, str]] = dict

    def start(self, plan: Plan) -> None:
        """Work is about to start."""
        self._counter = ProgressCounter(plan)
        count, units = self._counter.replications, len(plan.units)
        self.note(f"{count} replication{'s' * (count != 1)} in {units} unit{'s' * (units != 1)} to do")

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        """A unit is on disk."""
        assert self._counter is not None
        self._counter.add(unit, failed, seconds)
        if monotonic() >= self._next:
            self.note(self._counter.format_line())
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
        if self._counter is not None:
            self.note(self._counter.format_line())

    def set_worker_logs(self, workers: Callable[[], Mapping[str, str]]) -> None:
        """For the workers' logs, from now on."""
        self._get_worker_logs = workers

    def flush(self) -> None:
        """Writes to the store what is new."""
        with self._lock:
            text, new = "\n".join(self._lines) + "\n", self._dirty
            self._dirty = False
        if new:
            self._backend.put(DRIVER_LOG, text.encode())
        if monotonic() >= self._next_worker_flush:
            self.flush_worker_logs()
            self._next_worker_flush = monotonic() + _WORKERS

    def flush_worker_logs(self) -> None:
        """The workers' logs; what a cluster that is ending doesn't tell any more stays as it was."""
        found: Mapping[str, str] = {}
        with suppress(Exception):  # a log is no reason to end a run
            found = self._get_worker_logs()
        told = [f"{name}\n{text}" for name, text in sorted(found.items()) if text.strip()]
        if told:
            self._backend.put(WORKER_LOG, "\n".join(told).encode())


def read_logs(backend: Backend) -> tuple[str, str]:
    """Those of the driver and of the workers, as far as they are in the store."""
    driver, workers = ((backend.get(key) or b"").decode(errors="replace") for key in (DRIVER_LOG, WORKER_LOG))
    return driver, workers
