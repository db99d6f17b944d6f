"""A place: keys and bytes, in a directory or a bucket. All that isn't Zarr goes through it, and it loads no Zarr.

Writing is all or nothing: a reader sees the old bytes or the new ones.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Protocol

from harness.nouns import Mistake
from harness.writable import writable

PARTIAL = ".partial"
"""The ending of files that are being written: left behind by killed writers, never read."""
_OLD = 60.0
_FILE = ("file://", "local://")


class Place(Protocol):
    """Keys are paths with slashes, relative to the place."""

    url: str

    def get(self, key: str) -> bytes | None:
        """The bytes at a key, or None."""
        ...

    def gets(self, keys: Collection[str]) -> list[bytes | None]:
        """The bytes at many keys."""
        ...

    def put(self, key: str, data: bytes, *, make: bool = True) -> None:
        """Writes, at once or not at all. Without `make`, only where there is a folder for it."""
        ...

    def puts(self, data: Mapping[str, bytes]) -> None:
        """Writes many keys, in any order: each at once or not at all."""
        ...

    def claim(self, key: str, data: bytes) -> bool:
        """Writes a key that isn't there yet; False if somebody else was first."""
        ...

    def delete(self, key: str) -> None:
        """Removes a key if it is there."""
        ...

    def names(self, prefix: str, start: str = "") -> list[str]:
        """The names directly under a prefix, or those of them that start so; in any order, as there may be many."""
        ...

    def below(self, prefix: str) -> list[str]:
        """All keys under a prefix, however deep, without it; in any order."""
        ...

    def mark(self, key: str) -> object:
        """Something cheap that is another if the key may have been written anew; None where there is none."""
        ...

    def exists(self) -> bool:
        """Whether there is anything at all."""
        ...

    def sweep(self) -> None:
        """Removes what killed writers left behind."""
        ...

    def remove(self, last: str) -> None:
        """Removes everything, one key last."""
        ...


def place(url: str) -> Place:
    """A directory, or whatever fsspec reaches by its URL (s3://…)."""
    if "://" not in url or url.startswith(_FILE):
        return LocalPlace(url.partition("://")[2] if url.startswith(_FILE) else url)
    from harness.remote import RemotePlace

    return RemotePlace(url)


class LocalPlace:
    """A directory.

    Examples
    --------
    >>> import tempfile
    >>> here = LocalPlace(tempfile.mkdtemp())
    >>> here.put("receipts/a.json", b"{}")
    >>> here.names("receipts"), here.get("receipts/a.json"), here.get("receipts/b.json")
    (['a.json'], b'{}', None)
    """

    def __init__(self, path: str) -> None:
        self._root = Path(path).absolute()
        self.url = str(self._root)

    def get(self, key: str) -> bytes | None:
        """The bytes at a key, or None."""
        try:
            return (self._root / key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def gets(self, keys: Collection[str]) -> list[bytes | None]:
        """The bytes at many keys."""
        return [self.get(key) for key in keys]

    def put(self, key: str, data: bytes, *, make: bool = True) -> None:
        """Writes to a file beside it, then renames that."""
        target = f"{self.url}/{key}"
        with writable(self.url):
            os.replace(self._draft(target, data, make), target)

    def puts(self, data: Mapping[str, bytes]) -> None:
        """One after the other."""
        for key, one in data.items():
            self.put(key, one)

    def _draft(self, target: str, data: bytes, make: bool = True) -> str:
        """The data in a file beside the target."""
        draft = f"{target}.{uuid.uuid4().hex}{PARTIAL}"
        try:
            try:
                _write(draft, data)
            except FileNotFoundError:
                if not make:
                    raise
                os.makedirs(os.path.dirname(target), exist_ok=True)
                _write(draft, data)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            raise
        return draft

    def claim(self, key: str, data: bytes) -> bool:
        """Writes a file that isn't there yet; False if somebody else was first."""
        target = f"{self.url}/{key}"
        with writable(self.url):
            draft = self._draft(target, data)
        try:
            os.link(draft, target)  # unlike a rename it fails where something is
        except FileExistsError:
            return False
        finally:
            os.unlink(draft)
        return True

    def delete(self, key: str) -> None:
        """Removes a file if it is there."""
        with writable(self.url):
            (self._root / key).unlink(missing_ok=True)

    def names(self, prefix: str, start: str = "") -> list[str]:
        """The names directly under a prefix, without leftovers of killed writers."""
        try:
            found = os.listdir(self._root / prefix)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [name for name in found if name.startswith(start) and not name.endswith(PARTIAL)]

    def below(self, prefix: str) -> list[str]:
        """All files under a prefix, without leftovers of killed writers."""
        folder, found = str(self._root / prefix), list[str]()
        for here, _, names in os.walk(folder):
            start = f"{here}/"[len(folder) + 1 :]
            found += [f"{start}{name}" for name in names if not name.endswith(PARTIAL)]
        return found

    def mark(self, key: str) -> object:
        """Which file it is, and when that was written."""
        try:
            found = os.stat(f"{self.url}/{key}")
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def exists(self) -> bool:
        """Whether there is anything at all."""
        if self._root.is_file():
            raise Mistake(f"{self.url} is a file; a store is a directory")
        return self._root.is_dir() and any(self._root.iterdir())

    def sweep(self) -> None:
        """Removes files that were being written a minute ago and still aren't."""
        for draft in self._root.rglob(f"*{PARTIAL}"):
            with suppress(FileNotFoundError):
                if time() - draft.stat().st_mtime > _OLD:
                    draft.unlink()

    def remove(self, last: str) -> None:
        """Everything, and the directory."""
        shutil.rmtree(self._root)


def _write(path: str, data: bytes) -> None:
    with open(path, "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
