"""Write and read the driver's heartbeat: a file in the store that shows that a run is active, and its progress.

Two drivers at once are harmless: they write whole chunks with identical bytes. Only creating and growing a store is
exclusive to one driver. Any process with access to the store can ask its driver to stop.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import time
from typing import Any

from harness.backends.base import Backend
from harness.core.errors import StoreUnreachableError
from harness.parsing.json import (
    MalformedError,
    check_number,
    check_optional,
    check_table,
    check_text,
    check_whole,
    load_json,
    require,
)
from harness.store.manifest import CANCEL, DRIVER

BEAT = 5.0
"""Seconds between two heartbeats."""
_LISTEN = 1.0
"""Seconds between two checks for a request to stop."""
PROGRESS = ("replications", "of", "share", "rate", "left", "failed")
"""Keys of a driver's progress. Values are numbers; any may be absent."""
SILENT = 30.0
"""Seconds without a heartbeat after which a driver counts as dead."""


@dataclass(frozen=True)
class Driver:
    """A driver process, as described by its latest heartbeat."""

    name: str
    host: str
    pid: int
    beat: float
    progress: Mapping[str, Any] = field(default_factory=dict)
    """Progress of the run, with the keys `PROGRESS`."""
    born: str | None = None
    """Start time of the process, in the units of its machine: distinguishes processes with a reused pid."""
    job: str | None = None
    """Id of the Slurm job that the process belongs to."""

    @property
    def alive(self) -> bool:
        """Whether the driver is running: its process on this machine, a recent heartbeat on any other.

        On this machine the clock is not used, because a clock that jumps would make a running driver appear dead.
        """
        if self.host == platform.node() and Path("/proc").is_dir() and self.born is not None:
            return start_time(self.pid) == self.born
        return abs(time() - self.beat) < SILENT

    @property
    def seconds_silent(self) -> float:
        """Seconds since the last heartbeat."""
        return max(0.0, time() - self.beat)

    def __str__(self) -> str:
        where = f"process {self.pid} on {self.host}"
        return where if self.job is None else f"job {self.job} of Slurm ({where})"


def start_time(pid: int) -> str | None:
    """Return the start time of a process; None if it has ended, even if its parent hasn't reaped it yet."""
    try:
        state, *others = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else others[18]


def current_driver() -> Driver:
    """Return a description of the current process as a driver, with a new name and the current time."""
    pid = os.getpid()
    return Driver(
        uuid.uuid4().hex, platform.node(), pid, time(), born=start_time(pid), job=os.environ.get("SLURM_JOB_ID")
    )


def to_bytes(driver: Driver) -> bytes:
    """Serialise a driver to JSON."""
    return json.dumps(asdict(driver)).encode()


def from_bytes(raw: bytes | None) -> Driver | None:
    """Parse a driver from JSON; None if `raw` is None or invalid."""
    try:
        return None if raw is None else _parse(check_table(load_json(raw, DRIVER), DRIVER))
    except MalformedError:
        return None


def _parse(plain: Mapping[str, Any]) -> Driver:
    texts = [check_text(require(plain, name, ""), name, 300) for name in ("name", "host")]
    pid = check_whole(require(plain, "pid", ""), "pid", 1, 2**31)
    beat = check_number(require(plain, "beat", ""), "beat")
    progress = check_table(plain.get("progress", {}), "progress", 100)
    far = {name: check_number(progress[name], name) for name in PROGRESS if progress.get(name) is not None}
    born = check_optional(plain, "born", DRIVER, lambda text, key: check_text(text, key, 40))
    job = check_optional(plain, "job", DRIVER, lambda text, key: check_text(text, key, 40))
    return Driver(texts[0], texts[1], pid, beat, far, born, job)


def other_driver(backend: Backend) -> Driver | None:
    """Return the driver of the store if it is alive and not this process; otherwise None."""
    found = from_bytes(backend.get(DRIVER))
    ours = (platform.node(), os.getpid())  # the host, too: in containers every driver may be process 1
    return found if found is not None and found.alive and (found.host, found.pid) != ours else None


class Heartbeat:
    """Write a driver's heartbeat to a store, and watch for requests to stop.

    Parameters
    ----------
    backend : Backend
        Backend of the store.
    also : callable
        Called at every beat.
    interrupt : callable, optional
        Called when a stop is requested. By default the request is only visible as `asked_to_stop`.
    """

    def __init__(
        self, backend: Backend, also: Callable[[], None] = lambda: None, interrupt: Callable[[], None] | None = None
    ) -> None:
        self._backend, self._on_beat = backend, also
        self._name, self._ended, self._stop_requested = uuid.uuid4().hex, threading.Event(), threading.Event()
        self._interrupt = interrupt or self._stop_requested.set
        self._progress: Mapping[str, Any] = {}
        self._is_same_store: Callable[[], bool] = lambda: True
        self.store_lost = False
        """Whether the store was removed or replaced; no more heartbeats are written then."""
        self.worker_logs: Callable[[], Mapping[str, str]] = dict

    def set_progress(self, progress: Mapping[str, Any]) -> None:
        """Set the progress that the next heartbeat contains."""
        self._progress = progress

    def watch_store(self, still: Callable[[], bool]) -> None:
        """Call `still` before each heartbeat, and stop if it returns False: the store was removed or replaced."""
        self._is_same_store = still

    def set_log_source(self, ask: Callable[[], Mapping[str, str]]) -> None:
        """Set the function that returns the logs of the workers."""
        self.worker_logs = ask

    @property
    def asked_to_stop(self) -> bool:
        """Whether the driver was asked to stop."""
        return self._stop_requested.is_set()

    def run(self) -> None:
        """Write heartbeats until `stop` is called, or the store was removed or replaced."""
        with suppress(OSError, StoreUnreachableError):
            self._backend.delete(CANCEL)  # a request to an earlier driver
        while True:
            if not self._is_same_store():
                self.store_lost = True
                return
            with suppress(OSError, StoreUnreachableError):  # the run itself reports a full disk or a lost network
                self._backend.put(DRIVER, to_bytes(replace(current_driver(), name=self._name, progress=self._progress)))
                self._on_beat()
            if self._wait():
                return

    def _wait(self) -> bool:
        """Wait until the next heartbeat is due, checking for requests to stop; return whether `stop` was called."""
        for _ in range(int(BEAT / _LISTEN)):
            if self._ended.wait(_LISTEN):
                return True
            with suppress(OSError, StoreUnreachableError):
                if self._backend.get(CANCEL) is not None:
                    self._interrupt()
        return False

    def stop(self) -> None:
        """Make `run` return after at most one more heartbeat."""
        self._ended.set()

    def delete_record(self) -> None:
        """Delete the heartbeat file, unless another driver has overwritten it."""
        found = from_bytes(self._backend.get(DRIVER))
        if found is not None and found.name == self._name:
            self._backend.delete(DRIVER)
            self._backend.delete(CANCEL)


@contextmanager
def run_heartbeat(presence: Heartbeat) -> Iterator[Heartbeat]:
    """Run a heartbeat in a background thread within this context, and delete its file at the end."""
    thread = threading.Thread(target=presence.run, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield presence
    finally:
        presence.stop()
        thread.join(BEAT)
        with suppress(StoreUnreachableError):
            presence.delete_record()
