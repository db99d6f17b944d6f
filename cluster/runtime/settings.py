"""What every cluster of ours needs to start: a loop that is deaf to Ctrl-C, and Ctrl-C put off until it stands."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any

import dask
from distributed.utils import LoopRunner

PRELOAD = "CKRR_PRELOAD"
"""The variable that names the modules which the fork server imports, with commas between."""
_FAILURE_SETTINGS = {"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.worker-saturation": 1.0}
"""A worker's death is blamed at once on its task, and a worker has one: no innocent waits beside it."""
_MEMORY_SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.system-monitor.log-length": 240,
}
"""What Dask keeps for its developers (a thousand messages for each worker, profiles of the last quarter of an hour)
would fill tens of megabytes, here and in each worker, before it stops growing; and nobody looks at it."""


def make_no_web_settings(who: str, *modules: str) -> dict[str, object]:
    """Return settings of Dask by which a "scheduler" or a "worker" serves no web pages.

    It always starts a web server, which has one page even without the usual ones: so it is closed by a module that Dask
    loads. Modules that the user's own settings name are loaded before, and `modules` after it.
    """
    loaded = [*dask.config.get(f"distributed.{who}.preload"), "cluster.runtime.close_web_server", *modules]
    return {f"distributed.{who}.http.routes": [], f"distributed.{who}.preload": loaded}


def _make_variable_name(key: str) -> str:
    """Return the name of the environment variable that Dask reads a setting from."""
    return f"DASK_{key.upper().replace('.', '__').replace('-', '_')}"


SETTINGS: dict[str, object] = {**_FAILURE_SETTINGS, **_MEMORY_SETTINGS}
"""Of Dask, for schedulers and workers that we start; processes here inherit them."""
EXPORTS = tuple(
    f"export {_make_variable_name(key)}={shlex.quote(str(value))}"
    for key, value in {**_MEMORY_SETTINGS, **make_no_web_settings("worker")}.items()
)
"""The same for the shells that start workers elsewhere."""


@contextmanager
def hide_main() -> Iterator[None]:
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
def sigint_free_loop() -> Iterator[Any]:
    """The loop whose thread starts the workers, also those that take the place of dead ones.

    Ctrl-C reaches the whole process group, but only the driver is to hear it: it then stops the workers. A thread and
    all processes that it starts inherit what is blocked.
    """
    start_tracker()  # would otherwise be started by that thread, and unblock the signal there
    with block_sigint():
        runner = LoopRunner()
        runner.start()
    try:
        yield runner.loop
    finally:
        runner.stop()


@contextmanager
def block_sigint() -> Iterator[None]:
    """Threads and processes that are started within don't hear Ctrl-C."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def start_tracker() -> None:
    """Python's process that removes semaphores after a process was ended at once; it needn't warn of them."""
    usual = os.environ.get("PYTHONWARNINGS")
    with set_environment({"PYTHONWARNINGS": ",".join([*([usual] if usual else []), "ignore:resource_tracker"])}):
        resource_tracker.ensure_running()


@contextmanager
def set_environment(some: Mapping[str, object]) -> Iterator[None]:
    """Of the environment, for a while."""
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
def preserve_sigint() -> Iterator[None]:
    """Ctrl-C stays what it is, whatever is imported (dask-jobqueue makes it end the process in silence)."""
    usual = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, usual)
