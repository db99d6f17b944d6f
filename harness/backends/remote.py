"""A place that is reached by a URL through fsspec: a bucket. Credentials and endpoint come from the environment alone.

What goes wrong on the way becomes one line without secrets: `Unreachable` if nobody answers, `Refused` if waiting won't
help.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, TypeVar

from harness.backends.address import S3, is_url
from harness.backends.errors import get_error_code, translate_errors
from harness.core.errors import UserError
from harness.core.text import fold_whitespace
from harness.parsing.files import LARGEST, UnsafePathError, is_base_name

T = TypeVar("T")
_TOKEN_SECONDS = 10.0
"""Seconds after which a key counts as written anew."""
_TOGETHER = 16
"""Requests at a time where there are many."""
_TAKEN = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")
_EMPTY = ("InvalidRange", "416")
"""What a server says when it is asked for the first bytes of an object that has none."""


def check_url(url: str) -> str:
    """Refuses what can't be a store, before anybody writes it down.

    Examples
    --------
    >>> check_url("s3://bucket/my.zarr/")
    's3://bucket/my.zarr'
    >>> check_url("s3://key:secret@bucket/my.zarr")
    Traceback (most recent call last):
    harness.core.errors.UserError: s3://…@bucket/my.zarr: credentials don't belong in a URL: set them in the environment
    """
    scheme, _, rest = url.partition("://")
    where, _, _ = rest.partition("/")
    if _has_secret(url, where, rest):
        told = f"{scheme}://…{''.join(rest.rpartition('@')[1:]) if '@' in rest else ''}"
        raise UserError(f"{told}: credentials don't belong in a URL: set them in the environment")
    if "?" in url or "::" in url:
        told = re.split(r"\?|::", url)[0]
        raise UserError(f"{told}…: a store is a plain URL, as s3://bucket/my.zarr, without '?' and '::'")
    if scheme == "memory":
        raise UserError(
            f"{url} would be in the memory of this process, where no worker sees it: choose another --store"
        )
    if not where:
        raise UserError(f"{url} names no bucket: it must be as {scheme}://bucket/my.zarr")
    return url.rstrip("/")


def _has_secret(url: str, where: str, rest: str) -> bool:
    """Whether it is like scheme://key:secret@bucket. A secret may have slashes; a bucket's name has no colon."""
    colon = ":" in where and not where.startswith("arn:")
    return "@" in where or (colon and ("@" in rest or url.startswith(S3)))


def get_storage_options(url: str) -> dict[str, Any]:
    """How fsspec reaches a URL: never with credentials, which would travel with pickles.

    A single read needn't ask for the size before. An endpoint that is gone is told in seconds: s3fs tries five times,
    and botocore, within each, twice.
    """
    if not url.startswith(S3):
        return {}
    config: dict[str, Any] = {"max_pool_connections": _TOGETHER}
    if not {"AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE"} & os.environ.keys():
        config["retries"] = {"mode": "standard", "total_max_attempts": 2}
    return {"use_listings_cache": False, "max_concurrency": 1, "config_kwargs": config}


def get_zarr_options(url: str) -> dict[str, Any] | None:
    """The same as Zarr's `storage_options`; None for a directory."""
    return get_storage_options(url) if is_url(url) else None


