"""Translate errors of disks, networks and object stores into one-line messages without secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC, EROFS

from harness.backends.address import S3, is_url
from harness.core.errors import StoreRefusedError, StoreUnreachableError, UserError
from harness.core.text import fold_whitespace

_TRANSPORT_PACKAGES = ("botocore", "aiobotocore", "aiohttp")
"""Packages whose exceptions are about access to a store, never about its content."""
_KEYS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE)"
_MESSAGES = {
    "NoSuchBucket": "the bucket does not exist: create it first, or choose another one",
    "ParamValidationError": "this is not a valid bucket name: choose another one",
    "InvalidBucketName": "this is not a valid bucket name: choose another one",
    "NoCredentialsError": f"there are no credentials: set {_KEYS} in the environment",
    "PartialCredentialsError": f"the credentials are incomplete: set {_KEYS} in the environment",
    "ProfileNotFound": "the profile does not exist: set AWS_PROFILE to an existing one",
    "InvalidAccessKeyId": f"the server does not know this access key: check {_KEYS}",
    "SignatureDoesNotMatch": f"the secret key does not match the access key: check {_KEYS}",
    "ExpiredToken": "the credentials have expired: get new ones",
}
"""Messages for errors that the user can fix, by the server's error code or the exception's name."""


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Raise errors of access to a store as `StoreUnreachableError` with a one-line message; pass on all others."""
    if not is_url(url):
        with translate_disk_errors(url):
            yield
        return
    try:
        yield
    except Exception as error:
        if isinstance(error, UserError) or not _is_transport_error(error):
            raise
        raise _translate_error(url, error) from None


def _is_transport_error(error: Exception) -> bool:
    if isinstance(error, FileNotFoundError | FileExistsError | IsADirectoryError | NotADirectoryError):
        return get_error_code(error) == "NoSuchBucket"
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _TRANSPORT_PACKAGES


def get_error_code(error: BaseException) -> str:
    """Return the server's code of an error, or "" if the server gave none."""
    for one in (error, error.__cause__):
        response = getattr(one, "response", None)
        if isinstance(response, Mapping):
            return str(response.get("Error", {}).get("Code", ""))
    return ""


def _translate_error(url: str, error: Exception) -> StoreUnreachableError:
    code, name = get_error_code(error), type(error).__name__
    for known in (code, name):
        if known in _MESSAGES:
            return StoreRefusedError(f"{url}: {_MESSAGES[known]}")
    if isinstance(error, PermissionError):
        needs = "they must allow to list, read, write and delete"
        return StoreRefusedError(
            f"{url}: access is denied ({code or name}) with the credentials in the environment: {needs}"
        )
    if not code and url.startswith(S3):
        at = f" at {endpoint}" if (endpoint := _get_endpoint()) else ""
        return StoreUnreachableError(f"{url}: no server answers{at} ({name}): check the network and AWS_ENDPOINT_URL")
    return StoreUnreachableError(f"{url} can't be reached ({code or name}: {_remove_secrets(str(error))})")


def _get_endpoint() -> str:
    """Return the endpoint set in the environment, without credentials before an @; "" if none is set."""
    told = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    return re.sub(r"//[^/]*@", "//", told)


def _remove_secrets(text: str) -> str:
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"):
        if secret := os.environ.get(name):
            text = text.replace(secret, "…")
    return fold_whitespace(re.sub(r"//[^/\s]*@", "//", text))


@contextmanager
def translate_disk_errors(url: str) -> Iterator[None]:
    """Raise `StoreRefusedError` for a full or read-only disk: it affects every worker, so retrying does not help."""
    try:
        yield
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT, EROFS):
            raise
        raise StoreRefusedError(f"{url}: {error.strerror}") from None
