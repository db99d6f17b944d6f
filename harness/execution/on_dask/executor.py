"""Run units on a Dask cluster and yield their results; the only module of the harness that submits tasks.

The serial loop (`run_serial`) defines the results; Dask must give the identical cube.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from time import sleep
from typing import Any, TypeVar

from distributed import (
    Client,
    Future,
    KilledWorker,
    Worker,
    fire_and_forget,
    get_client,
    get_worker,
    secede,
)
from distributed.client import ClosedClientError

from harness.core.errors import (
    ClusterError,
    IncompatibleWorkerError,
    StoreReplacedError,
    StoreUnreachableError,
    UserError,
)
from harness.core.text import format_error
from harness.core.types import Limits, Preparation, Unit
from harness.execution.on_dask.futures import CompletedFutures
from harness.execution.on_dask.health import ClusterHealth, describe_scheduler
from harness.execution.tasks import GRACE, IDLE, Result, Task, TaskList, TaskQueue, never_stop, stall_limit
from harness.worker.compatibility import check_worker

T = TypeVar("T")
Facts = Mapping[str, str] | None
ATTEMPTS = 3
"""How often a unit that raises an exception as a whole is tried, on another worker if there is one."""
DEATHS = 10
"""How often a unit may be lost with its worker: killed machines also take units that are not the cause."""
_POLL = 0.02
"""Seconds between two checks for results."""


@dataclass(frozen=True)
class RunOptions:
    """Options of a run on a cluster."""

    window: int | None = None
    """Tasks submitted at once. Default: by the number of workers."""
    workers: int = 1
    """Number of workers once all have joined."""
    note: Callable[[str], None] = lambda text: None
    """Receives messages for the user."""
    patience: float | None = None
    """Seconds without any worker after which the cluster counts as dead. Default: `health.PATIENCE`."""
    ours: Facts = None
    """Facts of this environment that every worker must match, including those that join late."""
    stop: Callable[[], bool] = never_stop
    """Returns whether the run was asked to stop."""
    grace: float = GRACE
    """Seconds without a result that are always allowed."""


_USUAL = RunOptions()


def inspect_cluster(client: Client, look: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Call a function on the scheduler and on every worker.

    The scheduler unpickles tasks, so the harness must be importable there, too; the user's modules need not be. It
    is therefore called without arguments there.

    Returns
    -------
    dict
        Results, or the exceptions raised instead, by a description of the process.
    """
    found: dict[str, Any] = {}
    try:
        found[describe_scheduler(client)] = client.run_on_scheduler(look)
    except Exception as error:
        found[describe_scheduler(client)] = error
    workers = client.run(look, *arguments, on_error="return")
    return found | {f"the worker at {address}": one for address, one in workers.items()}


def compute_window(client: Client) -> int:
    """Return how many tasks to submit at once: enough to keep all threads busy, few enough to cost little memory."""
    threads = sum(client.nthreads().values())
    return int(max(64, 3 * threads))


def run_on_worker(work: Callable[..., T], arguments: tuple[Any, ...], unit: object, care: Limits, ours: Facts) -> T:
    """Run one unit on a worker: the function that tasks call. A graph may also be computed without a cluster.

    Exceeding a time limit kills the process, which is only possible where a nanny restarts the worker. Without a
    nanny, a limit set by the user is enforced in a sandbox.
    """
    worker = _find_worker()
    check_worker(ours)
    replaced = worker is not None and worker.nanny is not None
    alone = care.sandboxed or (care.user_set and not replaced)
    memory = None if worker is None else worker.memory_manager.memory_limit or None
    try:
        return work(*arguments, unit, replace(care, sandboxed=alone, may_end=replaced, memory=memory))
    except StoreUnreachableError as error:
        if worker is None:
            raise
        raise type(error)(f"{error} (as the worker at {worker.address} sees it)") from None


def _find_worker() -> Worker | None:
    """Return the worker that runs this task; None on Dask's other schedulers."""
    try:
        return get_worker()
    except ValueError:
        return None


