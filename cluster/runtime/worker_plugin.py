"""What workers of ours do besides computing: they let the driver go first, and forget names of tasks that have been."""

from __future__ import annotations

import os
from typing import Any

from dask.utils import key_split
from distributed import WorkerPlugin
from tornado.ioloop import PeriodicCallback

NICE = 5
"""By how much workers of this machine are nicer than their driver, who feeds them, and than others here."""


async def dask_setup(worker: Any) -> None:
    """Make a worker of this machine modest before it joins: a module for Dask's `preload` settings.

    (A plugin that is registered with the scheduler is sent to all workers, which fails if one of them dies meanwhile.)
    """
    await worker.plugin_add(plugin=LowFootprintPlugin(NICE), name=LowFootprintPlugin.name)


class LowFootprintPlugin(WorkerPlugin):
    """Workers that take what is left of their machine, and keep nothing of tasks that have been.

    Dask remembers the names of a hundred thousand tasks, a quarter of a kilobyte each. `every` is seconds between two
    times that a worker forgets them.
    """

    name = "ckrr-modest"

    def __init__(self, nice: int = 0, every: float = 10.0) -> None:
        self._nice, self._every = nice, every

    def setup(self, worker: Any) -> None:
        """Threads that a worker starts later, to compute, are as nice as the one that this runs in."""
        if self._nice and hasattr(os, "nice"):
            os.nice(self._nice)
        self._trim = PeriodicCallback(key_split.cache_clear, 1000 * self._every)
        self._trim.start()

    def teardown(self, worker: Any) -> None:
        """It is over, or another takes its place."""
        self._trim.stop()
