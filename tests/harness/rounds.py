"""Studies of the toy that run until they are decided, driven in this process, and ways to compare them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr

from harness.core.types import Unit
from harness.cube.reader import open_cube
from harness.cube.refresh import refresh
from harness.execution import lifecycle, prepare
from harness.execution.driver import _make_round_queue
from harness.execution.rounds import RoundQueue
from harness.results.validity import verdicts
from harness.store.manifest import Manifest, cache_key
from harness.store.rounds import FOLDER
from harness.worker.task import run_unit
from tests.harness.studies import loaded

STUDY: dict[str, Any] = {
    "source__test_points": 20,
    "grid__gamma": [1.0],
    "grid__theta": [1],
    "grid__lam": [0.1],
    "grid__alpha": [0.1, 0.25],
    "grid__procedure": ["exact", "wide", "split"],
    "replications": {"until": {"verdict": 0.95}, "budget": {"paths": 2000}},
}


class Driver:
    """A driver without Dask: takes units from its queue, and computes them here in any order."""

    def __init__(self, where: Path, speed: float = 2e8, shared: bool = False, **changes: Any) -> None:
        made = prepare.prepare(loaded(**{**STUDY, **changes}), str(where), workers=2, speed=speed)
        self.manifest: Manifest = lifecycle.begin_run(made)
        self.url, self.units = made.backend.url, 0
        queue = _make_round_queue(made, self.manifest, shared)
        assert queue is not None
        self.queue: RoundQueue = queue

    def take(self, room: int = 1, running: int = 0) -> list[Unit]:
        return [unit for unit, _ in self.queue.take(room, running)]

    def compute(self, unit: Unit) -> None:
        run_unit(self.url, cache_key(self.manifest), self.manifest.generation, False, unit)
        self.queue.note_done(unit)
        self.units += 1

    def go_on(self, most: int | None = None, shuffle: Callable[[list[Unit]], None] = lambda units: None) -> Driver:
        """Until nothing more is wanted, or a number of units was computed."""
        while not self.queue.is_empty and (most is None or self.units < most):
            some = self.take(7 if most is None else 1)
            shuffle(some)
            for unit in some:
                self.compute(unit)
        return self

    def finish(self) -> xr.Dataset:
        refresh(self.url, self.manifest, self.manifest.extent.grid.n)
        return open_cube(self.url).load()


def rounds(where: Path) -> dict[str, bytes]:
    """Every record of a round, by its name."""
    return {str(each.relative_to(where)): each.read_bytes() for each in sorted((where / FOLDER).rglob("*.json"))}


def assert_same(one: Path, other: Path) -> None:
    """The same rounds, words and numbers: units that were computed in advance don't count."""
    assert rounds(one) == rounds(other)
    ours, theirs = (verdicts(str(each)) for each in (one, other))
    xr.testing.assert_identical(ours, theirs)
    ours, theirs = (open_cube(str(each)).load() for each in (one, other))
    for name in ours:
        assert ours[name].to_numpy().tobytes() == theirs[name].to_numpy().tobytes(), name
