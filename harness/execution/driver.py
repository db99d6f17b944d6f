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

from harness.backends.base import Place
from harness.backends.retry import patiently
from harness.core.environment import commit, machine as machine_facts
from harness.core.errors import Broken, Mistake, Refused, Unreachable
from harness.core.text import timestamp
from harness.core.types import Care
from harness.execution import clusters, dask_executor
from harness.execution.cube_keeper import Keeper
from harness.execution.health import named
from harness.execution.interrupts import pressed
from harness.execution.prepare import Prepared, prepare
from harness.execution.progress import Progress, Tally
from harness.execution.serial import serial
from harness.planning.plan import check_fits
from harness.store import arrays
from harness.store.heartbeat import Presence, heard, me, other, present, told
from harness.store.identity import check_still, is_still
from harness.store.inventory import cube_gaps
from harness.store.manifest import CLAIM, COPY, ROOT, Record, version
from harness.store.manifest_io import add_to_history, load, save
from harness.worker import compatibility
from harness.worker.task import prepare as prepare_array, work

_HANGS = 30.0
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


def run(
    prepared: Prepared,
    progress: Progress,
    client: Any = None,
    window: int | None = None,
    presence: Presence | None = None,
) -> Outcome:
    """Computes what is left, with the client that is given, or on workers of its own on this machine."""
    check_fits(prepared.plan, prepared.machine, prepared.loaded.where)
    shared = _greet(prepared, progress)
    with present(presence or Presence(prepared.there)) as signs:
        claimed = _claimed(prepared, client)
        try:
            return _run(claimed, progress, client, window, signs, shared)
        except Refused:
            raise
        except Unreachable as error:
            raise Broken(str(error)) from None
        except Broken:
            _noted(prepared.there, "broke")
            raise


def _greet(prepared: Prepared, progress: Progress) -> bool:
    """Whether another driver is at work: two on one store do no harm, unless one of them makes it grow."""
    another = other(prepared.there)
    if another is None:
        return False
    if not prepared.is_new and prepared.grows:
        raise Mistake(f"{prepared.there.url} can't grow while {another} is at work on it: wait until that has ended")
    progress.note(f"{another} is at work on this store, too: this run begins at the other end of what is left")
    return True


def _run(
    prepared: Prepared, progress: Progress, client: Any, window: int | None, presence: Presence, shared: bool
) -> Outcome:
    record, there = _started(prepared), prepared.there
    start = monotonic()
    arguments = (there.url, version(record), record.generation, prepared.retry)
    failed, spent = prepared.failed, Spent()
    presence.belongs(lambda: is_still(there, record))
    keeper = Keeper(there.url, record, _stale(prepared.record) | cube_gaps(there, record))
    if prepared.damaged:
        lost = len(prepared.damaged)
        progress.note(f"{lost} unit{'s' * (lost != 1)} lost a chunk since it was written, and will be computed again")
    progress.start(prepared.plan)
    tally = Tally(prepared.plan)
    presence.tell(tally.facts())
    try:
        for result in _results(prepared, client, arguments, window, progress.note, presence, shared):
            failed += result["failed"]
            spent.add(result["began"], result["ended"], result["compute"])
            told_of = (result["unit"], result["failed"], result["ended"] - result["began"])
            progress.advance(*told_of)
            tally.add(*told_of)
            presence.tell(tally.facts())
            keeper.done(result["unit"].n)
    except BaseException:
        keeper.leave()
        raise
    finally:
        progress.finish()
    if keeper.is_slow:
        progress.note("all units are done; the cube is being computed from them")
    if patiently(lambda: arrays.restore(there)):
        progress.note(f"{ROOT} was lost or damaged: rebuilt from {COPY}")
    patiently(keeper.finish)
    patiently(lambda: _ended(there, record.history[-1], start))
    efficiency = spent.efficiency(prepared.machine.workers)
    return Outcome(there.url, spent.units, failed, monotonic() - start, efficiency)


def _claimed(prepared: Prepared, client: Any) -> Prepared:
    """Sees to it that one driver alone makes or grows the store; another one waits, and looks again at what is left."""
    there = prepared.there
    now = load(there)
    if now is not None and (now.extents, now.groups) == (prepared.record.extents, prepared.record.groups):
        return prepared
    while not there.claim(CLAIM, told(me())):
        raw = there.get(CLAIM)
        holder = heard(raw)
        if raw is not None and (holder is None or not holder.alive):
            there.delete(CLAIM)  # of a driver that was killed
        sleep(0.1)
    if prepared.is_new and load(there) is not None:
        there.delete(CLAIM)
        loaded, machine = prepared.loaded, prepared.machine
        return prepare(loaded, there.url, machine.workers, machine.flops, prepared.retry, prepared.cluster, client)
    return prepared


