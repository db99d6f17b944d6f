"""What a store has for the printed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isnan

import numpy as np

from harness.backends.base import place
from harness.core.types import Array
from harness.cube.reader import open_cube
from harness.paper.printed import ALPHA, MAD, Printed
from harness.store.manifest import Record
from harness.store.manifest_io import load

REPLICATIONS = 25


@dataclass(frozen=True)
class Number:
    """A printed number and ours."""

    printed: Printed
    ours: float
    """In per cent; NaN if there is none."""
    replications: int
    trials: int
    """Test points of all replications."""

    @property
    def equal(self) -> bool:
        """Whether ours, rounded to as many digits, is the printed one.

        A mean of 25 × 2601 hits and misses can't lie half-way between two numbers with one decimal: 65025·(2k + 1)/2000
        is never whole. So it doesn't matter how such ties are rounded.
        """
        return not isnan(self.ours) and f"{self.ours:.{self.printed.decimals}f}" == self.printed.text

    @property
    def points_off(self) -> int:
        """How many hits or misses at test points, of all, it is away from what rounds to the printed number."""
        apart = abs(self.ours - float(self.printed.text)) - 0.5 * 10.0**-self.printed.decimals
        return 0 if self.equal else ceil(apart / 100 * self.trials)


def numbers(asked: Sequence[Printed], url: str) -> list[Number]:
    """Ours for the numbers of one study, from the cube of its store."""
    points = record_of(url).test_points
    cube = open_cube(url)[["coverage", "replication_count"]].sel(alpha=list(ALPHA)).load()
    found = []
    for one in asked:
        cell = cube.sel(procedure=one.procedure, gamma=one.gamma, lam=one.lam, theta=one.theta, n=one.n)
        count = int(cell.replication_count.min())
        found.append(Number(one, _measure(one, 100 * (1 - cell.coverage.to_numpy())), count, count * points))
    return found


def _measure(one: Printed, error: Array) -> float:
    """The error rate at one α, or its largest distance from α over all four."""
    if one.measure == MAD or one.alpha is None:
        return float(np.abs(error - 100 * np.array(ALPHA)).max())
    return float(error[ALPHA.index(one.alpha)])


def record_of(url: str) -> Record:
    """What a store says about itself."""
    record = load(place(url))
    assert record is not None, "it was just run"
    return record
