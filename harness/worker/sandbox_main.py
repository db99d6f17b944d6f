"""The child of careful computing: `python -m harness.worker.sandbox_main PIPE DUMP`, two numbers of open files.

It computes single replications until nobody asks any more, or until one of them ends it.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from harness.compute.block import kind_of
from harness.compute.study import Study
from harness.compute.unit import compute
from harness.compute.watchdog import watching
from harness.core.errors import Unreachable
from harness.core.processes import bind, brief
from harness.core.text import message_of
from harness.core.types import Block, Bools, Status, Unit
from harness.worker.blas import limited
from harness.worker.study import study_at

Answer = Block | tuple[Status, str]
"""A block, or why there is none."""


def main(pipe: int, dump: int) -> None:
    """Loads the study, says that it is ready (None) or why it isn't, then answers one question after the other."""
    faulthandler.enable(file=dump)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver
    with Connection(pipe) as asked, suppress(EOFError, BrokenPipeError, ConnectionResetError):
        parent, where, care = asked.recv()
        bind(parent)
        try:
            study = study_at(*where)[1]
        except Exception as error:
            asked.send(message_of(error))
            return
        _limit(care.memory)
        asked.send(None)
        while True:
            unit, todo = asked.recv()
            with watching(care.seconds, dump):
                answer = _answer(study, unit, todo)
            asked.send(answer)


def _answer(study: Study, unit: Unit, todo: Bools) -> Answer | Unreachable:
    try:
        with limited(study.threads):
            return compute(study, unit, todo)
    except Unreachable as error:  # the store's fault, not the replication's
        return error
    except BaseException as error:  # also what isn't meant to be caught, as SystemExit: it is the replication's
        return kind_of(error), message_of(error)


def _limit(memory: float | None) -> None:
    """So many bytes more than now, and what asks for more gets a MemoryError."""
    if memory is not None and sys.platform == "linux":
        import resource

        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = now + int(memory)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


if __name__ == "__main__":
    brief()
    main(*map(int, sys.argv[1:]))
