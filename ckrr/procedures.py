"""The procedures by name, and what each does with a block of test points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ckrr import conformal
from ckrr.bayes import deviation, normal_intervals, normal_p_values
from ckrr.checks import Array
from ckrr.conformal import Crossings, Slopes
from ckrr.levels import Boundary, thresholds
from ckrr.regions import Regions
from ckrr.residuals import Scale, in_sample, leave_one_out
from ckrr.ridge import Projection, Ridge, Target
from ckrr.scratch import Scratch
from ckrr.tails import Frame, Indices

STRIP = 262144
"""Numbers in one strip of a block, so that they stay in the cache. Rows are independent: no bit depends on it."""


@dataclass(frozen=True)
class Score:
    """A way to compare the test point's residual with the others."""

    regions: Callable[[Crossings, Indices], Regions]
    p_values: Callable[[Crossings, Array], Array]
    sides: int
    """Each side has α/sides of the error."""

    def thresholds(self, n: int, alpha: Sequence[Fraction], boundary: Boundary) -> Indices:
        """How many of n train residuals must count at each level."""
        return thresholds(n + 1, [each / self.sides for each in alpha], boundary)


RRCM = Score(conformal.rrcm, conformal.rrcm_p_values, sides=1)
CRR = Score(conformal.crr, conformal.crr_p_values, sides=2)

CONFORMAL: dict[str, tuple[Score, Scale]] = {
    "RRCM": (RRCM, in_sample),
    "RRCM-loo": (RRCM, leave_one_out),
    "CRR": (CRR, in_sample),
    "CRR-loo": (CRR, leave_one_out),
}
BAYESIAN = ("GPR-f", "GPR-p")
PROCEDURES = (*BAYESIAN, *CONFORMAL)


class Strip:
    """Some consecutive test points: what all targets and procedures share of them is computed once."""

    def __init__(self, ridge: Ridge, block: Projection, rows: slice, scratch: Scratch) -> None:
        self.m, self.variance = block.m[rows], block.variance[rows]
        self.points = slice(block.points.start + rows.start, block.points.start + rows.start + len(self.m))
        self._W, self._diag_Q, self._scratch = block.W[rows], ridge.diag_Q, scratch
        self._slopes: dict[Scale, Slopes] = {}

    def slopes(self, scale: Scale) -> Slopes:
        """D ± W for one kind of residual."""
        if scale not in self._slopes:
            D = scale(self._W, self.m, self._diag_Q, self._scratch)
            self._slopes[scale] = Slopes(self._W, D, self._scratch, scale.__name__)
        return self._slopes[scale]


class Case:
    """A strip of test points and one target: what a procedure is asked about, in the units of the target."""

    def __init__(self, strip: Strip, number: int, target: Target, mean: Array) -> None:
        self.strip, self.number, self.target, self.mean = strip, number, target, mean
        self._crossings: dict[Scale, Crossings] = {}

    def regions(self, procedure: str, alpha: Sequence[Fraction], boundary: Boundary) -> Regions:
        """The procedure's regions at each α."""
        if procedure in BAYESIAN:
            return normal_intervals(self.mean, self._deviation(procedure), alpha)
        score, scale = CONFORMAL[procedure]
        return score.regions(self.crossings(scale), score.thresholds(len(self.target.a), alpha, boundary))

    def p_values(self, procedure: str, y: Array) -> Array:
        """The procedure's p-value at y_i for test point i."""
        if procedure in BAYESIAN:
            return normal_p_values(self.mean, self._deviation(procedure), y)
        score, scale = CONFORMAL[procedure]
        return score.p_values(self.crossings(scale), y)

    def crossings(self, scale: Scale) -> Crossings:
        """The crossings of one kind of residual."""
        if scale not in self._crossings:
            self._crossings[scale] = Crossings(self.target.a, self.strip.slopes(scale), Frame(self.mean, self.strip.m))
        return self._crossings[scale]

    def _deviation(self, procedure: str) -> Array:
        variance = self.strip.m if procedure == "GPR-f" else self.strip.variance
        return deviation(variance, self.target.sigma2)


def cases(ridge: Ridge, X_new: Array, targets: Sequence[Target], procedures: Sequence[str]) -> Iterator[Case]:
    """The test points strip by strip, in each a case for each target. Ask a case before you take the next."""
    rows = max(1, STRIP // ridge.n)
    scratch = Scratch()
    for block in ridge.project(X_new, targets, weights=not set(procedures) <= set(BAYESIAN)):
        for start in range(0, len(block.m), rows):
            here = slice(start, start + rows)
            strip = Strip(ridge, block, here, scratch)
            for number, (target, mean) in enumerate(zip(targets, block.means, strict=True)):
                yield Case(strip, number, target, mean[here])
