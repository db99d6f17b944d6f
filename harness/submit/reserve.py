"""Reserve disk space in a store, so that a driver can still record its outcome and log when the disk is full."""

from __future__ import annotations

import os

from harness.backends.address import is_url
from harness.backends.base import Backend
from harness.store.manifest import SUBMISSION

_KEY = f"{SUBMISSION}/room"
_BYTES = 1 << 20
"""Size of the reserve, far more than an outcome and a log take. Filled with random bytes, as disks may compress."""


def allocate(backend: Backend) -> None:
    """Reserve the space in a store that is a directory; buckets need none, since they do not fill up."""
    if not is_url(backend.url):
        backend.put(_KEY, os.urandom(_BYTES))


def release(backend: Backend) -> None:
    """Free the reserved space."""
    backend.delete(_KEY)
