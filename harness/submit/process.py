"""A driver as a process of this machine that lives on when its submitter has left."""

from __future__ import annotations

import os
import platform
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.backends.address import is_url
from harness.backends.base import Backend
from harness.store.manifest import SUBMISSION


def make_command(url: str, identity: str, python: str = sys.executable) -> list[str]:
    """What the driver's process runs."""
    return [python, "-P", "-m", "harness.submit.drive", url, identity]


def start(backend: Backend, identity: str) -> dict[str, Any]:
    """Starts it; who it is. What it prints goes to a file: tracebacks that nobody could write to the store."""
    output = _find_output_folder(backend) / f"driver-{identity}.out"
    output.parent.mkdir(parents=True, exist_ok=True)
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # what can be imported here can be there
    with output.open("ab") as file, open(os.devnull, "rb") as nothing:
        pid = os.posix_spawn(
            sys.executable,
            make_command(backend.url, identity),
            {**os.environ, **paths},
            file_actions=[(os.POSIX_SPAWN_DUP2, a.fileno(), b) for a, b in ((nothing, 0), (file, 1), (file, 2))],
            setsid=True,  # Ctrl-C here, or the end of this terminal, is nothing to it
        )
    return {"host": platform.node(), "pid": pid, "output": str(output)}


def _find_output_folder(backend: Backend) -> Path:
    """In the store if that is a directory, or else where programs keep such things."""
    if not is_url(backend.url):
        return Path(backend.url) / SUBMISSION
    return Path(os.environ.get("XDG_STATE_HOME", "~/.local/state")).expanduser() / "ckrr"


def is_running(handle: Mapping[str, Any], url: str, identity: str) -> bool | None:
    """Whether its process is there; None if that can't be seen from here.

    The number may be another process's by now, and a stranger's store could name any: it must be ours, and be the
    driver of this very store.
    """
    if handle.get("host") != platform.node() or "pid" not in handle:
        return None
    folder = Path(f"/proc/{handle['pid']}")
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")
        owner = folder.stat().st_uid
    except OSError:
        return False
    *start, backend, name = [os.fsdecode(word) for word in words[1:-1]] if len(words) > 4 else ["", ""]
    same = backend == url or (not is_url(url) and os.path.realpath(backend) == os.path.realpath(url))
    return owner == os.getuid() and same and [*start, name] == [*make_command(url, identity)[1:-2], identity]


def send_signal(handle: Mapping[str, Any], number: signal.Signals) -> None:
    """Sends it a signal, and to all that it started: they are in a group of their own."""
    with suppress(ProcessLookupError):
        if number == signal.SIGKILL:
            os.killpg(handle["pid"], number)
        else:
            os.kill(handle["pid"], number)
