"""Stores of another numerics version are read, and never extended, merged or replayed as the same bits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ckrr as numerics
from harness.cli import main
from harness.core.errors import UserError
from harness.core.families import FamilyRecord, check_version
from harness.execution.prepare import prepare
from harness.scenario.load import load
from tests.harness.maintenance.test_no_harm import SCENARIO, snapshot
from tests.harness.studies import serially

REFUSED = "the family 'krr' is version {} here, and 2 in"


def invoke(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    monkeypatch.chdir(folder)
    return CliRunner().invoke(main, words)


def set_record(store: Path, **changes: object) -> None:
    """Change what a store records of its family."""
    for name in ("zarr.json", "manifest.json"):
        plain = json.loads((store / name).read_text())
        families = json.loads(plain["attributes"]["families"])
        families["krr"].update(changes)
        plain["attributes"]["families"] = json.dumps(families)
        (store / name).write_text(json.dumps(plain))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete store, and the same as version 2 would have made it."""
    folder = tmp_path_factory.mktemp("versions")
    (folder / "mine.toml").write_text(SCENARIO.replace("n = [10, 20]", "n = [10]"))
    serially(prepare(load(str(folder / "mine.toml")), str(folder / "new.zarr"), workers=1, speed=1e9))
    shutil.copytree(folder / "new.zarr", folder / "old.zarr")
    set_record(folder / "old.zarr", version=2)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["table", "{}"],
        ["status", "{}"],
        ["status", "{}", "--verify"],
        ["errors", "{}"],
        ["report", "{}", "-o", "report.html"],
        ["export", "{}", "{}.csv"],
        ["check", "{}"],
    ],
)
def test_every_reading_command_reads_an_older_version(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = invoke(folder, monkeypatch, *(word.format("old.zarr") for word in words))
    assert found.exit_code in (0, 1, 4), found.output
    if words[0] == "table":
        assert found.output.replace("old.zarr", "new.zarr") == invoke(folder, monkeypatch, "table", "new.zarr").output


@pytest.mark.parametrize(
    "words",
    [
        ["run", "mine.toml", "--store", "old.zarr"],
        ["run", "mine.toml", "--store", "old.zarr", "--set", "grid.n=[10, 20]"],
        ["plan", "mine.toml", "--store", "old.zarr"],
        ["submit", "mine.toml", "--store", "old.zarr"],
        ["replay", "old.zarr", "--n", "10", "--path", "0"],
        ["merge", "old.zarr", "new.zarr", "-o", "both.zarr"],
        ["merge", "old.zarr", "-o", "one.zarr"],
    ],
)
def test_what_computes_or_mixes_refuses_in_one_line(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(folder)
    found = invoke(folder, monkeypatch, *words)
    assert found.exit_code == 2, found.output
    assert REFUSED.format(numerics.NUMERICS_VERSION) in found.stderr
    assert "choose another --store, or install the version that made it" in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert snapshot(folder) == before


def test_another_version_of_a_custom_family_is_named() -> None:
    check_version("a.zarr", "mine", FamilyRecord("mine.py:f", ("mine",), version=3), 3)
    with pytest.raises(UserError, match=r"'mine' is version 4 here, and 3 in a\.zarr: install the version that"):
        check_version("a.zarr", "mine", FamilyRecord("mine.py:f", ("mine",), version=3), 4)


def test_stores_of_families_that_are_not_installed_are_merged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging computes nothing, so that it needs neither MAPIE nor its version."""
    for store in ("a.zarr", "b.zarr"):
        shutil.copytree(folder / "new.zarr", folder / store)
        set_record(folder / store, use="cqr", version="1, MAPIE 1.0, scikit-learn 1.6")
    assert invoke(folder, monkeypatch, "merge", "a.zarr", "b.zarr", "-o", "both.zarr").exit_code == 0
    set_record(folder / "b.zarr", use="cqr", version="1, MAPIE 1.1, scikit-learn 1.6")
    assert invoke(folder, monkeypatch, "merge", "a.zarr", "b.zarr", "-o", "other.zarr").exit_code == 2
