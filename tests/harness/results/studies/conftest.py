"""Stores that several tests compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.results.studies import stores


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Real procedures on simulated data and on a table."""
    folder = tmp_path_factory.mktemp("real")
    return [stores.jump(folder / "jump.zarr"), stores.sine(folder / "sine.zarr")]


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two toys of the same name; the second has two levels, and draws that depend on each other."""
    folder: Path = tmp_path_factory.mktemp("toys")
    second = {"seed": 6, "grid__alpha": [0.05, 0.1], "replications": {"paths": 40, "draws": 2}}
    return [stores.toy(folder / "one.zarr"), stores.toy(folder / "two.zarr", **second)]
