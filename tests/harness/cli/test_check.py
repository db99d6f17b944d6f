"""`ckrr check`: exit codes, what it prints, and the file that it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from harness.cli import main
from tests.harness.commands import ckrr
from tests.harness.studies import run_serially
from tests.house import ROOT

PASSING, UNDECIDED, FAILING = "procedure=exact,gamma=1", "procedure=wide,gamma=1", "procedure=split,gamma=1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("check")
    run_serially(
        where / "toy.zarr", source__test_points=200, replications={"paths": 150, "draws": 1}, grid__theta=[1, "best"]
    )
    return where


def run_check(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["check", str(folder / "toy.zarr"), *words])


@pytest.mark.parametrize(
    ("words", "code", "summary"),
    [
        (["--where", PASSING], 0, "passed: 16 cells: 16 valid"),
        (["--where", FAILING, "--allow", "undecided,borderline,no_result"], 1, "failed: 16 cells: 16 invalid"),
        (["--where", UNDECIDED], 4, "undecided: 16 cells: 8 undecided, 8 conservative; more paths would decide"),
        (["--where", UNDECIDED, "--allow", "undecided"], 0, "passed: 16 cells: 8 undecided (allowed), 8 conservative"),
    ],
)
def test_exit_codes_in_a_process(words: list[str], code: int, summary: str, folder: Path) -> None:
    found, out, err = ckrr("check", "toy.zarr", *words, cwd=folder)
    assert (found, err) == (code, "")
    assert out.splitlines()[-1].startswith(summary)


@pytest.mark.parametrize(("where", "code"), [(PASSING, 0), (FAILING, 1), (UNDECIDED, 4)])
def test_the_exit_code_is_the_same_if_nobody_reads_the_output(where: str, code: int, folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "harness.cli", "check", str(folder / "toy.zarr"), "--where", where]
    with open(writer, "wb") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (code, b"")


def test_a_line_can_be_selected_with_where(folder: Path) -> None:
    """What stands in a line selects the cell."""
    (line, *_) = run_check(folder, "--where", FAILING).output.splitlines()
    verdict, cell, rest = line.split(": ", 2)
    assert verdict == "invalid"
    assert "(the level less 0.01)" in rest
    again = run_check(folder, "--where", cell).output.splitlines()
    assert again == [line, "failed: 1 cell: 1 invalid"]


def test_json_has_plain_values(folder: Path) -> None:
    done = run_check(folder, "--json", "--where", "gamma=1,alpha=0.05,theta=1,n=10,lam=1")
    assert done.exit_code == 1
    plain = json.loads(done.output)
    assert plain["result"] == "failed"
    assert plain["cells"] == 4 == sum(plain["counts"].values())
    cell = next(one for one in plain["offending"] if one["procedure"] == "split")
    assert {key: cell[key] for key in ("gamma", "theta", "lam", "n", "alpha", "verdict", "paths", "target")} == {
        "gamma": 1.0,
        "theta": "1",
        "lam": 1.0,
        "n": 10,
        "alpha": 0.05,
        "verdict": "invalid",
        "paths": 150,
        "target": 0.95,
    }
    assert cell["low"] < cell["value"] < cell["high"] < cell["target"] - cell["tolerance"]
    assert 0 < cell["se"] < 0.01


def test_junit_is_written_and_replaced(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "check.xml"
    for where, tags in ((PASSING, {"system-out"}), (FAILING, {"failure"}), (UNDECIDED, {"skipped", "system-out"})):
        run_check(folder, "--where", where, "--junit", str(target))
        cases = list(ET.parse(target).getroot().iter("testcase"))
        assert len(cases) == 16
        assert {inside.tag for case in cases for inside in case} == tags
    assert [each.name for each in tmp_path.iterdir()] == ["check.xml"], "no draft is left"


def test_a_file_of_others_stays(folder: Path, tmp_path: Path) -> None:
    target, text = tmp_path / "pytest.xml", '<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"/>'
    target.write_text(text)
    done = run_check(folder, "--where", PASSING, "--junit", str(target))
    assert done.exit_code == 2
    assert "exists and was not written by ckrr: choose another name with --junit" in done.output
    assert target.read_text() == text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--allow", "invalid"], "allow=invalid: it must be one of"),
        (["--where", "n=11"], "n=11 isn't in the store"),
        (["--where", "n="], "must be axis=value"),
        (["--junit", "check.txt"], "check.txt must end in .xml"),
        (["--junit", "nowhere/check.xml"], "nowhere is not a directory: --junit takes"),
        (["--junit", ""], "--junit takes"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(words: list[str], message: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = run_check(folder, *words)
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert done.stdout == ""
    assert sorted(folder.rglob("*")) == before
