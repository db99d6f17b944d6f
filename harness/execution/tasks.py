"""Types of the work that executors do, serially or on Dask."""

from __future__ import annotations

from typing import Any

from harness.core.types import Limits, Preparation, Unit

Result = dict[str, Any]
"""What a task returns: a receipt, as plain values."""
Task = tuple[Unit | Preparation, Limits]
"""A unit or a preparation, and the limits that it is computed with."""


def never_stop() -> bool:
    """Return False: the run isn't asked to stop."""
    return False
