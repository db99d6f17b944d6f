"""Run units in this process or in some of this machine, without a scheduler: for studies that are over soon.

Nothing here heals. A unit that raises an exception, takes its process with it or doesn't end is left to a cluster,
which knows what to do (`TasksLeftError`): units can be computed any number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic, sleep
from typing import Any

from harness.core.errors import ClusterError, StoppedError, StoreReplacedError, StoreUnreachableError
from harness.core.text import format_error
from harness.execution import clusters
from harness.execution.tasks import GRACE, IDLE, Result, Task, TaskQueue, stall_limit

_POLL = 0.05
"""Seconds between two looks at whether the run was asked to stop."""
_STORE_ERRORS = (StoreReplacedError, StoreUnreachableError)
"""Errors that every other process would meet, too."""


class TasksLeftError(Exception):
    """Tasks couldn't be completed here.

    Parameters
    ----------
    tasks : sequence of (Unit or Preparation, Limits)
        The tasks that were running then.
    why : str
        What happened, as one line.
    """

    def __init__(self, tasks: Sequence[Task], why: str) -> None:
        super().__init__(why)
        self.tasks, self.why = tasks, why


class ExtendedQueue:
    """A queue with some tasks in front.

    Parameters
    ----------
    first : sequence of (Unit or Preparation, Limits)
        Tasks to take first.
    queue : TaskQueue
        Tasks to take then.
    """

    def __init__(self, first: Sequence[Task], queue: TaskQueue) -> None:
        self._first, self._queue = list(first), queue

    @property
    def is_empty(self) -> bool:
        """Whether no task will come any more."""
        return not self._first and self._queue.is_empty

    def take(self, room: int, running: int) -> Sequence[Task]:
        """Return the next tasks."""
        found, self._first = self._first[:room], self._first[room:]
        return [*found, *self._queue.take(room - len(found), running + len(found))]


def run_here(
    work: Callable[..., Result], arguments: tuple[Any, ...], queue: TaskQueue, stop: Callable[[], bool]
) -> Iterator[Result]:
    """Run units one after the other in this process, and yield their results.

    Parameters and exceptions are those of `run_processes`.
    """
    while (tasks := queue.take(1, 0)) or not queue.is_empty:
        if stop():
            raise StoppedError
        for unit, limits in tasks:
            outcome = _try_unit(work, arguments, unit, replace(limits, sandboxed=False, may_end=False))
            if isinstance(outcome, Exception):
                raise _explain(outcome, [(unit, limits)])
            yield outcome
        if not tasks:
            sleep(IDLE)


def run_processes(
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    queue: TaskQueue,
    workers: int,
    stop: Callable[[], bool],
    grace: float = GRACE,
) -> Iterator[Result]:
    """Run units in some processes, and yield their results as they complete.

    Parameters
    ----------
    work : callable
        Computes a unit: ``work(*arguments, unit, limits)``.
    arguments : tuple
        Arguments common to all units.
    queue : TaskQueue
        The work.
    workers : int
        Number of processes.
    stop : callable
        Returns whether the run was asked to stop.
    grace : float
        Seconds without a result that are always allowed.

    Raises
    ------
    TasksLeftError
        If a process has ended or takes far longer than planned, or a unit raised an exception.
    ClusterError
        If the store can't be reached, or no process can be started.
    StoreReplacedError
        If the store was removed or replaced.
    StoppedError
        If the run was asked to stop.
    """
    processes: dict[Connection, BaseProcess] = {}
    running: dict[Connection, Task] = {}
    last = monotonic()
    try:
        while True:
            tasks = list(queue.take(workers - len(running), len(running)))
            while tasks:
                try:
                    idle = _find_idle(processes, running, work, arguments)
                except ClusterError:
                    if not running:
                        raise
                    workers, queue = len(running), ExtendedQueue(tasks, queue)  # go on with those that are there
                    break
                running[idle] = unit, limits = tasks.pop(0)
                with suppress(OSError):  # the process has ended, which is seen below
                    idle.send((unit, replace(limits, sandboxed=False, may_end=True)))
            if not running and queue.is_empty:
                return
            if not running:  # what other drivers do decides what comes next
                sleep(IDLE)
                last = monotonic()
            for connection in wait(list(running), _POLL):
                assert isinstance(connection, Connection)
                outcome = _receive(connection)
                if isinstance(outcome, Exception):
                    raise _explain(outcome, list(running.values()))
                del running[connection]
                yield outcome
                last = monotonic()  # what the caller did with the result isn't waiting for another
            if stop():
                raise StoppedError
            if running and monotonic() - last > stall_limit(running.values(), grace):
                raise TasksLeftError(list(running.values()), f"no result for {monotonic() - last:.0f} s")
    finally:
        for connection, process in processes.items():
            connection.close()
            process.kill()
            process.join()


def _explain(error: Exception, tasks: Sequence[Task]) -> Exception:
    """Return the exception to raise for one that a unit raised: a cluster can't help if the store is the cause."""
    if isinstance(error, StoreReplacedError):
        return error
    return ClusterError(str(error)) if isinstance(error, _STORE_ERRORS) else TasksLeftError(tasks, str(error))


def _find_idle(
    processes: dict[Connection, BaseProcess],
    running: dict[Connection, Task],
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
) -> Connection:
    """Return the connection to a process that has nothing to do: a new one if all others are busy."""
    idle = next((one for one in processes if one not in running), None)
    if idle is not None:
        return idle
    ours, theirs = Pipe()
    processes[ours] = clusters.start_process(serve, (theirs, work, arguments))
    theirs.close()  # else its end of the connection would outlive the process
    return ours


def _receive(connection: Connection) -> Result | Exception:
    """Return the result of a unit, or the exception that it raised."""
    try:
        outcome: Result | Exception = connection.recv()
    except (EOFError, OSError):
        return RuntimeError("a process has ended")
    return outcome


def serve(connection: Connection, work: Callable[..., Result], arguments: tuple[Any, ...]) -> None:
    """Compute units until the driver has gone: what a process does."""
    with suppress(EOFError, OSError):
        while True:
            unit, limits = connection.recv()
            connection.send(_try_unit(work, arguments, unit, limits))


def _try_unit(work: Callable[..., Result], arguments: tuple[Any, ...], *task: Any) -> Result | Exception:
    """Compute a unit; return the exception that it raises, in a form that can be sent to another process."""
    try:
        return work(*arguments, *task)
    except _STORE_ERRORS as error:
        return error
    except Exception as error:
        return RuntimeError(format_error(error))
