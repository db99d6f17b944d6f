"""Choose how many paths a study computes next, and say when it has enough.

A study adds paths in rounds. After a round at P paths, a cell that is undecided is expected to be decided at ::

    P̂ = (T_P·sd / max(|x̄ − a|, τ/2))²

paths, with x̄ and sd the mean and the standard deviation of its path means, a the border, τ the tolerance, and T_P as in
`harness.statistics.looks`. The next round asks for the median P̂ of the undecided cells, but for 1.25·P to 2·P, and for
no more than the budget.

A target for **standard errors** is reached at the first look, from 100 paths on, at which every cell has
sqrt(max(sd², floor)/P) at or below it. The floor is the variance x̄(1 − x̄)/k of as many independent points as a path is
worth: k = m test points for coverage, and k = 4(n + 2) for expected coverage. A precise estimate is so on both sides of
a border, so looking again costs nothing.

A target for **median widths** is relative. It is reached at the first look at which the median's interval, from order
statistics (`harness.statistics.intervals`) and for all looks together, is within it on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from harness.core.types import FIRST_ROUND, Array, Bools, Values
from harness.statistics.clustered import count_paths
from harness.statistics.intervals import estimate_quantile
from harness.statistics.looks import Counts, ShareAtLooks, compute_level, compute_multiplier, find_look, list_looks
from harness.statistics.sequential import NEAR

POWER = 0.9
"""Power of the fixed design that a study is compared with."""
_SLOW, _FAST = 1.25, 2.0
"""The number of paths grows by no less and no more than these factors."""


def expect_paths(
    paths: Values, value: Array, sd: Array, border: Array, tolerance: Array, wrong: float | Array
) -> Array:
    """Return P̂, the number of paths at which cells are expected to be decided.

    Parameters
    ----------
    paths : array
        Number of paths P so far.
    value, sd : array
        Mean and standard deviation of the path means.
    border, tolerance : array
        The border a = L − τ, and τ.
    wrong : float or array
        Probability δ_c of a wrong verdict on a cell.
    """
    distance = np.maximum(np.abs(value - border), NEAR * tolerance)
    return np.asarray((compute_multiplier(paths, wrong) * sd / distance) ** 2)


def choose_paths(paths: int, expected: Array, budget: int) -> int:
    """Return how many paths to compute in all by the end of the next round.

    Parameters
    ----------
    paths : int
        Number of paths so far; 0 before the first round.
    expected : array
        P̂ of each undecided cell.
    budget : int
        The most paths to compute.

    Examples
    --------
    >>> choose_paths(0, np.array([]), 4000), choose_paths(100, np.array([160.0, 900.0, 120.0]), 4000)
    (100, 175)
    >>> choose_paths(100, np.array([]), 4000), choose_paths(3000, np.array([9000.0]), 4000)
    (100, 4000)
    """
    if paths == 0:
        return min(FIRST_ROUND, budget)
    if expected.size == 0:
        return paths
    aim = max(_SLOW * paths, float(np.median(expected)))
    return max(paths, min(find_look(min(aim, _FAST * paths, budget)), budget))


def find_precise_look(values: Values, ok: Bools, target: float, worth: float) -> int:
    """Return the first look at which the standard errors of all cells are at or below a target; 0 if there is none.

    Cells without a replication are left out.

    Parameters
    ----------
    values, ok : array
        A coverage for each replication, and whether to include it.
    target : float
        The target.
    worth : float
        Number of independent points that a path is worth at most: its test points m for coverage, 4(n + 2) for
        expected coverage.
    """
    looks = list_looks(len(values))
    looks = looks[looks >= FIRST_ROUND]
    share = ShareAtLooks.from_replications(values, ok, 1, looks).share
    with np.errstate(invalid="ignore", divide="ignore"):
        floor = share.value * (1 - share.value) / (worth * share.paths)
        errors = np.sqrt(np.maximum(share.se**2, floor))
    empty = ~np.broadcast_to(ok, values.shape).any(axis=(0, 1))
    is_precise = ((errors <= target) | empty).all(axis=tuple(range(1, errors.ndim)))
    return int(looks[is_precise.argmax()]) if is_precise.any() else 0


@dataclass(frozen=True, eq=False)
class WidthDecision:
    """Which cells have a median width as precise as asked, and since when."""

    paths: Counts
    """Number of paths at which a median was precise, or known to be infinite; 0 where neither."""
    is_unbounded: Bools
    """Whether the median is infinite: the lower end of its interval is."""


def decide_widths(values: Values, ok: Bools, precision: float, wrong: float | Array) -> WidthDecision:
    """Find the first look at which each cell's median width is precise: half its interval within a part of it.

    While only the upper end is infinite, more paths may bound it, so the cell stays undecided.

    Parameters
    ----------
    values, ok : array
        A width for each replication, infinite ones included, and whether to include it.
    precision : float
        Half the length of the interval, relative to the median.
    wrong : float or array
        Probability δ_c that the interval of a cell fails at any look.
    """
    shape = values.shape[2:]
    flat = values.reshape(*values.shape[:2], -1)
    ok = np.broadcast_to(ok, values.shape).reshape(flat.shape)
    wrong = np.broadcast_to(wrong, shape).reshape(-1)
    paths, is_unbounded = np.zeros(flat.shape[2], dtype=np.int64), np.zeros(flat.shape[2], dtype=bool)
    for look in list_looks(len(values)):
        if not (left := np.flatnonzero(paths == 0)).size:
            break
        part, use = flat[:look, :, left], ok[:look, :, left]
        found = estimate_quantile(part, use, level=compute_level(count_paths(use), wrong[left]), bounds=(0.0, np.inf))
        with np.errstate(invalid="ignore"):
            is_precise = (found.high - found.low) / 2 <= precision * found.value
        is_unbounded[left] = np.isposinf(found.low)
        paths[left] = np.where(is_unbounded[left] | (is_precise & np.isfinite(found.high)), look, 0)
    return WidthDecision(paths.reshape(shape), is_unbounded.reshape(shape))


def compute_fixed_paths(value: Array, sd: Array, border: Array, tolerance: Array, wrong: float | Array) -> Array:
    """Return how many paths a design with one look would have needed to decide cells with a power of 0.9.

    It needs ((z_{1−δ_c/2} + z_{0.9})·sd/|x̄ − a|)² paths, if it knows x̄ and sd. It has no word for cells at the
    border: nearer than τ/2 to it, they are taken to be τ/2 away. Where a study stopped, x̄ is a little too far from the
    border, so this is a little too low.

    Examples
    --------
    >>> compute_fixed_paths(np.array([0.9]), np.array([0.07]), np.array([0.88]), np.array([0.02]), 0.05 / 200).round()
    array([299.])
    """
    distance = np.maximum(np.abs(value - border), NEAR * tolerance)
    return np.asarray(((ndtri(POWER) - ndtri(np.asarray(wrong) / 2)) * sd / distance) ** 2)
