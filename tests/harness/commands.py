"""Start `ckrr` as a user does, with a small scenario."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.house import ROOT

TOY = """
name = "toy"
seed = 5
family = "tests.harness.toy:FAMILY"
[source]
function = "tests.harness.toy:Toy"
test_points = 10
fails_at = 0.0
[grid]
gamma = [1.0]
n = [10, 20]
theta = [1]
lam = [0.1]
procedure = ["exact", "wide"]
[replications]
paths = 6
draws = 2
"""
QUICK = ("--set", "grid.n=[10]", "--workers", "1")
"""One unit and one worker, which needs no cluster: for tests of other things."""


def start(*arguments: str, cwd: Path, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", **variables}
    return subprocess.Popen(
        [sys.executable, "-m", "harness.cli", *arguments],
        cwd=cwd,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_hears_the_keyboard,
    )


def _hears_the_keyboard() -> None:
    """Also where the tests run in the background of a shell, which tells what it starts not to."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ckrr(*arguments: str, cwd: Path, **variables: str) -> tuple[int, str, str]:
    process = start(*arguments, cwd=cwd, **variables)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err
