"""Run units one after the other in this process: the definition of what a run computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from harness.core.errors import StoppedError
from harness.execution.tasks import Result, Task, never_stop


def run_serial(
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    jobs: Iterable[Task],
    memory: float,
    stop: Callable[[], bool] = never_stop,
) -> Iterator[Result]:
    """Run units one after the other, each in a sandbox: nothing would restart this process if it died."""
    for unit, care in jobs:
        if stop():
            raise StoppedError
        yield work(*arguments, unit, replace(care, sandboxed=True, memory=memory))
