"""Nothing of the user's is deleted or replaced, and what is lost of a store is found and mended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness.backends.base import open_backend
from harness.backends.local import LocalBackend
from harness.core.errors import UserError
from harness.core.text import escape, escape_line
from harness.execution import prepare
from harness.maintenance.verify import verify
from harness.parsing.files import UnsafePathError, is_base_name, read_file, resolve
from harness.store.arrays import restore_root
from harness.store.checks.codecs import check_frame, read_content_size
from harness.store.heartbeat import from_bytes
from harness.store.inventory import find_cube_gaps, list_incomplete_units
from harness.store.manifest import COPY, ROOT
from harness.store.manifest_io import load_manifest
from harness.store.receipts import list_receipts
from harness.submit import process, submission
from harness.submit.cancel import cancel
from tests.harness.commands import ckrr
from tests.harness.studies import assert_identical, contents, loaded, serially

SCENARIO = """
name = "mine"
seed = 1

[source]
function = "heaviside"
test_points = 21

[grid]
gamma = [0.1]
n = [10, 20]
theta = [10]
lam = [0.1]
alpha = [0.1]
procedure = ["GPR-f", "RRCM"]

[replications]
paths = 6
draws = 2
"""


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete study."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "mine.toml").write_text(SCENARIO)
    assert ckrr("run", "mine.toml", "--workers", "1", cwd=folder)[0] == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


# 1: a smoke run replaces its own store, and no other


@pytest.mark.parametrize("settings", [(), ("--set", "seed=2")])
def test_a_smoke_run_never_replaces_a_study(here: Path, settings: tuple[str, ...]) -> None:
    store = here / "results/mine.zarr"
    before = snapshot(store)
    code, _, err = ckrr("run", "mine.toml", "--smoke", "--store", str(store), *settings, cwd=here)
    assert code == 2
    assert "holds another study, which --smoke never replaces: choose another --store" in err
    assert snapshot(store) == before


def test_a_smoke_run_replaces_its_own_store(here: Path) -> None:
    """Also after the scenario was edited, where its place is its own; elsewhere only if nothing else is in it."""
    smoke = ("run", "mine.toml", "--smoke", "--workers", "1")
    store = here / "results/mine-smoke.zarr"
    assert ckrr(*smoke, cwd=here)[0] == 0
    (here / "mine.toml").write_text(SCENARIO.replace("seed = 1", "seed = 7"))
    assert ckrr(*smoke, cwd=here)[0] == 0
    record = load_manifest(open_backend(str(store)))
    assert record is not None
    assert record.fingerprint["seed"] == 7
    code, _, err = ckrr(*smoke, "--store", str(store), "--set", "seed=8", cwd=here)
    assert (code, "holds another study" in err) == (2, True)
    (store / "notes.txt").write_text("mine")
    before = snapshot(store)
    code, _, err = ckrr(*smoke, cwd=here)
    assert (code, "notes.txt isn't a part of it" in err) == (2, True)
    assert snapshot(store) == before


def test_a_smoke_store_that_became_a_study_is_kept(here: Path) -> None:
    store = here / "results/mine-smoke.zarr"
    assert ckrr("run", "mine.toml", "--smoke", "--workers", "1", cwd=here)[0] == 0
    assert ckrr("run", "mine.toml", "--workers", "1", "--store", str(store), cwd=here)[0] == 0
    before = snapshot(store)
    code, _, err = ckrr("run", "mine.toml", "--smoke", cwd=here)
    assert (code, "holds another study" in err) == (2, True)
    assert snapshot(store) == before


# 2: the root is kept twice


@pytest.mark.parametrize("damage", [None, b"", b'{"zarr_format": 3, "attr', b"\xff" * 100, b"[]", b"{}"])
def test_a_lost_root_is_rebuilt(here: Path, damage: bytes | None) -> None:
    store = here / "results/mine.zarr"
    before = json.loads((store / ROOT).read_text())
    (store / ROOT).unlink() if damage is None else (store / ROOT).write_bytes(damage)
    code, out, _ = ckrr("status", "mine.toml", cwd=here)
    assert code == 0
    assert "complete" in out
    assert "its zarr.json is lost or damaged" in out
    code, _, err = ckrr("table", "results/mine.zarr", cwd=here)
    assert (code, "`ckrr status" in err) == (2, True)
    code, _, err = ckrr("status", "mine.toml", "--verify", cwd=here)
    assert code == 0
    assert err.splitlines()[0] == "zarr.json was lost or damaged: rebuilt from manifest.json"
    assert json.loads((store / ROOT).read_text()) == before


def test_a_run_rebuilds_a_lost_root_and_loses_nothing(here: Path, made: Path) -> None:
    store = here / "results/mine.zarr"
    (store / ROOT).unlink()
    code, out, _ = ckrr("run", "mine.toml", "--workers", "1", cwd=here)
    assert code == 0
    assert "complete, nothing to do" in out
    assert_identical(store, made / "results/mine.zarr")


def test_a_sound_root_wins_over_its_copy(here: Path) -> None:
    there = open_backend(str(here / "results/mine.zarr"))
    there.put(COPY, (there.get(COPY) or b"").replace(b'"title": "mine"', b'"title": "other"'))
    assert restore_root(there) is False
    assert b'"title": "mine"' in (there.get(ROOT) or b"")


def test_a_foreign_group_is_no_damaged_store(here: Path) -> None:
    store = here / "results/mine.zarr"
    (store / ROOT).write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    with pytest.raises(UserError, match="is not a ckrr store"):
        load_manifest(open_backend(str(store)))


# 3: a chunk that was deleted


@pytest.mark.parametrize("variable", ["coverage", "width", "status", "theta_hat"])
def test_a_deleted_chunk_is_counted_and_computed_again(here: Path, made: Path, variable: str) -> None:
    store = here / "results/mine.zarr"
    (chunk,) = (store / "replications/n=10" / variable).glob("c.*")
    chunk.unlink()
    there = open_backend(str(store))
    record = load_manifest(there)
    assert record is not None
    assert list_incomplete_units(there, record, list_receipts(there, record.extent.grid.n)) == ["n=10/p0_d0"]
    code, out, _ = ckrr("table", "results/mine.zarr", cwd=here)
    assert code == 0
    assert "12 replications are damaged, since chunks of them are missing: `ckrr run` computes them again" in out
    assert "more than one path" not in out
    code, out, err = ckrr("run", "mine.toml", "--workers", "1", cwd=here)
    assert code == 0
    assert "1 unit lost a chunk after being written" in err
    assert_identical(store, made / "results/mine.zarr")


def test_every_chunk_is_missed(tmp_path: Path) -> None:
    """Of a store that grew along two axes, whose later units have several chunks."""
    where = tmp_path / "toy.zarr"
    small = loaded(grid__theta=[1], grid__n=[10], replications__paths=2)
    large = loaded(grid__theta=[1, 2.5], grid__lam=[0.1, 1, 2], grid__n=[10], replications__paths=2)
    serially(prepare.prepare(small, str(where), workers=2, speed=2e4))
    serially(prepare.prepare(large, str(where), workers=2, speed=2e4), [0])
    there = open_backend(str(where))
    record = load_manifest(there)
    assert record is not None
    signed = list_receipts(there, [10])
    assert len({one.generation for one in signed.values()}) > 1
    assert list_incomplete_units(there, record, signed) == []
    chunks = sorted((where / "replications/n=10").glob("*/c.*.*"))
    assert len({path.name.count(".0") for path in chunks}) > 1
    for path in chunks[::5]:
        raw = path.read_bytes()
        path.unlink()
        _, path_block, draw_block, *_ = path.name.split(".")
        assert list_incomplete_units(there, record, signed) == [f"n=10/p{path_block}_d{draw_block}"]
        path.write_bytes(raw)


def test_a_deleted_chunk_of_the_cube_is_written_again(here: Path, made: Path) -> None:
    store = here / "results/mine.zarr"
    (store / "width/c.0.0.0.0.1.0.0").unlink()
    there = open_backend(str(store))
    record = load_manifest(there)
    assert record is not None
    assert find_cube_gaps(there, record) == {20}
    assert ckrr("run", "mine.toml", "--workers", "1", cwd=here)[0] == 0
    assert_identical(store, made / "results/mine.zarr")


# 4: what isn't ours


def test_a_folder_with_a_claim_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    for name, text in {"claim.json": "{}", "coverage": "mine", "notes.txt": "mine"}.items():
        (tmp_path / "folder").mkdir(exist_ok=True)
        (tmp_path / "folder" / name).write_text(text)
        before = snapshot(tmp_path)
        code, _, err = ckrr("run", "mine.toml", "--store", "folder", cwd=tmp_path)
        assert (code, "holds something that is not a ckrr store" in err) == (2, True)
        assert snapshot(tmp_path) == before


def test_an_empty_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    for words in (("run", "mine.toml", "--store", ""), ("plan", "mine.toml", "--store", "")):
        code, _, err = ckrr(*words, cwd=tmp_path)
        assert (code, err.strip()) == (2, "error: a store must be a path or a URL, got ''")
    assert snapshot(tmp_path).keys() == {"mine.toml"}


# 5: blocks of the file system


def test_the_plan_counts_blocks_of_the_file_system(made: Path) -> None:
    code, out, _ = ckrr("plan", "mine.toml", "--store", "none.zarr", "--json", cwd=made)
    assert code == 0
    taken = sum(each.lstat().st_blocks * 512 for each in (made / "results/mine.zarr").rglob("*"))
    planned = json.loads(out)["disk"]
    assert 0.9 * taken < planned < 1.5 * taken


# 6: paths


def test_keys_stay_inside(tmp_path: Path) -> None:
    there = LocalBackend(str(tmp_path / "store"))
    there.put("a/b", b"1")
    (tmp_path / "outside").mkdir()
    (tmp_path / "store/link").symlink_to(tmp_path / "outside")
    for key in ("../x", "/etc/passwd", "a/../../x", "link/x", "a//b", "a/./b", "", "a\0b"):
        for act in (lambda key: there.put(key, b"2"), lambda key: there.delete(key), lambda key: there.claim(key, b"")):
            with pytest.raises((UnsafePathError, OSError)):
                act(key)
    assert list((tmp_path / "outside").iterdir()) == []
    with pytest.raises(UnsafePathError, match="is a symbolic link"):
        there.list_names("link")
    assert [is_base_name(name) for name in ("x.py", ".", "..", "a/b", "a\\b", "a\nb", "")] == [True, *[False] * 6]
    assert resolve("/s", "a/b") == "/s/a/b"


def test_only_regular_files_of_a_bounded_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_file(str(tmp_path / "file"), 5) == b"12345"
    with pytest.raises(UnsafePathError, match="more than"):
        read_file(str(tmp_path / "file"), 4)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("file")
    for name in ("fifo", "link", "."):
        with pytest.raises(UnsafePathError, match="only regular files"):
            read_file(str(tmp_path / name))


# 8: frames


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 65_791, 65_792, 1 << 20])
def test_a_frame_says_how_large_its_content_is(size: int) -> None:
    from numcodecs.zstd import compress

    frame = bytes(compress(bytes(size)))
    assert read_content_size(frame) == size
    check_frame(frame, size)
    check_frame(frame, size + 1, exactly=False)
    with pytest.raises(ValueError, match="expected"):
        check_frame(frame, size + 1)
    with pytest.raises(ValueError, match="expected"):
        check_frame(frame, size - 1, exactly=False)


# 9: cancel


def test_cancel_ends_no_process_of_somebody_elses_choice(here: Path) -> None:
    """The id of a submission is empty, or stands in the command line of a process that is no driver of this store."""
    there, identity = open_backend(str(here / "results/mine.zarr")), "mine-01234567"
    shared = ("scenario", {"name": "mine"}), ("where", ""), ("files", []), ("cluster", None), ("workers", None)
    plain = dict(shared) | {"retry": False, "folder": "", "host": "", "submitted": "2999-01-01", "how": "process"}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", identity, there.url]) as victim:
        handle = {"host": os.uname().nodename, "pid": victim.pid}
        try:
            for one in ("", identity):
                there.put("submission/submission.json", json.dumps({**plain, "id": one}).encode())
                there.put("submission/handle.json", json.dumps({"id": one, "handle": handle}).encode())
                with pytest.raises(UserError):
                    cancel(there)
                assert victim.poll() is None
            assert process.is_running(handle, there.url, identity) is False
            for job in ("1,2", "--all", "1 2", ""):
                there.put("submission/submission.json", json.dumps({**plain, "id": identity}).encode())
                there.put("submission/handle.json", json.dumps({"id": identity, "handle": {"job": job}}).encode())
                with pytest.raises(UserError, match=r"handle.job must be"):
                    submission.read(there)
        finally:
            victim.send_signal(signal.SIGKILL)


def test_a_driver_that_no_driver_wrote_is_none() -> None:
    good = {"name": "x", "host": "y", "pid": 7, "beat": 1.0, "progress": {"rate": 2.0, "left": None}}
    found = from_bytes(json.dumps(good).encode())
    assert found is not None
    assert found.progress == {"rate": 2.0}
    for change in ({"pid": 0}, {"pid": "7"}, {"beat": "now"}, {"host": 1}, {"progress": {"rate": "fast"}}, {"born": 3}):
        assert from_bytes(json.dumps({**good, **change}).encode()) is None


# 10: text


def test_control_characters_are_escaped() -> None:
    assert escape("a\tb\n\x1b[2J\x9b\u202e\ud800") == "a\tb\n\\x1b[2J\\x9b\\u202e\\ud800"
    assert escape_line("a\nb\r" + "x" * 5000) == "a\\nb\\r" + "x" * (2000 - 6) + "…"
    assert escape("θ = 10 ± 1 – “α”") == "θ = 10 ± 1 – “α”"


# 11: a bug of ours still shows its traceback


def test_a_bug_of_ours_shows_its_traceback(here: Path) -> None:
    code = (
        "import harness.monitor.state, harness.cli\n"
        "def bug(store): raise ValueError('a bug of ours')\n"
        "harness.monitor.state.status = bug\n"
        "harness.cli.main(['status', 'results/mine.zarr'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "a bug of ours" in done.stderr


# 12: replay runs no stranger's code


def test_replay_of_a_strangers_code_needs_trust(tmp_path: Path) -> None:
    text = "from scenarios import heaviside\n\n\ndef source():\n    return heaviside(test_points=21)\n"
    (tmp_path / "mine.py").write_text(text)
    (tmp_path / "mine.toml").write_text(SCENARIO.replace('"heaviside"\ntest_points = 21', '"mine.py:source"'))
    assert ckrr("run", "mine.toml", "--workers", "1", cwd=tmp_path)[0] == 0
    words = ("replay", str(tmp_path / "results/mine.zarr"), "--n", "10", "--path", "0")
    assert ckrr(*words, cwd=tmp_path)[0] == 0, "the same file is beside the user"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code, _, err = ckrr(*words, cwd=elsewhere)
    assert code == 2
    assert "this would run" in err
    assert "files/mine.py. If you trust that code, add --trust" in err
    (elsewhere / "mine.py").write_text(text + "# another\n")
    assert ckrr(*words, cwd=elsewhere)[0] == 2, "it isn't the same"
    assert ckrr(*words, "--trust", cwd=elsewhere)[0] == 0


# 17: modes


def test_a_private_cluster_file_stays_private(here: Path) -> None:
    (here / "local.toml").write_text('kind = "local"\nworkers = 1\n')
    (here / "local.toml").chmod(0o600)
    code, _, err = ckrr("submit", "mine.toml", "--store", "other.zarr", "--cluster", "local.toml", cwd=here)
    assert code == 0, err
    ckrr("status", "other.zarr", "--watch", cwd=here)
    kept = here / "other.zarr/submission/cluster.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "workers = 1" in json.loads(kept.read_text())["text"]
    texts = [each.read_text(errors="replace") for each in (here / "other.zarr").rglob("*.json") if each != kept]
    assert not any("workers = 1" in text for text in texts)
    assert contents(here / "other.zarr").keys() == contents(here / "results/mine.zarr").keys()


@pytest.mark.parametrize("harm", ["missing", "garbled", "another seed"])
def test_the_second_copy_is_checked_and_rewritten(harm: str, here: Path) -> None:
    store = here / "results" / "mine.zarr"
    copy = store / COPY
    sound = json.loads(copy.read_text())
    if harm == "missing":
        copy.unlink()
    else:
        copy.write_text("{" if harm == "garbled" else copy.read_text().replace('\\"seed\\": 1', '\\"seed\\": 6'))
    notes: list[str] = []
    assert verify(str(store), notes.append)[1] == []
    assert notes == [f"{COPY}, the second copy of the manifest, was missing or damaged: rewritten from {ROOT}"]
    assert json.loads(copy.read_text()) == sound
    assert verify(str(store), notes.append)[1] == []
    assert len(notes) == 1


def test_a_copy_of_another_study_rebuilds_nothing(here: Path) -> None:
    """It is seen by the receipts, before anything is written."""
    store = here / "results" / "mine.zarr"
    copy = store / COPY
    copy.write_text(copy.read_text().replace('\\"seed\\": 1', '\\"seed\\": 6'))
    (store / ROOT).unlink()
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match="units are signed by another study"):
        verify(str(store))
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before


def test_both_copies_lost_is_said_so(here: Path) -> None:
    store = here / "results" / "mine.zarr"
    (store / ROOT).unlink()
    (store / COPY).unlink()
    with pytest.raises(UserError, match="are both lost or damaged: restore one of them from a backup"):
        load_manifest(open_backend(str(store)))
