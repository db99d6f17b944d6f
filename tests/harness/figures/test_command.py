"""`ckrr figure`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import main
from tests.harness.studies import ROOT, run_serially


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("command") / "toy.zarr"
    run_serially(where, grid__theta=[1], replications={"paths": 2})
    return str(where)


def test_without_a_name_it_draws_coverage(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["figure", store])
    assert (done.exit_code, done.output) == (0, "wrote coverage.png\n")
    assert [each.name for each in tmp_path.iterdir()] == ["coverage.png"]


def test_a_slice_as_svg(store: str, tmp_path: Path) -> None:
    path = tmp_path / "w.svg"
    done = CliRunner().invoke(
        main, ["figure", store, "width", "--where", "lam=0.1", "--where", "n=10", "-o", str(path)]
    )
    assert (done.exit_code, done.output) == (0, f"wrote {path}\n")
    assert "λ = 0.1, n = 10, α = 0.1" in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["covrage"], "error: there is no figure 'covrage'"),
        (["width", "-o", "w.gif"], "error: w.gif: a figure's file must end in .png, .svg or .pdf, got .gif"),
        (["width", "--where", "thet=1"], "error: there is no axis 'thet'"),
        (["width", "--where", "theta=7"], "error: theta=7 isn't in the store"),
        (["pointwise"], "error: pointwise needs hits at every test point"),
        (["pit"], "error: pit needs PIT histograms: run a scenario with keep"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], expected: str, store: str) -> None:
    done = CliRunner().invoke(main, ["figure", store, *arguments])
    assert done.exit_code == 2
    assert done.output.startswith(expected)
    assert len(done.output.splitlines()) == 1


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = "import sys, harness.cli, harness.figures; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
