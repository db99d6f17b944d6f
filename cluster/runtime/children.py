"""Start processes as they should be: without Ctrl-C, with a given environment, without the user's main module.

Ctrl-C is for the driver alone, and deferred until a cluster is up. Nothing here loads Dask before it is needed.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import parent_process, resource_tracker
from multiprocessing.connection import wait
from pathlib import Path
from types import FrameType
from typing import Any

PRELOAD = "CKRR_PRELOAD"
"""Environment variable with the modules that the fork server imports, separated by commas."""
MALLOC = {"MALLOC_TRIM_THRESHOLD_": 1 << 25, "MALLOC_MMAP_THRESHOLD_": 1 << 25}
"""Environment of workers: bytes of freed memory that glibc keeps, and those of arrays that are memory of their own.

With Dask's default of 64 kB, arrays of a small sample are new pages of the system each time: twice the time a unit.
"""
NICE = 5
"""Niceness of local workers: the driver, which supplies them with work, and other processes have priority."""


def run_child(environment: Mapping[str, str], target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Call a function in a process that has just started: what `cluster.start_process` runs.

    The process gets the driver's current environment, comes after it in priority, is the first to be killed when memory
    runs out, and ends with it, even in the middle of a computation.
    """
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICE)
    with suppress(OSError):  # there is no such file on other systems than Linux
        Path("/proc/self/oom_score_adj").write_text("1000")
    target(*arguments)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "only child processes call this"
    wait([parent.sentinel])
    os._exit(1)


@contextmanager
def hide_main() -> Iterator[None]:
    """Prevent new processes from importing the user's script inside the `with` block.

    Python's spawned processes do so, and the script may lack `if __name__ == "__main__"`.
    """
    main = sys.modules["__main__"]
    names: list[str] = [name for name in ("__file__", "__spec__") if name in vars(main)]
    hidden = {name: vars(main).pop(name) for name in names}
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(hidden)


@contextmanager
def sigint_free_loop() -> Iterator[Any]:
    """Yield an event loop whose thread blocks SIGINT, for starting and replacing workers.

    Ctrl-C reaches the whole process group, but only the driver must receive it: it then stops the workers. Processes
    inherit the signal mask of the thread that starts them.
    """
    from distributed.utils import LoopRunner

    # A connection that closes as a cluster ends is logged with a traceback, when silence_logs may be over already.
    logging.getLogger("distributed.batched").setLevel(logging.WARNING)
    start_tracker()  # would otherwise be started by that thread, and unblock SIGINT there
    with block_sigint():
        runner = LoopRunner()
        runner.start()
    try:
        yield runner.loop
    finally:
        runner.stop()


@contextmanager
def block_sigint() -> Iterator[None]:
    """Block SIGINT in threads and processes that are started inside the `with` block."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def start_tracker() -> None:
    """Start Python's resource tracker, without its warnings; it removes the semaphores of killed processes."""
    usual = os.environ.get("PYTHONWARNINGS")
    with set_environment({"PYTHONWARNINGS": ",".join([*([usual] if usual else []), "ignore:resource_tracker"])}):
        resource_tracker.ensure_running()


@contextmanager
def set_environment(some: Mapping[str, object]) -> Iterator[None]:
    """Set environment variables inside the `with` block, and restore them afterwards."""
    before = {name: os.environ.get(name) for name in some}
    os.environ.update({name: str(value) for name, value in some.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


@contextmanager
def defer_interrupts() -> Iterator[list[KeyboardInterrupt]]:
    """Collect interrupts inside the `with` block instead of raising them: a half-started cluster can't be closed.

    Yields
    ------
    list of KeyboardInterrupt
        Interrupts so far, for the caller to raise.
    """
    raised: list[KeyboardInterrupt] = []
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield raised
        return

    def hear(number: int, frame: FrameType | None) -> None:
        try:
            usual(number, frame)
        except KeyboardInterrupt as interrupt:
            raised.append(interrupt)

    signal.signal(signal.SIGINT, hear)
    try:
        yield raised
    finally:
        signal.signal(signal.SIGINT, usual)


@contextmanager
def preserve_sigint() -> Iterator[None]:
    """Restore the SIGINT handler after an import (dask-jobqueue installs one that silently ends the process)."""
    usual = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, usual)
