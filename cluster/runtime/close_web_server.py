"""Close the web server of a Dask scheduler or worker: a module for Dask's `preload` settings.

Every scheduler and worker of Dask starts one, without a login, even if no dashboard is requested, and no setting
prevents that. Dask calls `dask_setup` after it has started the server and before the process joins a cluster.
"""

from __future__ import annotations

from typing import Any


def dask_setup(server: Any) -> None:
    """Stop the web server of a scheduler or worker."""
    server.http_server.stop()
