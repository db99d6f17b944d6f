"""Stores of another numerics version are read, and never extended, merged or replayed as the same bits."""

from __future__ import annotations

import json
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete store, and the same as version 2 would have made it."""
    folder = tmp_path_factory.mktemp("versions")
    (folder / "mine.toml").write_text(SCENARIO.replace("n = [10, 20]", "n = [10]"))
    serially(prepare(load(str(folder / "mine.toml")), str(folder / "new.zarr"), workers=1, speed=1e9))
    (folder / "old.zarr").mkdir()
    for name, data in snapshot(folder / "new.zarr").items():
        (folder / "old.zarr" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "old.zarr" / name).write_bytes(data)
    for name in ("zarr.json", "manifest.json"):
        plain = json.loads((folder / "old.zarr" / name).read_text())
        families = json.loads(plain["attributes"]["families"])
        families["krr"]["version"] = 2
        plain["attributes"]["families"] = json.dumps(families)
        (folder / "old.zarr" / name).write_text(json.dumps(plain))
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
    assert "choose another --store, or install the version of ckrr that made it" in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert snapshot(folder) == before


def test_another_version_of_a_custom_family_is_named() -> None:
    check_version("a.zarr", "mine", FamilyRecord("mine.py:f", ("mine",), version=3), 3)
    with pytest.raises(UserError, match=r"'mine' is version 4 here, and 3 in a\.zarr: install the version that"):
        check_version("a.zarr", "mine", FamilyRecord("mine.py:f", ("mine",), version=3), 4)
