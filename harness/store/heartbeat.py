"""Presence: the driver's record in the store, with a heartbeat, so that others know that it is there and how far it is.

Two drivers at once are harmless: chunks are whole and the same whoever writes them. Only making and growing a store is
for one driver alone. Whoever sees the store can ask its driver to stop.
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
_LISTEN = 1.0
"""Seconds between two looks whether somebody asked the driver to stop."""
PROGRESS = ("replications", "of", "share", "rate", "left", "failed")
"""What a driver says of how far it is: numbers, or nothing."""
SILENT = 30.0
"""A driver that hasn't been heard of for so many seconds is dead."""


@dataclass(frozen=True)
class Driver:
    """Who is at work."""

    name: str
    host: str
    pid: int
    beat: float
    progress: Mapping[str, Any] = field(default_factory=dict)
    """How far it is: what it has to tell besides that it lives."""
    born: str | None = None
    """When its process started, as its machine counts: numbers of processes come again."""
    job: str | None = None
    """The job of Slurm that it is in."""

    @property
    def alive(self) -> bool:
        """On this machine, whether its process is there; elsewhere, whether it was heard of lately.

        Where it can be seen, no clock is asked: one that jumps would make the living dead.
        """
        if self.host == platform.node() and Path("/proc").is_dir() and self.born is not None:
            return start_time(self.pid) == self.born
        return abs(time() - self.beat) < SILENT

    @property
    def seconds_silent(self) -> float:
        """Seconds since it was heard of."""
        return max(0.0, time() - self.beat)

    def __str__(self) -> str:
        where = f"process {self.pid} on {self.host}"
        return where if self.job is None else f"job {self.job} of Slurm ({where})"


def start_time(pid: int) -> str | None:
    """When a process started; None if it has ended, also where its parent hasn't asked about it yet."""
    try:
        state, *others = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else others[18]


def current_driver() -> Driver:
    """The process that we are, now."""
    pid = os.getpid()
    return Driver(
        uuid.uuid4().hex, platform.node(), pid, time(), born=start_time(pid), job=os.environ.get("SLURM_JOB_ID")
    )


def to_bytes(driver: Driver) -> bytes:
    """As it is written."""
    return json.dumps(asdict(driver)).encode()


def from_bytes(raw: bytes | None) -> Driver | None:
    """From what a driver wrote; None for nothing, and for what no driver writes."""
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


def other_driver(place: Backend) -> Driver | None:
    """Another driver that is alive, if there is one."""
    found = from_bytes(place.get(DRIVER))
    ours = (platform.node(), os.getpid())  # in containers every driver may be process 1
    return found if found is not None and found.alive and (found.host, found.pid) != ours else None


class Heartbeat:
    """A driver's signs of life in a store, and whether somebody asked it to stop.

    `also` is done at every beat. A driver that is asked to stop is told by `interrupt`, or else finds it in
    `asked_to_stop`.
    """

    def __init__(
        self, place: Backend, also: Callable[[], None] = lambda: None, interrupt: Callable[[], None] | None = None
    ) -> None:
        self._backend, self._on_beat = place, also
        self._name, self._ended, self._stop_requested = uuid.uuid4().hex, threading.Event(), threading.Event()
        self._interrupt = interrupt or self._stop_requested.set
        self._progress: Mapping[str, Any] = {}
        self._is_same_store: Callable[[], bool] = lambda: True
        self.store_lost = False
        """Whether the store isn't there any more, or is another's: nothing is written to it then."""
        self.worker_logs: Callable[[], Mapping[str, str]] = dict

    def set_progress(self, progress: Mapping[str, Any]) -> None:
        """What the next beat says of how far it is."""
        self._progress = progress

    def watch_store(self, still: Callable[[], bool]) -> None:
        """The store is there, and from now on every beat asks first whether it still is."""
        self._is_same_store = still

    def set_log_source(self, ask: Callable[[], Mapping[str, str]]) -> None:
        """There are workers, who can be asked for their logs."""
        self.worker_logs = ask

    @property
    def asked_to_stop(self) -> bool:
        """Whether somebody wants the driver to end."""
        return self._stop_requested.is_set()

    def run(self) -> None:
        """Lives, until it is over."""
        with suppress(OSError, StoreUnreachableError):
            self._backend.delete(CANCEL)  # meant for a driver before
        while True:
            if not self._is_same_store():
                self.store_lost = True
                return
            with suppress(
                OSError, StoreUnreachableError
            ):  # a disk that is full or gone, a network: the run will say it
                self._backend.put(DRIVER, to_bytes(replace(current_driver(), name=self._name, progress=self._progress)))
                self._on_beat()
            if self._wait():
                return

    def _wait(self) -> bool:
        """Until the next beat; whether it is over. Meanwhile it listens."""
        for _ in range(int(BEAT / _LISTEN)):
            if self._ended.wait(_LISTEN):
                return True
            with suppress(OSError, StoreUnreachableError):
                if self._backend.get(CANCEL) is not None:
                    self._interrupt()
        return False

    def stop(self) -> None:
        """No beat comes after the next."""
        self._ended.set()

    def delete_record(self) -> None:
        """Takes the record away, unless another driver has put its own there."""
        found = from_bytes(self._backend.get(DRIVER))
        if found is not None and found.name == self._name:
            self._backend.delete(DRIVER)
            self._backend.delete(CANCEL)


@contextmanager
def run_heartbeat(presence: Heartbeat) -> Iterator[Heartbeat]:
    """Tells others, for the while, that a driver is here."""
    thread = threading.Thread(target=presence.run, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield presence
    finally:
        presence.stop()
        thread.join(BEAT)
        with suppress(StoreUnreachableError):
            presence.delete_record()
