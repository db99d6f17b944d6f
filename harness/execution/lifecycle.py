"""Create or grow a store at the beginning of a run, refresh its cube at the end, and record how the run ended."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from time import monotonic, sleep
from typing import Any

from harness.backends.base import Backend, open_backend
from harness.backends.retry import retry_call
from harness.core.environment import describe_machine as machine_facts, find_commit
from harness.core.errors import ClusterError, StoreRefusedError, StoreUnreachableError, UserError
from harness.core.text import get_timestamp
from harness.execution.cube_keeper import CubeKeeper
from harness.execution.prepare import Prepared, prepare
from harness.store import arrays
from harness.store.heartbeat import Driver, current_driver, from_bytes, other_driver, to_bytes
from harness.store.inventory import find_cube_gaps
from harness.store.manifest import CLAIM, COPY, ROOT, SUPERSEDED, Manifest, is_open_graph
from harness.store.manifest_io import add_to_history, load_manifest, save_manifest
from harness.store.receipts import list_receipts

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
        workers = None if prepared.runs_here else machine.workers
        options = (workers, machine.flops, prepared.retry, prepared.cluster, client, prepared.accept_changed)
        return replace(prepare(loaded, backend.url, *options), command=prepared.command)
    return prepared


def begin_run(prepared: Prepared, as_graph: bool = False) -> Manifest:
    """Create or grow the store, add this run to its history, and return the new manifest."""
    backend, manifest = prepared.backend, prepared.manifest
    entry = {
        "start": get_timestamp(),
        "host": platform.node(),
        "command": prepared.command or " ".join(sys.argv),
        **{key: machine_facts()[key] for key in ("python", "versions")},
        "commit": find_commit(),
        **({"graph": True} if as_graph else {}),
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


def check_other_driver(prepared: Prepared) -> Driver | None:
    """Return another driver that is active on the store, if there is one.

    Two drivers can share a store, unless one of them has to grow it.

    Raises
    ------
    UserError
        If this run has to grow the store while another driver is active.
    """
    another = other_driver(prepared.backend)
    if another is not None and not prepared.is_new and prepared.grows:
        raise UserError(
            f"{prepared.backend.url} can't grow or take an edited source while {another} is running on it: "
            "wait until that has ended"
        )
    return another


def list_sizes_to_refresh(prepared: Prepared, manifest: Manifest) -> set[int]:
    """Return the n at which the cube is out of date or has gaps, before any unit of this run is computed."""
    everything = prepared.grows or manifest.had_rounds
    stale = set(manifest.extent.grid.n) if everything else find_stale_sizes(prepared.manifest)
    return stale | find_cube_gaps(prepared.backend, manifest)


def find_stale_sizes(manifest: Manifest) -> set[int]:
    """Return the n at which the cube may be out of date: none if the last run ended cleanly and nothing grew since."""
    return set() if manifest.is_settled else set(manifest.extent.grid.n)


def finish_run(
    keeper: CubeKeeper,
    entry: Mapping[str, Any] | None,
    note: Callable[[str], None] = lambda text: None,
    start: float | None = None,
) -> None:
    """Refresh the cube once all units are done, and record in the history that the run has ended.

    Parameters
    ----------
    keeper : CubeKeeper
        The cube, and the n at which it is out of date.
    entry : mapping or None
        The history entry of the run; None if it has ended before.
    note : callable
        Receives messages for the user.
    start : float, optional
        When the run began, by the monotonic clock of this process. Default: no duration is recorded.
    """
    backend = open_backend(keeper.url)
    if retry_call(lambda: arrays.restore_root(backend)):
        note(f"{ROOT} was lost or damaged: rebuilt from {COPY}")
    retry_call(keeper.finish)
    if entry is not None:
        retry_call(lambda: mark_ended(backend, entry, start))
    retry_call(lambda: _close_graphs(backend))


def _close_graphs(backend: Backend) -> None:
    """Record that graphs which are open have nothing left to write, if all units of the store are complete."""
    manifest = load_manifest(backend)
    graphs = [] if manifest is None else [one for one in manifest.history if is_open_graph(one)]
    if manifest is None or not graphs:
        return
    signed = list_receipts(backend, manifest.extent.grid.n).values()
    if sum(one.generation == manifest.generation for one in signed) == sum(map(manifest.count_units, manifest.groups)):
        for one in graphs:
            add_to_history(backend, {SUPERSEDED: get_timestamp()}, one)


def mark_ended(backend: Backend, entry: Mapping[str, Any], start: float | None = None) -> None:
    """Record in the history that the run of `entry` has ended; another run may have started meanwhile."""
    seconds = {} if start is None else {"seconds": round(monotonic() - start, 1)}
    add_to_history(backend, {"end": get_timestamp(), **seconds}, entry)


@contextmanager
def record_failure(backend: Backend) -> Iterator[None]:
    """Record in the history that a run has failed, and raise `ClusterError` if its store doesn't answer any more."""
    try:
        yield
    except StoreRefusedError:
        raise
    except StoreUnreachableError as error:
        raise ClusterError(str(error)) from None
    except ClusterError:
        mark_last_run(backend, "broke")
        raise


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
