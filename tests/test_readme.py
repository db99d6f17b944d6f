"""The README's examples run as they stand there; its doctests run by themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.loading import load

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def fenced(language: str, containing: str) -> str:
    """The block of code that has a text in it."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)
    (found,) = [block for block in blocks if containing in block]
    return str(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the quickstart was run, with few replications."""
    here = tmp_path_factory.mktemp("readme")
    command = [sys.executable, "-m", "harness.cli", "run", "quickstart", "--set", "replications.paths=4"]
    subprocess.run(command, cwd=here, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
    return here


def test_the_cube_is_sliced_as_it_says(folder: Path) -> None:
    code = fenced("python", "open_datatree")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_its_scenario_is_good(tmp_path: Path) -> None:
    text = fenced("toml", "[replications]")
    (tmp_path / "my.toml").write_text(text)
    loaded = load(str(tmp_path / "my.toml"))
    assert loaded.extent.paths == tomllib.loads(text)["replications"]["paths"]


def test_its_source_of_one_s_own_is_good(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(fenced("python", "def sine"))
    scenario = fenced("toml", "[replications]")
    scenario = re.sub(
        r"\[source\].*?\n\n", '[source]\nfunction = "mine.py:sine"\nfrequency = 3\n\n', scenario, flags=re.DOTALL
    )
    (tmp_path / "my.toml").write_text(scenario)
    assert load(str(tmp_path / "my.toml")).built.source.test_points == 201
