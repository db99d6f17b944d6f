"""Record which test files call which functions; `tests.benchmarks.mutants` puts this folder on `PYTHONPATH`.

Python imports a module of this name when it starts, so subprocesses of tests are recorded, too. It is also a plugin
of pytest (`-p sitecustomize`), which says what test file runs. Each process appends lines `test file, path, first line`
to a file of its own in `CALLS_OUT`, one for each function in `CALLS_ROOT` and test file, when it is called first.
PYTEST_DONT_REWRITE: pytest would warn that this module is imported before it can rewrite assertions.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

ROOT = os.environ.get("CALLS_ROOT", "") + "/"
PACKAGES = tuple(f"{ROOT}{package}/" for package in ("ckrr", "harness", "scenarios", "cluster"))


class Calls:
    """Trace calls; a test file's own are those since it was entered, or since its subprocess started."""

    def __init__(self) -> None:
        self.test_file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
        self.seen: set[object] = set()
        self.process = 0
        self.out = -1

    def enter(self, test_file: str) -> None:
        """Attribute calls from now on to another test file."""
        if test_file != self.test_file:
            self.test_file = test_file
            self.seen.clear()

    def trace(self, frame: Any, event: str, value: object) -> None:
        """Record a call if it is the first of this function; return nothing, so that lines aren't traced."""
        code = frame.f_code
        if code in self.seen:
            return
        self.seen.add(code)
        if not code.co_filename.startswith(PACKAGES):
            return
        if self.process != os.getpid():
            self.process = os.getpid()
            name = f"{os.environ['CALLS_OUT']}/{self.process}"
            self.out = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        words = (self.test_file, code.co_filename.removeprefix(ROOT), str(code.co_firstlineno))
        os.write(self.out, ("\t".join(words) + "\n").encode())


CALLS = Calls()


def pytest_make_collect_report(collector: Any) -> None:
    """Enter a test file that is imported."""
    if collector.path.is_file():
        CALLS.enter(collector.path.as_posix().removeprefix(ROOT))


def pytest_runtest_logstart(nodeid: str) -> None:
    """Enter the file of a test that begins; trace again, because an exception in a traced call ends tracing."""
    CALLS.enter(nodeid.partition("::")[0])
    sys.settrace(CALLS.trace)


if "CALLS_ROOT" in os.environ:
    sys.settrace(CALLS.trace)
    threading.settrace(CALLS.trace)
