"""Other users of the machine: what they prepare in shared directories is neither read nor written nor removed."""

from __future__ import annotations

import os
import platform
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from distributed.security import Security

import cluster
from cluster.runtime.private import (
    PrivateDirectory,
    check_parent,
    hold_directory,
    make_directory,
    make_scratch_lines,
    private_directory,
    remove_abandoned,
    scratch_directory,
)
from cluster.runtime.tls import share_security
from tests.cluster.commands import Desk, desk
from tests.cluster.listening import until
from tests.cluster.studies import LONG, SLOWLY

NEIGHBOUR = 12345
"""The number of another user."""
DEAD = 999_999_999
"""The number of no process: Linux has no such large ones."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="files of another user are made by root alone")


@pytest.fixture
def place() -> Iterator[Desk]:
    with desk() as one:
        yield one


def give(path: Path, mode: int) -> Path:
    """Give a file or directory to the neighbour."""
    os.chown(path, NEIGHBOUR, NEIGHBOUR)
    path.chmod(mode)
    return path


@as_root
def test_code_of_another_user_in_the_directory_for_temporary_files_does_not_run(place: Desk) -> None:
    """Dask's own directory there was on the path of modules, in the driver and in workers."""
    place.temporary.chmod(0o1777)
    prepared = place.temporary / "dask-scratch-space"
    prepared.mkdir()
    for name in ("gilknocker.py", "snappy.py"):
        (prepared / name).write_text(f"open({str(place.folder / 'ran')!r}, 'w')\n")
        give(prepared / name, 0o644)
    give(prepared, 0o777)
    code, _, err = place.run()
    assert code == 0, err
    assert not (place.folder / "ran").exists()
    place.check_nothing_left("dask-scratch-space")
    assert {path.name for path in prepared.iterdir()} == {"gilknocker.py", "snappy.py"}


@as_root
@pytest.mark.parametrize(("owner", "mode"), [(0, 0o777), (0, 0o770), (NEIGHBOUR, 0o755), (NEIGHBOUR, 0o1777)])
def test_a_directory_for_temporary_files_that_others_can_change_is_refused(owner: int, mode: int, place: Desk) -> None:
    os.chown(place.temporary, owner, owner)
    place.temporary.chmod(mode)
    code, _, err = place.run()
    assert err.count("\n") == 1, err
    assert f"error: the cluster: {place.temporary} " in err
    assert "use a directory of your own" in err
    assert code == 2
    place.check_nothing_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_directory(number: signal.Signals, place: Desk) -> None:
    """After kill -9, the process that workers are forked from removes it when all of them are gone."""
    name, _, value = SLOWLY.removeprefix("export ").partition("=")
    process = place.start("--workers", "2", *LONG, **{name: value})
    until(lambda: bool(list(place.folder.glob("results/toy.zarr/receipts/*/*.json"))), 120)
    made = list(place.temporary.iterdir())
    assert len(made) == 2, "one for Dask, one for the fork server's socket"
    assert all(each.name.startswith("ckrr-") and stat.S_IMODE(each.stat().st_mode) == 0o700 for each in made)
    os.kill(process.pid, number)
    process.communicate(timeout=120)
    place.check_nothing_left()


def test_dask_and_workers_write_to_a_private_directory_alone() -> None:
    path = list(sys.path)
    with cluster.local(1, 1e9) as client:
        scratch = Path(dask.config.get("temporary-directory"))
        assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
        new = [each for each in sys.path if each not in path]
        (told,) = client.run(lambda: ([*sys.path], os.environ["TMPDIR"], __import__("tempfile").mkdtemp())).values()
        below = f"{scratch}{os.sep}"
        assert new
        assert all(each.startswith(below) for each in new)
        assert [each for each in told[0] if "dask-scratch-space" in each and not each.startswith(below)] == []
        assert told[1] == str(scratch)
        assert told[2].startswith(below)
    assert not scratch.exists()
    assert sys.path == path, "names that others may use from now on"
    assert dask.config.get("temporary-directory") is None


