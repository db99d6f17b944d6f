"""Laws of the coverage of a path, with known means, and studies that follow them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.core.types import Array
from harness.statistics.verdicts import compute_tolerance

POINTS = 200
POOL = 1 << 18
"""Studies draw their paths from as many values, whose mean is the truth: an exact law, and quickly drawn from."""


@dataclass(frozen=True)
class Law:
    """Paths have a beta law around their mean, and a part of them are bad."""

    alpha: float
    correlation: float
    """Between the points of a path."""
    bad: float = 0.0
    """The part of bad paths."""
    coverage: float = 0.0
    """The coverage of a bad path."""
    shift: float = -1.0
    """The truth is the level and `shift` times the tolerance: −1 is the border."""

    @property
    def tolerance(self) -> float:
        return float(compute_tolerance(np.array(self.alpha)))

    def draw(self, rng: np.random.Generator, cells: int, paths: int, is_counted: bool = True) -> tuple[Array, float]:
        """Coverages over path, draw (one) and cell, and the level at which the truth is where it should be."""
        truth = 1 - self.alpha + self.shift * self.tolerance
        rest, k = (truth - self.bad * self.coverage) / (1 - self.bad), 1 / self.correlation - 1
        pool = rng.beta(rest * k, (1 - rest) * k, POOL)
        pool[: round(self.bad * POOL)] = self.coverage
        if is_counted:
            pool = rng.binomial(POINTS, pool) / POINTS
        values = pool[rng.integers(0, POOL, (paths, 1, cells), dtype=np.uint32)]
        return values, float(pool.mean()) - self.shift * self.tolerance


LAWS = {
    "α = 0.1, correlation 0.01": Law(0.1, 0.01),
    "α = 0.1, correlation 0.05": Law(0.1, 0.05),
    "α = 0.1, correlation 0.14": Law(0.1, 0.14),
    "α = 0.05, correlation 0.04": Law(0.05, 0.04),
    "α = 0.01, correlation 0.01": Law(0.01, 0.01),
    "α = 0.01, correlation 0.03": Law(0.01, 0.03),
    "two kinds of paths": Law(0.1, 0.01, bad=0.3, coverage=0.8),
    "U-shaped": Law(0.25, 0.5),
}
"""Laws that fifty paths show."""
RARE = {
    "one path in fifty covers nothing": Law(0.03, 0.01, bad=0.02),
    "one path in ten covers 0.6": Law(0.1, 0.01, bad=0.1, coverage=0.6),
}
"""Laws with bad paths that fifty paths may well not show."""
