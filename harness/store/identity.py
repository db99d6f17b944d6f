"""Check that a store is still the one that a run began with: it may have been removed, or replaced by another."""

from __future__ import annotations

from harness.backends.base import Backend
from harness.core.errors import StoreReplacedError, StoreUnreachableError, UserError
from harness.store.manifest import ROOT, Manifest
from harness.store.manifest_io import load_manifest

_seen: dict[str, tuple[object, Manifest]] = {}
"""The root's change token at the last successful check and the manifest it belonged to, by URL of the store."""


def check_same_store(backend: Backend, manifest: Manifest) -> None:
    """Raise `StoreReplacedError` if a store was removed or replaced by that of another study.

    Cheap while the root is not rewritten: only its change token is read.
    """
    mark = backend.change_token(ROOT)
    known = _seen.get(backend.url)
    if mark is not None and known is not None and known[0] == mark and known[1] is manifest:
        return
    if not is_same_store(backend, manifest):
        what = "the store was removed or replaced during the run"
        raise StoreReplacedError(f"{backend.url}: {what}: nothing more is written to it")
    _seen[backend.url] = (mark, manifest)


def is_same_store(backend: Backend, manifest: Manifest) -> bool:
    """Return whether the store of a manifest still exists, possibly grown; also True if the store does not answer."""
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
