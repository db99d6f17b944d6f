"""Disks that can't be written to: told in one line, and at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC, EROFS

from harness.core.types import Refused


@contextmanager
def writable(url: str) -> Iterator[None]:
    """A disk that is full or locked is so for every worker: trying again wouldn't help."""
    try:
        yield
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT, EROFS):
            raise
        raise Refused(f"{url}: {error.strerror}") from None