def test_a_scratch_directory_is_where_dask_s_settings_say(tmp_path: Path) -> None:
    with dask.config.set({"temporary-directory": str(tmp_path)}), scratch_directory("my.toml") as one:
        assert one.path.parent == tmp_path
        assert dask.config.get("temporary-directory") == str(one.path)
    assert list(tmp_path.iterdir()) == []


def test_a_private_directory_is_removed_after_an_exception(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), private_directory(tmp_path, "my.toml"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@as_root
def test_keys_are_not_written_where_another_user_prepared_a_place(tmp_path: Path) -> None:
    """Names could be foreseen, and what was there was used."""
    tmp_path.chmod(0o1777)
    prepared = tmp_path / f"tls-{platform.node()}-{os.getpid()}"
    prepared.mkdir()
    give(prepared, 0o777)
    with share_security(Security.temporary(), str(tmp_path), "my.toml") as secure:
        assert secure is not None
        key = Path(secure.tls_worker_key)
        assert prepared not in key.parents
        assert [stat.S_IMODE(path.stat().st_mode) for path in (key.parent, key)] == [0o700, 0o600]
        assert key.stat().st_uid == os.geteuid()
        assert "PRIVATE KEY" in key.read_text()
    assert list(tmp_path.iterdir()) == [prepared]
    assert list(prepared.iterdir()) == []


def test_files_that_are_there_already_are_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    with private_directory(tmp_path, "my.toml") as one:
        (one.path / "key.pem").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(FileExistsError):
            one.write("key.pem", "secret")
    assert (tmp_path / "elsewhere").read_text() == ""


def test_files_are_written_to_the_directory_that_was_made(tmp_path: Path) -> None:
    """Another one may have its name by then."""
    with private_directory(tmp_path, "my.toml") as one:
        one.path.rename(tmp_path / "moved")
        one.path.mkdir()
        one.write("key.pem", "secret")
        assert list(one.path.iterdir()) == []
        assert (tmp_path / "moved/key.pem").read_text() == "secret"


@as_root
@pytest.mark.parametrize(
    ("owner", "mode", "told"),
    [
        (0, 0o777, "can be changed by other users"),
        (0, 0o770, "can be changed by other users"),
        (NEIGHBOUR, 0o700, "belongs to another user"),
        (NEIGHBOUR, 0o1777, "belongs to another user"),
    ],
)
def test_shared_directories_that_others_can_change_are_refused(
    owner: int, mode: int, told: str, tmp_path: Path
) -> None:
    os.chown(tmp_path, owner, owner)
    tmp_path.chmod(mode)
    with (
        pytest.raises(cluster.ClusterFileError, match=f"^my.toml: {tmp_path} {told}"),
        share_security(Security.temporary(), str(tmp_path), "my.toml"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1777])
def test_safe_directories_are_not_refused(mode: int, tmp_path: Path) -> None:
    tmp_path.chmod(mode)
    check_parent(tmp_path, "my.toml")


def test_a_shared_directory_that_is_made_is_ours_alone(tmp_path: Path) -> None:
    with share_security(Security.temporary(), str(tmp_path / "new"), "my.toml"):
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(cluster.ClusterFileError, match=r"shared_temp_directory names .*, which can't be made: "),
        share_security(Security.temporary(), str(tmp_path / "file"), "my.toml"),
    ):
        pass


