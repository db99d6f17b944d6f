"""Whether a store is still the one that a run began with: somebody may have removed it, and made another there."""

from __future__ import annotations

from harness.backends.base import Backend
from harness.core.errors import StoreReplacedError, StoreUnreachableError, UserError
from harness.store.manifest import ROOT, Manifest
from harness.store.manifest_io import load_manifest

_seen: dict[str, tuple[object, Manifest]] = {}
"""For each store the mark that its root had when it was looked at, and whose it was."""


def check_same_store(backend: Backend, manifest: Manifest) -> None:
    """Refuses to go on where another study is, or none. A look at a file, as long as nobody has written to it."""
    mark = backend.change_token(ROOT)
    known = _seen.get(backend.url)
    if mark is not None and known is not None and known[0] == mark and known[1] is manifest:
        return
    if not is_same_store(backend, manifest):
        what = "the store was removed or replaced while the run was at work"
        raise StoreReplacedError(f"{backend.url}: {what}: nothing more is written there")
    _seen[backend.url] = (mark, manifest)


def is_same_store(backend: Backend, manifest: Manifest) -> bool:
    """Whether the store of a record is there, perhaps grown; where nobody answers it is taken to be."""
    try:
        now = load_manifest(backend)
    except StoreUnreachableError:
        return True
    except UserError:
        return False
    if now is None:
        return False
    size = len(manifest.extents)
    return (now.fingerprint, now.extents[:size]) == (manifest.fingerprint, manifest.extents)
