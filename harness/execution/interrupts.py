"""Stopping: the first Ctrl-C ends a run in order, a second one at once. Nothing is lost by either."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

EXIT_INTERRUPTED = 130
_FIRST = "stopping: what is done is kept (Ctrl-C again to quit at once)"
_SECOND = "quit: what is done is kept, the same command goes on"
_SHOW_CURSOR = b"\x1b[?25h"
"""A bar hides it."""


_pressed = False


def is_interrupted() -> bool:
    """Whether Ctrl-C was heard: what it raises is lost where Python can't raise, in a callback of C say."""
    return _pressed


@contextmanager
def handle_interrupts() -> Iterator[None]:
    """For the while, the first Ctrl-C is told at once and raises `KeyboardInterrupt`; a second one ends everything."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread hears signals
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
        if not _pressed:  # otherwise a second one may still come
            signal.signal(signal.SIGINT, before)


def _say(text: str) -> None:
    """Past Python's buffers, which may be in the middle of a line and then refuse; and past a bar."""
    os.write(2, f"{chr(10) * os.isatty(2)}{text}\n".encode())


def exit_immediately() -> NoReturn:
    """Ends our workers, if any are left, and then us, whatever anybody is at.

    Python's own way out takes a second, in which Ctrl-C again would be an ugly end.
    """
    for child in multiprocessing.active_children():
        child.kill()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, RuntimeError, ValueError):  # nobody reads it, it is busy, it is closed
            stream.flush()
    if os.isatty(2):
        os.write(2, _SHOW_CURSOR)
    temporary = getattr(multiprocessing.current_process(), "_config", {}).get("tempdir")
    if temporary is not None:  # Python would remove it on its own way out
        shutil.rmtree(temporary, ignore_errors=True)
    os._exit(EXIT_INTERRUPTED)
