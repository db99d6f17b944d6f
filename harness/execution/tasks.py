"""Define the work that executors do, and do it serially: the definition of what a run computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from time import sleep
from typing import Any, Protocol, runtime_checkable

from harness.core.errors import StoppedError
from harness.core.types import Limits, Preparation, Unit
from harness.execution.prepare import Prepared
from harness.worker.compatibility import list_user_modules

_HANG_FACTOR = 30.0
"""A step of a replication counts as hung if it takes this many times the planned time of the whole replication."""
IDLE = 0.5
"""Seconds between two looks at a queue that has nothing to do now."""
_PLANNED = 10.0
"""A unit may take this many times its planned seconds."""
GRACE = 60.0
"""Seconds without a result that are always allowed: workers have to start and load the study."""

Result = dict[str, Any]
"""What a task returns: a receipt, as plain values."""
Task = tuple[Unit | Preparation, Limits]
"""A unit or a preparation, and the limits that it is computed with."""


@runtime_checkable
class TaskQueue(Protocol):
    """Tasks that an executor takes as it has room for them. More may come while others run."""

    @property
    def is_empty(self) -> bool:
        """Whether no task will come any more."""
        ...

    def take(self, room: int, running: int) -> Sequence[Task]:
        """Return at most `room` tasks, while `running` others run; none may come now, and some later."""
        ...


class TaskList:
    """A queue of tasks that are all known from the beginning.

    Examples
    --------
    >>> queue = TaskList([("first", None), ("second", None)])
    >>> queue.take(1, 0), queue.take(5, 1), queue.is_empty
    ([('first', None)], [('second', None)], True)
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)
        self.is_empty = False

    def take(self, room: int, running: int) -> Sequence[Task]:
        """Return the next tasks."""
        found = list(islice(self._tasks, room))
        self.is_empty = len(found) < room
        return found


def never_stop() -> bool:
    """Return False: the run isn't asked to stop."""
    return False


def run_serial(
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    jobs: Iterable[Task] | TaskQueue,
    memory: float,
    stop: Callable[[], bool] = never_stop,
) -> Iterator[Result]:
    """Run units one after the other, each in a sandbox: nothing would restart this process if it died."""
    queue = jobs if isinstance(jobs, TaskQueue) else TaskList(jobs)
    while (tasks := queue.take(1, 0)) or not queue.is_empty:
        if stop():
            raise StoppedError
        for unit, care in tasks:
            yield work(*arguments, unit, replace(care, sandboxed=True, memory=memory))
        if not tasks:
            sleep(IDLE)


def stall_limit(units: Iterable[Task], grace: float) -> float:
    """Return the seconds without a result after which a run has stalled.

    A unit may take many times as long as planned. In addition a hung step takes up to its time limit; in a sandbox,
    which is used after a failure, every replication may.

    Examples
    --------
    >>> unit = Unit(10, 0, 0, range(5), range(2))
    >>> stall_limit([(unit, Limits(seconds=600.0, planned=3.0))], grace=60.0)
    1290.0
    """
    return grace + max((_longest(unit, care) for unit, care in units), default=0.0)


def _longest(unit: Unit | Preparation, care: Limits) -> float:
    steps = len(unit) if (care.sandboxed or care.user_set) and isinstance(unit, Unit) else 2
    return _PLANNED * care.planned + steps * care.seconds


def list_limits(prepared: Prepared) -> dict[int, Limits]:
    """Return the limits of units at each n: the scenario's, or a default that only a hung replication can reach."""
    told = prepared.loaded.scenario.replications.seconds
    found = {}
    for size in prepared.plan.sizes:
        limit = told or max(Limits.seconds, _HANG_FACTOR * size.seconds / (size.block[0] * size.block[1]))
        found[size.n] = Limits(limit, user_set=told is not None, planned=size.seconds)
    return found


def list_preparations(prepared: Prepared) -> list[Task]:
    """Return the arrays to prepare before the first unit, with their limits."""
    return [
        (one, Limits(max(Limits.seconds, _HANG_FACTOR * seconds), planned=seconds))
        for one, seconds in prepared.plan.preparations
    ]


def run_preparations(results: Iterator[Result], jobs: Sequence[Task], note: Callable[[str], None]) -> None:
    """Prepare all shared arrays, before the first unit starts."""
    if jobs:
        note(f"preparing {', '.join(job.name for job, _ in jobs)}")
    for result in results:
        note(f"prepared {result['name']} in {result['seconds']:.0f} s")


def list_study_modules(prepared: Prepared) -> tuple[str, ...]:
    """Return the modules and plugins of the user that tasks of a study import."""
    loaded = prepared.loaded
    return list_user_modules(str(loaded.scenario.source["function"]), [one.use for one in loaded.records.values()])
