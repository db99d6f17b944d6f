"""Start workers on this machine: one process with one Dask thread each, listening on loopback only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

import dask
from distributed import Client, LocalCluster, Nanny

from cluster.config.base import LOOPBACK, ManagedClusterFile, Size, StartOptions
from cluster.config.fields import Bytes, Count
from cluster.runtime.children import defer_interrupts, hide_main, sigint_free_loop
from cluster.runtime.errors import connect_client, dask_failures
from cluster.runtime.forkserver import make_environment, start_fork_server, warm_up
from cluster.runtime.limits import check_limits
from cluster.runtime.private import scratch_directory
from cluster.runtime.scheduler import announce_dashboard, check_dashboard, make_dask_settings
from cluster.runtime.supervise import replace_ended_workers
from cluster.runtime.tls import make_security

_PATIENCE = 0.5
"""Seconds that workers have to end by themselves after an error; they may be computing a long unit."""


class Local(ManagedClusterFile):
    """Workers are processes on this machine that listen on loopback only."""

    kind: Literal["local"] = "local"
    workers: Count | None = None
    """Default: the number of cores divided by `threads`."""
    memory: Bytes | None = None
    """Per worker. Default: an equal share of the machine's memory."""

    def get_size(self) -> Size:
        """Return what the file sets; the rest depends on this machine."""
        return Size(self.workers, self.memory, self.threads)

    def check_installed(self) -> None:
        """Check for bokeh if there is a dashboard."""
        check_dashboard(self)

    def warm_up(self, preload: Sequence[str]) -> None:
        """Start the fork server."""
        warm_up(self.workers, preload)

    def connect(self, options: StartOptions) -> AbstractContextManager[Client]:
        """Start the workers."""
        return local(options.workers, options.memory, self, options.note, options.preload)


_DEFAULT = Local()


@contextmanager
def local(
    workers: int,
    memory: float,
    file: Local = _DEFAULT,
    note: Callable[[str], None] = lambda text: None,
    preload: Sequence[str] = (),
) -> Iterator[Client]:
    """Start workers on this machine, and end them all at the end.

    Parameters
    ----------
    workers : int
        Number of workers.
    memory : float
        Bytes per worker.
    file : Local
        The cluster file, for all other options.
    note : callable
        Receives messages for the user.
    preload : sequence of str
        Modules to import in the fork server.

    Yields
    ------
    distributed.Client

    Raises
    ------
    cluster.StartError
        If the workers can't be started.
    """
    check_dashboard(file)
    check_limits(workers)
    with (
        hide_main(),
        scratch_directory(file.where) as scratch,
        sigint_free_loop() as loop,
        dask.config.set({**make_dask_settings(file, "cluster.runtime.worker_plugin"), **start_fork_server(preload)}),
        _start_cluster(workers, memory, file, loop, scratch.path) as cluster,
        connect_client(cluster, is_default=True) as client,
    ):
        try:
            with replace_ended_workers(cluster):
                announce_dashboard(file, cluster, note)
                yield client
        except BaseException:
            cluster.sync(_close_workers, list(cluster.workers.values()))
            raise


async def _close_workers(nannies: list[Nanny]) -> None:
    """Close workers without waiting for their units. (Closing the cluster would wait four seconds for each.)"""
    await asyncio.gather(*(each.close(timeout=_PATIENCE) for each in nannies), return_exceptions=True)


@contextmanager
def _start_cluster(workers: int, memory: float, file: Local, loop: Any, scratch: Path) -> Iterator[LocalCluster]:
    secure = make_security(file)
    with defer_interrupts() as interrupts, dask_failures():
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
            env=make_environment(scratch),  # the current one: the fork server may have been started with another
        )
    with cluster:
        for interrupt in interrupts:
            raise interrupt
        yield cluster
