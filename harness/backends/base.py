"""A place: keys and bytes, in a directory or a bucket. All that isn't Zarr goes through it, and it loads no Zarr.

Writing is all or nothing: a reader sees the old bytes or the new ones.
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
    """Keys are paths with slashes, relative to the place."""

    url: str

    def get(self, key: str, largest: int = LARGEST) -> bytes | None:
        """The bytes at a key, or None. What has more than `largest` bytes is refused."""
        ...

    def get_many(self, keys: Collection[str]) -> list[bytes | None]:
        """The bytes at many keys."""
        ...

    def put(self, key: str, data: bytes, *, make: bool = True, mode: int = 0o666) -> None:
        """Writes, at once or not at all. Without `make`, only where there is a folder for it.

        Where the place knows owners, `mode` says who may read it, as far as the umask allows.
        """
        ...

    def put_many(self, data: Mapping[str, bytes]) -> None:
        """Writes many keys, in any order: each at once or not at all."""
        ...

    def claim(self, key: str, data: bytes) -> bool:
        """Writes a key that isn't there yet; False if somebody else was first."""
        ...

    def delete(self, key: str) -> None:
        """Removes a key if it is there."""
        ...

    def list_names(self, prefix: str, start: str = "") -> list[str]:
        """The names directly under a prefix, or those of them that start so; in any order, as there may be many."""
        ...

    def list_keys(self, prefix: str) -> list[str]:
        """All keys under a prefix, however deep, without it; in any order."""
        ...

    def change_token(self, key: str) -> object:
        """Something cheap that is another if the key may have been written anew; None where there is none."""
        ...

    def exists(self) -> bool:
        """Whether there is anything at all."""
        ...

    def list_drafts(self) -> list[str]:
        """Keys of what is being written, or was when its writer was killed."""
        ...

    def delete_stale_drafts(self) -> None:
        """Removes what killed writers left behind."""
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Removes these keys in this order, and folders that are empty then; nothing else."""
        ...


def open_backend(url: str) -> Backend:
    """A directory, or whatever fsspec reaches by its URL (s3://…)."""
    if not url or "\0" in url:
        raise UserError(f"a store must be a path or a URL, got {url!r}")
    if not is_url(url) or url.startswith(_FILE):
        return LocalBackend(url.partition("://")[2] if url.startswith(_FILE) else url)
    from harness.backends.remote import RemoteBackend

    return RemoteBackend(url)
