"""A small study with the toy, on any cluster, compared with the serial loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cluster
from harness.execution import driver, prepare
from harness.execution.progress import SilentProgress
from tests.cluster.slow import PAUSE
from tests.harness.studies import ROOT, loaded, run_serially

SHORT: dict[str, Any] = {"grid__n": [10], "grid__theta": [1], "replications__paths": 6}
PROLOGUE = f"export PYTHONPATH={ROOT}"
"""So that workers which start elsewhere find the toy."""
LONG = ("--set", "replications.paths=3000", "--set", "source.function='tests.cluster.slow:Slow'")
"""A study of the command line's toy that takes a minute, in units of a few seconds."""
SLOWLY = f"export {PAUSE}=0.02"


class Noted(SilentProgress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def serial(where: Path, **changes: Any) -> Path:
    run_serially(where, **(SHORT | changes))
    return where


def planned(file: Path, store: Path, speed: float = 2e7, **changes: Any) -> prepare.Prepared:
    """For the cluster of a file, with a speed that makes several units of it."""
    return prepare.prepare(loaded(**(SHORT | changes)), str(store), speed=speed, cluster=cluster.read(file))


def run(file: Path, store: Path, **changes: Any) -> list[str]:
    """Runs the study on the cluster of a file; what was noted."""
    progress = Noted()
    prepared = planned(file, store, **changes)
    assert len(prepared.plan.units) > 3
    driver.run_prepared(prepared, progress)
    return progress.notes
