"""Predict what a number of paths can decide, before any of them is computed.

Test points of a path succeed and fail together. With c the coverage of a cell and ρ the correlation between its points,
the mean over P paths of D draws with m test points has the standard error ::

    σ(c) = sqrt(c(1 − c)·v/P),    v = ρ + (1 − ρ)/(D·m)

which supposes that draws on a path share all its correlation, so that more draws help little.

A verdict compares the interval of Agresti & Coull (`harness.statistics.intervals`) with the border a = L − τ, L the
target and τ the tolerance (`harness.statistics.verdicts`). Let x be the estimate whose interval, from n* = P/v
independent points, ends at the border. Then a cell is decided with probability 1 − β if ::

    |c − a| ≥ |x − a| + z·σ(c)·sqrt(1 ± r + 3r²/2 + t²/(2P)),    r = t·C/sqrt(P),    C² = v·c/(1 − c)

with + for c above the border and − for c below, z the (1 − β)-quantile of the normal distribution, and t that of
Student's t for one of G simultaneous intervals. The root turns the standard error of x̄ into that of the end x̄ ± t·se:
C is the coefficient of variation of the errors of a path, which are taken to have a gamma distribution; se is then
noisy, and larger where x̄ is smaller. t has P/(1 + C²) degrees of freedom, the number of paths that are expected to
carry the errors, but at least 2 and at most P − 1. Where it is less than 10 at the border, the distance is NaN: it
can't be predicted.

**ρ is an assumption.** It is 1/(n + 2) if coverage given the training sample has the beta distribution of conformal
regions. In the quickstart, standard errors of conformal cells are 0.9 to 1.5 times those that this gives at the target
(median 1.06), and those of GPR up to 7 times.

For beta distributed coverage and a power of 0.9, 85 to 96 % of simulated cells at this distance are decided, with 20 to
1000 paths (`test_cells_at_the_distance_are_decided` in `tests/harness/statistics/test_sample_size.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtrit

from harness.core.types import Array, Values
from harness.statistics.intervals import LEVEL

POWER = 0.9
"""Default probability with which a cell is decided."""
LEAST_CARRIERS = 10.0
"""Paths that must be expected to carry the errors at the border for a prediction."""
_ITERATIONS = 100
_MOST_PATHS = 1e12


@dataclass(frozen=True, eq=False)
class Design:
    """Numbers of a study that its precision depends on."""

    paths: float | Array
    draws: int
    points: float
    """Test points of a replication; infinite for expected coverage, which has no noise of theirs."""
    cells: int
    """Number of cells whose intervals hold at once."""
    level: float = LEVEL
    """Probability that all of these intervals hold."""
    power: float = POWER
    """Probability with which a cell is decided."""

    def compute_spread(self, correlation: Array) -> Array:
        """Return v, the variance of a path's coverage divided by c(1 − c)."""
        return np.asarray(correlation + (1 - correlation) / (self.draws * self.points))


def assume_correlation(n: Values) -> Array:
    """Return the correlation between the test points of a path that conformal regions of n training points have.

    Examples
    --------
    >>> assume_correlation(np.array([25, 198])).round(3)
    array([0.037, 0.005])
    """
    return np.asarray(1.0 / (np.asarray(n, dtype=float) + 2.0))


def compute_expected_error(coverage: Array, correlation: Array, design: Design) -> Array:
    """Return σ(c), the standard error that an estimate of coverage is expected to have.

    Examples
    --------
    >>> float(compute_expected_error(np.array(0.9), np.array(0.0), Design(50, 1, 200, 1)).round(4))
    0.003
    """
    return np.asarray(np.sqrt(coverage * (1 - coverage) * design.compute_spread(correlation) / design.paths))


