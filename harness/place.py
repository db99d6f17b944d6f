"""A place: keys and bytes, in a directory or a bucket. All that isn't Zarr goes through it, and it loads no Zarr.

Writing is all or nothing: a reader sees the old bytes or the new ones.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Any, Protocol

from harness.nouns import Mistake

PARTIAL = ".partial"
"""The ending of files that are being written: left behind by killed writers, never read."""
_OLD = 60.0


class Place(Protocol):
    """Keys are paths with slashes, relative to the place."""

    url: str

    def get(self, key: str) -> bytes | None:
        """The bytes at a key, or None."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Writes, at once or not at all."""
        ...

    def claim(self, key: str, data: bytes) -> bool:
        """Writes a key that isn't there yet; False if somebody else was first."""
        ...

    def delete(self, key: str) -> None:
        """Removes a key if it is there."""
        ...

    def names(self, prefix: str) -> list[str]:
        """The names directly under a prefix."""
        ...

    def exists(self) -> bool:
        """Whether there is anything at all."""
        ...

    def sweep(self) -> None:
        """Removes what killed writers left behind."""
        ...


def place(url: str) -> Place:
    """A directory, or whatever fsspec reaches by its URL (s3://…)."""
    if "://" in url and not url.startswith("file://"):
        return RemotePlace(url)
    return LocalPlace(url.removeprefix("file://"))


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

    def put(self, key: str, data: bytes) -> None:
        """Writes to a file beside it, then renames that."""
        target = self._root / key
        os.replace(self._draft(target, data), target)

    def _draft(self, target: Path, data: bytes) -> Path:
        """The data in a file beside the target."""
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.{uuid.uuid4().hex}{PARTIAL}")
        try:
            draft.write_bytes(data)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return draft

    def claim(self, key: str, data: bytes) -> bool:
        """Writes a file that isn't there yet; False if somebody else was first."""
        target = self._root / key
        draft = self._draft(target, data)
        try:
            os.link(draft, target)  # unlike a rename it fails where something is
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        return True

    def delete(self, key: str) -> None:
        """Removes a file if it is there."""
        (self._root / key).unlink(missing_ok=True)

    def names(self, prefix: str) -> list[str]:
        """The names directly under a prefix, without leftovers of killed writers."""
        try:
            with os.scandir(self._root / prefix) as entries:
                return sorted(entry.name for entry in entries if not entry.name.endswith(PARTIAL))
        except (FileNotFoundError, NotADirectoryError):
            return []

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


class RemotePlace:
    """A bucket, through fsspec; credentials come from the environment."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url.rstrip("/")
        self._files: Any
        try:
            self._files, self._root = fsspec.url_to_fs(self.url, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise Mistake(f"{url} can't be reached: {error} (for s3://… pip install 'ckrr[s3]')") from None

    def get(self, key: str) -> bytes | None:
        """The bytes at a key, or None."""
        try:
            data: bytes = self._files.cat_file(f"{self._root}/{key}")
        except FileNotFoundError:
            return None
        return data

    def put(self, key: str, data: bytes) -> None:
        """Writes an object: object stores do that at once or not at all."""
        self._files.pipe_file(f"{self._root}/{key}", data)

    def claim(self, key: str, data: bytes) -> bool:
        """Writes an object that isn't there yet: as nearly as a store without locks can."""
        if self.get(key) is not None:
            return False
        self.put(key, data)
        return self.get(key) == data

    def delete(self, key: str) -> None:
        """Removes an object if it is there."""
        if self._files.exists(f"{self._root}/{key}"):
            self._files.rm_file(f"{self._root}/{key}")

    def names(self, prefix: str) -> list[str]:
        """The names directly under a prefix."""
        return sorted(self._names(f"{self._root}/{prefix}"))

    def exists(self) -> bool:
        """Whether there is anything at all."""
        return any(True for _ in self._names(self._root))

    def sweep(self) -> None:
        """Object stores keep nothing that isn't whole."""

    def _names(self, folder: str) -> Iterator[str]:
        try:
            for path in self._files.ls(folder, detail=False):
                yield str(path).rstrip("/").rsplit("/", 1)[-1]
        except FileNotFoundError:
            return