class RemoteBackend:
    """A bucket, or a part of one."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = check_url(url)
        self._files: Any
        try:
            with translate_errors(self.url):
                self._files, self._root = fsspec.url_to_fs(self.url, **get_storage_options(self.url))
        except ImportError as error:
            how = "pip install 'ckrr[s3]'" if self._is_s3 else fold_whitespace(error)
            raise UserError(f"{self.url} needs a package that isn't installed: {how}") from None
        except ValueError:
            raise UserError(
                f"{self.url}: nobody knows {self.url.partition('://')[0]}://: use s3://… or a path"
            ) from None

    @property
    def _is_s3(self) -> bool:
        return self.url.startswith(S3)

    def get(self, key: str, largest: int = LARGEST) -> bytes | None:
        """The bytes at a key, or None. No more than one byte beyond `largest` is fetched."""
        try:
            with translate_errors(self.url):
                data = self._read_first_bytes(self._resolve_key(key), largest + 1)
        except FileNotFoundError:
            return None
        if len(data) > largest:
            raise UnsafePathError(
                f"{self.url}/{key} has more than the {largest / 1e6:.3g} MB that such an object can have"
            )
        return data

    def _read_first_bytes(self, path: str, count: int) -> bytes:
        try:
            data: bytes = self._files.cat_file(path, end=count)
        except OSError as error:
            if get_error_code(error) not in _EMPTY:
                raise
            return b""
        return data

    def get_many(self, keys: Collection[str]) -> list[bytes | None]:
        """Many at a time."""
        return self._map_parallel(self.get, keys)

    def put(self, key: str, data: bytes, *, make: bool = True, mode: int = 0o666) -> None:
        """Writes an object: object stores do that at once or not at all. Who may read it is the bucket's to say."""
        with translate_errors(self.url):
            self._files.pipe_file(self._resolve_key(key), data)

    def put_many(self, data: Mapping[str, bytes]) -> None:
        """Many at a time, in any order."""
        self._map_parallel(lambda key: self.put(key, data[key]), data)

    def claim(self, key: str, data: bytes) -> bool:
        """Writes an object that isn't there yet, on condition that it isn't (If-None-Match)."""
        with translate_errors(self.url):
            try:
                self._files.pipe_file(self._resolve_key(key), data, mode="create")
            except OSError as error:
                if not isinstance(error, FileExistsError) and get_error_code(error) not in _TAKEN:
                    raise
                return self.get(key) == data  # an answer may get lost, and then the second try finds the first one's
        return True

    def delete(self, key: str) -> None:
        """Removes an object if it is there."""
        try:
            with translate_errors(self.url):
                self._files.rm_file(self._resolve_key(key))
        except FileNotFoundError:
            return

    def list_names(self, prefix: str, start: str = "") -> list[str]:
        """The names directly under a prefix, or those of them that start so: S3 looks for these alone."""
        folder = self._resolve_key(prefix)
        try:
            with translate_errors(self.url):
                if start and self._is_s3:
                    found = self._files.find(folder, prefix=start)
                else:
                    found = self._files.ls(folder, detail=False)
        except FileNotFoundError:
            return []
        below = (str(path).rstrip("/") for path in found)
        names = {path.rpartition("/")[2] for path in below if path != folder}  # a console's "folder" is an empty object
        return sorted(name for name in names if name.startswith(start))

    def list_keys(self, prefix: str) -> list[str]:
        """All keys under a prefix, however deep, without it: a thousand for each request."""
        folder = self._resolve_key(prefix)
        try:
            with translate_errors(self.url):
                found = self._files.find(folder)
        except FileNotFoundError:
            return []
        start = f"{folder}/"
        return sorted(path[len(start) :] for path in map(str, found) if path.startswith(start) and path != start)

    def change_token(self, key: str) -> object:
        """A bucket has none that is cheaper than the key itself: it counts as written anew every few seconds."""
        return monotonic() // _TOKEN_SECONDS

    def exists(self) -> bool:
        """Whether there is anything at all."""
        return bool(self.list_names(""))

    def list_drafts(self) -> list[str]:
        """None: object stores keep nothing that isn't whole."""
        return []

    def delete_stale_drafts(self) -> None:
        """Object stores keep nothing that isn't whole."""

    def remove(self, keys: Sequence[str]) -> None:
        """Removes these objects, one after the other: a bucket has no folders."""
        for key in keys:
            self.delete(key)

    def _resolve_key(self, key: str) -> str:
        if key and not all(map(is_base_name, key.split("/"))):
            raise UnsafePathError(f"{self.url}: {key!r} is no path inside a store")
        return f"{self._root}/{key}".rstrip("/")

    def _map_parallel(self, what: Callable[[str], T], keys: Collection[str]) -> list[T]:
        with ThreadPoolExecutor(max(min(_TOGETHER, len(keys)), 1)) as pool:
            return list(pool.map(what, keys))