def compute_decided_distance(border: Array, correlation: Array, design: Design) -> tuple[Array, Array]:
    """Return how far above and below the border coverage must be to be decided with the power of the design.

    Returns
    -------
    above, below : array
        Distances; infinite where even coverage 1 (or 0) is too near, and NaN where they can't be predicted.

    Examples
    --------
    >>> above, below = compute_decided_distance(np.array(0.88), np.array(1 / 202), Design(500, 1, 200, 384))
    >>> float(above.round(4)), float(below.round(4))
    (0.0075, 0.0075)
    """
    border, correlation = np.broadcast_arrays(np.asarray(border, dtype=float), correlation)
    is_known = _count_carriers(border, correlation, design) >= LEAST_CARRIERS
    found = []
    for side, room in ((1, 1 - border), (-1, border)):
        distance = np.zeros_like(border)
        for _ in range(_ITERATIONS):
            coverage = np.clip(border + side * distance, 1e-12, 1 - 1e-12)
            distance = _compute_reach(coverage, border, correlation, design, side)
        found.append(np.where(is_known, np.where(distance < room, distance, np.inf), np.nan))
    return found[0], found[1]


def compute_required_paths(target: Array, border: Array, correlation: Array, design: Design) -> Array:
    """Return the number of paths with which a cell whose coverage is its target is shown to be above the border.

    Examples
    --------
    >>> target, border, correlation = np.array(0.9), np.array(0.88), np.array(1 / 102)
    >>> float(compute_required_paths(target, border, correlation, Design(500, 1, 200, 200)))
    103.0
    """
    target, border, correlation = np.broadcast_arrays(target, border, correlation)
    low, high = np.full(target.shape, 2.0), np.full(target.shape, _MOST_PATHS)
    for _ in range(_ITERATIONS):
        paths = np.sqrt(low * high)
        some = replace(design, paths=paths)
        is_enough = _compute_reach(target, border, correlation, some, 1) <= target - border
        is_enough &= _count_carriers(border, correlation, some) >= LEAST_CARRIERS
        low, high = np.where(is_enough, low, paths), np.where(is_enough, paths, high)
    return np.ceil(high - 1e-6)


def _compute_reach(coverage: Array, border: Array, correlation: Array, design: Design, side: int) -> Array:
    """Return the distance from the border that decides a cell, given its coverage."""
    t = _compute_quantile(coverage, correlation, design)
    estimate = _find_estimate_at_border(border, correlation, design, t, side)
    r2 = t**2 * _compute_variation(coverage, correlation, design) / design.paths
    factor = 1 + side * np.sqrt(r2) + 1.5 * r2 + t**2 / (2 * design.paths)
    error = compute_expected_error(coverage, correlation, design) * np.sqrt(factor)
    return np.asarray(np.abs(estimate - border) + ndtri(design.power) * error)


def _find_estimate_at_border(border: Array, correlation: Array, design: Design, t: Array, side: int) -> Array:
    """Return the estimate, above the border or below, whose interval by Agresti & Coull ends at the border."""
    size = design.paths / design.compute_spread(correlation)
    h = t**2 / (size + t**2)
    root = np.sqrt((2 * border + h) ** 2 - 4 * (1 + h) * border**2)
    centre = (2 * border + h + side * root) / (2 * (1 + h))
    return np.asarray(centre + (centre - 0.5) * t**2 / size)


def _compute_quantile(coverage: Array, correlation: Array, design: Design) -> Array:
    """Return t, the quantile of Student's t for one of the simultaneous intervals."""
    freedom = np.maximum(_count_carriers(coverage, correlation, design), 2.0)
    freedom = np.clip(freedom, 1.0, np.maximum(np.asarray(design.paths) - 1.0, 1.0))
    return np.asarray(stdtrit(freedom, 1 - (1 - design.level) / design.cells / 2))


def _count_carriers(coverage: Array, correlation: Array, design: Design) -> Array:
    """Return the number of paths that are expected to carry the errors."""
    return np.asarray(design.paths / (1 + _compute_variation(coverage, correlation, design)))


def _compute_variation(coverage: Array, correlation: Array, design: Design) -> Array:
    """Return C², the squared coefficient of variation of the errors of a path."""
    return np.asarray(design.compute_spread(correlation) * coverage / (1 - coverage))
