"""A source's file that was edited is refused, unless its author vouches for it; 0.1 hashed it otherwise."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.execution import driver, lifecycle, prepare
from harness.execution.progress import SilentProgress
from harness.maintenance.merge import merge_stores
from harness.maintenance.verify import list_damaged_keys, verify
from harness.scenario.load import Loaded, check
from harness.store.manifest import FILES
from harness.store.manifest_io import load_manifest, save_manifest
from tests.harness.studies import replications, toy

SOURCE = """
from tests.harness.toy import Toy, ToyPath


class Failing(ToyPath):
    def draw(self, streams, n, at):
        if FAILS and float(streams("fate").random()) < 0.3:
            raise RuntimeError("not mended")
        sample = super().draw(streams, n, at)
        object.__setattr__(sample, "noise_test", SPREAD * sample.noise_test)
        return sample


class Source(Toy):
    def path(self, streams):
        return Failing(self, 0.0)


def source():
    return Source(test_points=10)
"""


def written(folder: Path, fails: bool, spread: float) -> Loaded:
    (folder / "mine.py").write_text(f"FAILS, SPREAD = {fails}, {spread}\n{SOURCE}")
    return check(toy(source={"function": "mine.py"}, grid__n=[10]), "toy.toml", folder)


def run(loaded: Loaded, store: Path, **options: bool) -> driver.Outcome:
    return driver.run_prepared(prepare.prepare(loaded, str(store), workers=1, **options), SilentProgress())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    assert run(written(tmp_path, True, 1.0), tmp_path / "toy.zarr").failed > 0
    return tmp_path / "toy.zarr"


def test_a_mended_file_is_taken_and_the_old_text_kept(store: Path, tmp_path: Path) -> None:
    old = (tmp_path / "mine.py").read_bytes()
    before = replications(store, 10, "coverage")
    assert run(written(tmp_path, False, 1.0), store, retry=True, accept_changed=True).failed == 0
    after = replications(store, 10, "coverage")
    assert ((before == after) | (before != before)).all()
    there = open_backend(str(store))
    assert {there.get(f"{FILES}/{name}") for name in there.list_names(FILES)} == {
        old,
        (tmp_path / "mine.py").read_bytes(),
    }
    record = load_manifest(there)
    assert record is not None
    assert [entry.get("mended") for entry in record.history] == [None, ["mine.py"]]


def test_an_edited_file_is_refused(store: Path, tmp_path: Path) -> None:
    before = replications(store, 10, "coverage")
    with pytest.raises(UserError, match=r"mine.py was edited since the store was made .* --accept-changed-source"):
        run(written(tmp_path, False, 1.0), store, retry=True)
    assert replications(store, 10, "coverage").tobytes() == before.tobytes()


def as_of_0_1(store: Path) -> None:
    """Let the store have the hash of a syntax tree, as 0.1 wrote it."""
    there = open_backend(str(store))
    record = load_manifest(there)
    assert record is not None
    save_manifest(there, replace(record, fingerprint={**record.fingerprint, "files": {"mine.py": "0" * 64}}))


def test_a_store_of_0_1_goes_on_with_the_same_file(store: Path, tmp_path: Path) -> None:
    as_of_0_1(store)
    loaded = check(toy(source={"function": "mine.py"}, grid__n=[10], replications__paths=9), "toy.toml", tmp_path)
    assert run(loaded, store).units > 0
    record = load_manifest(open_backend(str(store)))
    assert record is not None
    assert record.fingerprint["files"] == {"mine.py": "0" * 64}, "older receipts are signed with it"
    assert verify(str(store))[1] == []


def test_a_store_of_0_1_and_an_edited_file(store: Path, tmp_path: Path) -> None:
    as_of_0_1(store)
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "# a comment\n")
    loaded = check(toy(source={"function": "mine.py"}, grid__n=[10]), "toy.toml", tmp_path)
    with pytest.raises(UserError, match="was edited since"):
        run(loaded, store)
    assert run(loaded, store, accept_changed=True).units == 0


def test_a_lost_file_of_0_1_is_damage_and_no_edit(store: Path, tmp_path: Path) -> None:
    as_of_0_1(store)
    (store / FILES / "mine.py").unlink()
    manifest = load_manifest(open_backend(str(store)))
    assert manifest is not None
    assert list_damaged_keys(open_backend(str(store)), manifest) == [f"{FILES}/mine.py"]
    loaded = check(toy(source={"function": "mine.py"}, grid__n=[10]), "toy.toml", tmp_path)
    with pytest.raises(UserError, match=r"files/mine.py, the store's copy of that file, is lost"):
        run(loaded, store)


def test_stores_of_0_1_and_now_are_merged(store: Path, tmp_path: Path) -> None:
    """The hashes differ, and the bytes don't."""
    shutil.copytree(store, tmp_path / "old.zarr")
    as_of_0_1(tmp_path / "old.zarr")
    merge_stores([str(store), str(tmp_path / "old.zarr")], str(tmp_path / "both.zarr"))
    assert verify(str(tmp_path / "both.zarr"))[1] == []


def test_an_edited_source_waits_for_other_drivers(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "# a comment\n")
    loaded = check(toy(source={"function": "mine.py"}, grid__n=[10]), "toy.toml", tmp_path)
    monkeypatch.setattr(lifecycle, "other_driver", lambda backend: "process 1 on here")
    with pytest.raises(UserError, match="can't grow or take an edited source while process 1 on here is running on it"):
        run(loaded, store, accept_changed=True)


def test_python_can_vouch_for_it_too(tmp_path: Path) -> None:
    import harness
    from harness.scenario.dump import dump_scenario

    (tmp_path / "mine.py").write_text(f"FAILS, SPREAD = False, 1.0\n{SOURCE}")
    plain = toy(source={"function": "mine.py"}, grid__n=[10])
    (tmp_path / "toy.toml").write_text(dump_scenario(plain))
    where = {"store": tmp_path / "toy.zarr", "workers": 1, "progress": SilentProgress()}
    harness.run(tmp_path / "toy.toml", **where)
    (tmp_path / "mine.py").write_text(f"# edited\nFAILS, SPREAD = False, 1.0\n{SOURCE}")
    with pytest.raises(UserError, match=r"mine.py was edited"):
        harness.run(tmp_path / "toy.toml", **where)
    harness.run(tmp_path / "toy.toml", **where, accept_changed_source=True)


def test_a_source_that_forgot_its_noise_is_refused_where_the_store_has_expected_coverage(tmp_path: Path) -> None:
    """Every new replication would fail otherwise."""
    for base in ("KnownToy", "Toy"):
        (tmp_path / "mine.py").write_text(
            f"from tests.harness.toy import {base}\n\n\ndef source():\n    return {base}()\n"
        )
        one = check(toy(source={"function": "mine.py"}, grid__procedure=["exact"]), "toy.toml", tmp_path)
        if base == "KnownToy":
            assert run(one, tmp_path / "toy.zarr").failed == 0
    with pytest.raises(UserError, match=r"toy\.zarr has expected coverage, and the edited source doesn't know"):
        run(one, tmp_path / "toy.zarr", accept_changed=True)
