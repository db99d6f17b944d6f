"""Create directories that no other user of the machine can read, predict or replace.

Dask puts its working directories on `sys.path`, and Slurm jobs read their certificates from a shared directory. If
another user can predict the name of such a directory, or replace it, that user's code runs as ours. So each directory
is new (`mkdtemp`, mode 0700), lies where only its owner and root can rename it, and is removed at the end. Directories
of killed drivers are removed by the next one.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import dask

from cluster.config.files import ClusterFileError
from cluster.runtime.errors import StartError

_NOBODY = 65534
"""User id that Linux shows in a container for users not mapped into it, including root."""
SCRATCH = '"$CKRR_SCRATCH"'
"""Shell expression for the directory that `make_scratch_lines` creates."""
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@dataclass(frozen=True)
class PrivateDirectory:
    """A directory that only the current user can access.

    Attributes
    ----------
    path : Path
        Its path.
    descriptor : int
        Open descriptor through which files are written: the path could have been replaced meanwhile.
    """

    path: Path
    descriptor: int

    def write(self, name: str, text: str) -> Path:
        """Write a new file that only its owner can read, and return its path."""
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=self.descriptor)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return self.path / name


@contextmanager
def private_directory(parent: Path, where: str) -> Iterator[PrivateDirectory]:
    """Create a new directory that no other user can enter, and remove it at the end.

    Parameters
    ----------
    parent : Path
        The directory to create it in.
    where : str
        The cluster file that names the parent, for messages.

    Raises
    ------
    cluster.ClusterFileError
        If other users could replace what is in the parent.
    cluster.StartError
        If no directory can be created there.
    """
    check_parent(parent, where)
    remove_abandoned(parent)
    path = make_directory(parent)
    try:
        descriptor = os.open(path, _DIRECTORY)
        try:
            _check_ours(descriptor, path, where)
            _lock(descriptor)
            yield PrivateDirectory(path, descriptor)
        finally:
            os.close(descriptor)
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def scratch_directory(where: str) -> Iterator[PrivateDirectory]:
    """Create a private directory, and make Dask put all its files there inside the `with` block.

    It is created in Dask's `temporary-directory`, if that is set, else in the system's directory for temporary files
    (`TMPDIR`).
    """
    with private_directory(get_scratch_parent(), where) as directory:
        path = str(directory.path)
        try:
            with dask.config.set({"temporary-directory": path}):
                yield directory
        finally:  # Dask leaves directories there that no longer exist, whose names others could reuse
            sys.path[:] = [each for each in sys.path if not each.startswith(f"{path}{os.sep}")]


def get_scratch_parent() -> Path:
    """Return the directory in which scratch directories are created."""
    return Path(dask.config.get("temporary-directory") or tempfile.gettempdir())


def make_directory(parent: Path) -> Path:
    """Create a new private directory, with a name by which `remove_abandoned` recognises it after a kill."""
    try:
        return Path(tempfile.mkdtemp(prefix=f"{_make_prefix()}{os.getpid()}-", dir=parent))
    except OSError as error:
        raise StartError(f"no directory can be made in {parent}: {error.strerror}") from None


def hold_directory(path: Path) -> int:
    """Lock a directory for as long as this process lives, so that no other driver takes it for abandoned."""
    descriptor = os.open(path, _DIRECTORY)
    _lock(descriptor)
    return descriptor


def make_scratch_lines(parent: str | None = None) -> list[str]:
    """Return shell lines that create a private directory for remote workers, `SCRATCH`, and remove it at exit.

    Parameters
    ----------
    parent : str, optional
        The directory to create it in; the shell expands variables. Default: `TMPDIR`, or /tmp.

    Notes
    -----
    The shell's umask stays as it is: workers also write to the store, which others may read.
    """
    text = re.sub(r'(["`\\])', r"\\\1", parent or "${TMPDIR:-/tmp}")
    refusal = f"{text} can be changed by other users: name another local_directory, or set TMPDIR"
    return [
        f'mkdir -p "{text}" || exit 1',
        f'[ -z "$(find -H "{text}" -maxdepth 0 -perm /022 ! -perm -1000)" ] || {{ echo "{refusal}" >&2; exit 1; }}',
        f'CKRR_SCRATCH=$(mktemp -d "{text}/ckrr-XXXXXXXXXX") || exit 1',
        f"trap 'rm -rf {SCRATCH}' EXIT",
        f"export TMPDIR={SCRATCH}",
    ]


def check_parent(parent: Path, where: str) -> None:
    """Raise `ClusterFileError` if other users could rename or replace directories inside `parent`."""
    found = os.stat(parent)
    sticky = bool(found.st_mode & stat.S_ISVTX)
    owners = (0, os.geteuid(), _NOBODY) if sticky else (0, os.geteuid())
    if found.st_uid not in owners:
        reason = "belongs to another user"
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
        reason = "can be changed by other users"
    else:
        return
    raise ClusterFileError(
        where, f"{parent} {reason}, so private files can't be kept there: use a directory of your own, e.g. by TMPDIR"
    )


def _check_ours(descriptor: int, path: Path, where: str) -> None:
    """Raise `ClusterFileError` if another user has replaced the directory that was just created."""
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise ClusterFileError(where, f"{path} was replaced by another user while it was made")


def remove_abandoned(parent: Path) -> None:
    """Remove private directories left by killed processes of this user on this machine.

    Keep anything that is not a directory, belongs to another user, or belongs to a running process.
    """
    pattern = re.compile(rf"{re.escape(_make_prefix())}(\d{{1,9}})-\w+")
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            match = pattern.fullmatch(entry.name)
            if match and not _is_alive(int(match[1])) and _is_unused(entry.path):
                shutil.rmtree(entry.path, ignore_errors=True)


def _make_prefix() -> str:
    return f"ckrr-{platform.node()}-"


def _is_alive(pid: int) -> bool:
    """Return whether a process is running; a zombie is not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except OSError:  # another user's process, or no /proc
        return True
    return state not in ("Z", "X")


def _is_unused(path: str) -> bool:
    """Return whether a path is a directory of this user that no process has locked.

    Process ids alone do not tell: a container has its own.
    """
    try:
        descriptor = os.open(path, _DIRECTORY)
    except OSError:
        return False
    try:
        return os.fstat(descriptor).st_uid == os.geteuid() and _lock(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a directory until its descriptor is closed; return False if another process has locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: rely on the process id alone
        pass
    return True
