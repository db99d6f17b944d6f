"""The backend interface: read and write bytes at keys, in a directory or a bucket.

All files of a store except Zarr arrays are accessed through a backend, which does not import Zarr. Writes are atomic: a
reader sees the old bytes or the new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from harness.backends.address import is_url
from harness.backends.local import LocalBackend
from harness.core.errors import UserError
from harness.parsing.files import LARGEST

_FILE = ("file://", "local://")


class Backend(Protocol):
    """Read and write bytes at keys: paths with slashes, relative to the directory or bucket at `url`."""

    url: str

    def get(self, key: str, largest: int = LARGEST) -> bytes | None:
        """Return the bytes at a key, or None if it does not exist.

        Raises
        ------
        UnsafePathError
            If there are more than `largest` bytes, or the key leads outside the backend.
        """
        ...

    def get_many(self, keys: Collection[str]) -> list[bytes | None]:
        """Return the bytes at many keys, in their order; None for each key that does not exist."""
        ...

    def put(self, key: str, data: bytes, *, make: bool = True, mode: int = 0o666) -> None:
        """Write a key atomically.

        Parameters
        ----------
        key : str
            Key to write.
        data : bytes
            New content.
        make : bool
            Whether to create missing folders; otherwise writing to one fails.
        mode : int
            File permissions before the umask. Ignored by backends without file permissions.
        """
        ...

    def put_many(self, data: Mapping[str, bytes]) -> None:
        """Write many keys in any order, each of them atomically."""
        ...

    def claim(self, key: str, data: bytes) -> bool:
        """Write a key only if it does not exist yet; return False if another process wrote it first."""
        ...

    def delete(self, key: str) -> None:
        """Delete a key if it exists."""
        ...

    def list_names(self, prefix: str, start: str = "") -> list[str]:
        """Return the names directly under a prefix that begin with `start`, in any order."""
        ...

    def list_keys(self, prefix: str) -> list[str]:
        """Return all keys under a prefix, at any depth and relative to it, in any order."""
        ...

    def change_token(self, key: str) -> object:
        """Return an opaque token that changes when `key` is rewritten, or None if there is none. Cheaper than `get`."""
        ...

    def exists(self) -> bool:
        """Return whether the backend contains anything."""
        ...

    def list_drafts(self) -> list[str]:
        """Return the keys of temporary files: of writes in progress, or left behind by killed processes."""
        ...

    def delete_stale_drafts(self) -> None:
        """Delete temporary files that killed processes left behind."""
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Delete these keys in this order, then the folders that this leaves empty; nothing else."""
        ...


def open_backend(url: str) -> Backend:
    """Return the backend of a local path, or of a URL that fsspec supports (s3://…)."""
    if not url or "\0" in url:
        raise UserError(f"a store must be a path or a URL, got {url!r}")
    if not is_url(url) or url.startswith(_FILE):
        return LocalBackend(url.partition("://")[2] if url.startswith(_FILE) else url)
    from harness.backends.remote import RemoteBackend

    return RemoteBackend(url)
