"""A small disk of a store's own, that can be filled and locked."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.listening import until


def missing() -> str | None:
    """Why there can be none here; None if there can."""
    return None if os.geteuid() == 0 and shutil.which("mount") else "mounting a disk needs root"


@contextmanager
def mounted(here: Path, options: str = "size=20m") -> Iterator[Path]:
    """An empty disk in memory, for a while."""
    here.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(here)], check=True)
    try:
        yield here
    finally:
        subprocess.run(["umount", "--lazy", str(here)], check=True)


def remount(here: Path, options: str) -> None:
    """With other options; a disk can't be locked in the moment in which somebody writes."""
    command = ["mount", "-o", f"remount,{options}", str(here)]
    until(lambda: subprocess.run(command, capture_output=True).returncode == 0)


def fill(here: Path) -> None:
    """To the last byte."""
    with (here / "filler").open("wb", buffering=0) as file:
        try:
            for size in (1 << 20, 1 << 12, 1):
                while file.write(b"\0" * size) == size:
                    pass
        except OSError:
            return


def make_room(here: Path) -> None:
    (here / "filler").unlink()
