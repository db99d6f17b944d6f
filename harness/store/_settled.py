"""What the last entry of a store's history says of its cube. Light: nothing is read."""

from __future__ import annotations

from harness.store.manifest import Record

TORN = "torn"
"""In that entry: the frame was found damaged, and the next run writes it anew."""


def settled(record: Record) -> bool:
    """Whether the frame is as it should be: the last run ended in order, and no damage was found since."""
    return ended(record) and not torn(record)


def ended(record: Record) -> bool:
    """Whether the last run ended in order: the cube is as new as the replications."""
    return bool(record.history) and "end" in record.history[-1]


def torn(record: Record) -> bool:
    """Whether damage was found, and no run has begun since."""
    return bool(record.history) and TORN in record.history[-1]
