"""The watch: ends the process when a step of a replication takes longer than it may.

`faulthandler` does it from a thread of its own that needs no GIL, so code that hangs while holding it is ended, too. It
has one timer for the process; here every thread that computes has a deadline, and the timer is set for the first.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, get_ident
from time import monotonic

_LATE = 1.0
"""Seconds that a step may get on top: setting the timer takes 0.1 ms, too much for every short step."""
_LONGEST = 1e8
"""Seconds that the timer can be set for, and nobody waits."""


@dataclass
class _WatchedThread:
    """A thread."""

    limit: float
    file: int
    deadline: float


_watched: dict[int, _WatchedThread] = {}
_lock = Lock()
_set_for: list[float] = []
"""When the timer goes off; empty while it isn't set."""


@contextmanager
def watch_steps(seconds: float, file: int) -> Iterator[None]:
    """Within, no step of this thread may take longer; where all threads were goes to the file with this number.

    Only for a process that somebody replaces: a nanny's worker, or a child of ours.
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
    """A step starts here that may take `weight` times the limit; nothing where nobody watches."""
    mine = _watched.get(get_ident())
    if mine is None:
        return
    mine.deadline = monotonic() + min(weight * mine.limit, _LONGEST)
    first = min(one.deadline for one in list(_watched.values()))
    if not (_set_for and first <= _set_for[0] <= first + _LATE):
        with _lock:
            _set_timer()


def is_set() -> bool:
    """Whether this process will be ended if nothing happens."""
    return bool(_set_for)


def _set_timer() -> None:
    """Sets the timer for the first deadline, or stops it if there is none."""
    _set_for.clear()
    if not _watched:
        faulthandler.cancel_dump_traceback_later()
        return
    first = min(_watched.values(), key=lambda one: one.deadline)
    _set_for.append(first.deadline + _LATE)
    faulthandler.dump_traceback_later(max(_set_for[0] - monotonic(), 0.01), exit=True, file=first.file)
