"""Procedures by name: which kind of residuals each uses, and how it compares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtri

from ckrr._validation import Array, check_choice
from ckrr.levels import Boundary, Level, compute_required_count, compute_thresholds, parse_alpha
from ckrr.regions import conformal
from ckrr.regions.conformal import Side
from ckrr.regions.crossings import Crossings
from ckrr.regions.residuals import (
    Scale,
    compute_in_sample_scale,
    compute_leave_one_out_scale,
    compute_studentised_scale,
)
from ckrr.regions.smoothing import Bools, find_raised_thresholds
from ckrr.regions.tail_sets import Indices


@dataclass(frozen=True)
class ConformityScore:
    """Rule that compares the test point's residual with the training residuals."""

    votes: Callable[[Crossings, int], tuple[Side, Side]]
    """(crossings, largest threshold) → votes for the upper and the lower side of the regions."""
    p_values: Callable[[Crossings, Array, Array | None], Array]
    """(crossings, y, τ or None) → p-values."""
    counted: Callable[[Crossings, Array], tuple[Bools, ...]]
    """(crossings, y) → which training residuals count, on each side."""
    sides: int
    """Number of sides that share the error: each is allowed α/sides."""


RRCM = ConformityScore(
    conformal.compute_rrcm_sides, conformal.compute_rrcm_p_values, conformal.find_rrcm_counted, sides=1
)
CRR = ConformityScore(conformal.compute_crr_sides, conformal.compute_crr_p_values, conformal.find_crr_counted, sides=2)

CONFORMAL: dict[str, tuple[ConformityScore, Scale]] = {
    "RRCM": (RRCM, compute_in_sample_scale),
    "RRCM-loo": (RRCM, compute_leave_one_out_scale),
    "CRR": (CRR, compute_in_sample_scale),
    "CRR-loo": (CRR, compute_leave_one_out_scale),
    "RRCM-std": (RRCM, compute_studentised_scale),
    "CRR-std": (CRR, compute_studentised_scale),
}
"""Conformal procedures, each with its score and the scale of its residuals."""
WEIGHTED = {f"{name}-w": each for name, each in CONFORMAL.items()}
"""Weighted conformal procedures (see `ckrr.regions.weights`), each as the one that it weights."""
BAYESIAN = ("GPR-f", "GPR-p")
PROCEDURES = ("GPR-f", "GPR-p", "RRCM", "RRCM-loo", "CRR", "CRR-loo")
"""The six procedures of the paper."""
ALL_PROCEDURES = (*BAYESIAN, *CONFORMAL)
"""All that need no weights."""
DISTRIBUTIONS = ("GPR-f", "CRR-std")
"""Procedures that have predictive distributions of y*."""
_WITHOUT_DISTRIBUTION = {
    "GPR-p": "GPR-p is about f(x*), not y*",
    "RRCM": "RRCM compares absolute residuals, which don't tell the two tails apart",
    "CRR": "only studentised residuals always increase with y, which a distribution function must",
}
"""Why the other procedures have none, by the first part of their names."""


def check_distribution(procedure: object) -> str:
    """Return the name of a procedure that has a predictive distribution; the error says why others have none.

    Examples
    --------
    >>> check_distribution("GPR-p")
    Traceback (most recent call last):
    ...
    ValueError: procedure must be GPR-f or CRR-std, got 'GPR-p': GPR-p is about f(x*), not y*
    """
    name = check_choice("procedure", procedure, (*ALL_PROCEDURES, *WEIGHTED))
    if name in WEIGHTED:
        raise ValueError(f"procedure must be {' or '.join(DISTRIBUTIONS)}, got {name!r}: weighted ones have none")
    if name not in DISTRIBUTIONS:
        why = _WITHOUT_DISTRIBUTION.get(name) or _WITHOUT_DISTRIBUTION[name.partition("-")[0]]
        raise ValueError(f"procedure must be {' or '.join(DISTRIBUTIONS)}, got {name!r}: {why}")
    return name


