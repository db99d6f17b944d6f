"""Handle Ctrl-C: the first one shuts a run down cleanly, a second one exits immediately. Neither loses results."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

EXIT_INTERRUPTED = 130
_FIRST = "stopping: what is done is kept (Ctrl-C again to quit at once)"
_SECOND = "quit: what is done is kept, the same command resumes"
_SHOW_CURSOR = b"\x1b[?25h"
"""Terminal code that shows the cursor again: the progress bar hides it."""
_pressed = False


def is_interrupted() -> bool:
    """Return whether Ctrl-C was pressed.

    The `KeyboardInterrupt` alone is not enough: it is lost where Python cannot raise, e.g. in a callback from C.
    """
    return _pressed


@contextmanager
def handle_interrupts() -> Iterator[None]:
    """Handle Ctrl-C inside the `with` block.

    The first one prints a line and raises `KeyboardInterrupt`; a second one exits immediately. Has no effect outside
    the main thread, which alone receives signals.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield
        return
    global _pressed
    _pressed = False

    def hear(number: int, frame: FrameType | None) -> None:
        global _pressed
        if _pressed:
            _say(_SECOND)
            exit_immediately()
        _pressed = True
        _say(_FIRST)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        if not _pressed:  # otherwise keep the handler for a second Ctrl-C
            signal.signal(signal.SIGINT, before)


def _say(text: str) -> None:
    """Write a line to stderr, on a terminal below the bar, past Python's buffer, which refuses re-entrant calls."""
    os.write(2, f"{chr(10) * os.isatty(2)}{text}\n".encode())


def exit_immediately() -> NoReturn:
    """Kill the worker processes that are left, then exit this process with code 130.

    Python's own shutdown takes a second, in which another Ctrl-C would print a traceback.
    """
    for child in multiprocessing.active_children():
        child.kill()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, RuntimeError, ValueError):  # broken pipe, re-entrant call, closed
            stream.flush()
    if os.isatty(2):
        os.write(2, _SHOW_CURSOR)
    forkserver = sys.modules.get("cluster.runtime.forkserver")
    if forkserver is not None:
        forkserver.remove_sockets()
    os._exit(EXIT_INTERRUPTED)
