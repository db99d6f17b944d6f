"""Stores and reports that several tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.report.write import write
from tests.harness.report import stores
from tests.harness.report.browser import ARGUMENTS, CHROMIUM


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS.split())
        yield browser
        browser.close()


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
