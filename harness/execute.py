"""Execution: units go out, results come in. The one place that talks to Dask.

The serial loop is the definition; Dask must give the identical cube.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from itertools import islice
from time import monotonic, sleep
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed, get_worker
from distributed.client import ClosedClientError

from harness.desk import message_of
from harness.likeness import different, facts
from harness.nouns import Care, Mistake, Preparation, Unit

Result = dict[str, Any]
Job = tuple[Unit | Preparation, Care]
ATTEMPTS = 3
"""A unit that raises an exception as a whole is tried again, elsewhere if there is an elsewhere."""
DEATHS = 10
"""So often a unit may be lost with its worker: others' deaths, and killed machines, hit innocent ones, too."""
PATIENCE = 60.0
"""Seconds that a run waits for workers to come back, or for the scheduler."""
_POLL, _LOOK = 0.02, 2.0
"""Seconds between two looks for results, and for workers."""


class Broken(Exception):
    """A unit failed at every attempt, or the cluster is gone."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; what is done is kept: run again to go on")


def serial(
    work: Callable[..., Result], arguments: tuple[Any, ...], jobs: Iterable[Job], memory: float
) -> Iterator[Result]:
    """One after the other, here; in a child, since nobody would replace this process."""
    for unit, care in jobs:
        yield work(*arguments, unit, replace(care, alone=True, memory=memory))


def check_alike(
    client: Client,
    look: Callable[..., dict[str, Any]],
    arguments: tuple[Any, ...],
    ours: Mapping[str, str],
    strict: bool,
    note: Callable[[str], None],
) -> None:
    """Looks at scheduler and workers before work starts. What makes them unfit is a mistake, told for each."""
    try:
        theirs = client.run_on_scheduler(facts)
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise Mistake(f"{_scheduler(client)} can't work for ckrr, is it installed there? {what}") from None
    found = client.run(look, *arguments, on_error="return")
    differences = {_scheduler(client): different({key: ours[key] for key in theirs}, theirs)}
    wrong, types = [], set()
    for address, one in found.items():
        if isinstance(one, OSError):  # it has gone meanwhile
            continue
        if isinstance(one, BaseException):
            wrong.append(f"the worker at {address} can't work for ckrr, is it installed there? {message_of(one)}")
            continue
        worker = f"the worker at {address} on {one['host']}"
        differences[worker] = different(ours, one["facts"])
        wrong += [f"{worker} can't compute this study: {one['problem']}"] if one["problem"] else []
        types.add(one["blas"])
    told = [f"{who}: {what}" for who, what in differences.items() if what]
    if wrong or (told and strict):
        hint = ['versions = "any" in the cluster file goes on all the same'] if told and not wrong else []
        raise Mistake("\n".join([*wrong, *told, *hint]))
    for text in told:
        note(text)
    if len(types) > 1:
        note(f"workers have several types of CPU, so last digits may differ: {'; '.join(sorted(types))}")


def window_of(client: Client) -> int:
    """How many tasks are on their way at once: enough to keep all threads busy, few enough to forget about."""
    threads = sum(client.nthreads().values())
    return int(max(64, 3 * threads))


def on_worker(work: Callable[..., Result], arguments: tuple[Any, ...], unit: Unit | Preparation, care: Care) -> Result:
    """What a task does: its work, with the care that this worker allows.

    A limit ends the process, so it is only for a worker whose nanny starts another. Without one, a child has the limit.
    """
    worker = get_worker()
    replaced = worker.nanny is not None
    alone = care.alone or (care.asked and not replaced)
    memory = worker.memory_manager.memory_limit or None
    return work(*arguments, unit, replace(care, alone=alone, replaced=replaced, memory=memory))


@dataclass(frozen=True)
class _Try:
    """A unit on its way, and what became of it before."""

    unit: Unit | Preparation
    care: Care
    errors: int = 0
    deaths: int = 0

    def again(self, error: BaseException) -> _Try:
        """The next try, a careful one if a replication may be to blame."""
        lost = isinstance(error, CancelledError)  # with the connection: nobody died of it
        died = isinstance(error, KilledWorker)
        following = replace(
            self,
            care=self.care if lost or isinstance(error, OSError | Mistake) else replace(self.care, alone=True),
            errors=self.errors + (not (lost or died)),
            deaths=self.deaths + (lost or died),
        )
        if following.errors >= ATTEMPTS or following.deaths >= DEATHS:
            why = "its workers died" if died else " ".join(f"{type(error).__name__}: {error}".split())
            raise Broken(f"unit {self.unit.name} failed {following.errors + following.deaths} times: {why}")
        return following


def on_dask(
    client: Client,
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    jobs: Iterable[Job],
    window: int | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Iterator[Result]:
    """Through a bounded window of tasks; every future is let go as soon as it is done."""
    try:
        yield from _flow(client, work, arguments, jobs, window, note)
    except (OSError, ClosedClientError) as error:  # of the connection: those of the work come as results
        raise Broken(f"{_scheduler(client)} can't be reached ({type(error).__name__})") from None


def _flow(
    client: Client,
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    jobs: Iterable[Job],
    window: int | None,
    note: Callable[[str], None],
) -> Iterator[Result]:
    waiting = iter(jobs)
    running: dict[Any, _Try] = {}
    stream = as_completed(with_results=True, raise_errors=False, loop=client.loop)  # the client needn't be the default
    guard = _Guard(client, note)

    def send(one: _Try) -> None:
        key = f"ckrr-{arguments[1]}-{arguments[2]}-{one.unit.name}-{one.errors}-{one.deaths}"
        future = client.submit(on_worker, work, arguments, one.unit, one.care, key=key, pure=False)
        running[future.key] = one
        stream.add(future)

    for job in islice(waiting, window or window_of(client)):
        send(_Try(*job))
    while running:
        for future, outcome in _batch(stream, guard):
            one = running.pop(future.key)
            error = _error(future, outcome)
            future.release()
            if error is not None:
                following = one.again(error)
                guard.wait_for_scheduler()
                send(following)
                continue
            yield outcome
            for job in islice(waiting, 1):
                send(_Try(*job))


def _batch(stream: Any, guard: _Guard) -> list[tuple[Future[Any], Any]]:
    """What has come in: at least one, unless the cluster dies before."""
    while True:
        batch: list[tuple[Future[Any], Any]] = stream.next_batch(block=False)
        if batch:
            guard.heard()
            return batch
        guard.look()
        sleep(_POLL)


def _error(future: Future[Any], outcome: Any) -> BaseException | None:
    """Why a task didn't finish; None if it did."""
    if future.status == "finished":
        return None
    error = outcome[1] if isinstance(outcome, tuple) and len(outcome) == 3 else outcome
    return error if isinstance(error, BaseException) else CancelledError(str(future.status))


