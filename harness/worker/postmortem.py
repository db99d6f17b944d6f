"""Explain how a process ended, from its return code and the dump that `faulthandler` wrote. Pure."""

from __future__ import annotations

import re
import signal
from pathlib import PurePath

from harness.core.types import Status

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)
_LIBRARY = re.compile(r"/(site-packages|dist-packages|lib/python3[^/]*)/|^<")
"""Paths of library files, as opposed to files of the user or of this project."""


def diagnose_exit(code: int, dump: str, seconds: float) -> tuple[Status, str]:
    """Return the status and the message for a replication whose process ended.

    Examples
    --------
    >>> diagnose_exit(-9, "", 60)
    (<Status.MEMORY: 5>, 'its process was killed (SIGKILL), as happens when memory runs out')
    >>> diagnose_exit(3, "", 60)
    (<Status.ERROR: 3>, 'its process ended with exit code 3')
    """
    if dump.startswith("Timeout"):
        return Status.SLOW, f"took longer than {seconds:g} s{_find_location(dump)}"
    if code == -signal.SIGKILL:
        return Status.MEMORY, "its process was killed (SIGKILL), as happens when memory runs out"
    if code < 0:
        return Status.ERROR, f"its process died of {_get_signal_name(-code)}{_find_location(dump)}"
    return Status.ERROR, f"its process ended with exit code {code}"


def is_fatal(kind: str, message: str) -> bool:
    """Return whether computing the failed replication again may end its process."""
    return kind in (Status.SLOW.name, Status.MEMORY.name) or message.startswith("its process ")


def _get_signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _find_location(dump: str) -> str:
    r"""Return the innermost line outside libraries of the thread that died, or else of the first thread.

    Examples
    --------
    >>> _find_location('Thread 0x1 (most recent call first):\n'
    ...     '  File "/a/lib/python3.11/ctypes/__init__.py", line 5 in at\n'
    ...        '  File "/home/me/mine.py", line 7 in draw\n  File "/home/me/harness/compute.py", line 1 in compute')
    ', in mine.py:7 draw'
    """
    current = dump.rpartition("Current thread ")[2]
    frames = _FRAME.findall(current.partition("\n\n")[0] if current != dump else dump.rpartition("Thread 0x")[2])
    own = [one for one in frames if not _LIBRARY.search(one[0])] or frames
    if not own:
        return ""
    file, line, function = own[0]
    return f", in {PurePath(file).name}:{line} {function}"
