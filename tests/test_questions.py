"""Twenty questions to a finished study: plain xarray gives the answers of the page, in an environment without ckrr."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import harness
from harness.execution.progress import SilentProgress
from tests.house import ROOT
from tests.plain import OURS, link_packages, run_alone

PAGE = ROOT / "docs/questions.md"
RUN = """
import doctest, importlib.util
assert not any(map(importlib.util.find_spec, {ours!r}))
flags = doctest.NORMALIZE_WHITESPACE
print(doctest.testfile({page!r}, module_relative=False, optionflags=flags, encoding="utf-8"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("questions")
    harness.run("quickstart", store=where / "results/quickstart.zarr", progress=SilentProgress())
    return where


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needed = ["xarray", "zarr", "dask", "matplotlib", "h5netcdf", "h5py"]
    return link_packages(tmp_path_factory.mktemp("site"), needed)


def test_there_are_twenty_short_answers() -> None:
    text = PAGE.read_text()
    questions = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    assert [int(each.partition(".")[0]) for each in questions] == list(range(1, 21))
    for each in questions:
        (block,) = re.findall(r"```python\n(.*?)```", each.partition("\n## ")[0], flags=re.DOTALL)
        assert 1 <= block.count(">>> ") <= 3, each
        assert "ckrr" not in block


def test_plain_xarray_answers_as_the_page_says(folder: Path, site: Path) -> None:
    out = run_alone([site], RUN.format(ours=OURS, page=str(PAGE)), folder)
    found = re.search(r"TestResults\(failed=(\d+), attempted=(\d+)\)", out)
    assert found is not None, out
    assert int(found[1]) == 0, out
    assert int(found[2]) > 40
