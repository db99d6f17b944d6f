"""The picture of a plan: preparations → units at each n → cube."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from matplotlib.text import Text

from harness.cli import main
from harness.execution.facts import plan_to_dict
from harness.figures.plots.plan import draw
from tests.harness.commands import QUICK, TOY
from tests.harness.studies import prepared, run_serially


def texts(facts: dict[str, object]) -> list[str]:
    return [each.get_text() for each in draw(facts).findobj(Text) if each.get_text()]


def test_it_says_what_is_done_and_left(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    run_serially(where, order=range(3))
    facts = plan_to_dict(prepared(where, replications__paths=20))
    found = texts(facts)
    assert [each for each in found if each.startswith("n = ")] == [
        "n = 10: 3 of 10 units done, 7 left",
        "n = 20: 0 of 10 units done, 10 left",
    ]
    seconds = facts["sizes"][0]["seconds_per_unit"]  # type: ignore[index]
    assert f"a unit: 2 paths × 3 draws, about {seconds:.3g} s" in found
    assert "cube" in found
    left = facts["replications_left"]
    assert {"Plan: toy", f"{left} of 120 replications left: about 2 s on 2 workers"} <= {*found}


def test_preparations_come_first(tmp_path: Path) -> None:
    source = {"function": "tests.harness.toy_prepared:Prepared", "log": str(tmp_path / "log")}
    facts = plan_to_dict(prepared(tmp_path / "toy.zarr", source=source))
    found = texts(facts)
    assert found.index("level-1.0") < found.index("prepare: about 5 s") < found.index("cube")


def test_many_sizes_fit(tmp_path: Path) -> None:
    facts = plan_to_dict(prepared(tmp_path / "toy.zarr", grid__n=list(range(10, 110))))
    found = texts(facts)
    assert len([each for each in found if each.startswith("n = ")]) == 39
    assert "61 more values of n" in found


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_command_draws_and_writes_no_store(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOY)
    done = CliRunner().invoke(main, ["plan", "toy.toml", *QUICK, "--graph", f"plan.{ending}"])
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, f"wrote plan.{ending}")
    assert sorted(each.name for each in tmp_path.iterdir()) == [f"plan.{ending}", "toy.toml"]
    start = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[ending]
    assert (tmp_path / f"plan.{ending}").read_bytes().startswith(start)


def test_json_stays_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOY)
    done = CliRunner().invoke(main, ["plan", "toy.toml", *QUICK, "--json", "--graph", "plan.svg"])
    assert json.loads(done.stdout)["scenario"] == "toy"
    assert "n = 10: 0 of 1 unit done, 1 left" in re.sub(r"<[^>]*>", "", (tmp_path / "plan.svg").read_text())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["toy.toml", "--graph", "plan.gif"], "plan.gif: a figure's file must end in .png, .svg or .pdf, got .gif"),
        (["toy.toml", "toy.toml", "--graph", "plan.svg"], "--graph draws one scenario, got 2: plan each by itself"),
    ],
)
def test_mistakes_are_told_before_the_work(arguments: list[str], expected: str) -> None:
    """The scenario isn't even read."""
    done = CliRunner().invoke(main, ["plan", *arguments])
    assert done.exit_code == 2
    assert done.output.startswith(f"error: {expected}")
    assert len(done.output.splitlines()) == 1
