"""Drive a run from a prepared study to a complete store: create or grow the store, execute units, refresh the cube.

Progress is known from receipts alone, so the driver may die at any moment: the next run resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, nan
from multiprocessing import current_process
from time import monotonic
from typing import Any

from harness.execution.cube_keeper import CubeKeeper
from harness.execution.facts import Outcome
from harness.execution.interrupts import is_interrupted
from harness.execution.lifecycle import (
    acquire_store,
    begin_run,
    check_other_driver,
    finish_run,
    list_sizes_to_refresh,
    record_failure,
)
from harness.execution.prepare import Prepared
from harness.execution.processes import ExtendedQueue, TasksLeftError, run_here, run_processes
from harness.execution.progress import Progress, ProgressCounter
from harness.execution.rounds import RoundQueue, describe_round, get_hours
from harness.execution.tasks import (
    Result,
    TaskList,
    TaskQueue,
    list_limits,
    list_preparations,
    run_preparations,
    run_serial,
)
from harness.planning.decision_text import warn_of_alpha
from harness.planning.plan import check_fits
from harness.store.heartbeat import Heartbeat, run_heartbeat
from harness.store.identity import check_same_store, is_same_store
from harness.store.manifest import Manifest, cache_key
from harness.store.rounds import get_target
from harness.worker.task import prepare_artifact as prepare_array, run_unit


def run_prepared(
    prepared: Prepared,
    progress: Progress,
    client: Any = None,
    window: int | None = None,
    presence: Heartbeat | None = None,
) -> Outcome:
    """Compute what the store lacks.

    Parameters
    ----------
    prepared : Prepared
        The study and its plan (`prepare`).
    progress : Progress
        Receives progress and notes.
    client : distributed.Client, optional
        Where to run. Default: the cluster file of `prepared`, or new workers on this machine.
    window : int, optional
        Tasks submitted at once. Default: by the number of workers.
    presence : Heartbeat, optional
        The driver's heartbeat. Default: a new one in the store.

    Raises
    ------
    UserError
        If the plan does not fit the machine, or the store cannot grow or be written.
    ClusterError
        If the cluster fails, or a unit fails at every attempt.
    """
    check_fits(prepared.plan, prepared.machine, prepared.loaded.where)
    for warning in warn_of_alpha(prepared.loaded.extent.grid.alpha):
        progress.note(warning)
    another = check_other_driver(prepared)
    if another is not None:
        how = "this run starts from the other end of the remaining units"
        progress.note(f"{another} is running on this store, too: {how}")
    with run_heartbeat(presence or Heartbeat(prepared.backend)) as signs:
        claimed = acquire_store(prepared, client)
        with record_failure(prepared.backend):
            return _run(claimed, progress, client, window, signs, another is not None)


def _run(
    prepared: Prepared, progress: Progress, client: Any, window: int | None, presence: Heartbeat, shared: bool
) -> Outcome:
    manifest, backend = begin_run(prepared), prepared.backend
    start = monotonic()
    arguments = (backend.url, cache_key(manifest), manifest.generation, prepared.retry)
    failed, spent = prepared.failed, Usage()
    presence.watch_store(lambda: is_same_store(backend, manifest))
    queue = _make_round_queue(prepared, manifest, shared)
    keeper = CubeKeeper(backend.url, manifest, list_sizes_to_refresh(prepared, manifest))
    if prepared.damaged:
        lost = len(prepared.damaged)
        progress.note(f"{lost} unit{'s' * (lost != 1)} lost a chunk after being written, and will be recomputed")
    wanted = None if queue is None else queue.list_wanted()
    progress.start(prepared.plan, wanted)
    tally = ProgressCounter(prepared.plan, wanted)
    presence.set_progress(tally.to_dict())
    try:
        for result in _generate_results(prepared, client, arguments, window, progress.note, presence, shared, queue):
            failed += result["failed"]
            spent.add(result["began"], result["ended"], result["compute"])
            told_of = (result["unit"], result["failed"], result["ended"] - result["began"])
            progress.advance(*told_of)
            tally.add(*told_of)
            if queue is not None and queue.note_done(result["unit"]):
                progress.note(describe_round(queue.rounds[result["unit"].n]))
                progress.extend(queue.list_wanted())
                tally.extend(queue.list_wanted())
            keeper.note_unit(result["unit"].n)  # after the round, which says how many paths the cube is made from
            presence.set_progress(tally.to_dict())
            if queue is not None and _is_finished(queue, manifest, start, progress):
                break
    except BaseException:
        keeper.abort()
        raise
    finally:
        progress.finish()
    if queue is not None:
        keeper.stale |= set(queue.rounds)  # another driver may have completed a round since the last refresh
    if keeper.is_slow:
        progress.note("all units are done; the cube is being computed from them")
    finish_run(keeper, manifest.history[-1], progress.note, start)
    efficiency = spent.compute_efficiency(prepared.machine.workers)
    outcome = Outcome(backend.url, spent.units, failed, monotonic() - start, efficiency, tally.count)
    if queue is None:
        return outcome
    outcome = replace(outcome, failed=queue.count_failed(), is_complete=queue.is_empty)
    return replace(outcome, answers=tuple(queue.list_answers()), rounds=queue.rounds)


def _make_round_queue(prepared: Prepared, manifest: Manifest, shared: bool) -> RoundQueue | None:
    """Return the queue of a study with `until`; None for others."""
    if get_target(manifest) is None:
        return None
    limits, workers = list_limits(prepared), prepared.machine.workers
    return RoundQueue(prepared.backend, manifest, prepared.plan.units, limits, workers, shared)


def _is_finished(queue: RoundQueue, manifest: Manifest, start: float, progress: Progress) -> bool:
    """Return whether nothing more is wanted, or the hours of the budget are spent."""
    hours = get_hours(manifest)
    if queue.is_empty or hours is None or monotonic() - start <= 3600 * hours:
        return queue.is_empty
    progress.note(f"the budget of {hours:g} hours is spent: the same command goes on")
    return True


@dataclass
class Usage:
    """Running totals of the time that units took; no list of units is kept, since there may be very many.

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
        """Add a unit by its start and end times and its seconds of pure computing."""
        self.units, self.pure = self.units + 1, self.pure + pure
        self.first, self.last = min(self.first, began), max(self.last, ended)

    def compute_efficiency(self, workers: int) -> float:
        """Return the share of the workers' time spent on pure computing; NaN without units."""
        return self.pure / (workers * (self.last - self.first)) if self.units else nan


