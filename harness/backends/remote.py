"""Backend for a bucket, accessed by its URL through fsspec.

Credentials and endpoint come only from the environment. Errors are raised with one-line messages without secrets:
`StoreUnreachableError` if the server does not answer, `StoreRefusedError` if retrying does not help.
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
"""Seconds after which the change token of a key changes."""
_TOGETHER = 16
"""Number of concurrent requests."""
_TAKEN = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")
"""Error codes of a conditional write to an object that exists."""
_EMPTY = ("InvalidRange", "416")
"""Error codes of a request for the first bytes of an empty object."""


def check_url(url: str) -> str:
    """Return the URL of a store without trailing slashes; raise `UserError` if it is invalid or has credentials.

    It is called before a URL is stored or logged anywhere.

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
        raise UserError(f"{told}…: a store is a plain URL, such as s3://bucket/my.zarr, without '?' and '::'")
    if scheme == "memory":
        raise UserError(
            f"{url} would be in the memory of this process, where no worker sees it: choose another --store"
        )
    if not where:
        raise UserError(f"{url} names no bucket: a store is a URL such as {scheme}://bucket/my.zarr")
    return url.rstrip("/")


def _has_secret(url: str, where: str, rest: str) -> bool:
    """Return whether a URL has the form scheme://key:secret@bucket.

    A secret may contain slashes; the name of a bucket contains no colon.
    """
    colon = ":" in where and not where.startswith("arn:")
    return "@" in where or (colon and ("@" in rest or url.startswith(S3)))


def get_storage_options(url: str) -> dict[str, Any]:
    """Return the options with which fsspec opens a URL. They contain no credentials, because they are pickled.

    With `max_concurrency` 1, a read does not request the object's size first. With two attempts by botocore within each
    of the five by s3fs, an endpoint that does not answer is reported within seconds.
    """
    if not url.startswith(S3):
        return {}
    config: dict[str, Any] = {"max_pool_connections": _TOGETHER}
    if not {"AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE"} & os.environ.keys():
        config["retries"] = {"mode": "standard", "total_max_attempts": 2}
    return {"use_listings_cache": False, "max_concurrency": 1, "config_kwargs": config}


def get_zarr_options(url: str) -> dict[str, Any] | None:
    """Return the options of a URL as `storage_options` for Zarr; None for a local path."""
    return get_storage_options(url) if is_url(url) else None


class RemoteBackend:
    """Read and write bytes at keys in a bucket, or under a prefix of one."""

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
                f"{self.url}: unknown protocol {self.url.partition('://')[0]}://: use s3://… or a path"
            ) from None

    @property
    def _is_s3(self) -> bool:
        return self.url.startswith(S3)

    def get(self, key: str, largest: int = LARGEST) -> bytes | None:
        """Return the bytes at a key, or None. At most one byte beyond `largest` is fetched."""
        try:
            with translate_errors(self.url):
                data = self._read_first_bytes(self._resolve_key(key), largest + 1)
        except FileNotFoundError:
            return None
        if len(data) > largest:
            raise UnsafePathError(
                f"{self.url}/{key} has more than the limit of {largest / 1e6:.3g} MB for this kind of file"
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
        """Return the bytes at many keys, with concurrent requests; None for each key that does not exist."""
        return self._map_parallel(self.get, keys)

    def put(self, key: str, data: bytes, *, make: bool = True, mode: int = 0o666) -> None:
        """Write an object, which object stores do atomically. `make` and `mode` have no effect."""
        with translate_errors(self.url):
            self._files.pipe_file(self._resolve_key(key), data)

    def put_many(self, data: Mapping[str, bytes]) -> None:
        """Write many objects in any order, with concurrent requests."""
        self._map_parallel(lambda key: self.put(key, data[key]), data)

    def claim(self, key: str, data: bytes) -> bool:
        """Write an object only if it does not exist yet (If-None-Match); return False if it does."""
        with translate_errors(self.url):
            try:
                self._files.pipe_file(self._resolve_key(key), data, mode="create")
            except OSError as error:
                if not isinstance(error, FileExistsError) and get_error_code(error) not in _TAKEN:
                    raise
                return self.get(key) == data  # if a response was lost, the retry finds the object of the first attempt
        return True

    def delete(self, key: str) -> None:
        """Delete an object if it exists."""
        try:
            with translate_errors(self.url):
                self._files.rm_file(self._resolve_key(key))
        except FileNotFoundError:
            return

    def list_names(self, prefix: str, start: str = "") -> list[str]:
        """Return the names directly under a prefix that begin with `start`; S3 filters them on the server."""
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
        """Return all keys under a prefix, at any depth and relative to it, with one request per thousand keys."""
        folder = self._resolve_key(prefix)
        try:
            with translate_errors(self.url):
                found = self._files.find(folder)
        except FileNotFoundError:
            return []
        start = f"{folder}/"
        return sorted(path[len(start) :] for path in map(str, found) if path.startswith(start) and path != start)

    def change_token(self, key: str) -> object:
        """Return a token that changes every ten seconds: a true one would cost as much as reading the key."""
        return monotonic() // _TOKEN_SECONDS

    def exists(self) -> bool:
        """Return whether the bucket, or the prefix, contains any object."""
        return bool(self.list_names(""))

    def list_drafts(self) -> list[str]:
        """Return an empty list: object stores keep no partly written objects."""
        return []

    def delete_stale_drafts(self) -> None:
        """Do nothing: object stores keep no partly written objects."""

    def remove(self, keys: Sequence[str]) -> None:
        """Delete these objects, one after the other. A bucket has no folders to remove."""
        for key in keys:
            self.delete(key)

    def _resolve_key(self, key: str) -> str:
        if key and not all(map(is_base_name, key.split("/"))):
            raise UnsafePathError(f"{self.url}: {key!r} is not a path inside the store")
        return f"{self._root}/{key}".rstrip("/")

    def _map_parallel(self, what: Callable[[str], T], keys: Collection[str]) -> list[T]:
        with ThreadPoolExecutor(max(min(_TOGETHER, len(keys)), 1)) as pool:
            return list(pool.map(what, keys))
