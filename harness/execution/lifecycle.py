"""Create or grow a store at the beginning of a run, and record in its history how the run ended."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from time import monotonic, sleep
from typing import Any

from harness.backends.base import Backend
from harness.core.environment import describe_machine as machine_facts, find_commit
from harness.core.errors import UserError
from harness.core.text import get_timestamp
from harness.execution.prepare import Prepared, prepare
from harness.store import arrays
from harness.store.heartbeat import current_driver, from_bytes, to_bytes
from harness.store.manifest import CLAIM, Manifest
from harness.store.manifest_io import add_to_history, load_manifest, save_manifest

_PUBLISHED = ("extents", "groups", "fingerprint", "families")
"""Parts of a manifest whose change creates or grows a store."""


def acquire_store(prepared: Prepared, client: Any) -> Prepared:
    """Claim the store, so that only one driver creates or grows it.

    A second driver waits for the claim. If the first one has created the store meanwhile, prepare again.
    """
    backend = prepared.backend
    now = load_manifest(backend)
    new = prepared.manifest
    if now is not None and all(getattr(now, part) == getattr(new, part) for part in _PUBLISHED):
        return prepared
    while not backend.claim(CLAIM, to_bytes(current_driver())):
        raw = backend.get(CLAIM)
        holder = from_bytes(raw)
        if raw is not None and (holder is None or not holder.alive):
            backend.delete(CLAIM)  # left by a driver that was killed
        sleep(0.1)
    if prepared.is_new and load_manifest(backend) is not None:
        backend.delete(CLAIM)
        loaded, machine = prepared.loaded, prepared.machine
        options = (machine.workers, machine.flops, prepared.retry, prepared.cluster, client, prepared.accept_changed)
        return replace(prepare(loaded, backend.url, *options), command=prepared.command)
    return prepared


def begin_run(prepared: Prepared) -> Manifest:
    """Create or grow the store, add this run to its history, and return the new manifest."""
    backend, manifest = prepared.backend, prepared.manifest
    entry = {
        "start": get_timestamp(),
        "host": platform.node(),
        "command": prepared.command or " ".join(sys.argv),
        **{key: machine_facts()[key] for key in ("python", "versions")},
        "commit": find_commit(),
    }
    old = load_manifest(backend)
    edited = [] if old is None else _list_edited_files(old, manifest)
    if edited:
        entry["mended"] = sorted(edited)
    manifest = replace(manifest, history=(*manifest.history, entry))
    if old is not None and find_stale_sizes(old):
        backend.delete_stale_drafts()
    manifest = replace(manifest, root_is_lost=False)
    if old is None or any(getattr(old, part) != getattr(manifest, part) for part in _PUBLISHED):
        arrays.clear_handles()  # another store may have been at this URL
        arrays.publish(backend, manifest, prepared.loaded.stored_files)
        backend.delete(CLAIM)
    elif old.root_is_lost or old.is_torn or old.cube_version != manifest.cube_version:
        arrays.clear_handles()  # their metadata may be damaged, or lack variables of the cube
        arrays.publish(backend, manifest, prepared.loaded.stored_files)
    else:
        save_manifest(backend, manifest)
    for receipt in prepared.damaged:
        backend.delete(receipt.key)
    return manifest


def _list_edited_files(old: Manifest, new: Manifest) -> list[str]:
    """Return the names of files of the source, and of families that a store had, whose content has changed."""
    parts = [(old.fingerprint["files"], new.fingerprint["files"])]
    parts += [(one.files, new.families[name].files) for name, one in old.families.items()]
    return [name for was, now in parts for name, hashed in now.items() if was.get(name, hashed) != hashed]


def find_stale_sizes(manifest: Manifest) -> set[int]:
    """Return the n at which the cube may be out of date: none if the last run ended cleanly and nothing grew since."""
    return set() if manifest.is_settled else set(manifest.extent.grid.n)


def mark_ended(backend: Backend, entry: Mapping[str, Any], start: float) -> None:
    """Record in the history that the run of `entry` has ended; another run may have started meanwhile."""
    add_to_history(backend, {"end": get_timestamp(), "seconds": round(monotonic() - start, 1)}, entry)


def mark_stopped(prepared: Prepared) -> None:
    """Record in the history that the user stopped the run, to tell it from a crash."""
    mark_store_stopped(prepared.backend)


def mark_store_stopped(backend: Backend) -> None:
    """Record in a store's history that the user stopped its last run."""
    mark_last_run(backend, "stopped")


def mark_last_run(backend: Backend, how: str) -> None:
    """Record in the history how the last run ended early. Does nothing if the store is unreachable."""
    with suppress(UserError):
        add_to_history(backend, {how: get_timestamp()})
