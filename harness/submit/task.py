"""Run a driver as a task on a running scheduler, detached from its client and without blocking a worker's thread."""

from __future__ import annotations

from typing import Any

from harness.execution.on_dask import executor
from harness.execution.on_dask.health import get_scheduler_address
from harness.submit.drive import drive


def start(client: Any, url: str, identity: str, name: str) -> dict[str, Any]:
    """Submit the driver as a task called `name`, and return its handle: the scheduler's address and the task's key."""
    executor.submit_detached(client, drive_aboard, (url, identity), name)
    return {"scheduler": get_scheduler_address(client), "task": name}


def drive_aboard(url: str, identity: str) -> int:
    """Run the driver on a worker, with the client of that worker, and return its exit code."""
    return drive(url, identity, executor.worker_client())
