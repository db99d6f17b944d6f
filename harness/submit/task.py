"""A driver as a task on a running scheduler: nobody waits for it, and it doesn't hold a worker's thread."""

from __future__ import annotations

from typing import Any

from harness import execute
from harness.guard import address
from harness.submit.drive import drive


def start(client: Any, url: str, identity: str, name: str) -> dict[str, Any]:
    """Hands it over; who it is."""
    execute.hand_over(client, drive_aboard, (url, identity), name)
    return {"scheduler": address(client), "task": name}


def drive_aboard(url: str, identity: str) -> int:
    """On a worker, with the client that a worker has."""
    return drive(url, identity, execute.aboard())
