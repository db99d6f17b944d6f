"""Processes that belong to another: they are started with what it can import, and end with it."""

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
"""PR_SET_PDEATHSIG."""


def start_module(module: str, *words: str, files: Sequence[int] = (), quiet: bool = False) -> subprocess.Popen[bytes]:
    """`python -m module words`, with these open files."""
    command = [sys.executable, "-P", "-m", module, *words]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}  # what can be imported here can be there
    out = subprocess.DEVNULL if quiet else None
    return subprocess.Popen(
        command, pass_fds=files, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env={**os.environ, **paths}
    )


def die_with_parent(parent: int) -> None:
    """Ends with its parent, and before others when the machine's memory runs out.

    Where there is no Linux, whoever started it has to end it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # it died before
            sys.exit()
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")


_GC_THRESHOLD = 50_000
"""Python looks for garbage whenever there are so many more objects; as it comes, it does after 700."""


def limit_garbage_collection() -> None:
    """For a process of our own: it starts by a tenth sooner, and ends in a few hundredths of a second.

    At the end Python looks for garbage in all that there is, which takes a third of a second, and the process is over
    anyway; `gc.freeze` takes it out of its sight.
    """
    gc.set_threshold(_GC_THRESHOLD)
    atexit.register(gc.freeze)  # the first that is registered is called last
