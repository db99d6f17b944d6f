"""A network that can be cut: a namespace of its own for some processes, with one cable to this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

_OURS = os.getpid()
"""Others may test on this machine at the same time."""
NAME, _CABLE = f"ckrr-{_OURS}", (f"ck-h{_OURS}", f"ck-t{_OURS}")
HERE, THERE = (f"10.213.{_OURS % 250}.{i}" for i in (1, 2))


def missing() -> str | None:
    """Why there can be none here; None if there can."""
    if shutil.which("ip") is None:
        return "a network can't be cut: ip (iproute2) isn't installed"
    try:
        with apart():
            return None
    except subprocess.CalledProcessError as error:
        return f"a network can't be cut: {' '.join(error.cmd)} fails: {error.stderr.strip()}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def apart() -> Iterator[tuple[str, ...]]:
    """The words before a command that make it run there."""
    try:
        _ip("netns", "add", NAME)
        _ip("link", "add", _CABLE[0], "type", "veth", "peer", "name", _CABLE[1], "netns", NAME)
        _ip("address", "add", f"{HERE}/24", "dev", _CABLE[0])
        _ip("-n", NAME, "address", "add", f"{THERE}/24", "dev", _CABLE[1])
        _ip("-n", NAME, "link", "set", "lo", "up")
        _ip("link", "set", _CABLE[0], "up")
        heal()
        yield ("ip", "netns", "exec", NAME)
    finally:
        for words in (("link", "delete", _CABLE[0]), ("netns", "delete", NAME)):
            subprocess.run(["ip", *words], capture_output=True)


def cut() -> None:
    """Nothing gets through, and nobody is told."""
    _ip("-n", NAME, "link", "set", _CABLE[1], "down")


def heal() -> None:
    """The cable is there."""
    _ip("-n", NAME, "link", "set", _CABLE[1], "up")
