"""Close the web server of a Dask scheduler or worker: a module for Dask's `preload` settings.

Every scheduler and worker of Dask starts one, without a login, also where no dashboard is asked for, and no setting
prevents that. Dask calls `dask_setup` after it has started the server and before it takes part in a cluster.
"""

from __future__ import annotations

from typing import Any


def dask_setup(server: Any) -> None:
    """Stop listening for web browsers."""
    server.http_server.stop()
