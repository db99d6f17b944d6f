"""Replace ended workers for as long as a cluster is in use, and limit the memory of its scheduler.

Dask's nannies restart workers that die while computing. But a worker that dies while starting ends its nanny, too, and
a lost host ends both: Dask does not replace them.
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
"""Seconds between two checks for ended workers."""
_FORGET = 10.0
"""Seconds between two calls of `trim_scheduler`."""
_CLOSE_TIMEOUT = 5.0
"""Seconds that closing an ended worker may take."""
_SLOW = {"distributed.deploy.lost-worker-timeout": "10 minutes"}
"""Give up a nanny once it has ended, not because its worker takes long to start."""
_ENDED = (Status.closing, Status.closed, Status.failed)


@contextmanager
def run_in_background(cluster: Any, keep: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """Run a coroutine in the cluster's event loop inside the `with` block, and trim its scheduler regularly."""

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
    """Drop what a Dask scheduler keeps of finished tasks: their metadata in spans, and their names.

    This is half a kilobyte per task: a hundred megabytes for two hundred thousand tasks.
    """
    for span in scheduler.extensions["spans"].spans.values():
        if span.metadata is not None:
            span.metadata["collections"].clear()
    key_split.cache_clear()


@contextmanager
def replace_ended_workers(cluster: Any) -> Iterator[None]:
    """Replace every worker of a cluster that ends inside the `with` block."""

    async def keep() -> None:
        while True:
            await asyncio.sleep(_LOOK)
            await _replace(cluster)

    with dask.config.set(_SLOW), run_in_background(cluster, keep):
        yield


async def _wait_for_cluster(cluster: Any) -> None:
    await cluster


async def _replace(cluster: Any) -> None:
    """Remove ended workers from the cluster, which then starts the missing ones."""
    for name, one in list(cluster.workers.items()):
        if one.status in _ENDED:
            cluster.workers.pop(name, None)
            with suppress(Exception):
                await asyncio.wait_for(one.close(), _CLOSE_TIMEOUT)
            one.status = Status.closed  # a late message may have changed it, and closing the cluster asserts it
    if cluster.worker_spec.keys() - cluster.workers.keys():
        with suppress(Exception):  # ended again, or can't start: the next check finds it
            await asyncio.shield(_wait_for_cluster(cluster))  # a cancellation must not leave a worker half started
