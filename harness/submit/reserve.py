"""Room that a driver keeps in its store for its last words: a disk may be full when it has to say so."""

from __future__ import annotations

import os

from harness.backends.address import is_url
from harness.backends.base import Backend
from harness.store.manifest import SUBMISSION

_KEY = f"{SUBMISSION}/room"
_BYTES = 1 << 20
"""Far more than an outcome and a log take; and of no pattern, since disks may compress."""


def allocate(backend: Backend) -> None:
    """Takes it, in a directory: a bucket is never full."""
    if not is_url(backend.url):
        backend.put(_KEY, os.urandom(_BYTES))


def release(backend: Backend) -> None:
    """Frees it."""
    backend.delete(_KEY)
