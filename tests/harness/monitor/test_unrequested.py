"""A store that has more than was last asked for: status, tables, cube and report tell one story."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from harness.cube.reader import open_cube
from harness.execution.lifecycle import begin_run
from harness.monitor.state import status
from harness.monitor.text import format_status
from harness.report.page import render_page
from harness.results.check import check
from harness.results.tables import table
from tests.harness.studies import prepared, run, run_serially

SMALL: dict[str, Any] = {
    "grid__gamma": [1.0],
    "grid__theta": [1, 2.5],
    "grid__lam": [0.1],
    "grid__alpha": [0.1],
    "grid__procedure": ["exact", "wide"],
}
LINE = "the store has more than was last asked for, and results show all of it: "


def fixed(paths: int, draws: int = 2) -> dict[str, Any]:
    return {"replications": {"paths": paths, "draws": draws}}


def until(budget: int) -> dict[str, Any]:
    return {"replications": {"until": {"se": 0.001}, "budget": {"paths": budget}, "draws": 2}}


def compute(where: Path, **changes: Any) -> None:
    """With a driver only where there are rounds: a plain loop is faster."""
    study = run if "until" in changes["replications"] else run_serially
    study(where, **{**SMALL, **changes})


@pytest.mark.parametrize(
    ("first", "last", "more", "words", "paths"),
    [
        (fixed(6), fixed(3, 1), {"paths": 6, "draws": 2}, "6 paths; 2 draws", 6),
        (fixed(4), {**fixed(4), "grid__procedure": ["wide"]}, {"procedure": ["exact"]}, "procedure exact", 4),
        (
            fixed(4),
            {**fixed(5), "grid__n": [10], "grid__theta": [1]},
            {"theta": [2.5], "n": [20]},
            "theta 2.5; n 20",
            5,
        ),
        (until(8), fixed(5), {"paths": 8}, "8 paths", 8),
    ],
)
def test_everything_tells_the_same(
    first: dict[str, Any], last: dict[str, Any], more: dict[str, Any], words: str, paths: int, tmp_path: Path
) -> None:
    where = tmp_path / "toy.zarr"
    for changes in (first, last):
        compute(where, **changes)
    url, line = str(where), LINE + words

    facts = status(url)
    assert facts["also_stored"] == more
    assert facts["complete"] is True
    assert line in format_status(facts).splitlines()

    cube = open_cube(url)
    grid = {axis: cube[axis].values.tolist() for axis in ("procedure", "theta", "n")}
    assert grid == {"procedure": ["exact", "wide"], "theta": ["1", "2.5"], "n": [10, 20]}
    assert int(cube["replication_count"].max()) == 2 * paths
    asked = json.loads(cube.attrs["scenario"])
    assert asked["replications"]["paths"] == last["replications"]["paths"], "the attribute is the last request"

    shown = table(url)
    assert line in shown.notes
    assert {key[shown.rows.index("theta")] for key in shown.row_keys} == set(grid["theta"])
    assert {key[shown.rows.index("procedure")] for key in shown.row_keys} == set(grid["procedure"])
    assert [key[0] for key in shown.column_keys] == ["10", "20"]
    assert line in check(url).notes

    page = unescape(render_page(url, "toy.zarr", settings=0))
    assert f"T{line[1:]}." in page
    assert f"2 procedures × 1 γ × 2 θ × 1 λ × 2 n × 1 α on data from tests.harness.toy:Toy, each with {paths} " in page


def test_nothing_is_said_of_a_store_that_was_asked_for(tmp_path: Path) -> None:
    url = str(tmp_path / "toy.zarr")
    run_serially(Path(url), **{**SMALL, **fixed(3)})
    run_serially(Path(url), **{**SMALL, **fixed(4), "grid__n": [20, 10, 30]})
    facts = status(url)
    assert facts["also_stored"] == {}
    assert "last asked for" not in format_status(facts) + str(table(url)) + render_page(url, "toy.zarr", settings=0)


@pytest.mark.parametrize("first", [fixed(12), until(12)])
def test_what_is_unfinished_beyond_the_request_is_said(first: dict[str, Any], tmp_path: Path) -> None:
    """The n that was dropped was never computed, and results of it are shown as what they are: not complete."""
    url = str(tmp_path / "toy.zarr")
    begin_run(prepared(Path(url), **{**SMALL, **first}))
    compute(Path(url), **{**first, "grid__n": [10]})
    facts = status(url)
    assert facts["also_stored"] == {"n": [20]}
    assert facts["complete"] is True
    share = facts["share_of_everything"]
    assert 0 < share < 1
    assert f"complete as last requested; of everything ever requested, {share:.0%} is done" in format_status(facts)
    assert f"the study isn't complete: {share:.0%} of its units are done" in table(url).notes
    assert f"unfinished: {100 * share:.0f} % of its units are done" in render_page(url, "toy.zarr", settings=0)
