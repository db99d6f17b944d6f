"""Exports that can't be made say why in one line, and leave every file as it was."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import harness
from harness.cli import main
from harness.core.errors import UserError
from harness.interchange import windows
from harness.store.arrays import open_array
from harness.store.layout import get_group_name
from tests.harness.studies import run, run_serially
from tests.house import ROOT

ENDINGS = [".nc", ".parquet", ".csv"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("refusals") / "toy.zarr"
    run(where)
    return str(where)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def export(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["export", *words])
    return done.exit_code, done.stdout, done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["out.txt"], "out.txt must end in .nc (NetCDF), .parquet or .csv, got .txt"),
        (["out"], "out must end in .nc (NetCDF), .parquet or .csv, got no ending"),
        (["no/out.csv"], "no is not a directory: export takes a file in an existing directory"),
        (["."], ". must end in .nc (NetCDF), .parquet or .csv, got no ending"),
        (["s3://bucket/out.csv"], "s3://bucket/out.csv: export writes files on this machine: name a path without a"),
        (["there.csv"], "there.csv exists: choose another name, or replace it with --overwrite"),
        (["half.csv"], "half.csv-metadata.json exists: choose another name, or replace it with --overwrite"),
        (["folder.csv", "--overwrite"], "folder.csv is a directory: export takes the name of a file"),
        (["odd.csv", "--overwrite"], "odd.csv-metadata.json exists and is not a regular file: choose another name"),
        (["out.csv", "--where", "n=11"], "n=11 isn't in the store: it has 10, 20"),
        (["out.csv", "--where", "m=11"], "there is no axis 'm': it must be one of procedure, gamma"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, store: str, folder: Path) -> None:
    (folder / "there.csv").write_text("mine")
    (folder / "half.csv-metadata.json").write_text("mine, too")
    (folder / "folder.csv").mkdir()
    (folder / "odd.csv-metadata.json").mkdir()
    before = contents(folder)
    code, out, err = export(store, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {message}"), err
    assert contents(folder) == before


def test_no_store_no_file(folder: Path) -> None:
    code, _, err = export("nowhere.zarr", "out.csv")
    assert code == 2
    assert "there is neither a store nor a scenario here" in err
    assert contents(folder) == {}


def test_nothing_is_written_into_a_store(store: str) -> None:
    with pytest.raises(UserError, match=r"is inside the store .*: choose a file outside of it"):
        harness.export(store, f"{store}/receipts/out.csv")


@pytest.mark.parametrize(("name", "package"), [("out.nc", "h5netcdf"), ("out.nc", "h5py"), ("out.parquet", "pyarrow")])
def test_a_missing_package_is_named(
    name: str, package: str, store: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = export(store, name)
    assert (code, err.count("\n")) == (2, 1)
    assert f"files need {package}: pip install 'ckrr[export]'" in err
    assert contents(folder) == {}


def test_csv_needs_no_further_package(store: str, folder: Path) -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pyarrow', 'h5py', 'h5netcdf'])); "
        "from harness.cli import main; main(sys.argv[1:])"
    )
    words = [sys.executable, "-c", code, "export", store, "out.csv", "--replications"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(contents(folder)) == {"out.csv", "out.csv-metadata.json"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_overwrite_replaces_what_is_there(ending: str, store: str, folder: Path) -> None:
    for name in (f"out{ending}", "out.csv-metadata.json"):
        (folder / name).write_text("old")
    code, out, err = export(store, f"out{ending}", "--overwrite")
    assert (code, err) == (0, "")
    assert out.startswith(f"wrote out{ending} (")
    assert b"old" not in contents(folder)[f"out{ending}"][:4]
    assert (contents(folder)["out.csv-metadata.json"] == b"old") == (ending != ".csv")


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_interrupted_export_leaves_no_file(
    ending: str, store: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a new one nor a part of one, and an old one stays."""
    read, counts = windows.read_window, []

    def interrupt(*arguments: Any) -> Any:
        counts.append(1)
        if len(counts) > 20:
            raise KeyboardInterrupt
        return read(*arguments)

    monkeypatch.setattr(windows, "WINDOW_BYTES", 1)
    for module in ("tables", "netcdf_file"):
        monkeypatch.setattr(f"harness.interchange.{module}.read_window", interrupt)
    for before in ({}, {f"out{ending}": b"old"}):
        for name, data in before.items():
            (folder / name).write_bytes(data)
        counts.clear()
        with pytest.raises(KeyboardInterrupt):
            harness.export(store, f"out{ending}", replications=True, overwrite=True)
        assert contents(folder) == before


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_cannot_be_written_is_told(ending: str, store: str, folder: Path) -> None:
    """By a limit on the size of files, which writes meet as they meet a full disk."""
    largest = harness.export(store, f"whole{ending}", replications=True).stat().st_size * 9 // 10
    before = contents(folder)
    words = [sys.executable, "-m", "harness.cli", "export", store, f"out{ending}", "--replications"]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(f"error: out{ending} can't be written: ")
    assert done.stderr.endswith("File too large\n")
    assert contents(folder) == before


def test_a_formula_is_no_name_in_a_spreadsheet(folder: Path) -> None:
    """A store may come from a stranger, and spreadsheets run what begins with an equals sign."""
    from harness.interchange.columns import Column
    from harness.interchange.csv_file import write_csv
    from harness.interchange.tables import Table

    for word in ("=1+1", "@SUM(A1)", "+1", "-1"):
        with pytest.raises(UserError, match="begins like a formula, which spreadsheets would run"):
            write_csv(Table([Column("procedure", "int32", words=("exact", word))], [], iter([])), folder / "out.csv")
    assert contents(folder) == {}


def test_codes_without_a_meaning_are_damage(folder: Path) -> None:
    run_serially(folder / "toy.zarr", grid__n=[10])
    open_array(str(folder / "toy.zarr"), f"{get_group_name(10)}/status", 0)[0] = 77
    code, _, err = export("toy.zarr", "out.csv", "--replications")
    assert (code, err.count("\n")) == (2, 1)
    assert "status has the code 77, which isn't one of 0 ok, 1 excluded" in err
    assert "--verify` finds the damage" in err
    assert contents(folder) == {}


def test_notes_say_what_the_file_lacks(folder: Path) -> None:
    run_serially(folder / "toy.zarr", grid__n=[10], keep=["pointwise"])
    next((folder / "toy.zarr/replications/n=10/coverage").glob("c.0.*")).unlink()
    code, _, err = export("toy.zarr", "out.csv", "--replications")
    assert code == 0
    assert "note: the last run hasn't ended" in err
    assert "replications are damaged, since chunks of them are missing" in err
    assert "note: hit and point_width have a value at each test point" in err
    code, _, err = export("toy.zarr", "out.nc", "--replications")
    assert "hit and point_width" not in err
