"""Run the sandbox process: `python -m harness.worker.sandbox_main PIPE DUMP`, two file descriptors.

It computes single replications until its parent closes the pipe, or until a replication ends it.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from harness.compute.block import classify_error
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.compute.watchdog import watch_steps
from harness.core.errors import StoreUnreachableError
from harness.core.processes import die_with_parent, limit_garbage_collection
from harness.core.text import format_error
from harness.core.types import Block, Bools, Status, Unit
from harness.worker.blas import limit_threads
from harness.worker.study import load_study

Answer = Block | tuple[Status, str]
"""A block, or the status and message of the failure."""


def main(pipe: int, dump: int) -> None:
    """Load the study, report readiness (None) or the error, then compute replications as requested.

    Parameters
    ----------
    pipe : int
        File descriptor of the connection to the parent.
    dump : int
        File descriptor to which `faulthandler` writes tracebacks.
    """
    faulthandler.enable(file=dump)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the driver
    with Connection(pipe) as asked, suppress(EOFError, BrokenPipeError, ConnectionResetError):
        parent, where, care = asked.recv()
        die_with_parent(parent)
        try:
            study = load_study(*where)[1]
        except Exception as error:
            asked.send(format_error(error))
            return
        _limit_memory(care.memory)
        asked.send(None)
        while True:
            unit, todo = asked.recv()
            with watch_steps(care.seconds, dump):
                answer = _compute_answer(study, unit, todo)
            asked.send(answer)


def _compute_answer(study: Study, unit: Unit, todo: Bools) -> Answer | StoreUnreachableError:
    try:
        with limit_threads(study.threads):
            return compute_unit(study, unit, todo)
    except StoreUnreachableError as error:  # not a failure of the replication
        return error
    except BaseException as error:  # SystemExit, too: whatever a replication raises is its failure
        return classify_error(error), format_error(error)


def _limit_memory(memory: float | None) -> None:
    """Let the process allocate this many more bytes; allocations beyond that raise MemoryError (Linux only)."""
    if memory is not None and sys.platform == "linux":
        import resource

        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = now + int(memory)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


if __name__ == "__main__":
    limit_garbage_collection()
    main(*map(int, sys.argv[1:]))
