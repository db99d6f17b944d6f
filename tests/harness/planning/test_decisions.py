"""What a plan says its paths can decide, in the plan's text and values."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckrr import study
from harness.display.parts import format_text
from harness.families.krr import FAMILY
from harness.planning.decision_text import list_decisions
from harness.statistics.sample_size import Design, assume_correlation, compute_decided_distance, compute_expected_error


def plan(where: Path, *settings: str) -> dict[str, Any]:
    found: dict[str, Any] = study.plan("quickstart", where / "none.zarr", 1, settings)["decisions"]
    return found


def test_a_row_has_the_worst_of_its_cells(tmp_path: Path) -> None:
    found = plan(tmp_path)
    assert (found["paths"], found["cells"]) == (500, 336)
    row = found["alphas"][2]
    design = Design(500, 1, np.inf, 336)
    each = []
    for name, n in product(("GPR-f", "GPR-p", "RRCM", "RRCM-loo", "CRR", "CRR-loo"), (25, 50, 100, 200)):
        target = np.array(FAMILY.level(name, n, 0.1) or 0.9)
        correlation = assume_correlation(np.array(n))
        distances = compute_decided_distance(target - 0.02, correlation, design)
        each.append((compute_expected_error(target, correlation, design), *distances))
    worst = np.array(each, dtype=float).max(axis=0)
    assert [row["alpha"], row["se"], row["above"], row["below"]] == pytest.approx([0.1, *worst], rel=0.005)
    assert row["paths_at_level"] < 500
    assert found["alphas"][0]["paths_at_level"] > 500


def test_cells_that_are_the_whole_line_are_named(tmp_path: Path) -> None:
    found = plan(tmp_path, "grid.alpha=[0.001, 0.1]", "grid.n=[25, 1500]", 'grid.procedure=["GPR-f", "RRCM"]')
    assert found["whole_line"] == [{"alpha": 0.001, "n": 25, "procedures": ["RRCM"]}]
    assert FAMILY.level("RRCM", 25, 0.001) == 1
    text = format_text(list_decisions(found))
    assert text.endswith("(choose a larger α or n):\n  α = 0.001, n = 25: RRCM")
    without = plan(tmp_path, "grid.alpha=[0.1]", "grid.n=[25]", 'grid.procedure=["GPR-f", "RRCM"]')
    assert without["whole_line"] == []
    assert "whole line" not in format_text(list_decisions(without))


def test_cells_that_are_left_out_are_not_predicted(tmp_path: Path) -> None:
    rule = 'exclude=[{procedure = ["RRCM", "CRR", "RRCM-loo", "CRR-loo"], n = [25, 50, 100]}]'
    found = plan(tmp_path, rule)
    assert found["cells"] < 384
    assert found["whole_line"] == []


def test_the_text_has_a_row_for_each_of_a_few_alphas(tmp_path: Path) -> None:
    lines = format_text(list_decisions(plan(tmp_path))).splitlines()
    assert lines[0].startswith("what 500 paths can decide in 336 cells, if test points of a path have a correlation")
    assert [line.split()[0] for line in lines[2:6]] == ["0.01", "0.05", "0.1", "0.25"]
    assert "0.0026" in lines[4]
    assert "0.014 from the border" in lines[4]
    assert lines[4].endswith("shown valid (0.02 above the border)")
    assert " paths (0.002 above the border)" in lines[2]


def test_many_alphas_are_a_range(tmp_path: Path) -> None:
    some = plan(tmp_path, f"grid.alpha={[round(0.05 * k, 2) for k in range(1, 11)]}")
    assert len(some["alphas"]) == 10
    lines = format_text(list_decisions(some)).splitlines()
    assert "the smallest and the largest of 10 α" in lines[0]
    assert [line.split()[0] for line in lines[2:4]] == ["0.05", "0.5"]


def test_one_path_decides_nothing(tmp_path: Path) -> None:
    found = plan(tmp_path, "replications.paths=1", "grid.n=[200]")
    assert {one["se"] for one in found["alphas"]} == {None}
    assert list_decisions(found)[0] == "1 path: no standard errors and no verdicts; ask for two paths or more"


def test_few_paths_say_that_they_are_few(tmp_path: Path) -> None:
    found = plan(tmp_path, "replications.paths=20", "grid.alpha=[0.001, 0.01, 0.25]", "grid.n=[200]")
    text = format_text(list_decisions(found))
    assert "too few paths to say" in text
    assert "from the border" in text
