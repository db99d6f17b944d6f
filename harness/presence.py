"""Presence: the driver's record in the store, with a heartbeat, so that a second driver knows of the first.

Two drivers at once are harmless: chunks are whole and the same whoever writes them. Only making and growing a store is
for one driver alone.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import time

from harness.nouns import Unreachable
from harness.place import Place
from harness.record import DRIVER

BEAT = 5.0
SILENT = 30.0
"""A driver that hasn't been heard of for so many seconds is dead."""


@dataclass(frozen=True)
class Driver:
    """Who is at work."""

    name: str
    host: str
    pid: int
    beat: float

    @property
    def alive(self) -> bool:
        """Whether it was heard of lately; on this machine, whether its process is there."""
        if self.host == platform.node() and Path("/proc").is_dir() and not Path(f"/proc/{self.pid}").exists():
            return False
        return abs(time() - self.beat) < SILENT

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def me() -> Driver:
    """The process that we are, now."""
    return Driver(uuid.uuid4().hex, platform.node(), os.getpid(), time())


def told(driver: Driver) -> bytes:
    """As it is written."""
    return json.dumps(asdict(driver)).encode()


def heard(raw: bytes | None) -> Driver | None:
    """From what a driver wrote; None for nothing, and for what can't be read."""
    try:
        return None if raw is None else Driver(**json.loads(raw))
    except (ValueError, TypeError):
        return None


def other(place: Place) -> Driver | None:
    """Another driver that is alive, if there is one."""
    found = heard(place.get(DRIVER))
    ours = (platform.node(), os.getpid())  # in containers every driver may be process 1
    return found if found is not None and found.alive and (found.host, found.pid) != ours else None


@contextmanager
def present(place: Place) -> Iterator[None]:
    """Tells others, for the while, that a driver is here."""
    name, ended = uuid.uuid4().hex, threading.Event()

    def beat() -> None:
        while True:
            with suppress(OSError, Unreachable):  # a disk that is full or gone, a network: the run will say it
                place.put(DRIVER, told(replace(me(), name=name)))
            if ended.wait(BEAT):
                return

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(BEAT)
        with suppress(Unreachable):
            found = heard(place.get(DRIVER))
            if found is not None and found.name == name:
                place.delete(DRIVER)
