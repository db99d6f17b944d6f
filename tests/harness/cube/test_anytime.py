"""Cells that are added to a store share what is kept for them, whatever else changes in its grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.cube.anytime import allocate_cells, find_generations
from tests.harness.studies import run_serially

SMALL: dict[str, Any] = {
    "grid__gamma": [1.0],
    "grid__theta": [1],
    "grid__lam": [0.1],
    "grid__n": [10],
    "replications": {"paths": 2},
}


@pytest.mark.parametrize("exclude", [[], [{"procedure": ["wide"]}], [{"procedure": ["wide", "split"]}]])
def test_cells_that_replace_others_share_what_is_kept_for_new_ones(exclude: list[Any], tmp_path: Path) -> None:
    """Their number isn't the difference of two sizes: as many cells may be excluded as are added."""
    old = ["exact", "wide", "split"]
    run_serially(tmp_path / "toy.zarr", **SMALL, grid__procedure=old)
    grown = run_serially(tmp_path / "toy.zarr", **SMALL, grid__procedure=[*old, "random"], exclude=exclude)
    found = allocate_cells(grown, 10, 0.05)[:, 0, 0, 0]
    assert found[:3] == pytest.approx(0.8 * 0.05 / 6), "three procedures at two α, excluded or not"
    assert found[3] == pytest.approx(0.1 * 0.05 / 2)


def test_cells_that_were_always_excluded_have_no_share(tmp_path: Path) -> None:
    rule = [{"procedure": ["wide"]}]
    first = run_serially(tmp_path / "toy.zarr", **SMALL, grid__procedure=["exact", "wide"], exclude=rule)
    assert find_generations(first, 10)[:, 0, 0, 0, 0].tolist() == [0, -1]
    assert allocate_cells(first, 10, 0.05)[0] == pytest.approx(0.8 * 0.05 / 2)
    later = run_serially(tmp_path / "toy.zarr", **SMALL, grid__procedure=["exact", "wide"])
    assert find_generations(later, 10)[:, 0, 0, 0, 0].tolist() == [0, 1]
    assert allocate_cells(later, 10, 0.05)[1] == pytest.approx(0.1 * 0.05 / 2)
