"""The driver: from a scenario to a finished store. It plans, makes or grows the store, sends units out, keeps the cube.

All it knows of progress it reads from receipts, so it may die at any moment: the next run goes on.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from math import inf, nan
from time import monotonic, sleep
from typing import Any

from harness.backends.base import Backend
from harness.backends.retry import retry_call
from harness.core.environment import describe_machine as machine_facts, find_commit
from harness.core.errors import ClusterError, StoreRefusedError, StoreUnreachableError, UserError
from harness.core.text import get_timestamp
from harness.core.types import Limits
from harness.execution import clusters, dask_executor
from harness.execution.cube_keeper import CubeKeeper
from harness.execution.health import describe_scheduler
from harness.execution.interrupts import is_interrupted
from harness.execution.prepare import Prepared, prepare
from harness.execution.progress import Progress, ProgressCounter
from harness.execution.serial import run_serial
from harness.planning.plan import check_fits
from harness.store import arrays
from harness.store.heartbeat import Heartbeat, current_driver, from_bytes, other_driver, run_heartbeat, to_bytes
from harness.store.identity import check_same_store, is_same_store
from harness.store.inventory import find_cube_gaps
from harness.store.manifest import CLAIM, COPY, ROOT, Manifest, cache_key
from harness.store.manifest_io import add_to_history, load_manifest, save_manifest
from harness.worker import compatibility
from harness.worker.task import prepare_artifact as prepare_array, run_unit

_HANG_FACTOR = 30.0
"""A step of a replication hangs if it takes so many times as long as the replication is planned to take, or longer."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    url: str
    units: int
    failed: int
    seconds: float
    efficiency: float
    """Seconds of pure computing over those that the workers had, from the first unit's start to the last one's end."""


def run_prepared(
    prepared: Prepared,
    progress: Progress,
    client: Any = None,
    window: int | None = None,
    presence: Heartbeat | None = None,
) -> Outcome:
    """Computes what is left, with the client that is given, or on workers of its own on this machine."""
    check_fits(prepared.plan, prepared.machine, prepared.loaded.where)
    shared = _check_other_driver(prepared, progress)
    with run_heartbeat(presence or Heartbeat(prepared.backend)) as signs:
        claimed = _acquire_store(prepared, client)
        try:
            return _run(claimed, progress, client, window, signs, shared)
        except StoreRefusedError:
            raise
        except StoreUnreachableError as error:
            raise ClusterError(str(error)) from None
        except ClusterError:
            _mark_last_run(prepared.backend, "broke")
            raise


def _check_other_driver(prepared: Prepared, progress: Progress) -> bool:
    """Whether another driver is at work: two on one store do no harm, unless one of them makes it grow."""
    another = other_driver(prepared.backend)
    if another is None:
        return False
    if not prepared.is_new and prepared.grows:
        raise UserError(
            f"{prepared.backend.url} can't grow while {another} is at work on it: wait until that has ended"
        )
    progress.note(f"{another} is at work on this store, too: this run begins at the other end of what is left")
    return True


def _run(
    prepared: Prepared, progress: Progress, client: Any, window: int | None, presence: Heartbeat, shared: bool
) -> Outcome:
    manifest, backend = _begin_run(prepared), prepared.backend
    start = monotonic()
    arguments = (backend.url, cache_key(manifest), manifest.generation, prepared.retry)
    failed, spent = prepared.failed, Usage()
    presence.watch_store(lambda: is_same_store(backend, manifest))
    keeper = CubeKeeper(backend.url, manifest, _find_stale_sizes(prepared.manifest) | find_cube_gaps(backend, manifest))
    if prepared.damaged:
        lost = len(prepared.damaged)
        progress.note(f"{lost} unit{'s' * (lost != 1)} lost a chunk since it was written, and will be computed again")
    progress.start(prepared.plan)
    tally = ProgressCounter(prepared.plan)
    presence.set_progress(tally.to_dict())
    try:
        for result in _generate_results(prepared, client, arguments, window, progress.note, presence, shared):
            failed += result["failed"]
            spent.add(result["began"], result["ended"], result["compute"])
            told_of = (result["unit"], result["failed"], result["ended"] - result["began"])
            progress.advance(*told_of)
            tally.add(*told_of)
            presence.set_progress(tally.to_dict())
            keeper.note_unit(result["unit"].n)
    except BaseException:
        keeper.abort()
        raise
    finally:
        progress.finish()
    if keeper.is_slow:
        progress.note("all units are done; the cube is being computed from them")
    if retry_call(lambda: arrays.restore_root(backend)):
        progress.note(f"{ROOT} was lost or damaged: rebuilt from {COPY}")
    retry_call(keeper.finish)
    retry_call(lambda: _mark_ended(backend, manifest.history[-1], start))
    efficiency = spent.compute_efficiency(prepared.machine.workers)
    return Outcome(backend.url, spent.units, failed, monotonic() - start, efficiency)


