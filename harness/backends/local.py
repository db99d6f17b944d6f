"""Backend for a local directory."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from time import time

from harness.backends.errors import translate_disk_errors
from harness.core.errors import UserError
from harness.parsing.files import LARGEST, read_file, resolve

PARTIAL = ".partial"
"""Suffix of temporary files during a write. Killed processes leave them behind; they are never read."""
_DRAFT = re.compile(rf".*\.[0-9a-f]{{32}}{re.escape(PARTIAL)}")
"""Names of such files, written by this module and by Zarr."""
_OLD = 60.0
"""Age in seconds after which a temporary file counts as left behind."""


class LocalBackend:
    """Read and write bytes at keys in a local directory.

    Examples
    --------
    >>> import tempfile
    >>> here = LocalBackend(tempfile.mkdtemp())
    >>> here.put("receipts/a.json", b"{}")
    >>> here.list_names("receipts"), here.get("receipts/a.json"), here.get("receipts/b.json")
    (['a.json'], b'{}', None)
    """

    def __init__(self, path: str) -> None:
        self._root = Path(path).absolute()
        self.url = str(self._root)

    def get(self, key: str, largest: int = LARGEST) -> bytes | None:
        """Return the bytes at a key, or None. Symbolic links and anything but regular files are refused."""
        try:
            return read_file(self._resolve_key(key), largest)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _resolve_key(self, key: str) -> str:
        """Return the path of a key; raise `UnsafePathError` if it is not inside the directory."""
        return resolve(self.url, key)

    def get_many(self, keys: Collection[str]) -> list[bytes | None]:
        """Return the bytes at many keys; None for each key that does not exist."""
        return [self.get(key) for key in keys]

    def put(self, key: str, data: bytes, *, make: bool = True, mode: int = 0o666) -> None:
        """Write to a temporary file in the same folder, then rename it."""
        target = self._resolve_key(key)
        with translate_disk_errors(self.url):
            os.replace(self._write_draft(target, data, make, mode), target)

    def put_many(self, data: Mapping[str, bytes]) -> None:
        """Write many keys, one after the other."""
        for key, one in data.items():
            self.put(key, one)

    def _write_draft(self, target: str, data: bytes, make: bool = True, mode: int = 0o666) -> str:
        """Write the data to a temporary file in the folder of the target, and return its path."""
        draft = f"{target}.{uuid.uuid4().hex}{PARTIAL}"
        try:
            try:
                _write(draft, data, mode)
            except FileNotFoundError:
                if not make:
                    raise
                os.makedirs(os.path.dirname(target), exist_ok=True)
                _write(draft, data, mode)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            raise
        return draft

    def claim(self, key: str, data: bytes) -> bool:
        """Write a file only if it does not exist yet; return False if another process wrote it first."""
        target = self._resolve_key(key)
        with translate_disk_errors(self.url):
            draft = self._write_draft(target, data)
        try:
            os.link(draft, target)  # unlike a rename, it fails if the target exists
        except FileExistsError:
            return False
        finally:
            os.unlink(draft)
        return True

    def delete(self, key: str) -> None:
        """Delete a file if it exists."""
        path = self._resolve_key(key)
        with translate_disk_errors(self.url), suppress(FileNotFoundError):
            os.unlink(path)

    def list_names(self, prefix: str, start: str = "") -> list[str]:
        """Return the names directly under a prefix that begin with `start`, without temporary files."""
        try:
            found = os.listdir(self._resolve_folder(prefix))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [name for name in found if name.startswith(start) and not name.endswith(PARTIAL)]

    def list_keys(self, prefix: str) -> list[str]:
        """Return all files under a prefix, relative to it, without temporary files."""
        return [name for name in self._walk(prefix) if not name.endswith(PARTIAL)]

    def _resolve_folder(self, prefix: str) -> str:
        """Return the folder of a prefix; raise `UnsafePathError` if it, or a folder above it, is a symbolic link."""
        return self._resolve_key(f"{prefix}/_").removesuffix("/_") if prefix else self.url

    def _walk(self, prefix: str) -> list[str]:
        """Return all files under a prefix. Symbolic links are listed, but not followed."""
        folder, found = self._resolve_folder(prefix), list[str]()
        for here, folders, names in os.walk(folder):
            start = f"{here}/"[len(folder) + 1 :]
            links = [name for name in folders if os.path.islink(f"{here}/{name}")]
            found += [f"{start}{name}" for name in (*names, *links)]
        return found

    def change_token(self, key: str) -> object:
        """Return the inode and modification time of a file, or None if there is none."""
        try:
            found = os.lstat(f"{self.url}/{key}")
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def exists(self) -> bool:
        """Return whether the directory exists and is not empty; raise `UserError` if it is a file."""
        if self._root.is_file():
            raise UserError(f"{self.url} is a file; a store is a directory")
        return self._root.is_dir() and any(self._root.iterdir())

    def list_drafts(self) -> list[str]:
        """Return the keys of temporary files, written by this module or by Zarr."""
        return [key for key in self._walk("") if _DRAFT.fullmatch(key)]

    def delete_stale_drafts(self) -> None:
        """Delete temporary files that have not been written to for a minute."""
        for key in self.list_drafts():
            with suppress(FileNotFoundError):
                path = self._resolve_key(key)
                if time() - os.lstat(path).st_mtime > _OLD:
                    os.unlink(path)

    def remove(self, keys: Sequence[str]) -> None:
        """Delete these files, then the directories that this leaves empty."""
        for key in keys:
            self.delete(key)
        folders = {str(parent) for key in keys for parent in PurePosixPath(key).parents}
        for folder in sorted(folders, key=len, reverse=True):  # "." is the directory itself, and comes last
            with suppress(OSError):
                os.rmdir(f"{self.url}/{folder}" if folder != "." else self.url)


def _write(path: str, data: bytes, mode: int = 0o666) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags, mode)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]
    finally:
        os.close(file)
