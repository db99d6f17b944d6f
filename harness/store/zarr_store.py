"""Open a store for Zarr, after checking its metadata; a local store can't be left through symbolic links."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zarr.abc.store import Store
from zarr.core.buffer import Buffer, default_buffer_prototype
from zarr.storage import FsspecStore, LocalStore

from harness.backends.address import is_url
from harness.backends.base import open_backend
from harness.backends.remote import get_storage_options
from harness.core.errors import UserError
from harness.parsing.files import check_file, resolve
from harness.parsing.json import MalformedError, check_table, load_json
from harness.store.checks.layout import check_layout
from harness.store.manifest import ROOT
from harness.store.manifest_io import resolve_manifest

_LARGEST = 4 << 30
"""Largest file of a chunk or shard, in bytes."""


def open_checked_store(url: str) -> Store:
    """Return the store at a path or URL for Zarr, if its metadata describe exactly the arrays of a ckrr store.

    Raises
    ------
    UserError
        If there is no store, its root is lost, or the root does not match its manifest.
    """
    backend = open_backend(url)
    raw = backend.get(ROOT)
    manifest = resolve_manifest(backend, raw)  # from the same bytes, because a driver may grow the store meanwhile
    if manifest is None:
        raise UserError(f"{url}: there is no store here")
    if manifest.root_is_lost or raw is None:
        raise UserError(f"{url}/{ROOT} is lost or damaged: `ckrr status {url} --verify` rebuilds it")
    try:
        check_layout(check_table(load_json(raw, ROOT), ROOT), manifest)
    except MalformedError as malformed:
        raise UserError(f"{url}/{ROOT} doesn't match its manifest: {malformed}") from None
    if is_url(backend.url):
        return FsspecStore.from_url(backend.url, storage_options=get_storage_options(backend.url))
    return ConfinedStore(backend.url, root_metadata=raw)


class ConfinedStore(LocalStore):
    """Zarr store in a local directory that does not follow symbolic links.

    Parameters
    ----------
    root : str or Path
        The directory.
    read_only : bool
        Whether to refuse writes.
    root_metadata : bytes
        Metadata of the root to return instead of the file's content: those that were checked, even if the file has
        been replaced since.
    """

    def __init__(self, root: Path | str, *, read_only: bool = False, root_metadata: bytes = b"") -> None:
        super().__init__(root, read_only=read_only)
        self._root_metadata = root_metadata

    def with_read_only(self, read_only: bool = False) -> ConfinedStore:
        """Return the same directory, writable or not."""
        return ConfinedStore(self.root, read_only=read_only, root_metadata=self._root_metadata)

    def _check(self, key: str) -> None:
        check_file(resolve(str(self.root), key), _LARGEST)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Buffer | None:
        """Return the bytes of a key, which must be a regular file inside the directory."""
        if key == ROOT and byte_range is None:
            return (prototype or default_buffer_prototype()).buffer.from_bytes(self._root_metadata)
        self._check(key)
        return await super().get(key, prototype, byte_range)

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]) -> list[Buffer | None]:
        """Return parts of keys, which must be regular files inside the directory."""
        pairs = list(key_ranges)
        for key, _ in pairs:
            self._check(key)
        return await super().get_partial_values(prototype, pairs)

    async def set(self, key: str, value: Buffer) -> None:
        """Write a key, which must be inside the directory."""
        self._check(key)
        await super().set(key, value)
