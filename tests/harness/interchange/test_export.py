"""What is exported is what the store has, value by value, with its units, words and descriptions."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import harness
from harness.backends.base import open_backend
from harness.core.schema.cube import CUBE, VERDICT_FLAGS
from harness.core.schema.measures import DIFFERENCES, MEASURES
from harness.interchange import windows
from harness.interchange.study import open_study
from harness.interchange.tables import make_table
from harness.store.manifest import cache_key
from harness.store.rounds import count_shown_paths
from harness.worker.task import run_unit
from tests.harness.interchange.frames import (
    AXES,
    WORDS,
    assert_same_rows,
    make_cube_frame,
    make_replication_frame,
    make_store,
    read_csv,
)
from tests.harness.rounds import Driver
from tests.harness.studies import prepared

COVERAGE = MEASURES[0].description
NETCDF: Any = "h5netcdf"
ROWS = [*AXES, "path", "draw"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_store(tmp_path_factory.mktemp("export") / "toy.zarr")


@pytest.fixture(params=[".parquet", ".csv"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == ".parquet":
        pytest.importorskip("pyarrow")
    return tmp_path / f"out{request.param}"


def read(path: Path) -> pd.DataFrame:
    return read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def test_the_cube_as_a_table(store: str, table: Path) -> None:
    assert harness.export(store, table) == table
    assert_same_rows(read(table), make_cube_frame(store), AXES)


def test_replications_as_a_table(store: str, table: Path) -> None:
    harness.export(store, table, replications=True)
    found = read(table)
    assert_same_rows(found, make_replication_frame(store), ROWS)
    assert set(found["status"]) == {"ok", "singular"}
    assert found.sort_values(["n", "path", "draw"], kind="stable").index.is_monotonic_increasing


def test_rows_are_as_many_as_the_cube_counts(store: str, table: Path) -> None:
    harness.export(store, table, replications=True)
    found = read(table).query("status == 'ok'").astype({"procedure": str, "theta": str})
    counts = xr.open_zarr(store).replication_count.to_series()
    for alpha, at in ((0.1, [10, 20]), (0.05, [10])):  # at n = 20 the cube doesn't count what lacks the new α
        cells = f"alpha == {alpha} and n in {at}"
        expected = counts[counts > 0].to_frame("count").query(cells)["count"]
        assert found.query(cells).groupby(AXES).size().to_dict() == expected.to_dict() != {}


def equal(one: xr.Variable, other: xr.Variable) -> bool:
    return one.dims == other.dims and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def test_the_cube_in_netcdf(store: str, tmp_path: Path) -> None:
    pytest.importorskip("h5netcdf")
    harness.export(store, tmp_path / "out.nc")
    whole = xr.open_zarr(store)
    with xr.open_dataset(tmp_path / "out.nc", engine=NETCDF) as found:
        assert set(whole.variables) <= set(found.variables)
        assert list(found.theta.values) == ["1", "13", "best"]
        assert list(found.n.values) == [10, 20]
        expected = whole.sel({axis: found[axis].values for axis in AXES})
        for name, one in expected.variables.items():
            assert equal(found[name].variable, one), name
            assert found[name].dtype.kind == one.dtype.kind or one.dtype.kind == "O"
            assert found[name].attrs["long_name"] == one.attrs["long_name"]
            assert found[name].attrs["description"] == one.attrs["description"]
            assert found[name].attrs.get("units") == one.attrs.get("units")
        assert {one.name for one in CUBE} - {*DIFFERENCES, *(f"{name}_se" for name in DIFFERENCES)} == set(
            found.data_vars
        )


def test_codes_are_flags_of_the_type_of_their_variable(store: str, tmp_path: Path) -> None:
    """As the CF conventions require."""
    pytest.importorskip("h5netcdf")
    harness.export(store, tmp_path / "out.nc", replications=True)
    with xr.open_datatree(tmp_path / "out.nc", engine=NETCDF) as tree:
        for one, words in ((tree["verdict"], VERDICT_FLAGS), (tree["replications/n=20/status"], WORDS)):
            attributes = one.attrs
            assert attributes["flag_values"].dtype == one.dtype == np.uint8
            pairs = zip(attributes["flag_values"].tolist(), attributes["flag_meanings"].split(), strict=True)
            known = {code: word for word, code in words.items()} if words is VERDICT_FLAGS else words
            assert dict(pairs) == known


def test_replications_in_netcdf(store: str, tmp_path: Path) -> None:
    pytest.importorskip("h5netcdf")
    harness.export(store, tmp_path / "out.nc", replications=True)
    with xr.open_datatree(tmp_path / "out.nc", engine=NETCDF) as tree:
        for n in (10, 20):
            found = tree[f"replications/n={n}"].to_dataset()
            runs = xr.open_zarr(store, group=f"replications/n={n}").isel(path=slice(found.sizes["path"]))
            runs = runs.sel({axis: found[axis].values for axis in AXES if axis != "n"})
            for name, one in runs.data_vars.items():
                assert equal(found[name].variable, one.variable), name
                for key in ("long_name", "units", "description"):
                    assert found[name].attrs[key] == one.attrs[key]
            assert found.path.values.tolist() == list(range(found.sizes["path"]))
        assert (tree["replications/n=10/status"] == 255).any()
        assert (tree["replications/n=20/status"] == 1).any()


def test_the_study_is_described_inside(store: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow.parquet")
    for name in ("out.nc", "out.csv", "out.parquet"):
        harness.export(store, tmp_path / name)
    with xr.open_dataset(tmp_path / "out.nc", engine=NETCDF) as found:
        about = dict(found.attrs)
    assert about["title"] == "toy"
    assert about["description"].startswith('a jump with "quotes", é and\\x07 a bell. Coverage and width of prediction')
    for words in ("tests.harness.toy:KnownToy", "7 independent realisations", "3 training samples", "10 test points"):
        assert words in about["description"]
    scenario = tomllib.loads(about["scenario"])
    assert scenario["grid"]["alpha"] == [0.1, 0.05]
    assert scenario["seed"] == 5
    schema = pa.read_schema(tmp_path / "out.parquet")
    texts = {key.decode(): text.decode() for key, text in schema.metadata.items() if key != b"ARROW:schema"}
    assert texts == {key: str(value) for key, value in about.items()}
    beside = json.loads((tmp_path / "out.csv-metadata.json").read_text())
    assert (beside["dc:description"], beside["dc:source"]) == (about["description"], about["scenario"])


def test_parquet_has_units_and_words(store: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow.parquet")
    harness.export(store, tmp_path / "out.parquet", replications=True)
    schema = pa.read_schema(tmp_path / "out.parquet")
    assert schema.field("width_q50").metadata[b"units"] == b"units of y"
    assert schema.field("coverage").metadata[b"description"] == COVERAGE.encode()
    assert str(schema.field("width_q50").type) == "float"
    for name in ("procedure", "theta", "status"):
        assert str(schema.field(name).type) == "dictionary<values=string, indices=int32, ordered=0>"


def parse(kind: Any, text: str) -> object:
    """A cell, as the standard reads it."""
    if kind == "long":
        return int(text)
    if kind in ("double", "float"):
        return {"NaN": np.nan, "INF": np.inf, "-INF": -np.inf}[text] if text[-1].isalpha() else float(text)
    values = kind["format"].replace("\\", "").split("|")
    assert text in values
    return text == values[0] if kind["base"] == "boolean" else text


@pytest.mark.parametrize("replications", [False, True])
def test_metadata_of_csv_describe_every_column(replications: bool, store: str, tmp_path: Path) -> None:
    """As CSV on the Web has it: https://www.w3.org/TR/tabular-metadata/."""
    harness.export(store, tmp_path / "out.csv", replications)
    beside = json.loads((tmp_path / "out.csv-metadata.json").read_text())
    assert beside["@context"] == ["http://www.w3.org/ns/csvw", {"@language": "en"}]
    assert beside["url"] == "out.csv"
    columns = beside["tableSchema"]["columns"]
    raw = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    assert list(raw.columns) == [one["name"] for one in columns]
    for one in columns:
        for text in set(raw[one["name"]]):
            parse(one["datatype"], text)
        assert one["dc:description"]
    assert beside["tableSchema"]["primaryKey"] == (ROWS if replications else AXES)
    assert not raw.duplicated(beside["tableSchema"]["primaryKey"]).any()


