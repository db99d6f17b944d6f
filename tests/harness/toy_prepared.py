"""A toy whose level is prepared: values around an array that stage one makes, one for each γ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File

import numpy as np

from harness.core.types import Array, Streams
from tests.harness.toy import ToySample


@dataclass(frozen=True)
class Prepared:
    log: str
    """A file to which every preparation adds a line."""
    test_points: int = 10
    find: Callable[[str], Array] | None = None
    dimension: int = 1
    test: str = "iid"
    knows_f: bool = False
    redraws: tuple[str, ...] = ("gamma", "path", "draw")
    largest_n: int | None = 500

    def path(self, streams: Streams) -> Prepared:
        return self

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> ToySample:
        assert self.find is not None
        level = float(self.find(f"level-{at['gamma']}")[int(str(at["path"])), int(str(at["draw"]))])
        m = self.test_points
        return ToySample(np.zeros((n, 1)), np.full(n, level), None, np.zeros((m, 1)), np.full(m, level), None)

    def preparations(self, grid: Mapping[str, Sequence[object]]) -> Mapping[str, tuple[float, float]]:
        return {f"level-{gamma}": (1e9, 1e6) for gamma in grid["gamma"]}

    def prepare(self, name: str) -> Array:
        with File(self.log).open("a") as log:
            log.write(f"{name}\n")
        return levels(name)

    def given(self, find: Callable[[str], Array]) -> Prepared:
        return Prepared(self.log, self.test_points, find)


def levels(name: str) -> Array:
    """Half of them far outside of every interval, half of them within; other ones for each name."""
    far = np.random.default_rng(list(name.encode())).random((50, 50)) < 0.5
    return np.where(far, 1e3, 0.0)
