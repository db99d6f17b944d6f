"""Keeping a cluster as it was meant: what has ended for good is started again, as long as the cluster is needed.

Dask's nannies replace workers that die at work. A worker that dies while it starts takes its nanny along, and a host
that goes takes both: nobody would replace them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import dask
from dask.utils import key_split
from distributed.core import Status

_LOOK = 1.0
"""Seconds between two looks."""
_FORGET = 10.0
"""Seconds between two times that a scheduler forgets what has been."""
_CLOSE_TIMEOUT = 5.0
"""Seconds that what has ended may take to be gone."""
_SLOW = {"distributed.deploy.lost-worker-timeout": "10 minutes"}
"""A nanny is given up when it has ended, not when its worker takes long to start."""
_ENDED = (Status.closing, Status.closed, Status.failed)


@contextmanager
def run_in_background(cluster: Any, keep: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """Does something in the cluster's own loop for the while, and sees to it that its scheduler forgets."""

    async def forgets() -> None:
        while True:
            await asyncio.sleep(_FORGET)
            trim_scheduler(cluster.scheduler)

    tasks = cluster.sync(_start_tasks, keep, forgets)
    try:
        yield
    finally:
        cluster.sync(_cancel_tasks, tasks)


async def _start_tasks(*some: Callable[[], Awaitable[None]]) -> list[asyncio.Future[None]]:
    return [asyncio.ensure_future(each()) for each in some]


async def _cancel_tasks(tasks: list[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def trim_scheduler(scheduler: Any) -> None:
    """What Dask keeps of every task there ever was: that it was submitted, as long as others are; and its name.

    Half a kilobyte for each, which isn't much, and a hundred megabytes for two hundred thousand.
    """
    for span in scheduler.extensions["spans"].spans.values():
        if span.metadata is not None:
            span.metadata["collections"].clear()
    key_split.cache_clear()


@contextmanager
def replace_ended_workers(cluster: Any) -> Iterator[None]:
    """For the while, every worker of a cluster that has ended is replaced by a new one."""

    async def keep() -> None:
        while True:
            await asyncio.sleep(_LOOK)
            await _replace(cluster)

    with dask.config.set(_SLOW), run_in_background(cluster, keep):
        yield


async def _wait_for_cluster(cluster: Any) -> None:
    await cluster


async def _replace(cluster: Any) -> None:
    """Forgets those that have ended; the cluster then starts what it lacks."""
    for name, one in list(cluster.workers.items()):
        if one.status in _ENDED:
            cluster.workers.pop(name, None)
            with suppress(Exception):
                await asyncio.wait_for(one.close(), _CLOSE_TIMEOUT)
            one.status = Status.closed  # a worker's last words may have changed it, and the cluster's end insists on it
    if cluster.worker_spec.keys() - cluster.workers.keys():
        with suppress(Exception):  # it ends again, or can't start: the next look sees it
            await asyncio.shield(_wait_for_cluster(cluster))  # whoever ends it meanwhile finds nothing half made
