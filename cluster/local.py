"""On this machine: one process a worker, one thread each, nothing listening beyond loopback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster

LOOPBACK = "127.0.0.1"


@contextmanager
def local(workers: int, memory: float) -> Iterator[Client]:
    """A client of so many workers, each with so many bytes of memory; all gone at the end."""
    quiet = {
        "distributed.worker.daemon": True,
        "distributed.comm.timeouts.connect": "30s",
        "distributed.admin.system-monitor.gil.enabled": False,
    }
    with (
        dask.config.set(quiet),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            memory_limit=int(memory),
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
