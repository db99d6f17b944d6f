"""Run units one after the other in this process: the definition of what a run computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from harness.core.errors import Stopped
from harness.execution.dask_executor import Job, Result, _never


def serial(
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    jobs: Iterable[Job],
    memory: float,
    stop: Callable[[], bool] = _never,
) -> Iterator[Result]:
    """One after the other, here; in a child, since nobody would replace this process."""
    for unit, care in jobs:
        if stop():
            raise Stopped
        yield work(*arguments, unit, replace(care, alone=True, memory=memory))
