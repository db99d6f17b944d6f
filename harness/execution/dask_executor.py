"""Execution: units go out, results come in. The one place that talks to Dask.

The serial loop is the definition; Dask must give the identical cube.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from itertools import islice
from time import sleep
from typing import Any

from distributed import (
    Client,
    Future,
    KilledWorker,
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
from harness.execution.futures import CompletedFutures
from harness.execution.health import GRACE, ClusterHealth, describe_scheduler, stall_limit
from harness.worker.compatibility import check_worker

Result = dict[str, Any]
Facts = Mapping[str, str] | None
Task = tuple[Unit | Preparation, Limits]
ATTEMPTS = 3
"""A unit that raises an exception as a whole is tried again, elsewhere if there is an elsewhere."""
DEATHS = 10
"""So often a unit may be lost with its worker: others' deaths, and killed machines, hit innocent ones, too."""
_POLL = 0.02
"""Seconds between two looks for results."""


def _never_stop() -> bool:
    return False


@dataclass(frozen=True)
class RunOptions:
    """How a run deals with its cluster."""

    window: int | None = None
    """Tasks on their way at once; by the number of workers if not told."""
    workers: int = 1
    """How many there will be, when all have come."""
    note: Callable[[str], None] = lambda text: None
    """Where to say what happens."""
    patience: float | None = None
    """Seconds without any worker after which the cluster is dead, if that isn't as usual."""
    ours: Facts = None
    """What every worker has to have, those that join late, too."""
    stop: Callable[[], bool] = _never_stop
    """Whether somebody asked the run to end."""
    grace: float = GRACE
    """Seconds without a result that are allowed in any case."""


_USUAL = RunOptions()


def inspect_cluster(client: Client, look: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """What scheduler and workers say of themselves, or the exception that they raise instead.

    The scheduler unpickles tasks, so our modules must be there, too; the user's needn't.
    """
    found: dict[str, Any] = {}
    try:
        found[describe_scheduler(client)] = client.run_on_scheduler(look)
    except Exception as error:
        found[describe_scheduler(client)] = error
    workers = client.run(look, *arguments, on_error="return")
    return found | {f"the worker at {address}": one for address, one in workers.items()}


def compute_window(client: Client) -> int:
    """How many tasks are on their way at once: enough to keep all threads busy, few enough to forget about."""
    threads = sum(client.nthreads().values())
    return int(max(64, 3 * threads))


def run_on_worker(
    work: Callable[..., Result], arguments: tuple[Any, ...], unit: Unit | Preparation, care: Limits, ours: Facts
) -> Result:
    """What a task does: its work, with the care that this worker allows.

    A limit ends the process, so it is only for a worker whose nanny starts another. Without one, a child has the limit.
    """
    worker = get_worker()
    check_worker(ours)
    replaced = worker.nanny is not None
    alone = care.sandboxed or (care.user_set and not replaced)
    memory = worker.memory_manager.memory_limit or None
    try:
        return work(*arguments, unit, replace(care, sandboxed=alone, has_nanny=replaced, memory=memory))
    except StoreUnreachableError as error:
        raise type(error)(f"{error} (as the worker at {worker.address} sees it)") from None


@dataclass(frozen=True)
class _Attempt:
    """A unit on its way, and what became of it before."""

    unit: Unit | Preparation
    care: Limits
    errors: int = 0
    deaths: int = 0

    def make_next(self, error: BaseException) -> _Attempt:
        """The next try, a careful one if a replication may be to blame."""
        if isinstance(error, StoreReplacedError):
            raise error
        if isinstance(
            error, IncompatibleWorkerError | StoreUnreachableError
        ):  # a worker that was patient with the store; one that isn't like us
            raise ClusterError(str(error))
        lost = isinstance(error, CancelledError)  # with the connection: nobody died of it
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
    jobs: Iterable[Task],
    terms: RunOptions = _USUAL,
) -> Iterator[Result]:
    """Through a bounded window of tasks; every future is let go as soon as it is done."""
    try:
        yield from _stream_results(client, work, arguments, jobs, terms)
    except (OSError, ClosedClientError) as error:  # of the connection: those of the work come as results
        raise ClusterError(f"{describe_scheduler(client)} can't be reached ({type(error).__name__})") from None


def _stream_results(
    client: Client,
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    jobs: Iterable[Task],
    terms: RunOptions,
) -> Iterator[Result]:
    waiting = iter(jobs)
    running: dict[Any, _Attempt] = {}
    sent: dict[Any, Future[Any]] = {}
    harvest = CompletedFutures(client.loop)
    guard = ClusterHealth(
        client,
        terms.note,
        terms.patience,
        terms.stop,
        lambda: stall_limit(((one.unit, one.care) for one in running.values()), terms.grace),
    )

    def send(one: _Attempt) -> None:
        key = f"ckrr-{arguments[1]}-{arguments[2]}-{one.unit.name}-{one.errors}-{one.deaths}"
        future = client.submit(run_on_worker, work, arguments, one.unit, one.care, terms.ours, key=key, pure=False)
        running[future.key], sent[future.key] = one, future
        harvest.add(future)

    try:
        for job in islice(waiting, terms.window or max(compute_window(client), 3 * terms.workers)):
            send(_Attempt(*job))
        while running:
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
                for job in islice(waiting, 1):
                    send(_Attempt(*job))
    finally:
        for future in sent.values():  # of a run that ends early: a client that lives on would see to it that they run
            future.release()


def _wait_for_batch(harvest: CompletedFutures, guard: ClusterHealth) -> list[tuple[Future[Any], Any]]:
    """What has come in: at least one, unless the cluster dies before."""
    while True:
        guard.raise_if_stopped()
        batch = harvest.next_batch()
        if batch:
            guard.note_result()
            return batch
        guard.poll()
        sleep(_POLL)


def submit_detached(client: Client, work: Callable[..., Any], arguments: tuple[Any, ...], key: str) -> None:
    """A task that nobody waits for: it lives on when the client has left."""
    fire_and_forget(client.submit(work, *arguments, key=key, pure=False))


def worker_client() -> Client:
    """The client of the worker that this task is on; the task gives its thread back, and goes on beside others."""
    client = get_client()
    secede()
    return client


def fetch_worker_logs(client: Client) -> dict[str, str]:
    """What each worker has logged lately."""
    found = client.get_worker_logs(n=200)
    return {name: "\n".join(line for _, line in reversed(lines)) for name, lines in found.items()}
