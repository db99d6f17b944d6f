"""The harvest of a run: futures that are done, with what came of them. It asks futures, and knows no Dask besides."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

_RETRY_DELAY = 0.5
"""Seconds until a result is asked for again that could not be fetched."""


class CompletedFutures:
    """Futures go in, and come out when they are done, with their results or with the exceptions that ended them.

    Dask's own `as_completed` loses a future for good if the connection breaks while its result is fetched: whoever
    waits for it waits for ever. Here it is fetched again, until its client has given it up.
    """

    def __init__(self, loop: Any) -> None:
        self._loop, self._completed = loop, SimpleQueue[tuple[Any, Any]]()

    def add(self, future: Any) -> None:
        """One more to wait for."""
        self._loop.add_callback(self._fetch, future)

    def next_batch(self) -> list[tuple[Any, Any]]:
        """Those that are done by now, and weren't when it was asked before."""
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
                if isinstance(error, OSError) and future.status != "error":  # of the connection, not of the work
                    await asyncio.sleep(_RETRY_DELAY)
                    continue
                outcome = error
            self._completed.put((future, outcome))
            return
