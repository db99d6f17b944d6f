"""On this machine: one process a worker, one thread each, nothing listening beyond loopback."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any

import dask
from distributed import Client, LocalCluster, Nanny
from distributed.utils import LoopRunner

_BLAME = {"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.worker-saturation": 1.0}
"""A worker's death is blamed at once on its task, and a worker has one: no innocent waits beside it."""
LOOPBACK = "127.0.0.1"
_PATIENCE = 0.5
"""Seconds that workers have to end by themselves when something went wrong; they may be at a long unit."""


@contextmanager
def local(workers: int, memory: float) -> Iterator[Client]:
    """A client of so many workers, each with so many bytes of memory; all gone at the end."""
    with _main_hidden(), _deaf_loop() as loop, _started(workers, memory, loop) as cluster, Client(cluster) as client:
        try:
            yield client
        except BaseException:
            cluster.sync(_end, list(cluster.workers.values()))
            raise


async def _end(nannies: list[Nanny]) -> None:
    """Ends workers whatever they are at. (Closing the cluster gives each four seconds, and a unit may take longer.)"""
    await asyncio.gather(*(each.close(timeout=_PATIENCE) for each in nannies), return_exceptions=True)


@contextmanager
def _main_hidden() -> Iterator[None]:
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
def _deaf_loop() -> Iterator[Any]:
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
def _started(workers: int, memory: float, loop: Any) -> Iterator[LocalCluster]:
    with _put_off() as interrupts, dask.config.set(_BLAME):  # the scheduler reads it as it starts
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            memory_limit=int(memory),
            silence_logs=logging.CRITICAL,
            loop=loop,
        )
    with cluster:
        for interrupt in interrupts:
            raise interrupt
        yield cluster


@contextmanager
def _put_off() -> Iterator[list[KeyboardInterrupt]]:
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
