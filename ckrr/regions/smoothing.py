"""Smoothed p-values, which make levels exact at every N.

Without ties the rank of the test point's residual is uniform on N places, and so is p = (1 + c)/N, where c of the
n = N − 1 training residuals are at least as large; coverage is 1 − (⌈Nα⌉ − 1)/N, a staircase above 1 − α. Randomise
how much the point itself counts: with τ uniform on [0, 1] ::

    p_τ = (c + τ) / N

is uniform on [0, 1], and {z : p_τ(z) ≥ α} covers with probability 1 − α. Its z have c(z) ≥ ⌈Nα − τ⌉. Unsmoothed the
threshold is K = ⌈Nα⌉ − 1, so it is K + 1 where τ < Nα − K, and K elsewhere: the same region at one of two thresholds.
(For the rule p > α it is K = ⌊Nα⌋, and K + 1 where τ ≤ Nα − K.) The region is part of the unsmoothed one, and for given
τ regions at smaller α contain those at larger α. It may be empty, for α above n/N.

**CRR** has two one-sided p-values, each at α/2. The upper one takes τ, the lower one 1 − τ: without ties
c_upper + c_lower = n, so they sum to 1, p = 2·min of them is uniform, and coverage is 1 − α again.

Residuals that tie with the test point's own count in full, as they do unsmoothed: then coverage is higher.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, check_values
from ckrr.levels import Boundary, compute_required_count

Smoothed = np.random.Generator | npt.ArrayLike
"""Source of τ: a generator, or one number for each test point."""
Bools = npt.NDArray[np.bool_]


def resolve_taus(smoothed: Smoothed | None, count: int, of: str = "X_new", name: str = "smoothed") -> Array | None:
    """Return τ for each test point, validated; None for no smoothing. `name` is that of the argument, for messages.

    Examples
    --------
    >>> resolve_taus([0.5, 1.5], 2)
    Traceback (most recent call last):
    ...
    ValueError: smoothed must be numbers from 0 to 1, got 1.5
    """
    if smoothed is None:
        return None
    if isinstance(smoothed, np.random.Generator):
        return smoothed.random(count)
    if isinstance(smoothed, int | float):
        raise ValueError(f"{name} must be a numpy Generator, or numbers from 0 to 1, got {smoothed}")
    tau = check_values(name, smoothed, count, of=of)
    strange = tau[(tau < 0) | (tau > 1)]
    if len(strange):
        raise ValueError(f"{name} must be numbers from 0 to 1, got {strange[0]:g}")
    return tau


def find_raised_thresholds(tau: Array, N: int, alpha: Sequence[Fraction], boundary: Boundary) -> Bools:
    """Return where τ raises the unsmoothed threshold by one, shape (test points, levels).

    Examples
    --------
    With N = 26 and α = 0.1, Nα = 2.6 and K = 2: three times out of five three residuals are needed.

    >>> find_raised_thresholds(np.array([0.0, 0.59, 0.61]), 26, [Fraction(1, 10)], ">=").ravel()
    array([ True,  True, False])
    """
    share = np.array([float(N * each - (compute_required_count(N, each, boundary) - 1)) for each in alpha])
    return tau[:, None] < share if boundary == ">=" else tau[:, None] <= share
