"""Stores and reports that several tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.report.write import write
from tests.harness.report import stores


@pytest.fixture(scope="session")
def toy_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return stores.toy(tmp_path_factory.mktemp("toy") / "toy.zarr")


@pytest.fixture(scope="session")
def toy_report(toy_store: str) -> Path:
    return write(toy_store, settings=4)


@pytest.fixture(scope="session")
def krr_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return stores.krr(tmp_path_factory.mktemp("krr") / "krr.zarr")


@pytest.fixture(scope="session")
def krr_report(krr_store: str) -> Path:
    return write(krr_store, settings=0)


@pytest.fixture(scope="session")
def grown_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return stores.grown(tmp_path_factory.mktemp("grown") / "toy.zarr")


@pytest.fixture(scope="session")
def grown_report(grown_store: str) -> Path:
    return write(grown_store, settings=0)
