"""The tasks of a graph: they take texts and numbers, read everything else from the store, and return keys of receipts.

A task may run long after its graph was made, more than once, and beside runs of the same study. So it looks at the
store when it starts: what has a receipt by then isn't computed again, and a store that has grown is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.backends.base import Backend, open_backend
from harness.backends.retry import retry_call
from harness.core.errors import UserError
from harness.core.types import Limits, Preparation
from harness.execution.cube_keeper import CubeKeeper
from harness.execution.lifecycle import finish_run, record_failure
from harness.execution.on_dask.executor import run_on_worker
from harness.store import arrays, artifacts, receipts
from harness.store.heartbeat import Heartbeat, run_heartbeat
from harness.store.identity import check_same_store, is_same_store
from harness.store.manifest import Manifest, cache_key
from harness.store.manifest_io import load_manifest
from harness.worker.study import load_study
from harness.worker.task import prepare_artifact, run_unit

StudyArguments = tuple[str, str, int, bool]
"""URL of the store, key of its manifest, number of its extent, and whether failed cells are computed again."""
UnitNumbers = tuple[int, int, int]
"""n, block of paths and block of draws of a unit."""
PlainLimits = tuple[float, bool, float]
"""Seconds that a step may take, whether the user has set them, and planned seconds of the task."""
Facts = Mapping[str, str]
"""Versions and hashes of the environment that made the graph, which the task's must match."""


def prepare_array(study: StudyArguments, name: str, limits: PlainLimits, ours: Facts) -> str:
    """Compute an array that the source needs, unless the store has it, and return the key of its receipt."""
    return run_on_worker(_prepare_missing, study, name, _make_limits(limits), ours)


def compute_unit(
    study: StudyArguments, unit: UnitNumbers, limits: PlainLimits, ours: Facts, prepared: Sequence[str] = ()
) -> str:
    """Compute what the store lacks of a unit, write it, and return the key of its receipt.

    `prepared` has the receipts of the arrays that must be there before.
    """
    return run_on_worker(_compute_missing, study, unit, _make_limits(limits), ours)


def refresh_cube(
    study: StudyArguments,
    run: tuple[int, str],
    sizes: Collection[int],
    units: Sequence[str] = (),
    prepared: Sequence[str] = (),
) -> str:
    """Refresh the cube from all units, record in the history that the run has ended, and return the store's URL.

    Parameters
    ----------
    study : tuple
        The store and its study.
    run : tuple
        Number and start of the run in the history, which began when the graph was made.
    sizes : collection of int
        The n at which the cube was out of date then.
    units, prepared : sequence of str
        Keys of the receipts of all units and preparations of the graph.

    Raises
    ------
    UserError
        If a unit has no receipt any more, or the store has grown.
    ClusterError
        If units are damaged.
    """
    url, key, generation, _ = study
    backend = open_backend(url)
    arrays.forget_other_stores(url, key)
    manifest = retry_call(lambda: load_manifest(backend))
    if manifest is None or cache_key(manifest) != key:
        raise _make_changed_error(backend)
    presence = Heartbeat(backend)
    presence.watch_store(lambda: is_same_store(backend, manifest))
    with run_heartbeat(presence), record_failure(backend):
        names = [key.removeprefix(f"{receipts.FOLDER}/").partition(".")[0] for key in units]
        changed = {int(name.partition("/")[0].removeprefix("n=")) for name in names}
        _check_signed(backend, generation, names, changed)
        finish_run(CubeKeeper(url, manifest, {*sizes, *changed}), _find_open_entry(manifest, *run))
    return url


def _check_signed(backend: Backend, generation: int, units: Sequence[str], sizes: Collection[int]) -> None:
    """Raise UserError if a unit has lost its receipt since it was computed."""
    signed = retry_call(lambda: receipts.list_receipts(backend, sizes))
    lost = [name for name in units if name not in signed or signed[name].generation < generation]
    if lost:
        what = f"{len(lost)} of {len(units)} units lost their receipts after being computed ({lost[0]})"
        raise UserError(f"{backend.url}: {what}: make the graph again with study.graph, and compute it")


def _find_open_entry(manifest: Manifest, number: int, start: str) -> Mapping[str, Any] | None:
    """Return the history entry of a run by its number and start; None if it has ended, or isn't there."""
    entry = manifest.history[number] if number < len(manifest.history) else {}
    return entry if entry.get("start") == start and "end" not in entry else None


def _prepare_missing(url: str, key: str, generation: int, retry: bool, name: str, care: Limits) -> str:
    if retry_call(lambda: artifacts.why_invalid(open_backend(url), name)) is not None:
        prepare_artifact(url, key, generation, retry, Preparation(name, 0.0, 0.0), care)
    return artifacts.make_receipt_key(name)


def _compute_missing(url: str, key: str, generation: int, retry: bool, numbers: UnitNumbers, care: Limits) -> str:
    backend = open_backend(url)
    manifest = retry_call(lambda: load_study(url, key, generation))[0]
    if manifest.generation != generation:
        raise _make_changed_error(backend)
    unit = manifest.make_unit(*numbers)
    found = retry_call(lambda: receipts.list_unit_receipts(backend, unit))
    if found and found[-1].generation == generation and not (retry and found[-1].failed):
        return found[-1].key
    unit = replace(unit, signed=bool(found))
    return str(run_unit(url, key, generation, retry, unit, care, _check_not_grown)["receipt"])


def _check_not_grown(backend: Backend, manifest: Manifest) -> None:
    """Raise UserError if a store was removed, replaced or grown since a manifest was read.

    No driver is registered while units of a graph are computed, so a run may grow the store meanwhile. A unit may be
    larger then, and must not be written in its old size.
    """
    check_same_store(backend, manifest)
    now = load_manifest(backend)
    if now is None or now.generation != manifest.generation:
        raise _make_changed_error(backend)


def _make_changed_error(backend: Backend) -> UserError:
    what = "was removed, replaced or grown since this graph was made"
    return UserError(f"{backend.url} {what}: make the graph again with study.graph")


def _make_limits(plain: PlainLimits) -> Limits:
    seconds, user_set, planned = plain
    return Limits(seconds, user_set, planned=planned)