def _generate_results(
    prepared: Prepared,
    client: Any,
    arguments: tuple[Any, ...],
    window: int | None,
    note: Callable[[str], None],
    presence: Heartbeat,
    shared: bool,
    queue: RoundQueue | None = None,
) -> Iterator[Result]:
    machine, limits = prepared.machine, list_limits(prepared)
    jobs = [(unit, limits[unit.n]) for unit in prepared.plan.units] if queue is None or not queue.is_empty else []
    if shared:  # the other driver starts at the front: the two meet in the middle
        jobs.reverse()
    first = list_preparations(prepared)
    if not jobs and not first:
        return

    def stop() -> bool:
        if presence.store_lost:
            check_same_store(prepared.backend, prepared.manifest)
        return presence.asked_to_stop or is_interrupted()

    tasks: TaskQueue = queue or TaskList(jobs)
    if client is None and prepared.runs_here:
        try:
            yield from _run_here(arguments, tasks, prepared, stop)
            return
        except TasksLeftError as left:
            units = ", ".join(unit.name for unit, _ in left.tasks)
            note(f"{left.why}: computing {units} again, on a cluster of this machine")
            tasks = ExtendedQueue(left.tasks, tasks)
    elif client is None and prepared.cluster is None and machine.workers == 1 and len(jobs) <= 1:
        run_preparations(run_serial(prepare_array, arguments, first, machine.memory, stop), first, note)
        yield from run_serial(run_unit, arguments, tasks, machine.memory, stop)
        return
    from harness.execution.on_dask.run import run_on_cluster  # loads Dask, which takes most of a second

    yield from run_on_cluster(prepared, client, arguments, tasks, window, note, presence, stop)


def _run_here(
    arguments: tuple[Any, ...], tasks: TaskQueue, prepared: Prepared, stop: Callable[[], bool]
) -> Iterator[Result]:
    """Run the units of a short study: in this process if they take a second, else in as many as there are workers."""
    if prepared.is_tiny or current_process().daemon:  # such a process may not have any of its own
        return run_here(run_unit, arguments, tasks, stop)
    return run_processes(run_unit, arguments, tasks, prepared.machine.workers, stop)
