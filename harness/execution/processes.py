"""Run units in processes of this machine, without a scheduler: for studies that are over before a cluster has started.

Nothing here heals. A unit that raises an exception, or takes its process with it, is left to the cluster, which knows
what to do (`TasksLeftError`): units can be computed any number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import sleep
from typing import Any

from harness.core.errors import StoppedError
from harness.execution import clusters
from harness.execution.tasks import IDLE, Result, Task, TaskQueue

_POLL = 0.05
"""Seconds between two looks at whether the run was asked to stop."""


class TasksLeftError(Exception):
    """A process ended, or its unit raised an exception.

    Parameters
    ----------
    tasks : sequence of (Unit or Preparation, Limits)
        The tasks that were running then.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        super().__init__(f"{len(tasks)} tasks are left")
        self.tasks = tasks


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


def run_processes(
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    queue: TaskQueue,
    workers: int,
    memory: float,
    stop: Callable[[], bool],
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
    memory : float
        Bytes that each may use.
    stop : callable
        Returns whether the run was asked to stop.

    Raises
    ------
    TasksLeftError
        If a process has ended, or a unit raised an exception.
    StoppedError
        If the run was asked to stop.
    """
    processes: dict[Connection, BaseProcess] = {}
    running: dict[Connection, Task] = {}
    try:
        while True:
            for unit, limits in queue.take(workers - len(running), len(running)):
                idle = _find_idle(processes, running, work, arguments)
                running[idle] = (unit, limits)
                with suppress(OSError):  # the process has ended, which is seen below
                    idle.send((unit, replace(limits, sandboxed=False, has_nanny=True, memory=memory)))
            if not running and queue.is_empty:
                return
            if not running:  # what other drivers do decides what comes next
                sleep(IDLE)
            for connection in wait(list(running), _POLL):
                assert isinstance(connection, Connection)
                result = _receive(connection)
                if result is None:
                    raise TasksLeftError(list(running.values()))
                del running[connection]
                yield result
            if stop():
                raise StoppedError
    finally:
        for connection, process in processes.items():
            connection.close()
            process.kill()
            process.join()


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


def _receive(connection: Connection) -> Result | None:
    """Return the result of a unit; None if it raised an exception or its process has ended."""
    try:
        result: Result | None = connection.recv()
    except (EOFError, OSError):
        return None
    return result


def serve(connection: Connection, work: Callable[..., Result], arguments: tuple[Any, ...]) -> None:
    """Compute units until the driver has gone: what a process does."""
    with suppress(EOFError, OSError):
        while True:
            unit, limits = connection.recv()
            try:
                result = work(*arguments, unit, limits)
            except Exception:
                result = None
            connection.send(result)