@pytest.mark.parametrize("size", [1, 20_000])
def test_windows_of_any_size_give_the_same_file(
    size: int, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One replication at a time, or a path and more."""
    pytest.importorskip("h5netcdf")
    for name in ("whole.csv", "whole.nc"):
        harness.export(store, tmp_path / name, replications=True)
    monkeypatch.setattr(windows, "WINDOW_BYTES", size)
    longest = max(len(batch[0]) for batch in make_table(open_study(store, ()), True).batches)
    assert longest <= max(size / 40, 3 * 2 * 3 * 2 * 2)
    for name in ("parts.csv", "parts.nc"):
        harness.export(store, tmp_path / name, replications=True)
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    with (
        xr.open_datatree(tmp_path / "parts.nc", engine=NETCDF) as parts,
        xr.open_datatree(tmp_path / "whole.nc", engine=NETCDF) as whole,
    ):
        assert parts.identical(whole)


def test_selected_cells_alone(store: str, table: Path) -> None:
    where = ["n=20,20,alpha=0.05", "theta=best,1,procedure=wide"]
    for replications, whole in ((False, make_cube_frame(store)), (True, make_replication_frame(store))):
        harness.export(store, table, replications, where, overwrite=True)
        chosen = whole.query("n == 20 and alpha == 0.05 and theta in ('best', '1') and procedure == 'wide'")
        assert_same_rows(read(table), chosen, ROWS if replications else AXES)


def test_paths_that_no_result_is_made_from_stay_out(tmp_path: Path) -> None:
    """Workers compute units in advance, in a study that runs until it is decided."""
    driver = Driver(tmp_path / "toy.zarr", grid__n=[10]).go_on()
    shown = count_shown_paths(open_backend(driver.url), driver.manifest, 10)
    ahead = next(unit for unit in driver.manifest.list_units(10, driver.manifest.extent) if unit.paths.start >= shown)
    run_unit(driver.url, cache_key(driver.manifest), driver.manifest.generation, False, ahead)
    driver.finish()
    harness.export(driver.url, tmp_path / "out.csv", replications=True)
    found = read_csv(tmp_path / "out.csv")
    assert found["path"].max() == shown - 1 < ahead.paths.start < driver.manifest.extent.paths
    assert len(found) == int(xr.open_zarr(driver.url).replication_count.sum())


def test_a_store_without_results(table: Path) -> None:
    from harness.execution.lifecycle import begin_run

    where = table.parent / "toy.zarr"
    begin_run(prepared(where))
    for replications in (False, True):
        harness.export(where, table, replications, overwrite=True)
        assert len(read(table)) == 0
        assert "coverage" in read(table)
    harness.export(where, table.with_suffix(".nc"), replications=True)