def uses_weights(procedures: str | Sequence[str]) -> bool:
    """Return whether any of the procedures is weighted."""
    return not WEIGHTED.keys().isdisjoint([procedures] if isinstance(procedures, str) else procedures)


def check_weighting(procedures: Sequence[str], weights: object, smoothed: object) -> None:
    """Raise ValueError unless weights are given just where a procedure uses them, and without smoothing.

    Examples
    --------
    >>> check_weighting(["RRCM-w"], None, None)
    Traceback (most recent call last):
    ...
    ValueError: weights must be given for RRCM-w: a pair (w, w_new)
    """
    some = [name for name in procedures if name in WEIGHTED]
    if some and weights is None:
        raise ValueError(f"weights must be given for {some[0]}: a pair (w, w_new)")
    if weights is not None and not some:
        raise ValueError(f"weights must be left out for {', '.join(procedures)}: only {', '.join(WEIGHTED)} use them")
    if some and smoothed is not None:
        raise ValueError(f"smoothed must be left out for {some[0]}: weighted p-values can't be smoothed")


class Levels:
    """The requested levels α and the boundary rule, with the thresholds that follow from them."""

    def __init__(self, alpha: tuple[Fraction, ...], boundary: Boundary) -> None:
        self.alpha, self.boundary = alpha, boundary
        self._needed: dict[tuple[int, int], Indices] = {}

    def compute_thresholds(self, score: ConformityScore, n: int) -> Indices:
        """Return how many of the n training residuals must count, at each level."""
        key = score.sides, n
        if key not in self._needed:
            self._needed[key] = _compute_side_thresholds(n + 1, self.alpha, self.boundary, score.sides)
        return self._needed[key]

    def find_raised_thresholds(self, score: ConformityScore, n: int, tau: Array) -> tuple[Bools, Bools]:
        """Return where smoothing by τ raises the threshold by one, above and below, shape (test points, levels)."""
        alpha = [each / score.sides for each in self.alpha]
        above = find_raised_thresholds(tau, n + 1, alpha, self.boundary)
        return above, above if score.sides == 1 else find_raised_thresholds(1 - tau, n + 1, alpha, self.boundary)

    @cached_property
    def z(self) -> Array:
        """Normal quantile z_{1−α/2} of each level."""
        return -np.asarray(ndtri([float(each) / 2 for each in self.alpha]))


@lru_cache(maxsize=64)
def _compute_side_thresholds(N: int, alpha: tuple[Fraction, ...], boundary: Boundary, sides: int) -> Indices:
    return compute_thresholds(N, [each / sides for each in alpha], boundary)


def exact_level(procedure: str, n: int, alpha: Level, smoothed: bool = False) -> float | None:
    """Return the exact coverage probability of a procedure, or None if it guarantees none.

    It holds for exchangeable points without ties. With N = n + 1, RRCM's p-value is uniform on {1/N, …, 1}, so coverage
    is 1 − (⌈Nα⌉ − 1)/N. CRR allows α/2 on each side, where the one-sided p-values are uniform, too: coverage is
    1 − 2(⌈Nα/2⌉ − 1)/N. Smoothed, coverage is 1 − α. Bayesian intervals have no such guarantee: their level holds if
    the model does. Weighted procedures guarantee at least 1 − α, where their weights are right.

    Examples
    --------
    >>> exact_level("RRCM", 25, 0.1), exact_level("CRR", 400, 0.05), exact_level("GPR-f", 25, 0.1)
    (0.923076923, 0.950124688, None)
    """
    if procedure not in CONFORMAL:
        return None
    if smoothed:
        return float(1 - parse_alpha(alpha))
    sides, N = CONFORMAL[procedure][0].sides, n + 1
    return float(1 - Fraction(sides * (max(compute_required_count(N, parse_alpha(alpha) / sides), 1) - 1), N))
