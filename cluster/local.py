"""On this machine: one process a worker, one thread each, nothing listening beyond loopback."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster

_BLAME = {"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.worker-saturation": 1.0}
"""A worker's death is blamed at once on its task, and a worker has one: no innocent waits beside it."""
LOOPBACK = "127.0.0.1"
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


@contextmanager
def local(workers: int, memory: float) -> Iterator[Client]:
    """A client of so many workers, each with so many bytes of memory; all gone at the end."""
    with _main_hidden(), _started(workers, memory) as cluster, Client(cluster) as client:
        yield client


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


def _started(workers: int, memory: float) -> LocalCluster:
    """Ctrl-C reaches the whole process group, but only the driver is to hear it: it then stops the workers."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        with dask.config.set(_BLAME):  # the scheduler reads it as it starts
            return LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host=LOOPBACK,
                dashboard_address=f"{LOOPBACK}:0",
                memory_limit=int(memory),
                preload=[_DEAF],  # also for workers that take the place of dead ones
                silence_logs=logging.CRITICAL,
            )
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
