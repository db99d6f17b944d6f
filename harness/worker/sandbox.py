"""Careful computing: a unit one replication at a time, in a child process that may die of it.

So a replication that ends its process, hangs or eats all memory is found, and stored as a failure like any other. What
a replication gives doesn't depend on what is computed beside it, so the numbers are those of ordinary computing.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import replace
from itertools import product
from multiprocessing.connection import Connection, Pipe
from time import monotonic
from typing import IO, Any, Self

from harness.compute.block import BlockBuilder
from harness.compute.study import Study
from harness.core.errors import StoreUnreachableError
from harness.core.processes import start_module
from harness.core.types import Block, Bools, Limits, Status, Unit
from harness.worker.postmortem import diagnose_exit
from harness.worker.sandbox_main import Answer

StudyAddress = tuple[str, str, int]
"""A study as a child finds it: the store's URL, the fingerprint in short, the number of the extent."""
_START = 300.0
"""Seconds that a child may take to load a study."""
_POLL_SECONDS, _EXIT_SECONDS = 1.0, 2.0


def compute_in_sandbox(study: Study, where: StudyAddress, unit: Unit, todo: Bools | None, care: Limits) -> Block:
    """As `compute`, but no replication can take the others or this process with it."""
    desk = BlockBuilder(study, unit, todo)
    with _SandboxProcess(where, care) as child:
        for path, draw in product(unit.paths, unit.draws):
            asked = desk.requested(path, draw)
            if asked.any():
                one = replace(unit, paths=range(path, path + 1), draws=range(draw, draw + 1))
                answer = _ask_with_retry(child, one, asked[None, None])
                if isinstance(answer, Block):
                    desk.add_replication(answer)
                else:
                    desk.record_failure(path, draw, desk.all_cells, *answer)
    return desk.build()


def _ask_with_retry(child: _SandboxProcess, unit: Unit, todo: Bools) -> Answer:
    """What a child says; a new one is asked before a replication is blamed for a death, or for memory that others left.

    Anybody may be killed by chance. A replication that is too slow isn't asked twice: that takes long.
    """
    answer, was_new = child.ask(unit, todo)
    kinds = {one.kind for one in answer.failures} if isinstance(answer, Block) else {answer[0].name}
    if Status.SLOW.name in kinds or (child.alive and (was_new or Status.MEMORY.name not in kinds)):
        return answer
    child.stop()
    return child.ask(unit, todo)[0]


class _SandboxProcess:
    """A process that computes single replications of a study; it starts when it is needed, and again if it died."""

    def __init__(self, where: StudyAddress, care: Limits) -> None:
        self._where, self._limits = where, care
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection
        self._dump: IO[bytes]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def alive(self) -> bool:
        """Whether it can be asked without a start."""
        return self._process is not None

    def ask(self, unit: Unit, todo: Bools) -> tuple[Answer, bool]:
        """One replication, and whether it was the process's first."""
        new = not self.alive
        if new:
            self._start()
        try:
            self._pipe.send((unit, todo))
            answer: Answer | StoreUnreachableError = self._receive()
        except (EOFError, OSError):
            return self._diagnose(), new
        if isinstance(answer, StoreUnreachableError):
            raise answer
        return answer, new

    def _start(self) -> None:
        ours, theirs = Pipe()
        self._pipe, self._dump = ours, tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the child
        files = (theirs.fileno(), self._dump.fileno())
        self._process = start_module("harness.worker.sandbox_main", *map(str, files), files=files)
        theirs.close()
        try:
            ours.send((os.getpid(), self._where, self._limits))
            told = self._receive(_START)
        except (EOFError, OSError, TimeoutError):
            told = self._diagnose()[1]
        if told is not None:
            self.stop()
            raise RuntimeError(f"the process that computes carefully can't start: {told}")

    def _receive(self, seconds: float = float("inf")) -> Any:
        """Waits for an answer, as long as there is a process: the pipe may be kept open by one that it started."""
        end = monotonic() + seconds
        assert self._process is not None
        while not self._pipe.poll(_POLL_SECONDS):
            if self._process.poll() is not None and not self._pipe.poll():
                raise EOFError
            if monotonic() > end:
                raise TimeoutError
        return self._pipe.recv()

    def _diagnose(self) -> tuple[Status, str]:
        """How it died."""
        assert self._process is not None
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:  # it hung up, or hangs while it starts
            self._process.kill()
            code = self._process.wait()
        self._dump.seek(0)
        found = diagnose_exit(code, self._dump.read().decode(errors="replace"), self._limits.seconds)
        self.stop()
        return found

    def stop(self) -> None:
        """It ends when nobody is left to ask it; otherwise it is ended."""
        if self._process is None:
            return
        self._pipe.close()
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._dump.close()
        self._process = None
