"""A plan of a small study on a made-up machine."""

from __future__ import annotations

from harness.core.types import Extent, Grid
from harness.planning.blocks import choose_blocks
from harness.planning.cost import ReplicationShape
from harness.planning.machine import Machine
from harness.planning.plan import Plan, make_plan
from harness.store.manifest import Manifest
from harness.store.receipts import Receipt
from tests.harness.studies import only
from tests.harness.toy import ToyFamily

GRID = Grid(("exact", "wide"), (1.0, 0.1), (1.0, "best"), (0.1,), (10, 20, 40), (0.1,))
SHAPE = ReplicationShape(test_points=20, keep=())


class Cubic(ToyFamily):
    """Work that grows with n as a factorisation does."""

    def flops(self, n: int, points: int, targets: int, searched: bool) -> float:
        return 1e3 * n**3 * (10 if searched else 1)


FAMILIES = only(Cubic())


def planned(extent: Extent, machine: Machine, receipts: dict[str, Receipt] | None = None) -> tuple[Manifest, Plan]:
    record = Manifest({}, {}, (extent,), choose_blocks(extent, SHAPE, FAMILIES, machine), (), SHAPE.test_points)
    return record, make_plan(record, extent, receipts or {}, SHAPE, FAMILIES, machine)
