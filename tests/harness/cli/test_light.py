"""Commands that only look at a store start without what computes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.studies import run_serially
from tests.house import ROOT

HEAVY = ["numpy", "scipy", "zarr", "dask", "distributed", "xarray", "pandas", "pydantic", "matplotlib"]
CODE = """
import sys
from harness.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0, end.code
print("loaded:", [name for name in {heavy!r} if name in sys.modules])
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("light") / "toy.zarr"
    run_serially(where)
    return where


@pytest.mark.parametrize("words", [["status"], ["status", "--json"]])
def test_status_needs_nothing_that_computes(words: list[str], store: Path) -> None:
    check_light([words[0], str(store), *words[1:]])


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["list"], ["run", "--help"]])
def test_help_and_lists_need_nothing_that_computes(words: list[str]) -> None:
    check_light(words)


def check_light(words: list[str], cwd: Path = ROOT) -> None:
    code = CODE.format(heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded: []"
