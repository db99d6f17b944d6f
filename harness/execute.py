"""Execution: units go out, results come in. The one place that talks to Dask.

The serial loop is the definition; Dask must give the identical cube.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from distributed import Client, Future, as_completed

from harness.nouns import Unit

Result = dict[str, Any]
ATTEMPTS = 3
"""A unit that fails as a whole is tried again, elsewhere if there is an elsewhere."""


class Broken(Exception):
    """A unit failed at every attempt, or the cluster is gone."""


def serial(work: Callable[..., Result], arguments: tuple[Any, ...], units: Iterable[Unit]) -> Iterator[Result]:
    """One after the other, here."""
    for unit in units:
        yield work(*arguments, unit)


def window_of(client: Client) -> int:
    """How many tasks are on their way at once: enough to keep all threads busy, few enough to forget about."""
    threads = sum(client.nthreads().values())
    return int(max(64, 3 * threads))


def on_dask(
    client: Client,
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    units: Iterable[Unit],
    window: int | None = None,
) -> Iterator[Result]:
    """Through a bounded window of tasks; every future is let go as soon as it is done."""
    waiting = iter(units)
    running: dict[Any, tuple[Unit, int]] = {}
    stream = as_completed(with_results=True, raise_errors=False, loop=client.loop)  # the client needn't be the default

    def send(unit: Unit, attempt: int) -> None:
        key = f"ckrr-{arguments[1]}-{arguments[2]}-{unit.name}-{attempt}"
        future = client.submit(work, *arguments, unit, attempt, key=key, pure=False)
        running[future.key] = (unit, attempt)
        stream.add(future)

    for unit in islice(waiting, window or window_of(client)):
        send(unit, 0)
    while running:
        for future, outcome in stream.next_batch(block=True):
            unit, attempt = running.pop(future.key)
            failed = future.status != "finished"
            error = _reason(future, outcome) if failed else None
            future.release()
            if error is not None and attempt + 1 >= ATTEMPTS:
                raise Broken(f"unit {unit.name} failed {ATTEMPTS} times: {error}")
            if error is not None:
                send(unit, attempt + 1)
                continue
            yield outcome
            for following in islice(waiting, 1):
                send(following, 0)


def _reason(future: Future[Any], outcome: Any) -> str:
    """Why a task didn't finish, on one line."""
    error = outcome[1] if isinstance(outcome, tuple) and len(outcome) == 3 else outcome
    return (
        " ".join(f"{type(error).__name__}: {error}".split()) if isinstance(error, BaseException) else str(future.status)
    )