def _scheduler(client: Client) -> str:
    return f"the scheduler at {client.scheduler.address}" if client.scheduler is not None else "the scheduler"


@dataclass
class _Guard:
    """Notices when there is nobody left to wait for."""

    client: Client
    note: Callable[[str], None]
    next: float = field(default_factory=lambda: monotonic() + _LOOK)
    seen: bool = False
    """Whether there were workers at all: at first they may wait in a queue for hours."""
    since: float | None = None
    """When there were none any more."""
    told: bool = False
    """Whether the user knows."""

    def heard(self) -> None:
        """Results come, so there are workers."""
        self.seen, self.since = True, None

    def look(self) -> None:
        """Now and then, whether scheduler and workers are there."""
        if self.client.status != "running":
            self.wait_for_scheduler()
        if monotonic() < self.next:
            return
        if self._workers():
            self.heard()
        else:
            self._miss()
        self.next = monotonic() + _LOOK

    def _workers(self) -> int:
        try:
            return len(self.client.nthreads())
        except OSError:  # the connection was lost just now
            return 0

    def _miss(self) -> None:
        now = monotonic()
        if self.since is None:
            self.since, self.told = now, False
        elif not self.told:  # they are missed twice: nannies take a second or two to start others
            self.note("there are no workers: waiting for them" + f" for {PATIENCE:.0f} s" * self.seen)
            self.told = True
        if self.seen and now - self.since > PATIENCE:
            raise Broken(f"there have been no workers for {PATIENCE:.0f} s")

    def wait_for_scheduler(self) -> None:
        """Until a lost connection is there again: the client tries for a while."""
        end = monotonic() + PATIENCE
        while self.client.status != "running":
            if self.client.status != "connecting" or monotonic() > end:
                raise Broken(f"{_scheduler(self.client)} is gone")
            sleep(_POLL)
