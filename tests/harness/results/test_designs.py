"""What captions say of verdicts, and the reserves that these need."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import log
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import main
from harness.core.errors import UserError
from harness.results.designs import find_reserve
from harness.results.replications import open_reader
from harness.results.tables import table
from harness.results.validity import verdicts
from tests.harness.report import stores
from tests.harness.studies import run_serially


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> str:
    return stores.grown(tmp_path_factory.mktemp("grown") / "toy.zarr")


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("fixed") / "toy.zarr"
    run_serially(where, source__test_points=200, grid__theta=[1], replications={"paths": 60, "draws": 1})
    return str(where)


def test_captions_say_the_design(grown: str, fixed: str) -> None:
    always, once = "that holds however often somebody looks", "that holds for one look at 60 paths"
    assert f"{always} (anytime design))" in table(grown, ["verdict"]).caption
    assert f"{once}, which were given in advance (fixed design))" in table(fixed, ["verdict"]).caption
    assert f"{always} (anytime design, as requested))" in table(fixed, ["verdict"], design="anytime").caption
    assert "(fixed design, as requested))" in table(grown, ["verdict"], design="fixed").caption
    assert "verdict on expected coverage of y* against" in table(grown, ["verdict"]).caption
    assert "verdict on coverage of y* against" in table(fixed, ["verdict"]).caption
    assert "design" not in table(grown).caption


def test_a_requested_design_changes_words(grown: str) -> None:
    where = {"gamma": [0.25], "alpha": [0.1], "procedure": ["exact"]}
    said = [str(*table(grown, ["verdict"], where=where, design=each).cells.values()) for each in (None, "fixed")]
    assert said == ["borderline", "undecided"]


def test_notes_are_on_the_cells_of_the_table(grown: str) -> None:
    notes = [note.split(" ")[:4] for note in table(grown, ["verdict"]).notes]
    assert notes == [["4", "cells", "were", "added"], ["later", "paths", "contradict", "2"]]
    assert table(grown, ["verdict"], where={"procedure": ["exact"]}).notes == []
    assert table(grown).notes == [], "which has no verdict"


def test_the_command_takes_a_design(grown: str) -> None:
    done = CliRunner().invoke(main, ["table", grown, "--measure", "verdict", "--design", "fixed"])
    assert done.output == f"{table(grown, ['verdict'], design='fixed')}\n"
    done = CliRunner().invoke(main, ["table", grown, "--design", "fixed"])
    said = "error: design 'fixed' is for verdicts, and the measures are coverage_expected: add verdict\n"
    assert (done.exit_code, done.output) == (2, said)
    with pytest.raises(UserError, match="design must be fixed or anytime, got 'often'"):
        table(grown, ["verdict"], design="often")


@pytest.mark.parametrize("design", ["fixed", "anytime"])
def test_the_reserve_is_that_of_a_plain_loop(grown: str, fixed: str, design: str) -> None:
    """Of 12 cells, the 8 first ones share 0.8 of δ, and the 4 that the second growth added a quarter of 0.2."""
    for url in (grown, fixed):
        found = verdicts(url, design=design)
        parts = []
        for at in product(*(found[axis].values.tolist() for axis in found["verdict"].dims)):
            one = found.sel(dict(zip(found["verdict"].dims, at, strict=True)))
            if one["verdict"].item() in ("valid", "conservative"):
                count = found.attrs["cells"]
                first = 0.8 * 0.05 / (8 if url == grown else count)
                each = 0.2 * 0.05 / 2 / 4 if bool(one["added_later"]) else first
                parts.append(log(1 / (0.05 / count if design == "fixed" else each)) / int(one["decided_at"]))
        reserve = find_reserve(open_reader(url).manifest, found)
        assert reserve is not None
        assert reserve.part == pytest.approx(max(parts), rel=1e-12)
        assert reserve.part == pytest.approx(log(1 / reserve.wrong) / reserve.paths, rel=1e-12)


def test_nothing_is_reserved_where_nothing_is_valid(tmp_path: Path) -> None:
    run_serially(tmp_path / "one.zarr", replications__paths=1)
    found = verdicts(str(tmp_path / "one.zarr"))
    assert find_reserve(open_reader(str(tmp_path / "one.zarr")).manifest, found) is None


def test_the_whole_line_needs_no_reserve(tmp_path: Path) -> None:
    changes = {"family": "krr", "grid__procedure": ["RRCM"], "grid__theta": [10], "grid__alpha": [0.01]}
    run_serially(tmp_path / "line.zarr", **changes)
    found = verdicts(str(tmp_path / "line.zarr"))
    assert set(found["verdict"].to_numpy().ravel()) == {"valid"}
    assert find_reserve(open_reader(str(tmp_path / "line.zarr")).manifest, found) is None


def test_betting_needs_no_reserve(grown: str) -> None:
    manifest = open_reader(grown).manifest
    told = {"until": {"verdict": 0.95, "exact": True}, "budget": {"paths": 120}}
    exact = replace(manifest, scenario={**manifest.scenario, "replications": told})
    assert find_reserve(exact, verdicts(grown)) is None
    assert find_reserve(manifest, verdicts(grown)) is not None
    assert find_reserve(exact, verdicts(grown, design="fixed")) is not None, "which isn't judged by betting"
