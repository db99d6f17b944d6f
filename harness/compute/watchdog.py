"""End the process when a step of a replication exceeds its time limit.

`faulthandler` does this from a separate thread that doesn't need the GIL, so code that hangs while holding it is ended,
too. It has one timer per process; here every computing thread has a deadline, and the timer is set for the earliest.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, get_ident
from time import monotonic

_LATE = 1.0
"""Tolerance in seconds: setting the timer takes 0.1 ms, too much to do for every short step."""
_LONGEST = 1e8
"""Upper bound in seconds on a deadline, within what the timer accepts; in effect no limit."""


@dataclass
class _WatchedThread:
    """A thread with its time limit per step, its file for the traceback, and its current deadline."""

    limit: float
    file: int
    deadline: float


_watched: dict[int, _WatchedThread] = {}
_lock = Lock()
_set_for: list[float] = []
"""Time at which the timer fires; empty while it isn't set."""


@contextmanager
def watch_steps(seconds: float, file: int) -> Iterator[None]:
    """End the process if a step of this thread takes too long within the context.

    Use it only in a process whose end does no harm: a worker with a nanny, a process of a short study, or a sandbox.

    Parameters
    ----------
    seconds : float
        Time limit of a step.
    file : int
        File descriptor to which the tracebacks of all threads are written before the process ends.
    """
    me, limit = get_ident(), min(seconds, _LONGEST)
    _watched[me] = _WatchedThread(limit, file, monotonic() + limit)
    try:
        start_step()
        yield
    finally:
        with _lock:
            del _watched[me]
            _set_timer()


def start_step(weight: float = 1.0) -> None:
    """Start a step that may take `weight` times the limit. Does nothing if this thread isn't watched."""
    mine = _watched.get(get_ident())
    if mine is None:
        return
    mine.deadline = monotonic() + min(weight * mine.limit, _LONGEST)
    first = min(one.deadline for one in list(_watched.values()))
    if not (_set_for and first <= _set_for[0] <= first + _LATE):
        with _lock:
            _set_timer()


def is_set() -> bool:
    """Return whether the timer that ends this process is set."""
    return bool(_set_for)


def _set_timer() -> None:
    """Set the timer for the earliest deadline, or cancel it if there is none."""
    _set_for.clear()
    if not _watched:
        faulthandler.cancel_dump_traceback_later()
        return
    first = min(_watched.values(), key=lambda one: one.deadline)
    _set_for.append(first.deadline + _LATE)
    faulthandler.dump_traceback_later(max(_set_for[0] - monotonic(), 0.01), exit=True, file=first.file)
