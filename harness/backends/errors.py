"""Translate what goes wrong on the way to a store into one line without secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC, EROFS

from harness.backends.address import S3, is_url
from harness.core.errors import Mistake, Refused, Unreachable
from harness.core.text import one_line

_WAY = ("botocore", "aiobotocore", "aiohttp")
"""Packages whose exceptions are about the way to a store, never about what is in it."""


_KEYS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE)"


_WORDS = {
    "NoSuchBucket": "there is no such bucket: make it first, or choose another place",
    "ParamValidationError": "that is no name of a bucket: choose another place",
    "InvalidBucketName": "that is no name of a bucket: choose another place",
    "NoCredentialsError": f"there are no credentials: set {_KEYS} in the environment",
    "PartialCredentialsError": f"half of the credentials is missing: set {_KEYS} in the environment",
    "ProfileNotFound": "there is no such profile: set AWS_PROFILE to one that there is",
    "InvalidAccessKeyId": f"nobody knows this access key: check {_KEYS}",
    "SignatureDoesNotMatch": f"the secret isn't that of the access key: check {_KEYS}",
    "ExpiredToken": "the credentials have expired: get new ones",
}
"""What can be put right, by the server's code or the exception's name."""


@contextmanager
def telling(url: str) -> Iterator[None]:
    """Says in one line what is wrong on the way to a store; what is wrong with its content goes on as it is."""
    if not is_url(url):
        with writable(url):
            yield
        return
    try:
        yield
    except Exception as error:
        if isinstance(error, Mistake) or not _on_the_way(error):
            raise
        raise _told(url, error) from None


def _on_the_way(error: Exception) -> bool:
    if isinstance(error, FileNotFoundError | FileExistsError | IsADirectoryError | NotADirectoryError):
        return code_of(error) == "NoSuchBucket"
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _WAY


def code_of(error: BaseException) -> str:
    """What the server calls an error; "" if it said nothing."""
    for one in (error, error.__cause__):
        response = getattr(one, "response", None)
        if isinstance(response, Mapping):
            return str(response.get("Error", {}).get("Code", ""))
    return ""


def _told(url: str, error: Exception) -> Unreachable:
    code, name = code_of(error), type(error).__name__
    for known in (code, name):
        if known in _WORDS:
            return Refused(f"{url}: {_WORDS[known]}")
    if isinstance(error, PermissionError):
        needs = "they must allow to list, read, write and delete"
        return Refused(f"{url}: access is denied ({code or name}) with the credentials in the environment: {needs}")
    if not code and url.startswith(S3):
        at = f" at {endpoint}" if (endpoint := _endpoint()) else ""
        return Unreachable(f"{url}: nobody answers{at} ({name}): check the network and AWS_ENDPOINT_URL")
    return Unreachable(f"{url} can't be reached ({code or name}: {_without_secrets(str(error))})")


def _endpoint() -> str:
    """Where requests go, if the environment says it; without what may stand before an @."""
    told = os.environ.get("AWS_ENDPOINT_URLS3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    return re.sub(r"//[^/]*@", "//", told)


def _without_secrets(text: str) -> str:
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"):
        if secret := os.environ.get(name):
            text = text.replace(secret, "…")
    return one_line(re.sub(r"//[^/\s]*@", "//", text))


@contextmanager
def writable(url: str) -> Iterator[None]:
    """A disk that is full or locked is so for every worker: trying again wouldn't help."""
    try:
        yield
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT, EROFS):
            raise
        raise Refused(f"{url}: {error.strerror}") from None
