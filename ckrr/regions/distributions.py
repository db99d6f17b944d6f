"""Predictive distributions of y* at test points: conformal ones from studentised residuals, and normal ones.

**Conformal** (Vovk, Nouretdinov, Manokhin & Gammerman 2018: the kernel ridge regression prediction machine).
Studentised residuals (`ckrr.regions.residuals`) have D_i = √h_i > |W_i|, so r_N − r_i increases in the candidate z and
changes its sign once, at ::

    C_i = ŷ + m a_i / (√h_i + W_i)  =  ŷ + a_i (√h_i − W_i) / Q_ii,        h_i = m Q_ii + W_i²

The second form has no cancellation where W_i < 0; it is used below −√h_i/2, where the first loses more than a bit.
Elsewhere C_i has the rounding of `ckrr.regions.crossings`, and so the bits of the ends of CRR-std. At a training point,
x* = x_i, it is y_i itself. With τ uniform on [0, 1], ::

    Q(z) = (#{C_i < z} + τ (1 + #{C_i = z})) / (n + 1)

is uniform at z = y* for exchangeable points: exactly, at every n, also with ties. For given τ it increases in z, from
τ/(n + 1) to (n + τ)/(n + 1); it never reaches 0 and 1, so it has no finite CRPS. That is of F(z) = #{C_i ≤ z}/n, which
differs from Q by at most 1/(n + 1) between jumps. With C_(1) ≤ … ≤ C_(n) in order, ::

    ∫ (F(z) − 1{z ≥ y})² dz  =  Σ |C_i − y|/n − Σ (2i − n − 1) C_(i)/n²  =  Σ |C_(i) − y| w_i/n²

where w_i = 2i − 1 below y and 2(n − i) + 1 above it. The last form adds up numbers ≥ 0, so it is accurate.

**Normal**, of y* by GPR-f: N(ŷ, σ̂² m). With z = (y − ŷ)/σ, σ = σ̂√m (Gneiting & Raftery 2007) ::

    CRPS = |y − ŷ| (2Φ(|z|) − 1) + σ (2φ(z) − 1/√π)

For σ = 0 it is all at ŷ: then the CRPS is |y − ŷ|, and the PIT of y = ŷ is τ.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sqrt

import numpy as np
from scipy.special import erf, ndtr

from ckrr._validation import Array
from ckrr.linalg.workspace import Workspace
from ckrr.regions.blocks import PointChunk
from ckrr.regions.crossings import take_broadcast
from ckrr.regions.residuals import compute_studentised_scale
from ckrr.regions.tail_sets import AffineMap


def iter_slices(count: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` that together cover `count` rows."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def compute_jumps(chunk: PointChunk, scratch: Workspace) -> Array:
    """Return the jumps C_(1) ≤ … ≤ C_(n) of each test point, shape (b, n)."""
    columns, shape = chunk.columns, chunk.W.shape
    sign = np.where(np.arange(shape[1]) < columns.split[:, None], 1.0, -1.0)  # as before orientation
    a, W = sign * columns.a, np.multiply(chunk.W, sign, out=scratch("left", shape))
    D = compute_studentised_scale(chunk.W, chunk.m, columns.diag_Q, scratch)
    t = np.add(D, W, out=scratch("right", shape))
    row, col = np.nonzero(W < -0.5 * D)
    t[row, col] = 1.0  # replaced below, and possibly 0
    np.divide(a, t, out=t)
    jumps = AffineMap(chunk.mean, chunk.m).apply(t)
    by_Q = take_broadcast(a, row, col) / take_broadcast(columns.diag_Q, row, col)
    jumps[row, col] = chunk.mean[row] + by_Q * (D[row, col] - W[row, col])
    row, col = chunk.equal
    jumps[row, col] = take_broadcast(columns.y, row, col)
    jumps.sort(axis=1)
    return jumps


def compute_step_crps(jumps: Array, y: Array) -> Array:
    """Return the CRPS of F at y, one value for each row of the jumps.

    Examples
    --------
    >>> compute_step_crps(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([0.0, 3.0]))
    array([0.25, 2.25])
    """
    n = jumps.shape[1]
    below = (2 * np.arange(n) + 1) / n**2
    apart = jumps - y[:, None]
    weights = np.where(apart < 0, below, below[::-1])
    np.abs(apart, out=apart)
    apart *= weights
    return np.asarray(apart.sum(axis=1))


def compute_step_pit(jumps: Array, y: Array, tau: Array) -> Array:
    """Return Q(y), one value for each row of the jumps.

    Examples
    --------
    >>> compute_step_pit(np.array([[0.0, 1.0, 1.0]]), np.array([1.0]), np.array([0.5]))
    array([0.625])
    """
    below = np.count_nonzero(jumps < y[:, None], axis=1)
    equal = np.count_nonzero(jumps == y[:, None], axis=1)
    return np.asarray((below + tau * (1 + equal)) / (1 + jumps.shape[1]))


def compute_normal_cdf(mean: Array, deviation: Array, y: Array) -> Array:
    """Return Φ((y − mean)/deviation); for deviation 0 whether y ≥ mean."""
    apart = y - mean
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cdf = ndtr(apart / deviation)
    return np.where(deviation == 0, apart >= 0, cdf)


def compute_normal_crps(mean: Array, deviation: Array, y: Array) -> Array:
    """Return the CRPS of normal distributions at y.

    Examples
    --------
    >>> compute_normal_crps(np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, -2.0])).round(4)
    array([0.2337, 2.    ])
    """
    apart = np.abs(y - mean)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        z = np.where(deviation == 0, np.inf, apart / deviation)
        density = np.exp(-0.5 * z * z) / sqrt(2 * pi)
        spread = deviation * (2 * density - 1 / sqrt(pi))
    return np.asarray(apart * erf(z / sqrt(2)) + spread)


def compute_normal_pit(mean: Array, deviation: Array, y: Array, tau: Array) -> Array:
    """Return the distribution function at y; τ where all probability is at y."""
    return np.where((deviation == 0) & (y == mean), tau, compute_normal_cdf(mean, deviation, y))
