"""Count what a request needs of a store without looking at every unit."""

from __future__ import annotations

from harness.core.types import Extent
from harness.planning.machine import Machine
from harness.store.requests import make_block_counter
from tests.harness.plans import GRID, planned


def test_a_receipt_of_a_generation_that_the_manifest_lacks_counts_for_nothing() -> None:
    """Such as that of a run that extends the store after its manifest was read."""
    extent = Extent(GRID, 30, 4)
    record, _ = planned(extent, Machine(1e8, 2, 1e12))
    count = make_block_counter(record, 10, extent)
    assert [count(generation) for generation in (0, 1, 2)] == [None, (0, 0), (0, 0)]
