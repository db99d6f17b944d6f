"""What every cluster of ours needs to start: a loop that is deaf to Ctrl-C, and Ctrl-C put off until it stands."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any

import distributed.utils
from distributed.utils import LoopRunner

_BLAME = {"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.worker-saturation": 1.0}
"""A worker's death is blamed at once on its task, and a worker has one: no innocent waits beside it."""
_LEAN = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.system-monitor.log-length": 240,
}
"""What Dask keeps for its developers (a thousand messages for each worker, profiles of the last quarter of an hour)
would fill tens of megabytes, here and in each worker, before it stops growing; and nobody looks at it."""

SETTINGS = {**_BLAME, **_LEAN}
"""Of Dask, for schedulers and workers that we start; processes here inherit them."""
EXPORTS = tuple(
    f"export DASK_{key.upper().replace('.', '__').replace('-', '_')}={value}" for key, value in _LEAN.items()
)
"""The same for the shells that start workers elsewhere."""

_FORKED = ("distributed", "harness.worker")
"""What every worker imports: one process does that for all of them, and they are forked from it."""


def forked() -> dict[str, str]:
    """Settings of Dask by which workers on this machine are there in a tenth of a second, where they took two.

    The process that they are forked from is one of Python's own (`forkserver`), with a single thread; it ends with us.
    """
    if sys.platform != "linux":
        return {}
    distributed.utils._forkserver_preload_set = True  # what Dask would import there is more, and not what we need
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(_FORKED))
    return {"distributed.worker.multiprocessing-method": "forkserver"}


@contextmanager
def main_hidden() -> Iterator[None]:
    """Workers needn't run the user's script, as new processes of Python do: it may have no `if __name__ == …`."""
    main = sys.modules["__main__"]
    names: list[str] = [name for name in ("__file__", "__spec__") if name in vars(main)]
    hidden = {name: vars(main).pop(name) for name in names}
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(hidden)


@contextmanager
def deaf_loop() -> Iterator[Any]:
    """The loop whose thread starts the workers, also those that take the place of dead ones.

    Ctrl-C reaches the whole process group, but only the driver is to hear it: it then stops the workers. A thread and
    all processes that it starts inherit what is blocked.
    """
    _start_tracker()  # would otherwise be started by that thread, and unblock the signal there
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        runner = LoopRunner()
        runner.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    try:
        yield runner.loop
    finally:
        runner.stop()


def _start_tracker() -> None:
    """Python's process that removes semaphores after a process was ended at once; it needn't warn of them."""
    usual = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join([*([usual] if usual else []), "ignore:resource_tracker"])
    try:
        resource_tracker.ensure_running()
    finally:
        os.environ.pop("PYTHONWARNINGS")
        if usual is not None:
            os.environ["PYTHONWARNINGS"] = usual


@contextmanager
def put_off() -> Iterator[list[KeyboardInterrupt]]:
    """What Ctrl-C raises meanwhile, instead of raising it: half a cluster can't be taken down."""
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
def hearing() -> Iterator[None]:
    """Ctrl-C stays what it is, whatever is imported (dask-jobqueue makes it end the process in silence)."""
    usual = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, usual)
