"""Keep the logs of a submitted driver and its workers in the store, where `ckrr logs` reads them from any machine."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
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
"""Number of lines of the driver's log that are kept."""
_EVERY, _WORKERS = 60.0, 30.0
"""Seconds between two progress lines, and between two fetches of the workers' logs."""


class Logbook:
    """Log a driver's progress and messages with timestamps; the heartbeat writes new lines to the store."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self._lock = backend, Lock()
        before = (backend.get(DRIVER_LOG) or b"").decode(errors="replace").splitlines()
        self._lines = deque(before, maxlen=_KEPT)
        self._dirty = False
        self._counter: ProgressCounter | None = None
        self._next = self._next_worker_flush = 0.0
        self._get_worker_logs: Callable[[], Mapping[str, str]] = dict

    def start(self, plan: Plan, units: Sequence[Unit] | None = None) -> None:
        """Start reporting on a plan, or on some of its units."""
        some = plan.units if units is None else units
        self._counter = ProgressCounter(plan, some)
        self._note_work(some)

    def extend(self, units: Sequence[Unit]) -> None:
        """Report on more units of the plan."""
        assert self._counter is not None
        self._counter.extend(units)

    def _note_work(self, some: Sequence[Unit]) -> None:
        assert self._counter is not None
        count, units = self._counter.replications, len(some)
        self.note(f"{count} replication{'s' * (count != 1)} in {units} unit{'s' * (units != 1)} to do")

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        """Count a completed unit, and log a progress line if the last one is a minute old."""
        assert self._counter is not None
        self._counter.add(unit, failed, seconds)
        if monotonic() >= self._next:
            self.note(self._counter.format_line())
            self._next = monotonic() + _EVERY

    def note(self, text: str) -> None:
        """Log a message, and print it to standard error."""
        line = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {text}"
        print(line, file=sys.stderr, flush=True)
        with self._lock:
            self._lines.append(line)
            self._dirty = True

    def finish(self) -> None:
        """Log a last progress line."""
        if self._counter is not None:
            self.note(self._counter.format_line())

    def set_worker_logs(self, workers: Callable[[], Mapping[str, str]]) -> None:
        """Set the function that fetches the workers' logs, by name of the worker."""
        self._get_worker_logs = workers

    def flush(self) -> None:
        """Write new lines to the store and, every half a minute, the workers' logs."""
        with self._lock:
            text, new = "\n".join(self._lines) + "\n", self._dirty
            self._dirty = False
        if new:
            self._backend.put(DRIVER_LOG, text.encode())
        if monotonic() >= self._next_worker_flush:
            self.flush_worker_logs()
            self._next_worker_flush = monotonic() + _WORKERS

    def flush_worker_logs(self) -> None:
        """Write the workers' logs to the store; keep the stored ones if none can be fetched (cluster is closing)."""
        found: Mapping[str, str] = {}
        with suppress(Exception):  # a missing log must not end a run
            found = self._get_worker_logs()
        told = [f"{name}\n{text}" for name, text in sorted(found.items()) if text.strip()]
        if told:
            self._backend.put(WORKER_LOG, "\n".join(told).encode())


def read_logs(backend: Backend) -> tuple[str, str]:
    """Return the logs of the driver and of the workers; empty where the store has none."""
    driver, workers = ((backend.get(key) or b"").decode(errors="replace") for key in (DRIVER_LOG, WORKER_LOG))
    return driver, workers
