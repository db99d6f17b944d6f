"""Lower the priority and memory use of local workers, by a plugin that Dask preloads."""

from __future__ import annotations

import os
from typing import Any

from dask.utils import key_split
from distributed import WorkerPlugin
from tornado.ioloop import PeriodicCallback

from cluster.runtime.children import NICE


async def dask_setup(worker: Any) -> None:
    """Add the plugin to a worker before it joins the cluster; called through Dask's `preload` settings.

    (A plugin that is registered with the scheduler is sent to all workers, which fails if one of them dies meanwhile.)
    """
    await worker.plugin_add(plugin=LowFootprintPlugin(NICE), name=LowFootprintPlugin.name)


class LowFootprintPlugin(WorkerPlugin):
    """Lower the priority of a worker, and clear its cache of task names.

    Dask caches the names of a hundred thousand tasks, a quarter of a kilobyte each.

    Parameters
    ----------
    nice : int
        Increase of the process's niceness.
    every : float
        Seconds between two times that the cache is cleared.
    """

    name = "ckrr-modest"

    def __init__(self, nice: int = 0, every: float = 10.0) -> None:
        self._nice, self._every = nice, every

    def setup(self, worker: Any) -> None:
        """Lower the priority, which threads started later inherit, and start clearing the cache."""
        if self._nice and hasattr(os, "nice"):
            os.nice(self._nice)
        self._trim = PeriodicCallback(key_split.cache_clear, 1000 * self._every)
        self._trim.start()

    def teardown(self, worker: Any) -> None:
        """Stop clearing the cache."""
        self._trim.stop()