def _acquire_store(prepared: Prepared, client: Any) -> Prepared:
    """Sees to it that one driver alone makes or grows the store; another one waits, and looks again at what is left."""
    backend = prepared.backend
    now = load_manifest(backend)
    if now is not None and (now.extents, now.groups) == (prepared.manifest.extents, prepared.manifest.groups):
        return prepared
    while not backend.claim(CLAIM, to_bytes(current_driver())):
        raw = backend.get(CLAIM)
        holder = from_bytes(raw)
        if raw is not None and (holder is None or not holder.alive):
            backend.delete(CLAIM)  # of a driver that was killed
        sleep(0.1)
    if prepared.is_new and load_manifest(backend) is not None:
        backend.delete(CLAIM)
        loaded, machine = prepared.loaded, prepared.machine
        return prepare(loaded, backend.url, machine.workers, machine.flops, prepared.retry, prepared.cluster, client)
    return prepared


@dataclass
class Usage:
    """What units took, added up: there may be very many.

    Examples
    --------
    >>> spent = Usage()
    >>> for unit in [(0.0, 4.0, 4.0), (0.0, 2.0, 2.0), (2.0, 4.0, 1.5)]:
    ...     spent.add(*unit)
    >>> spent.compute_efficiency(workers=2)
    0.9375
    """

    units: int = 0
    pure: float = 0.0
    first: float = inf
    last: float = -inf

    def add(self, began: float, ended: float, pure: float) -> None:
        """One more, by when it began and ended, and its seconds of pure computing."""
        self.units, self.pure = self.units + 1, self.pure + pure
        self.first, self.last = min(self.first, began), max(self.last, ended)

    def compute_efficiency(self, workers: int) -> float:
        """Computing by what the workers had; NaN of nothing."""
        return self.pure / (workers * (self.last - self.first)) if self.units else nan


def _generate_results(
    prepared: Prepared,
    client: Any,
    arguments: tuple[Any, ...],
    window: int | None,
    note: Callable[[str], None],
    presence: Heartbeat,
    shared: bool,
) -> Iterator[dask_executor.Result]:
    machine, jobs = prepared.machine, list(zip(prepared.plan.units, _time_limits(prepared), strict=True))
    if shared:  # with a driver that began at the other end: they meet in the middle
        jobs.reverse()
    first = [
        (one, Limits(max(Limits.seconds, _HANG_FACTOR * seconds), planned=seconds))
        for one, seconds in prepared.plan.preparations
    ]
    if not jobs and not first:
        return

    def stop() -> bool:
        if presence.store_lost:
            check_same_store(prepared.backend, prepared.manifest)
        return presence.asked_to_stop or is_interrupted()

    if client is None and prepared.cluster is None and machine.workers == 1 and len(jobs) <= 1:
        _run_preparations(run_serial(prepare_array, arguments, first, machine.memory, stop), first, note)
        yield from run_serial(run_unit, arguments, jobs, machine.memory, stop)
        return
    with clusters.connect(prepared.cluster, machine, note) if client is None else nullcontext(client) as connected:
        presence.set_log_source(lambda: dask_executor.fetch_worker_logs(connected))
        ours = _check_workers(prepared, connected, arguments, note)
        patience = None if prepared.cluster is None else prepared.cluster.patience
        terms = dask_executor.RunOptions(window, machine.workers, note, patience, ours, stop)
        _run_preparations(dask_executor.run_dask(connected, prepare_array, arguments, first, terms), first, note)
        yield from dask_executor.run_dask(connected, run_unit, arguments, jobs, terms)


