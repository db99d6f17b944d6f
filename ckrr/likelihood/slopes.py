"""Derivatives of kernels by the scale of each coordinate.

Let θ_j be the kernel parameter of coordinate j, and ρ² = Σ 2θ_j (x_j − x′_j)². For every kernel here ::

    ∂K/∂log θ_j = −D_j ∘ H        D_j = θ_j (x_j − x′_j)²        (Laplacian: D_j = √(θ_j/2) |x_j − x′_j|)

==========  ====================================
gaussian    H = K
laplacian   H = K
matern32    H = 3 exp(−√3 ρ)
matern52    H = 5/3·(1 + √5 ρ) exp(−√5 ρ)
==========  ====================================

So the sum of B ∘ ∂K/∂log θ_j over all entries, for symmetric B, needs no matrix but B ∘ H.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
from scipy.spatial.distance import cdist

from ckrr._validation import Array
from ckrr.kernels import Gaussian, Kernel, Laplacian, Matern32, Matern52

_ROWS = 256
"""Rows of |x_i − x_j| that are held at once."""

Slope = Callable[[Array, Array], Array]
"""Returns H, given points with coordinates √(2θ_j)·x_j, and K."""


def _same(Z: Array, K: Array) -> Array:
    return K


def _slope_of_matern32(Z: Array, K: Array) -> Array:
    found: Array = 3.0 * np.exp(-sqrt(3) * cdist(Z, Z))
    return found


def _slope_of_matern52(Z: Array, K: Array) -> Array:
    s = sqrt(5) * cdist(Z, Z)
    found: Array = 5 / 3 * (1.0 + s) * np.exp(-s)
    return found


SLOPES: dict[type[Kernel], Slope] = {
    Gaussian: _same,
    Laplacian: _same,
    Matern32: _slope_of_matern32,
    Matern52: _slope_of_matern52,
}
"""H of each kernel that has a derivative here."""


def sum_slopes(kernel: Kernel, Z: Array, K: Array, B: Array) -> Array:
    """Return the sum over all entries of B ∘ ∂K/∂log θ_j, shape (d,), for a symmetric B, which is overwritten.

    Parameters
    ----------
    kernel : Kernel
        One of those in `SLOPES`.
    Z : (n, d) array
        Points with coordinates √(2θ_j)·x_j.
    K, B : (n, n) array
        The kernel matrix, and the weights.

    Examples
    --------
    >>> Z = np.array([[0.0], [1.0]])
    >>> sum_slopes(Gaussian(), Z, np.exp([[0.0, -0.5], [-0.5, 0.0]]), np.ones((2, 2))).round(6)  # −2·½ exp(−½)
    array([-0.606531])
    """
    B *= SLOPES[type(kernel)](Z, K)
    if isinstance(kernel, Laplacian):
        return -0.5 * np.array([_sum_distances(B, z) for z in Z.T])
    rows, found = B.sum(axis=1), np.empty(Z.shape[1])
    for j, z in enumerate(Z.T):
        centred = z - z.mean()
        found[j] = rows @ centred**2 - centred @ (B @ centred)  # Σ B_ik (z_i − z_k)²/2
    return -found


def _sum_distances(B: Array, z: Array) -> float:
    """Return the sum of B_ik |z_i − z_k|."""
    starts = range(0, len(z), _ROWS)
    return float(sum(np.vdot(B[i : i + _ROWS], np.abs(z[i : i + _ROWS, None] - z)) for i in starts))
