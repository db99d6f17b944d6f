"""Start child processes that inherit the import path and end with their parent; tune their garbage collection."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_DIE_WITH_PARENT = 1
"""The option PR_SET_PDEATHSIG of prctl(2)."""


def start_module(module: str, *words: str, files: Sequence[int] = (), quiet: bool = False) -> subprocess.Popen[bytes]:
    """Start `python -m module words` as a child process that inherits `sys.path` and the file descriptors `files`.

    Parameters
    ----------
    module, words : str
        The module to run, and its command-line arguments.
    files : sequence of int
        Open file descriptors to pass on.
    quiet : bool
        Whether to discard standard output and standard error.
    """
    command = [sys.executable, "-P", "-m", module, *words]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}  # the child can import what this process can
    out = subprocess.DEVNULL if quiet else None
    return subprocess.Popen(
        command, pass_fds=files, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env={**os.environ, **paths}
    )


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, and first when memory runs out (Linux only).

    On other systems this does nothing, and the parent has to end its children itself.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before prctl was called
            sys.exit()
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")


_GC_THRESHOLD = 50_000
"""Net allocations after which Python collects garbage; Python's default is 700."""


def limit_garbage_collection() -> None:
    """Collect garbage less often, and not at exit, so that a process starts and ends faster.

    Only for processes that the harness starts itself. Start-up is a tenth faster. At exit, Python would search all
    objects for garbage, which takes a third of a second; after `gc.freeze` it takes a few hundredths.
    """
    gc.set_threshold(_GC_THRESHOLD)
    atexit.register(gc.freeze)  # registered first, so called last
