"""Idioms of xarray work on a plain `open_zarr`, in silence, on the oldest and the newest xarray that we claim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cube.idioms import IDIOMS
from tests.harness.studies import run_serially
from tests.plain import OURS, find_floor, has_package, install_oldest, link_packages, run_alone

RUN = """
import importlib.util, runpy
assert not any(map(importlib.util.find_spec, {ours!r}))
sys.argv = {words!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("store") / "toy.zarr"
    run_serially(where)
    return where


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needed = ["xarray", "zarr", "dask", "matplotlib", "scipy", "h5netcdf", "h5py"]
    return link_packages(tmp_path_factory.mktemp("site"), needed + ["hvplot"] * has_package("hvplot"))


@pytest.fixture(scope="module", params=["newest", "oldest"])
def found(
    request: pytest.FixtureRequest, store: Path, site: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The version of xarray, and the idioms that fail with it."""
    folder = tmp_path_factory.mktemp(request.param)
    oldest = [folder / "oldest"] * (request.param == "oldest")
    why = install_oldest(oldest[0], "xarray") if oldest else None
    if why is not None:
        pytest.skip(why)
    words = [str(Path(__file__).with_name("idioms.py")), str(store), str(folder)]
    words += ["hvplot"] * (not has_package("hvplot"))
    run_alone([*oldest, site], RUN.format(ours=OURS, words=words))
    said: dict[str, Any] = json.loads((folder / "found.json").read_text())
    assert not oldest or said["version"].startswith(find_floor("xarray"))
    return said


@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_work_in_silence(name: str, found: dict[str, Any]) -> None:
    if name == "hvplot" and not has_package("hvplot"):
        pytest.skip("hvplot isn't installed")
    assert name not in found["failed"], found["failed"][name]
