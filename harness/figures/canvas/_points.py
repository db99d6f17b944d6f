"""Where test points lie, found without running anybody's code but ours."""

from __future__ import annotations

from harness.core.protocols import Gridded
from harness.core.types import Array, Mistake
from harness.scenario.sources import Wrong, unpacked
from harness.store.manifest import Record


def check_kept(record: Record) -> None:
    """Hits at every test point are kept only where the scenario says so, and comparable only on a grid."""
    if "pointwise" not in record.keep:
        raise Mistake('pointwise needs hits at every test point: run a scenario with keep = ["pointwise"]')
    if record.test != "grid":
        raise Mistake(f'pointwise needs test points that stay where they are: test = "grid", got {record.test!r}')


def test_points(record: Record) -> Array | None:
    """The fixed test points of a bundled source; None for any other, whose code isn't run here."""
    table = record.scenario["source"]
    if ":" in str(table["function"]):
        return None
    try:
        source = unpacked(table, {})
    except Wrong:  # its parameters are none of ours, or it reads a file
        return None
    if not isinstance(source, Gridded) or source.test_points != record.test_points:
        return None
    return source.test_grid()