@dataclass
class Spent:
    """What units took, added up: there may be very many.

    Examples
    --------
    >>> spent = Spent()
    >>> for unit in [(0.0, 4.0, 4.0), (0.0, 2.0, 2.0), (2.0, 4.0, 1.5)]:
    ...     spent.add(*unit)
    >>> spent.efficiency(workers=2)
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

    def efficiency(self, workers: int) -> float:
        """Computing by what the workers had; NaN of nothing."""
        return self.pure / (workers * (self.last - self.first)) if self.units else nan


def _results(
    prepared: Prepared,
    client: Any,
    arguments: tuple[Any, ...],
    window: int | None,
    note: Callable[[str], None],
    presence: Presence,
    shared: bool,
) -> Iterator[dask_executor.Result]:
    machine, jobs = prepared.machine, list(zip(prepared.plan.units, _cares(prepared), strict=True))
    if shared:  # with a driver that began at the other end: they meet in the middle
        jobs.reverse()
    first = [
        (one, Care(max(Care.seconds, _HANGS * seconds), planned=seconds)) for one, seconds in prepared.plan.preparations
    ]
    if not jobs and not first:
        return

    def stop() -> bool:
        if presence.lost:
            check_still(prepared.there, prepared.record)
        return presence.asked_to_stop or pressed()

    if client is None and prepared.cluster is None and machine.workers == 1 and len(jobs) <= 1:
        _note(serial(prepare_array, arguments, first, machine.memory, stop), first, note)
        yield from serial(work, arguments, jobs, machine.memory, stop)
        return
    with clusters.connected(prepared.cluster, machine, note) if client is None else nullcontext(client) as connected:
        presence.logs_of(lambda: dask_executor.worker_logs(connected))
        ours = _checked(prepared, connected, arguments, note)
        patience = None if prepared.cluster is None else prepared.cluster.patience
        terms = dask_executor.Terms(window, machine.workers, note, patience, ours, stop)
        _note(dask_executor.on_dask(connected, prepare_array, arguments, first, terms), first, note)
        yield from dask_executor.on_dask(connected, work, arguments, jobs, terms)


def _checked(
    prepared: Prepared, client: Any, arguments: tuple[Any, ...], note: Callable[[str], None]
) -> Mapping[str, str] | None:
    """Refuses workers that can't compute this study, or would compute it otherwise. What late ones must have, too."""
    scenario = prepared.loaded.scenario
    names = compatibility.named(str(scenario.source["function"]), scenario.family)
    ours = compatibility.facts(names)
    strict = prepared.cluster is None or prepared.cluster.versions == "same"
    try:
        seen = dask_executor.looked_at(client, compatibility.looked, (arguments[:3], names))
    except OSError as error:  # of the connection: what workers raise comes as a result
        raise Broken(f"{named(client)} can't be reached ({type(error).__name__})") from None
    compatibility.check(ours, seen, strict, note)
    return ours if strict else None


def _note(
    results: Iterator[dask_executor.Result], jobs: Sequence[dask_executor.Job], note: Callable[[str], None]
) -> None:
    """Stage one: all of it comes before the first unit."""
    if jobs:
        note(f"preparing {', '.join(job.name for job, _ in jobs)}")
    for result in results:
        note(f"prepared {result['name']} in {result['seconds']:.0f} s")


def _cares(prepared: Prepared) -> list[Care]:
    """The limit of each unit: the scenario's, or one that only what hangs can reach."""
    told = prepared.loaded.scenario.replications.seconds
    cares = {}
    for size in prepared.plan.sizes:
        limit = told or max(Care.seconds, _HANGS * size.seconds / (size.block[0] * size.block[1]))
        cares[size.n] = Care(limit, asked=told is not None, planned=size.seconds)
    return [cares[unit.n] for unit in prepared.plan.units]


def _stale(record: Record) -> set[int]:
    """Where the cube may be behind the replications: nowhere if the last run ended in order and nothing grew since."""
    return set() if record.is_settled else set(record.extent.grid.n)


def _started(prepared: Prepared) -> Record:
    """Makes or grows the store, with this run in its history."""
    there, record = prepared.there, prepared.record
    entry = {
        "start": timestamp(),
        "host": platform.node(),
        "command": prepared.command or " ".join(sys.argv),
        **{key: machine_facts()[key] for key in ("python", "versions")},
        "commit": commit(),
    }
    old = load(there)
    if old is not None and old.fingerprint["files"] != record.fingerprint["files"]:
        entry["mended"] = sorted(record.fingerprint["files"])
    record = replace(record, history=(*record.history, entry))
    if old is not None and _stale(old):
        there.sweep()
    record = replace(record, root_is_lost=False)
    if old is None or any(getattr(old, part) != getattr(record, part) for part in ("extents", "groups", "fingerprint")):
        arrays.forget_handles()  # another store may have been here
        arrays.publish(there, record, prepared.loaded.built.files)
        there.delete(CLAIM)
    elif old.root_is_lost or old.is_torn:
        arrays.forget_handles()  # their metadata may be damaged
        arrays.publish(there, record, prepared.loaded.built.files)
    else:
        save(there, record)
    for receipt in prepared.damaged:
        there.delete(receipt.key)
    return record


def _ended(there: Place, entry: Mapping[str, Any], start: float) -> None:
    """Another run may have begun meanwhile."""
    add_to_history(there, {"end": timestamp(), "seconds": round(monotonic() - start, 1)}, entry)


def stopped(prepared: Prepared) -> None:
    """The user stopped the run: that is no crash."""
    stopped_at(prepared.there)


def stopped_at(there: Place) -> None:
    """The same of a store."""
    _noted(there, "stopped")


def _noted(there: Place, how: str) -> None:
    """How the last run ended, if not at its end; where there is nobody to tell, it isn't told."""
    with suppress(Mistake):
        add_to_history(there, {how: timestamp()})