@as_root
def test_only_directories_of_ours_whose_process_is_dead_are_removed(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    here = f"ckrr-{platform.node()}"
    names = {
        "dead": f"{here}-{DEAD}-abc",
        "alive": f"{here}-{os.getpid()}-abc",
        "foreign": f"{here}-{DEAD}-foreign",
        "host": f"ckrr-elsewhere-{DEAD}-abc",
        "named": f"{here}-thesis",
    }
    for name in names.values():
        (tmp_path / name).mkdir(mode=0o700)
        (tmp_path / name / "file").write_text("")
    give(tmp_path / names["foreign"], 0o777)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/file").write_text("")
    (tmp_path / f"{here}-{DEAD}-link").symlink_to(tmp_path / "thesis")
    (tmp_path / f"{here}-{DEAD}-file").write_text("")
    before = {path.name for path in tmp_path.iterdir()}
    remove_abandoned(tmp_path)
    assert before - {path.name for path in tmp_path.iterdir()} == {names["dead"]}
    assert (tmp_path / "thesis/file").exists()


def test_a_directory_that_is_held_is_not_removed(tmp_path: Path) -> None:
    """By a process of a container, say, that has other numbers."""
    with private_directory(tmp_path, "my.toml") as one:
        foreign = tmp_path / f"ckrr-{platform.node()}-{DEAD}-abc"
        one.path.rename(foreign)
        remove_abandoned(tmp_path)
        assert foreign.exists()
    remove_abandoned(tmp_path)
    assert not foreign.exists()


def hear_sigint() -> None:
    """Also where the tests run in the background of a shell, which tells what it starts to ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def shell(tmp_path: Path, parent: str | None, *lines: str, **variables: str) -> tuple[int, str, str]:
    text = "\n".join([*make_scratch_lines(parent), *lines])
    environment = {**os.environ, "TMPDIR": str(tmp_path), **variables}
    done = subprocess.run(["bash", "-c", text], env=environment, capture_output=True, text=True, preexec_fn=hear_sigint)
    return done.returncode, done.stdout, done.stderr


SHOW = 'stat -c "%a %n" "$CKRR_SCRATCH"; echo "$TMPDIR"; umask'


@pytest.mark.parametrize(
    ("parent", "found"), [(None, ""), ("$CKRR_TEST_HERE/new", "new/"), ('$TMPDIR/a "b`c', 'a "b`c/')]
)
def test_shells_make_private_directories_and_remove_them(parent: str | None, found: str, tmp_path: Path) -> None:
    code, out, err = shell(tmp_path, parent, "umask 022", SHOW, CKRR_TEST_HERE=str(tmp_path))
    assert (code, err) == (0, "")
    made, temporary, umask = out.splitlines()
    mode, _, name = made.partition(" ")
    assert mode == "700"
    assert name.startswith(f"{tmp_path}/{found}ckrr-")
    assert (temporary, umask) == (name, "0022"), "workers write to the store, too"
    assert not Path(name).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_shells_remove_them_when_they_are_ended(number: signal.Signals, tmp_path: Path) -> None:
    code, _, _ = shell(tmp_path, None, f"kill -{int(number)} $$", "sleep 60")
    assert code != 0, "it slept to the end"
    assert list(tmp_path.iterdir()) == []


def test_shells_refuse_what_others_can_change(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    code, _, err = shell(tmp_path, None, SHOW)
    assert err.startswith(f"{tmp_path} can be changed by other users")
    assert code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_was_replaced_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it was made: others can read what is there instead."""
    (tmp_path / "open").mkdir(mode=0o755)
    monkeypatch.setattr("cluster.runtime.private.make_directory", lambda parent: tmp_path / "open")
    with (
        pytest.raises(cluster.ClusterFileError, match="was replaced by another user"),
        private_directory(tmp_path, "my.toml"),
    ):
        pass


def test_a_private_directory_writes_files_for_us_alone(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        path = PrivateDirectory(tmp_path, descriptor).write("key.pem", "secret")
    finally:
        os.close(descriptor)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_directory_that_is_held_is_not_abandoned(tmp_path: Path) -> None:
    """By a process whose number means another, or none, here: in a container, say."""
    path = make_directory(tmp_path).rename(tmp_path / f"ckrr-{platform.node()}-999999999-x")
    descriptor = hold_directory(path)
    remove_abandoned(tmp_path)
    assert path.exists()
    os.close(descriptor)
    remove_abandoned(tmp_path)
    assert not path.exists()
