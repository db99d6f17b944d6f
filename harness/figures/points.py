"""Where test points lie, found without running anybody's code but ours."""

from __future__ import annotations

import numpy as np

from harness.nouns import Array, Mistake
from harness.record import Record
from harness.wiring import unpacked


def check_kept(record: Record) -> None:
    """Hits at every test point are kept only where the scenario says so, and comparable only on a grid."""
    if "pointwise" not in record.keep:
        raise Mistake('pointwise needs hits at every test point: run a scenario with keep = ["pointwise"]')
    if record.test != "grid":
        raise Mistake(f'pointwise needs test points that stay where they are: test = "grid", got {record.test!r}')


def test_points(record: Record) -> Array | None:
    """The fixed test points of a source that comes along; None for one of the user's, whose code isn't run here."""
    table = record.scenario["source"]
    if ":" in str(table["function"]):
        return None
    path = unpacked(table, {}).path(_streams)
    points = path.draw(_streams, min(record.extent.grid.n), {}).X_test
    return points if len(points) == record.test_points else None


def _streams(name: str) -> np.random.Generator:
    """Any: points on a grid don't depend on chance."""
    return np.random.default_rng(0)
