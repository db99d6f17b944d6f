"""What is installed: a wheel with every module and file, and packages that other people's folders can't replace."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house import MODULES, ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds, as pip would unpack it."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    files = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True)
    if files.returncode:
        pytest.skip("the tests don't run in a git checkout")
    for name in files.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), "."]
    done = subprocess.run(pip, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_the_wheel_has_every_module_and_it_imports(installed: Path) -> None:
    names = sorted(name for name in MODULES if not name.endswith(("__main__", "sandbox_main", "preload")))
    code = (
        "import importlib, sys\n"
        f"for name in {names!r}:\n"
        "    module = importlib.import_module(name)\n"
        f"    assert module.__file__.startswith({str(installed)!r}), module.__file__\n"
    )
    done = start(installed, "-c", code)
    assert done.returncode == 0, done.stderr


def test_the_wheel_has_data(installed: Path) -> None:
    done = start(installed, "-m", "harness.cli", "list")
    assert done.returncode == 0, done.stderr
    assert "quickstart" in done.stdout
    assert "paper/gp1" in done.stdout
    for name in (
        "harness/report/explore/explore.css",
        "harness/report/explore/js/main.js",
        "harness/report/explore/vega/LICENCES.txt",
        "harness/report/explore/vega/bundle.json",
        "harness/report/explore/vega/vega.min.js",
        "harness/report/html/page.css",
        "harness/report/html/templates/document.html",
        "harness/paper/page/templates/claims.html",
        "harness/paper/printed.csv",
        "cluster/slurm.toml",
        "ckrr/py.typed",
    ):
        assert (installed / name).is_file()
    assert not (installed / "docs").exists()


@pytest.mark.parametrize("name", ["scenarios", "cluster"])
def test_a_package_of_another_name_is_told(name: str, installed: Path, tmp_path: Path) -> None:
    """A folder of the user's on PYTHONPATH hides ours."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('it ran')\n")
    done = start(tmp_path, "-m", "harness.cli", "list", path=[tmp_path, installed])
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"the package {name!r} that Python finds is not a part of ckrr: {tmp_path / name}" in done.stderr


def test_another_harness_is_told(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness/__init__.py").write_text("")
    done = start(tmp_path, "-c", "from ckrr import study; study.run", path=[tmp_path, installed])
    assert done.returncode == 1
    assert "ImportError: the package 'harness' that Python finds is not a part of ckrr" in done.stderr


def start(folder: Path, *words: str, path: list[Path] | None = None) -> subprocess.CompletedProcess[str]:
    """Python with the wheel's packages first, away from the checkout."""
    places = os.pathsep.join(map(str, path or [folder]))
    environment = {**os.environ, "PYTHONPATH": places}
    return subprocess.run(
        [sys.executable, "-P", *words], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
