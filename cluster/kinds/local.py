"""On this machine: one process a worker, one thread each, nothing listening beyond loopback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster, Nanny

from cluster.config.spec import LOOPBACK, Local
from cluster.runtime.errors import client_of, dask_failures
from cluster.runtime.forkserver import environment, fork_settings
from cluster.runtime.limits import check_limits
from cluster.runtime.private import scratch_directory
from cluster.runtime.scheduler import check_dashboard, dask_settings, tell_dashboard
from cluster.runtime.settings import deaf_loop, main_hidden, put_off
from cluster.runtime.supervise import replaced
from cluster.runtime.tls import security

_PATIENCE = 0.5
"""Seconds that workers have to end by themselves when something went wrong; they may be at a long unit."""
_USUAL = Local()


@contextmanager
def local(
    workers: int,
    memory: float,
    file: Local = _USUAL,
    note: Callable[[str], None] = lambda text: None,
    preload: Sequence[str] = (),
) -> Iterator[Client]:
    """Start workers on this machine, and end them all at the end.

    Parameters
    ----------
    workers : int
        How many.
    memory : float
        Bytes of each.
    file : Local
        The cluster file, for all else.
    note : callable
        Where to say what the user should know.
    preload : sequence of str
        Modules that workers need.

    Yields
    ------
    distributed.Client

    Raises
    ------
    cluster.StartError
        If they can't be started.
    """
    check_dashboard(file)
    check_limits(workers)
    with (
        main_hidden(),
        scratch_directory(file.where) as scratch,
        deaf_loop() as loop,
        dask.config.set({**dask_settings(file, "cluster.runtime.worker_plugin"), **fork_settings(preload)}),
        _started(workers, memory, file, loop, scratch.path) as cluster,
        client_of(cluster, is_default=True) as client,
    ):
        try:
            with replaced(cluster):
                tell_dashboard(file, cluster, note)
                yield client
        except BaseException:
            cluster.sync(_end, list(cluster.workers.values()))
            raise


async def _end(nannies: list[Nanny]) -> None:
    """Ends workers whatever they are at. (Closing the cluster gives each four seconds, and a unit may take longer.)"""
    await asyncio.gather(*(each.close(timeout=_PATIENCE) for each in nannies), return_exceptions=True)


@contextmanager
def _started(workers: int, memory: float, file: Local, loop: Any, scratch: Path) -> Iterator[LocalCluster]:
    secure = security(file)
    with put_off() as interrupts, dask_failures():
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            scheduler_kwargs={"dashboard": file.dashboard},
            memory_limit=int(memory),
            silence_logs=logging.CRITICAL,
            security=secure,
            loop=loop,
            env=environment(scratch),  # as it is now: they are forked from a process that may be older
        )
    with cluster:
        for interrupt in interrupts:
            raise interrupt
        yield cluster