def _check_workers(
    prepared: Prepared, client: Any, arguments: tuple[Any, ...], note: Callable[[str], None]
) -> Mapping[str, str] | None:
    """Refuses workers that can't compute this study, or would compute it otherwise. What late ones must have, too."""
    scenario = prepared.loaded.scenario
    names = compatibility.list_user_modules(str(scenario.source["function"]), scenario.family)
    ours = compatibility.environment_facts(names)
    strict = prepared.cluster is None or prepared.cluster.versions == "same"
    try:
        seen = dask_executor.inspect_cluster(client, compatibility.inspect_worker, (arguments[:3], names))
    except OSError as error:  # of the connection: what workers raise comes as a result
        raise ClusterError(f"{describe_scheduler(client)} can't be reached ({type(error).__name__})") from None
    compatibility.check_cluster(ours, seen, strict, note)
    return ours if strict else None


def _run_preparations(
    results: Iterator[dask_executor.Result], jobs: Sequence[dask_executor.Task], note: Callable[[str], None]
) -> None:
    """Stage one: all of it comes before the first unit."""
    if jobs:
        note(f"preparing {', '.join(job.name for job, _ in jobs)}")
    for result in results:
        note(f"prepared {result['name']} in {result['seconds']:.0f} s")


def _time_limits(prepared: Prepared) -> list[Limits]:
    """The limit of each unit: the scenario's, or one that only what hangs can reach."""
    told = prepared.loaded.scenario.replications.seconds
    cares = {}
    for size in prepared.plan.sizes:
        limit = told or max(Limits.seconds, _HANG_FACTOR * size.seconds / (size.block[0] * size.block[1]))
        cares[size.n] = Limits(limit, user_set=told is not None, planned=size.seconds)
    return [cares[unit.n] for unit in prepared.plan.units]


def _find_stale_sizes(manifest: Manifest) -> set[int]:
    """Where the cube may be behind the replications: nowhere if the last run ended in order and nothing grew since."""
    return set() if manifest.is_settled else set(manifest.extent.grid.n)


def _begin_run(prepared: Prepared) -> Manifest:
    """Makes or grows the store, with this run in its history."""
    backend, manifest = prepared.backend, prepared.manifest
    entry = {
        "start": get_timestamp(),
        "host": platform.node(),
        "command": prepared.command or " ".join(sys.argv),
        **{key: machine_facts()[key] for key in ("python", "versions")},
        "commit": find_commit(),
    }
    old = load_manifest(backend)
    if old is not None and old.fingerprint["files"] != manifest.fingerprint["files"]:
        entry["mended"] = sorted(manifest.fingerprint["files"])
    manifest = replace(manifest, history=(*manifest.history, entry))
    if old is not None and _find_stale_sizes(old):
        backend.delete_stale_drafts()
    manifest = replace(manifest, root_is_lost=False)
    if old is None or any(
        getattr(old, part) != getattr(manifest, part) for part in ("extents", "groups", "fingerprint")
    ):
        arrays.clear_handles()  # another store may have been here
        arrays.publish(backend, manifest, prepared.loaded.built.files)
        backend.delete(CLAIM)
    elif old.root_is_lost or old.is_torn:
        arrays.clear_handles()  # their metadata may be damaged
        arrays.publish(backend, manifest, prepared.loaded.built.files)
    else:
        save_manifest(backend, manifest)
    for receipt in prepared.damaged:
        backend.delete(receipt.key)
    return manifest


def _mark_ended(backend: Backend, entry: Mapping[str, Any], start: float) -> None:
    """Another run may have begun meanwhile."""
    add_to_history(backend, {"end": get_timestamp(), "seconds": round(monotonic() - start, 1)}, entry)


def mark_stopped(prepared: Prepared) -> None:
    """The user stopped the run: that is no crash."""
    mark_store_stopped(prepared.backend)


def mark_store_stopped(backend: Backend) -> None:
    """The same of a store."""
    _mark_last_run(backend, "stopped")


def _mark_last_run(backend: Backend, how: str) -> None:
    """How the last run ended, if not at its end; where there is nobody to tell, it isn't told."""
    with suppress(UserError):
        add_to_history(backend, {how: get_timestamp()})
