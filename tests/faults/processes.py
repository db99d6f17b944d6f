"""Who belongs to a trial: told by a mark in the environment, that its processes inherit, whoever started them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from tests.cluster.listening import alive

MARK = "CKRR_TEST_TRIAL"
DRIVER, SCHEDULER, NANNY, WORKER, CHILD = "driver", "scheduler", "nanny", "worker", "child"
CLUSTER = (SCHEDULER, NANNY, WORKER)
_FORKS = "multiprocessing.forkserver"
_WORDS = {
    "harness.cli": DRIVER,
    "harness.submit.drive": DRIVER,
    "distributed.cli.dask_scheduler": SCHEDULER,
    "distributed.cli.dask_worker": NANNY,
    "harness.worker.sandbox_main": CHILD,
}


def found(folder: Path, *roles: str) -> list[psutil.Process]:
    """The processes of a trial, all or those of some roles.

    Workers are spawned by nannies; those of a local driver are forked by a process that is like them in its words.
    """
    return [one for one, role in _marked(folder) if not roles or role in roles]


def _marked(folder: Path) -> Iterator[tuple[psutil.Process, str]]:
    for one in psutil.process_iter():
        with suppress(psutil.Error):
            if one.environ().get(MARK) == str(folder) and alive([one]):
                yield one, _role(one)


def _role(one: psutil.Process) -> str:
    words = one.cmdline()
    if any("spawn_main" in word for word in words) or (_FORKS in " ".join(words) and _is_forked(one)):
        return WORKER
    return next((role for word, role in _WORDS.items() if word in words), "")


def _is_forked(one: psutil.Process) -> bool:
    parent = one.parent()
    return parent is not None and _FORKS in " ".join(parent.cmdline())


def kill(processes: list[psutil.Process]) -> None:
    """As kill -9 does."""
    for one in processes:
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)


def clear(folder: Path) -> None:
    """Nothing of a trial is left, whatever became of it."""
    for _ in range(50):
        left = found(folder)
        if not left:
            return
        kill(left)
        psutil.wait_procs(left, timeout=0.2)
    raise AssertionError(f"these can't be ended: {left}")
