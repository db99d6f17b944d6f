"""Run a driver as a process of this machine that outlives `ckrr submit` and its terminal."""

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
    """Return the command line of the driver's process."""
    return [python, "-P", "-m", "harness.submit.drive", url, identity]


def start(backend: Backend, identity: str) -> dict[str, Any]:
    """Start the driver's process, and return its handle: host, process ID and output file.

    The output file has what the process prints, such as tracebacks of errors that prevent it from writing to the store.
    """
    output = _find_output_folder(backend) / f"driver-{identity}.out"
    output.parent.mkdir(parents=True, exist_ok=True)
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # the driver can import what this process can
    with output.open("ab") as file, open(os.devnull, "rb") as nothing:
        pid = os.posix_spawn(
            sys.executable,
            make_command(backend.url, identity),
            {**os.environ, **paths},
            file_actions=[(os.POSIX_SPAWN_DUP2, a.fileno(), b) for a, b in ((nothing, 0), (file, 1), (file, 2))],
            setsid=True,  # neither Ctrl-C nor the end of this terminal reaches it
        )
    return {"host": platform.node(), "pid": pid, "output": str(output)}


def _find_output_folder(backend: Backend) -> Path:
    """Return the folder for output files: in the store if that is a directory, otherwise in `XDG_STATE_HOME`."""
    if not is_url(backend.url):
        return Path(backend.url) / SUBMISSION
    return Path(os.environ.get("XDG_STATE_HOME", "~/.local/state")).expanduser() / "ckrr"


def is_running(handle: Mapping[str, Any], url: str, identity: str) -> bool | None:
    """Return whether the driver's process runs; None if that cannot be determined from this machine.

    Process IDs are reused, and a store from an untrusted origin could name any process. So the process must belong to
    this user, and its command line must be that of the driver of this store and submission.
    """
    if handle.get("host") != platform.node() or "pid" not in handle:
        return None
    folder = Path(f"/proc/{handle['pid']}")
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")
        owner = folder.stat().st_uid
    except OSError:
        return False
    *start, address, name = [os.fsdecode(word) for word in words[1:-1]] if len(words) > 4 else ["", ""]
    same = address == url or (not is_url(url) and os.path.realpath(address) == os.path.realpath(url))
    return owner == os.getuid() and same and [*start, name] == [*make_command(url, identity)[1:-2], identity]


def send_signal(handle: Mapping[str, Any], number: signal.Signals) -> None:
    """Send a signal to the driver's process; SIGKILL goes to its process group, and so to its workers."""
    with suppress(ProcessLookupError):
        if number == signal.SIGKILL:
            os.killpg(handle["pid"], number)
        else:
            os.kill(handle["pid"], number)
