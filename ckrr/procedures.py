"""The procedures by name, and what each makes of some rows of test points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtri

from ckrr import conformal
from ckrr.bayes import deviation, normal_intervals, normal_p_values
from ckrr.checks import Array
from ckrr.conformal import Crossings, Slopes
from ckrr.levels import Boundary, thresholds
from ckrr.regions import Regions
from ckrr.residuals import Scale, in_sample, leave_one_out, studentised
from ckrr.scratch import Scratch
from ckrr.tails import Frame, Indices


@dataclass(frozen=True)
class Score:
    """A way to compare the test point's residual with the others."""

    regions: Callable[[Crossings, Indices], Regions]
    p_values: Callable[[Crossings, Array], Array]
    sides: int
    """Each side has α/sides of the error."""


RRCM = Score(conformal.rrcm, conformal.rrcm_p_values, sides=1)
CRR = Score(conformal.crr, conformal.crr_p_values, sides=2)

CONFORMAL: dict[str, tuple[Score, Scale]] = {
    "RRCM": (RRCM, in_sample),
    "RRCM-loo": (RRCM, leave_one_out),
    "CRR": (CRR, in_sample),
    "CRR-loo": (CRR, leave_one_out),
    "RRCM-std": (RRCM, studentised),
    "CRR-std": (CRR, studentised),
}
BAYESIAN = ("GPR-f", "GPR-p")
PROCEDURES = ("GPR-f", "GPR-p", "RRCM", "RRCM-loo", "CRR", "CRR-loo")
"""The six of the paper."""
ALL_PROCEDURES = (*BAYESIAN, *CONFORMAL)


class Levels:
    """The levels asked for, and the rule at the boundary."""

    def __init__(self, alpha: tuple[Fraction, ...], boundary: Boundary) -> None:
        self.alpha, self.boundary = alpha, boundary
        self._needed: dict[tuple[int, int], Indices] = {}

    def needed(self, score: Score, n: int) -> Indices:
        """How many of n train residuals must count, at each level."""
        key = score.sides, n
        if key not in self._needed:
            self._needed[key] = _thresholds(n + 1, self.alpha, self.boundary, score.sides)
        return self._needed[key]

    @cached_property
    def z(self) -> Array:
        """z_{1−α/2}, at each level."""
        return -np.asarray(ndtri([float(each) / 2 for each in self.alpha]))


@lru_cache(maxsize=64)
def _thresholds(N: int, alpha: tuple[Fraction, ...], boundary: Boundary, sides: int) -> Indices:
    return thresholds(N, [each / sides for each in alpha], boundary)


@dataclass(frozen=True)
class Rows:
    """Test points, each with one target, in the units of the target: all that a procedure is given of them.

    They may be of one problem or of several with the same n, one after the other: what all rows share has length 1.
    """

    W: Array
    """Qk, shape (b, n)."""
    m: Array
    """λ + 1 − k′Qk, shape (b,)."""
    variance: Array
    """1 − k′Qk, shape (b,)."""
    mean: Array
    """ŷ, shape (b,)."""
    y: Array
    """The train values, shape (1, n) or (b, n)."""
    a: Array
    """Qy, likewise."""
    diag_Q: Array
    """Likewise."""
    sigma2: Array
    """σ̂², shape (1,) or (b,)."""
    equal: tuple[Indices, Indices]
    """The rows and columns of W at which the test point is a train point."""


class Case:
    """Some rows, ready to be asked by several procedures: what they share is computed once.

    `slopes` is what cases with the same W, m and diag Q may share.
    """

    def __init__(self, rows: Rows, scratch: Scratch, slopes: dict[Scale, Slopes]) -> None:
        self.rows, self._scratch, self._slopes = rows, scratch, slopes
        self._crossings: dict[Scale, Crossings] = {}

    def regions(self, procedure: str, levels: Levels) -> Regions:
        """The procedure's regions at each level."""
        if procedure in BAYESIAN:
            return normal_intervals(self.rows.mean, self._deviation(procedure), levels.z)
        score, scale = CONFORMAL[procedure]
        return score.regions(self._crossings_of(scale), levels.needed(score, self.rows.W.shape[1]))

    def p_values(self, procedure: str, y: Array) -> Array:
        """The procedure's p-value at y_i for row i."""
        if procedure in BAYESIAN:
            return normal_p_values(self.rows.mean, self._deviation(procedure), y)
        score, scale = CONFORMAL[procedure]
        return score.p_values(self._crossings_of(scale), y)

    def _crossings_of(self, scale: Scale) -> Crossings:
        if scale not in self._crossings:
            rows = self.rows
            if scale not in self._slopes:
                D = scale(rows.W, rows.m, rows.diag_Q, self._scratch)
                self._slopes[scale] = Slopes(rows.W, D, self._scratch, scale.__name__)
            frame = Frame(rows.mean, rows.m)
            self._crossings[scale] = Crossings(rows.a, rows.y, self._slopes[scale], frame, rows.equal)
        return self._crossings[scale]

    def _deviation(self, procedure: str) -> Array:
        return deviation(self.rows.m if procedure == "GPR-f" else self.rows.variance, self.rows.sigma2)
