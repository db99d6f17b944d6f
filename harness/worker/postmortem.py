"""How a process ended, in words: from its return code and from what `faulthandler` wrote as it died. Pure."""

from __future__ import annotations

import re
import signal
from pathlib import PurePath

from harness.core.types import Status

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)
_LIBRARY = re.compile(r"/(site-packages|dist-packages|lib/python3[^/]*)/|^<")
"""Files that are nobody's own."""


def diagnose_exit(code: int, dump: str, seconds: float) -> tuple[Status, str]:
    """The status and the message of a replication whose process ended.

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
    """Whether what failed so may do the same to the process that computes it again."""
    return kind in (Status.SLOW.name, Status.MEMORY.name) or message.startswith("its process ")


def _get_signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _find_location(dump: str) -> str:
    r"""The innermost line of a file that is no library's, of the thread that died, or else of the first thread.

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
