"""`ckrr paper` on stores that are there: what it compares, says and counts. The stores have made-up numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.backends.base import open_backend
from harness.cli import main
from harness.cube.refresh import refresh
from harness.paper.printed import PrintedNumber, read_printed, read_rows
from harness.paper.reproduced import ComparedNumber
from harness.store import arrays
from harness.store.manifest_io import load_manifest
from tests.harness.paper.printed import fill


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper")
    fill(folder, "gp2")
    fill(folder, "f2")
    return folder


def paper(*arguments: Any) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["paper", *map(str, arguments)])
    return done.exit_code, done.output


def test_all_tables_are_shown_and_counted(stores: Path) -> None:
    code, text = paper("--results", stores)
    assert code == 0, text
    lines = text.splitlines()
    assert lines[-1] == "reproduced 256 of 256 printed numbers to the digit"
    assert sum(line.startswith("table ") for line in lines) == 4
    cells = re.findall(r"\d\.\d{3} +\d+\.\d [=≠]", text)
    assert len(cells) == 256
    assert all(cell.endswith("=") for cell in cells)
    assert "≠" not in text
    assert "all 200 searches stopped where those with SciPy 1.17.1 did" in text
    assert "preparation (the paths of gp2) 2 min 0 s" in text
    assert "paper-f2: complete, nothing to do" in text


@pytest.mark.parametrize(("table", "count"), [(1, 64), (2, 64), (3, 64), (4, 64)])
def test_one_table(stores: Path, table: int, count: int) -> None:
    code, text = paper("--results", stores, "--table", table)
    assert code == 0
    assert text.splitlines()[-1] == f"reproduced {count} of {count} printed numbers to the digit"
    assert f"\ntable {table}: " in text
    assert text.count("\ntable ") == 1


def test_quick_takes_its_numbers_from_a_whole_store(stores: Path) -> None:
    code, text = paper("--results", stores, "--quick")
    assert code == 0
    assert text.splitlines()[-1] == "reproduced 64 of 64 printed numbers to the digit"
    assert "ML" not in text
    code, text = paper("--results", stores, "--quick", "--table", 1)
    assert (code, text) == (2, "error: --quick has only numbers of tables 3 and 4: leave --quick out\n")


def test_what_differs_is_marked_and_explained(tmp_path: Path) -> None:
    fill(tmp_path, "f2")
    url = str(tmp_path / "paper-f2.zarr")
    record = load_manifest(open_backend(url))
    assert record is not None
    # One θ̂ is another, and so is GPR-f at α = 0.01, γ = λ = 1e-6 for θ = 10 (printed 2.3) and ML.
    hat = arrays.open_array(url, "replications/n=1500/theta_hat", record.generation)
    hat[7, 0, 0, 3, 0] = 1234.5
    coverage = arrays.open_array(url, "replications/n=1500/coverage", record.generation)
    for theta, error in ((0, 0.0236), (3, 0.5)):
        coverage[:, :, 0, 0, theta, 0, 0] = 1 - error
    refresh(url, record, [1500])
    code, text = paper("--results", tmp_path, "--table", 4)
    assert code == 0
    assert "2.360   2.3 ≠" in text
    assert "\n≠ table 4: GPR-f, γ = 1e-06, λ = 1e-06, θ = 10, α = 0.01: 2.3600 for 2.3, 7 of its 65025 hits" in text
    assert "θ̂ isn't the recorded one in 1 of its 25 replications" in text
    assert "θ̂: 1 of 100 searches stopped elsewhere than those with SciPy 1.17.1" in text
    assert "replication 7: 1234.5 for " in text
    assert text.splitlines()[-1] == "reproduced 62 of 64 printed numbers to the digit"
    code, text = paper("--results", tmp_path, "--table", 4, "--json")
    facts = json.loads(text.splitlines()[-1])
    assert facts["reproduced"] == 62
    assert [one["replication"] for one in facts["searches_elsewhere"]] == [7]
    assert [one["theta"] for one in facts["numbers"] if not one["equal"]] == ["10", "ml-cobyla"]


def number(ours: float, text: str) -> ComparedNumber:
    return ComparedNumber(
        PrintedNumber(4, "f2", "GPR-f", "error_rate_pct", 1500, 0.1, 0.1, "10", 0.1, text), ours, 25, 65025
    )


def test_rounding_is_to_the_printed_decimals() -> None:
    assert number(0.9489, "0.9").equal
    assert not number(0.9511, "0.9").equal
    assert number(float("nan"), "0.9").equal is False
    assert number(2.54786, "2.6").points_off == 2
    assert number(2.54786 + 100 * 2 / 65025, "2.6").equal
    assert number(3.0, "3.0").equal


def test_no_mean_of_hits_is_half_way() -> None:
    """Else it would matter how ties are rounded."""
    halves = {100 * k * 20 for k in range(65026)} & {65025 * odd for odd in range(1, 2000, 2)}
    assert halves == set()


def test_the_data_are_whole() -> None:
    keys = [(one.table, one.procedure, one.gamma, one.lam, one.theta, one.alpha) for one in read_printed()]
    assert len(set(keys)) == len(keys) == 256
    assert {one.text for one in read_printed() if one.decimals != 1} == set()
    found = [
        (row["study"], row["gamma"], row["lam"], row["n"], row["replication"]) for row in read_rows("theta_ml.csv")
    ]
    assert len(set(found)) == len(found) == 200
    assert all(1 <= float(row["theta"]) <= 1e4 * 10**2e-4 for row in read_rows("theta_ml.csv")), (
        "bounds, to the tolerance"
    )
