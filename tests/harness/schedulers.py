"""A Dask scheduler with workers, as processes of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.harness.studies import ROOT


@contextmanager
def dask(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Dask's own command line."""
    command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
