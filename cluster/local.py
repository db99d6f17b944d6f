"""On this machine: one process a worker, one thread each, nothing listening beyond loopback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster, Nanny
from distributed.security import Security

from cluster.forking import environment, forked
from cluster.keeping import replaced
from cluster.modest import NICE, Modest
from cluster.spec import LOOPBACK
from cluster.starting import SETTINGS, deaf_loop, main_hidden, put_off

_PATIENCE = 0.5
"""Seconds that workers have to end by themselves when something went wrong; they may be at a long unit."""


@contextmanager
def local(workers: int, memory: float, security: Security | None = None) -> Iterator[Client]:
    """A client of so many workers, each with so many bytes of memory; all gone at the end."""
    with (
        main_hidden(),
        deaf_loop() as loop,
        dask.config.set({**SETTINGS, **forked()}),  # also for workers that are started later
        _started(workers, memory, security, loop) as cluster,
        Client(cluster) as client,
    ):
        try:
            with replaced(cluster):
                client.register_plugin(Modest(NICE))
                yield client
        except BaseException:
            cluster.sync(_end, list(cluster.workers.values()))
            raise


async def _end(nannies: list[Nanny]) -> None:
    """Ends workers whatever they are at. (Closing the cluster gives each four seconds, and a unit may take longer.)"""
    await asyncio.gather(*(each.close(timeout=_PATIENCE) for each in nannies), return_exceptions=True)


@contextmanager
def _started(workers: int, memory: float, security: Security | None, loop: Any) -> Iterator[LocalCluster]:
    with put_off() as interrupts:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            memory_limit=int(memory),
            silence_logs=logging.CRITICAL,
            security=security,
            loop=loop,
            env=environment(),  # as it is now: they are forked from a process that may be older
        )
    with cluster:
        for interrupt in interrupts:
            raise interrupt
        yield cluster