@dataclass(frozen=True)
class _Attempt:
    """A submitted unit, with the number of its earlier failures."""

    unit: Unit | Preparation
    care: Limits
    errors: int = 0
    deaths: int = 0

    def make_next(self, error: BaseException) -> _Attempt:
        """Return the next attempt, sandboxed if a replication may be the cause; raise if there were too many."""
        if isinstance(error, StoreReplacedError):
            raise error
        if isinstance(
            error, IncompatibleWorkerError | StoreUnreachableError
        ):  # the worker has retried the store already; its versions differ
            raise ClusterError(str(error))
        lost = isinstance(error, CancelledError)  # with the connection: no worker died
        died = isinstance(error, KilledWorker)
        following = replace(
            self,
            care=self.care if lost or isinstance(error, OSError | UserError) else replace(self.care, sandboxed=True),
            errors=self.errors + (not (lost or died)),
            deaths=self.deaths + (lost or died),
        )
        if following.errors >= ATTEMPTS or following.deaths >= DEATHS:
            why = "its workers died" if died else format_error(error)
            raise ClusterError(f"unit {self.unit.name} failed {following.errors + following.deaths} times: {why}")
        return following


def run_dask(
    client: Client,
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    jobs: Iterable[Task] | TaskQueue,
    terms: RunOptions = _USUAL,
) -> Iterator[Result]:
    """Run units on a cluster, and yield their results as they complete.

    At most `terms.window` tasks are submitted at a time, and every future is released once its result is known.

    Parameters
    ----------
    client : distributed.Client
        Where to run.
    work : callable
        Computes a unit: ``work(*arguments, unit, limits)``.
    arguments : tuple
        Arguments common to all units.
    jobs : iterable of (Unit or Preparation, Limits), or TaskQueue
        The work.
    terms : RunOptions
        Options of the run.

    Raises
    ------
    ClusterError
        If the scheduler or all workers are lost, the run stalls, or a unit fails too often.
    StoppedError
        If the run was asked to stop.
    """
    try:
        queue = jobs if isinstance(jobs, TaskQueue) else TaskList(jobs)
        yield from _stream_results(client, work, arguments, queue, terms)
    except (OSError, ClosedClientError) as error:  # connection errors only: exceptions of tasks are returned
        raise ClusterError(f"{describe_scheduler(client)} can't be reached ({type(error).__name__})") from None


def _stream_results(
    client: Client,
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    queue: TaskQueue,
    terms: RunOptions,
) -> Iterator[Result]:
    running: dict[Any, _Attempt] = {}
    sent: dict[Any, Future[Any]] = {}
    harvest = CompletedFutures(client.loop)
    guard = ClusterHealth(
        client,
        terms.note,
        terms.patience,
        terms.stop,
        lambda: stall_limit(((one.unit, one.care) for one in running.values()), terms.grace),
        running,
    )

    def send(one: _Attempt) -> None:
        key = f"ckrr-{arguments[1]}-{arguments[2]}-{one.unit.name}-{one.errors}-{one.deaths}"
        future = client.submit(run_on_worker, work, arguments, one.unit, one.care, terms.ours, key=key, pure=False)
        running[future.key], sent[future.key] = one, future
        harvest.add(future)

    window = terms.window or max(compute_window(client), 3 * terms.workers)

    def fill() -> None:
        for job in queue.take(max(window - len(running), 0), len(running)):
            send(_Attempt(*job))

    try:
        fill()
        while running or not queue.is_empty:
            if not running:  # what others do decides what comes next
                guard.raise_if_stopped()
                sleep(IDLE)
                fill()
                continue
            for future, outcome in _wait_for_batch(harvest, guard):
                one = running.pop(future.key)
                sent.pop(future.key).release()
                if isinstance(outcome, BaseException):
                    following = one.make_next(outcome)
                    if isinstance(outcome, KilledWorker):
                        terms.note(f"a worker died at unit {one.unit.name}, which is computed again")
                    guard.wait_for_scheduler()
                    send(following)
                    continue
                yield outcome
                fill()
    finally:
        for future in sent.values():  # the run ends early: a client that stays open would keep them running
            future.release()


def _wait_for_batch(harvest: CompletedFutures, guard: ClusterHealth) -> list[tuple[Future[Any], Any]]:
    """Wait for at least one completed future; raise if the cluster fails first."""
    while True:
        guard.raise_if_stopped()
        batch = harvest.next_batch()
        if batch:
            guard.note_result()
            return batch
        guard.poll()
        sleep(_POLL)


def submit_detached(client: Client, work: Callable[..., Any], arguments: tuple[Any, ...], key: str) -> None:
    """Submit a task that keeps running after the client has disconnected."""
    fire_and_forget(client.submit(work, *arguments, key=key, pure=False))


def worker_client() -> Client:
    """Return a client inside a task, and secede: the task releases its thread to others and keeps running."""
    client = get_client()
    secede()
    return client


def fetch_worker_logs(client: Client) -> dict[str, str]:
    """Return the last 200 log lines of each worker."""
    found = client.get_worker_logs(n=200)
    return {name: "\n".join(line for _, line in reversed(lines)) for name, lines in found.items()}
