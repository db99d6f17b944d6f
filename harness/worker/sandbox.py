"""Compute a unit one replication at a time, in a child process (the sandbox) that may die.

So a replication that ends its process, hangs or exhausts memory is identified, and stored as a failure like any other.
Results of a replication don't depend on what is computed with it, so they are the same as without a sandbox.
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
"""What the child needs to load a study: URL of the store, short fingerprint, number of the extent."""
_START = 300.0
"""Time limit in seconds for the child to load a study."""
_POLL_SECONDS, _EXIT_SECONDS = 1.0, 2.0


def compute_in_sandbox(study: Study, where: StudyAddress, unit: Unit, todo: Bools | None, care: Limits) -> Block:
    """Compute a unit like `compute_unit`, but so that no replication can end this process or affect the others.

    Each family computes on its own, so that one that ends its process leaves the others their results.
    """
    desk = BlockBuilder(study, unit, todo)
    with _SandboxProcess(where, care) as child:
        for path, draw, family in product(unit.paths, unit.draws, study.families):
            asked = desk.requested(path, draw) & family.find_mask(study.extent.grid)
            if asked.any():
                one = replace(unit, paths=range(path, path + 1), draws=range(draw, draw + 1))
                answer = _ask_with_retry(child, one, asked[None, None])
                if isinstance(answer, Block):
                    desk.add_replication(answer, family)
                else:
                    desk.record_failure(path, draw, desk.all_cells, *answer, family)
    return desk.build()


def _ask_with_retry(child: _SandboxProcess, unit: Unit, todo: Bools) -> Answer:
    """Compute one replication in the child, and again in a new child if the first one died or ran out of memory.

    The first failure may not be the replication's fault: processes are killed for other reasons, and earlier
    replications may have left memory in use. A replication that is too slow is not retried, because that takes long.
    """
    answer, was_new = child.ask(unit, todo)
    kinds = {one.kind for one in answer.failures} if isinstance(answer, Block) else {answer[0].name}
    if Status.SLOW.name in kinds or (child.alive and (was_new or Status.MEMORY.name not in kinds)):
        return answer
    child.stop()
    return child.ask(unit, todo)[0]


class _SandboxProcess:
    """A child process that computes single replications; started on first use, and restarted after it died."""

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
        """Whether the process has been started and has not been stopped."""
        return self._process is not None

    def ask(self, unit: Unit, todo: Bools) -> tuple[Answer, bool]:
        """Return the answer for one replication, and whether it was the first one of this process."""
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
        self._pipe, self._dump = ours, tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the child lives
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
            raise RuntimeError(f"the sandbox process can't start: {told}")

    def _receive(self, seconds: float = float("inf")) -> Any:
        """Wait for an answer while the process runs; its own children may keep the pipe open after it died."""
        end = monotonic() + seconds
        assert self._process is not None
        while not self._pipe.poll(_POLL_SECONDS):
            if self._process.poll() is not None and not self._pipe.poll():
                raise EOFError
            if monotonic() > end:
                raise TimeoutError
        return self._pipe.recv()

    def _diagnose(self) -> tuple[Status, str]:
        """Return the status and message that explain how the process died, and stop it."""
        assert self._process is not None
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:  # it closed the pipe without exiting, or hangs during start-up
            self._process.kill()
            code = self._process.wait()
        self._dump.seek(0)
        found = diagnose_exit(code, self._dump.read().decode(errors="replace"), self._limits.seconds)
        self.stop()
        return found

    def stop(self) -> None:
        """Close the pipe, on which the process exits; kill it if it does not."""
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
