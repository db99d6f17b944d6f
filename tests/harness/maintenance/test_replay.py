"""A replication is computed again, with the same bits."""

from __future__ import annotations

from pathlib import Path

from harness.maintenance.replay import CellSelection, replay_one
from tests.harness.studies import run_serially


def test_a_replay_is_equal_bit_for_bit(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    run_serially(where, keep=["pointwise"])
    for path, draw in ((0, 0), (6, 2)):
        found = replay_one(str(where), CellSelection(20, path, draw))
        assert found.equal
        assert found.cells == 12
    one = replay_one(str(where), CellSelection(10, 1, 1, gamma=0.25, theta="best", lam=1.0))
    assert one.equal
    assert one.cells == 1
