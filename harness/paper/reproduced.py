"""Compare the printed numbers with those of a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isnan

import numpy as np

from harness.backends.base import open_backend
from harness.core.types import Array
from harness.cube.reader import open_cube
from harness.paper.printed import ALPHA, MAD, PrintedNumber
from harness.store.manifest import Manifest
from harness.store.manifest_io import load_manifest

REPLICATIONS = 25
"""Replications behind every printed number."""


@dataclass(frozen=True)
class ComparedNumber:
    """Printed number and ours."""

    printed: PrintedNumber
    ours: float
    """In per cent; NaN if there is no result."""
    replications: int
    trials: int
    """Number of test points, over all replications."""

    @property
    def equal(self) -> bool:
        """Whether ours, rounded to as many digits, is the printed number.

        A mean of 25 × 2601 hits and misses can't lie half-way between two numbers with one decimal: 65025·(2k + 1)/2000
        is never an integer. So the rounding of ties doesn't matter.
        """
        return not isnan(self.ours) and f"{self.ours:.{self.printed.decimals}f}" == self.printed.text

    @property
    def points_off(self) -> int:
        """Number of hits or misses that would have to change for ours to round to the printed number."""
        apart = abs(self.ours - float(self.printed.text)) - 0.5 * 10.0**-self.printed.decimals
        return 0 if self.equal else ceil(apart / 100 * self.trials)


def compare_numbers(asked: Sequence[PrintedNumber], url: str) -> list[ComparedNumber]:
    """Compare the numbers of one study with the cube of its store."""
    points = require_manifest(url).test_points
    cube = open_cube(url)[["coverage", "replication_count"]].sel(alpha=list(ALPHA)).load()
    found = []
    for one in asked:
        cell = cube.sel(procedure=one.procedure, gamma=one.gamma, lam=one.lam, theta=one.theta, n=one.n)
        count = int(cell.replication_count.min())
        found.append(
            ComparedNumber(one, _compute_measure(one, 100 * (1 - cell.coverage.to_numpy())), count, count * points)
        )
    return found


def _compute_measure(one: PrintedNumber, error: Array) -> float:
    """Return the error rate at one α, or its largest distance from α over all four."""
    if one.measure == MAD or one.alpha is None:
        return float(np.abs(error - 100 * np.array(ALPHA)).max())
    return float(error[ALPHA.index(one.alpha)])


def require_manifest(url: str) -> Manifest:
    """Load the manifest of a store that has just been run."""
    manifest = load_manifest(open_backend(url))
    assert manifest is not None, "it was just run"
    return manifest
