"""A driver as a task on a running scheduler: nobody waits for it, and it doesn't hold a worker's thread."""

from __future__ import annotations

from typing import Any

from harness.execution import dask_executor
from harness.execution.health import get_scheduler_address
from harness.submit.drive import drive


def start(client: Any, url: str, identity: str, name: str) -> dict[str, Any]:
    """Hands it over; who it is."""
    dask_executor.submit_detached(client, drive_aboard, (url, identity), name)
    return {"scheduler": get_scheduler_address(client), "task": name}


def drive_aboard(url: str, identity: str) -> int:
    """On a worker, with the client that a worker has."""
    return drive(url, identity, dask_executor.worker_client())
