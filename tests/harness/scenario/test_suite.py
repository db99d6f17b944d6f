"""Suites: each of their scenarios in turn, whatever becomes of the others."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli import main
from harness.core.errors import UserError
from harness.core.packaged import list_scenario_files
from harness.scenario.load import load
from harness.scenario.suite import Selection, expand_suites
from scenarios import DATASETS
from tests.harness.cli.test_light import check_light
from tests.harness.commands import QUICK, TOY

DATA = [name for name in list_scenario_files() if name.startswith("data/") and name != "data/all"]


def invoke(*words: str) -> Result:
    result = CliRunner().invoke(main, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two good scenarios with a bad one between them, one of the good in a folder, and a suite in another folder."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.toml").write_text(TOY.replace('"toy"', '"a"'))
    (tmp_path / "bad.toml").write_text(TOY.replace("seed = 5", "seed = -5"))
    (tmp_path / "deep/b.toml").write_text(TOY.replace('"toy"', '"b"').replace("fails_at = 0.0", "fails_at = 0.5"))
    (tmp_path / "deep/all.toml").write_text('name = "all"\nscenarios = ["../a.toml", "../bad.toml", "b.toml"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_data_set_has_a_scenario_and_is_in_the_suite() -> None:
    assert [name.removeprefix("data/") for name in DATA] == sorted(DATASETS)
    assert expand_suites(["data/all", "quickstart"]) == Selection((*DATA, "quickstart"), True)
    assert expand_suites(["quickstart", "no such", "."]) == Selection(("quickstart", "no such", "."), False)


@pytest.mark.parametrize("name", DATA)
def test_scenarios_of_data(name: str) -> None:
    entry = DATASETS[name.removeprefix("data/")]
    if find_spec(entry.module) is None:
        pytest.skip(f"{name} needs {entry.package}, of ckrr[data]")
    loaded = load(name)
    assert loaded.scenario.name == name.replace("/", "-")
    assert loaded.extent.grid.gamma == (0.0,)
    assert loaded.scenario.family == "baselines"
    assert loaded.scenario.description.endswith(")")
    assert entry.licence.partition(",")[0] in loaded.scenario.description


def test_a_run_goes_on_after_a_bad_scenario(folder: Path) -> None:
    done = invoke("run", "deep/all.toml", *QUICK)
    assert done.exit_code == 2
    assert [line for line in done.stderr.splitlines() if line.startswith("error")] == [
        "error: deep/../bad.toml: seed must be >= 0, got -5"
    ]
    assert {path.name for path in (folder / "results").glob("*.zarr")} == {"a.zarr", "b.zarr"}
    assert done.stdout.splitlines()[-1] == "all of them in one report: ckrr report results/a.zarr results/b.zarr"


def test_the_exit_code_is_the_worst(folder: Path) -> None:
    (folder / "deep/all.toml").write_text('scenarios = ["b.toml", "../a.toml"]\n')
    done = invoke("run", "deep/all.toml", *QUICK, "--json")
    assert done.exit_code == 1  # replications of b fail
    facts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [bool(one["failed"]) for one in facts] == [True, False]


def test_plan_and_status_take_each(folder: Path) -> None:
    planned = invoke("plan", "deep/all.toml", "--json")
    assert planned.exit_code == 2
    assert [json.loads(line)["scenario"] for line in planned.stdout.splitlines()] == ["a", "b"]
    assert not (folder / "results").exists()
    invoke("run", "deep/b.toml", *QUICK)
    status = invoke("status", "deep/all.toml")
    assert status.exit_code == 2
    assert status.stdout.startswith("b in ")
    assert "results/a.zarr: there is no store here; `ckrr run deep/../a.toml` makes one" in status.stderr


def test_status_of_a_suite_starts_light(folder: Path) -> None:
    (folder / "deep/all.toml").write_text('scenarios = ["../a.toml"]\n')
    invoke("run", "a.toml", *QUICK)
    check_light(["status", str(folder / "deep/all.toml")], folder)


def test_several_scenarios_that_are_no_suite_are_all_checked_first(folder: Path) -> None:
    assert invoke("run", "a.toml", "bad.toml", *QUICK).exit_code == 2
    assert not (folder / "results").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('scenarios = "a.toml"', "scenarios must be a list of scenarios, such as .*, got 'a.toml'"),
        ("scenarios = []", "scenarios must be a list of scenarios, .*, got \\[\\]"),
        ("scenarios = [1]", "scenarios must be a list of scenarios, .*, got \\[1\\]"),
        ('scenarios = ["a.toml", "a.toml"]', "scenarios must not have a value twice: 'a.toml'"),
        (f"scenarios = {[str(i) for i in range(257)]}", "scenarios must have at most 256 values, got 257"),
        ('scenarios = ["a.toml"]\nseed = 3', "'seed' is unknown: a suite has only name, description, scenarios"),
        ('scenarios = ["suite.toml"]', r"scenarios\[0\] must be a scenario, got the suite 'suite.toml'"),
        ('scenarios = ["quickstart", "data/all"]', r"scenarios\[1\] must be a scenario, got the suite 'data/all'"),
    ],
)
def test_mistakes_in_a_suite(text: str, expected: str, folder: Path) -> None:
    (folder / "suite.toml").write_text(text)
    with pytest.raises(UserError, match=f"^suite.toml: {expected}$"):
        expand_suites(["suite.toml"])


@pytest.mark.parametrize("words", [["submit"], ["table"], ["report"], ["errors"], ["cancel"]])
def test_commands_that_take_one_scenario_refuse_a_suite(words: list[str], folder: Path) -> None:
    done = invoke(*words, "deep/all.toml")
    text = "deep/all.toml is a suite, which only run, plan and status take: name one of its scenarios here"
    assert (done.exit_code, done.stderr) == (2, f"error: {text}\n")


def test_a_store_is_for_one_scenario(folder: Path) -> None:
    for command in ("run", "plan"):
        done = invoke(command, "deep/all.toml", "--store", "x.zarr")
        assert (done.exit_code, done.stderr.startswith("error: --store takes one scenario")) == (2, True)
