"""Compute a path of a Gaussian process at many points: L·e with LL′ = K + γI, in tiles.

Only the tiles on and below the diagonal are stored, each in a separate array: n²/2 numbers in all. Every BLAS call
works on a few tiles, so that no call takes long, and none is large enough to crash OpenBLAS's threads (`potrf` crashes
from about n = 16000 on).
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.linalg import blas, lapack

from scenarios.sources.types import Array

TILE = 1024
"""Rows of a tile. The last bits of results depend on it, so it is a constant."""


def correlate_noise(X: Array, theta: float, gamma: float, e: Array, tile: int = TILE) -> Array:
    """Compute L·e, where LL′ = K + γI and K(x, x′) = exp(−θ‖x − x′‖²) at the rows of X.

    Examples
    --------
    >>> X, e = np.array([[0.0], [0.1], [0.3]]), np.array([1.0, -1.0, 2.0])
    >>> K = np.exp(-10 * (X - X.T) ** 2)
    >>> np.abs(correlate_noise(X, 10.0, 0.1, e, tile=2) - np.linalg.cholesky(K + 0.1 * np.eye(3)) @ e).max() < 1e-14
    np.True_
    """
    parts = [slice(start, min(start + tile, len(X))) for start in range(0, len(X), tile)]
    made: list[list[Array]] = []
    """Columns of tiles of L, each from the diagonal down."""
    y = np.zeros(len(X))
    for j, here in enumerate(parts):
        column = [_compute_kernel(X[rows], X[here], theta) for rows in parts[j:]]
        np.einsum("ii->i", column[0])[:] += gamma
        for k, earlier in enumerate(made):
            across = earlier[j - k]  # L_jk
            for i, block in enumerate(column):
                column[i] = blas.dgemm(-1.0, earlier[j - k + i], across, 1.0, block, trans_b=1, overwrite_c=1)
        _finish(column)
        made.append(column)
        for rows, block in zip(parts[j:], column, strict=True):
            y[rows] += block @ e[here]
    return y


def count_operations(points: int) -> float:
    """Return the number of operations of the factorisation, n³/3."""
    return points**3 / 3


def estimate_memory(points: int, tile: int = TILE) -> float:
    """Return the peak memory in bytes: the tiles, and temporary arrays of a few tiles."""
    return 8.0 * (points * (points + tile) / 2 + 6 * tile**2)


def _finish(column: list[Array]) -> None:
    """Turn a column of K_ij − Σ L_ik·L_jk′ into L_ij: factorise the diagonal tile, then solve for those below it."""
    factor, info = lapack.dpotrf(column[0], lower=1, clean=1, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError("K + γI is singular to working precision: γ is too small for so many points")
    column[0] = factor
    for i in range(1, len(column)):
        column[i] = blas.dtrsm(1.0, factor, column[i], side=1, lower=1, trans_a=1, overwrite_b=1)


def _compute_kernel(X: Array, Z: Array, theta: float) -> Array:
    """Return exp(−θ‖x − z‖²) in Fortran order, as LAPACK expects; from differences, so that it is 1 for x = z."""
    root = sqrt(theta)
    total = np.zeros((len(X), len(Z)), order="F")
    for x, z in zip(root * X.T, root * Z.T, strict=True):
        apart = np.subtract.outer(z, x).T
        apart *= apart
        total += apart
    np.negative(total, out=total)
    np.exp(total, out=total)
    return total
