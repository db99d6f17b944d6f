"""Collect results of Dask futures as they complete.

`distributed.as_completed` drops a future whose result cannot be fetched because the connection broke, so the caller
waits forever. `CompletedFutures` fetches the result again. It uses futures and their event loop, nothing else of Dask.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

_RETRY_DELAY = 0.5
"""Seconds before a result that could not be fetched is requested again."""


class CompletedFutures:
    """Return futures in batches once their results, or the exceptions that they raised, are available.

    A result is requested again after a connection error, until the client cancels the future.

    Parameters
    ----------
    loop : tornado.ioloop.IOLoop
        Event loop of the client that owns the futures.
    """

    def __init__(self, loop: Any) -> None:
        self._loop, self._completed = loop, SimpleQueue[tuple[Any, Any]]()

    def add(self, future: Any) -> None:
        """Add a future to wait for."""
        self._loop.add_callback(self._fetch, future)

    def next_batch(self) -> list[tuple[Any, Any]]:
        """Return all futures completed since the last call, with their results or exceptions, without blocking."""
        found = list[tuple[Any, Any]]()
        with suppress(Empty):
            while True:
                found.append(self._completed.get_nowait())
        return found

    async def _fetch(self, future: Any) -> None:
        while True:
            try:
                outcome = await future.result()
            except Exception as error:
                if isinstance(error, OSError) and future.status != "error":  # raised by the connection, not by the task
                    await asyncio.sleep(_RETRY_DELAY)
                    continue
                outcome = error
            self._completed.put((future, outcome))
            return
