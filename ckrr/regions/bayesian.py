"""Bayesian intervals from the posterior of a Gaussian process of variance σ² with noise of variance λσ².

With σ̂² = y′Qy/n estimated from the same sample::

    GPR-f (of y*):     ŷ ± z_{1−α/2} σ̂ sqrt(λ + 1 − Σ V²)
    GPR-p (of f(x*)):  ŷ ± z_{1−α/2} σ̂ sqrt(1 − Σ V²)

Where the standard deviation s of the noise is known, λσ² = s² and σ = s/sqrt(λ) takes the place of σ̂.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ckrr._validation import Array
from ckrr.regions.intervals import Regions, make_intervals


def compute_deviation(variance: Array, sigma2: Array) -> Array:
    """Return the posterior standard deviation; a variance that rounding left just below 0 counts as 0."""
    return np.sqrt(sigma2 * np.maximum(variance, 0.0))


def make_normal_intervals(mean: Array, deviation: Array, z: Array) -> Regions:
    """Return the intervals mean ± z deviation, for each of several z."""
    half = np.multiply.outer(deviation, z)
    return make_intervals(mean[:, None] - half, mean[:, None] + half)


def compute_normal_p_values(mean: Array, deviation: Array, y: Array) -> Array:
    """Return 2 Φ(−|y − mean|/deviation); 1 at the mean itself, also where the deviation is 0."""
    distance = np.abs(y - mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        p: Array = 2 * ndtr(-distance / deviation)
    return np.where(distance == 0, 1.0, p)
