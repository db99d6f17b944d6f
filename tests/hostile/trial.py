"""Try commands of `ckrr` in processes of their own, forked from one that has loaded everything."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

CPU_SECONDS, SECONDS = 10, 120
"""Limits of a trial: of its own time, whatever else the machine does, and of the clock, for what waits."""


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    name: str
    exit_code: int
    """Negative for the signal that ended it."""
    stdout: str
    stderr: str
    traceback: str
    """Of an exception that nobody caught."""
    changed: list[str]
    """Files that are there and weren't, or aren't what they were."""
    cpu: float
    megabytes: float


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """All files below a folder, with what changes when they are written. Symbolic links aren't followed."""
    found: dict[str, tuple[int, int]] = {}
    for here, folders, names in os.walk(folder):
        for name in (*folders, *names):
            facts = os.lstat(f"{here}/{name}")
            size = 0 if name in folders else facts.st_size
            found[os.path.relpath(f"{here}/{name}", folder)] = (size, 0 if name in folders else facts.st_mtime_ns)
    return found


def attempt(name: str, act: Callable[[], tuple[int, str, str, str]], folder: Path, cwd: Path) -> Outcome:
    """Do something in a child process; what it returns is an exit code, two texts and a traceback."""
    before = snapshot(folder)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        os.chdir(cwd)
        _act(act, writer)
    os.close(writer)
    with open(reader, "rb") as file:
        said = file.read()
    _, status, usage = os.wait4(child, 0)
    after = snapshot(folder)
    differ = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    _, *texts = json.loads(said or '[0, "", "", ""]')
    seconds = usage.ru_utime + usage.ru_stime
    return Outcome(name, os.waitstatus_to_exitcode(status), *texts, differ, seconds, usage.ru_maxrss / 1024)


def _act(act: Callable[[], tuple[int, str, str, str]], writer: int) -> NoReturn:
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # SIGPROF and SIGALRM end the process, also within C code
    signal.alarm(SECONDS)
    told = act()
    with open(writer, "w") as file:
        json.dump(told, file)
    os._exit(told[0])


def command(words: list[str]) -> tuple[int, str, str, str]:
    """Run a command of `ckrr` in this process."""
    from traceback import format_exception

    from click.testing import CliRunner

    from harness.cli import main

    done = CliRunner().invoke(main, words)
    error = done.exception
    caught = error is None or isinstance(error, SystemExit)
    trace = "" if caught else "".join(format_exception(error))
    return done.exit_code if caught else 1, done.stdout[-20_000:], done.stderr[-20_000:], trace
