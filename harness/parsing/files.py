"""Read regular files of bounded size, without leaving the directory of a store.

A store may come from an untrusted source. Its manifest names files, and its folders may hold symbolic links, FIFOs or
devices. A key that would leave the store is refused before anything is opened, and only regular files of bounded size
are read. The directory itself may be a symbolic link, because the user named it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from harness.core.errors import UserError

LARGEST = 64 << 20
"""Largest file that is read, in bytes, unless the caller allows more."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags to open files for reading. Without O_NONBLOCK, opening a FIFO would block until a process writes to it."""
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f-\x9f]{1,255}")


class UnsafePathError(UserError):
    """A path in a store leads outside the store, or to something other than a regular file."""


def is_base_name(name: str) -> bool:
    """Return whether a text is the plain name of a file, which cannot lead out of its folder.

    Examples
    --------
    >>> is_base_name("source.py"), is_base_name("../../.ssh/authorized_keys"), is_base_name("/etc/passwd")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None and name not in (".", "..")


def resolve(root: str, key: str) -> str:
    """Return the path of a key, after checking that it stays below `root`.

    Parameters
    ----------
    root : str
        Absolute path of the directory.
    key : str
        Path relative to `root`, with slashes.

    Raises
    ------
    UnsafePathError
        If a part of the key is not a plain name, or if a folder along the path is a symbolic link.
    """
    parts = key.split("/")
    if not all(map(is_base_name, parts)):
        raise UnsafePathError(f"{root}: {key!r} is not a path inside the store")
    path = root
    for part in parts[:-1]:
        path = f"{path}/{part}"
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            break  # the folder doesn't exist, so nothing can lead outside
        if stat.S_ISLNK(mode):
            raise _make_kind_error(path, mode)
    return f"{root}/{key}"


def check_file(path: str, largest: int = LARGEST) -> None:
    """Raise `UnsafePathError` if a path exists and is not a regular file of at most `largest` bytes."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    _check(path, found, largest)


def read_file(path: str, largest: int = LARGEST) -> bytes:
    """Read a regular file of at most `largest` bytes, without following a symbolic link."""
    try:
        file = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):  # a symbolic link, a socket
            raise _make_kind_error(path, os.lstat(path).st_mode) from None
        raise
    try:
        found = os.fstat(file)
        _check(path, found, largest)
        data = os.read(file, found.st_size + 1)
        # a file system may return a file in parts, and a file that has grown since has more
        while len(data) != found.st_size and (part := os.read(file, 1 << 20)):
            data += part
            if len(data) > largest:
                raise _make_size_error(path, len(data), largest)
        return data
    finally:
        os.close(file)


def _check(path: str, found: os.stat_result, largest: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _make_kind_error(path, found.st_mode)
    if found.st_size > largest:
        raise _make_size_error(path, found.st_size, largest)


def _make_kind_error(path: str, mode: int) -> UnsafePathError:
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a directory", stat.S_IFIFO: "a FIFO"}
    what = kinds.get(stat.S_IFMT(mode), "a device or socket")
    return UnsafePathError(f"{path} is {what}: inside a store only regular files are read and written")


def _make_size_error(path: str, size: int, largest: int) -> UnsafePathError:
    return UnsafePathError(
        f"{path} has {size / 1e6:.3g} MB, more than the limit of {largest / 1e6:.3g} MB for this kind of file"
    )


def read_regular_file(path: str | Path, largest: int = LARGEST) -> bytes:
    """Read a whole regular file; refuse FIFOs and devices, which could block or never end.

    Parameters
    ----------
    path : str or Path
        File to read. Symbolic links are followed.
    largest : int
        Largest size allowed, in bytes.

    Raises
    ------
    ValueError
        If the file can't be read. The message continues a sentence that begins with the file's name.
    """
    if "\0" in str(path):
        raise ValueError("can't be read: no file has such a name")
    try:
        with open(path, "rb", opener=_open_nonblocking) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ValueError("can't be read: it is no regular file")
            # one byte more than allowed, to notice a file that grew since
            data = b"" if found.st_size > largest else file.read(largest + 1)
    except OSError as error:
        raise ValueError(f"can't be read: {error.strerror}") from None
    if max(found.st_size, len(data)) > largest:
        raise ValueError(f"has more than {largest >> 10} kB")
    return data


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file without blocking, so that a FIFO without a writer can be recognised and refused."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
