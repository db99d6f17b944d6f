"""The scenario in a report loads again to the same scenario."""

from __future__ import annotations

import tomllib
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from harness.backends.base import open_backend
from harness.core.packaged import find_scenario_folder
from harness.scenario.dump import dump_scenario
from harness.scenario.load import load
from harness.scenario.spec import Scenario
from harness.store.manifest import Manifest
from harness.store.manifest_io import load_manifest as record_of
from harness.store.requests import get_full_scenario
from tests.harness.report.reading import Reader
from tests.harness.studies import run_serially, toy


def again(plain: dict[str, Any]) -> Scenario:
    return Scenario.model_validate(tomllib.loads(dump_scenario(plain)))


@pytest.mark.parametrize("name", sorted(path.stem for path in find_scenario_folder().glob("*.toml")))
def test_packaged_scenarios_come_back(name: str, tmp_path: Path) -> None:
    if name == "peers":
        pytest.importorskip("mapie", reason="the scenario needs ckrr[peers]")
    scenario, path = load(name).scenario, tmp_path / "again.toml"
    path.write_text(dump_scenario(scenario.model_dump(mode="json")))
    assert load(str(path)).scenario == scenario


@given(
    st.text(),
    st.dictionaries(
        st.text(min_size=1),
        st.one_of(st.text(), st.integers(-9, 9), st.booleans(), st.floats(allow_nan=False), st.lists(st.floats(0, 1))),
    ),
)
@example("", {"key\n": ""})
def test_any_text_and_any_parameter_comes_back(text: str, parameters: dict[str, Any]) -> None:
    kept = {key: value for key, value in parameters.items() if value != []}  # an empty list says nothing
    plain = toy(description=text, source={"function": "x", **kept})
    assert again(plain) == Scenario.model_validate(plain)


def test_a_store_that_grew_comes_back_whole(tmp_path: Path) -> None:
    """Its file holds what all runs asked for, rules among it."""
    store = tmp_path / "toy.zarr"
    run_serially(store, grid__n=[10], grid__theta=[1, "best"])
    run_serially(store, grid__n=[20], grid__theta=[2.5], exclude=[{"n": [20], "procedure": ["split"]}])
    record = record_of(open_backend(str(store)))
    assert isinstance(record, Manifest)
    extent = again(get_full_scenario(record)).make_extent()
    assert extent == record.extent
    assert set(extent.grid.n) == {10, 20}


def test_the_link_is_the_file(toy_report: Path, toy_store: str) -> None:
    found = Reader(toy_report.read_text())
    link = next(one["href"] for name, one in found.elements if name == "a" and "download" in one)
    assert link is not None
    text = b64decode(link.partition("base64,")[2]).decode()
    record = record_of(open_backend(toy_store))
    assert isinstance(record, Manifest)
    assert tomllib.loads(text)["description"] == record.scenario["description"]
    assert Scenario.model_validate(tomllib.loads(text)).make_extent() == record.extent
