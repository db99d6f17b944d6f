"""The Gaussian kernel K(x, x′) = exp(−θ‖x − x′‖²), so K(x, x) = 1."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ckrr.checks import Array

TINY = 1e-300
"""Kernel values below this become 0: products with denormal numbers make BLAS 3 to 4 times slower."""

_LOG_TINY = float(np.log(TINY))
_FLOOR = -700.0  # exp of it is below TINY and still a normal number: exp is slow where it underflows


def gaussian(X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
    """The matrix K(x_i, z_j), shape (len(X), len(Z)), written to `out` where that is given.

    Distances are sums of squared differences, not ‖x‖² + ‖z‖² − 2x′z: equal points are at distance exactly 0.

    Examples
    --------
    >>> gaussian(np.array([[0.0], [1.0]]), np.array([[0.0]]), theta=np.log(2)).round(12)
    array([[1. ],
           [0.5]])
    """
    with np.errstate(over="ignore"):  # an infinite distance is a kernel value of 0
        K = _squared_distances(X, Z, out)
        far = K.size > 0 and float(K.max()) * theta > -_LOG_TINY
        K *= -theta
    if far:
        np.maximum(K, _FLOOR, out=K)
    np.exp(K, out=K)
    if far:
        K *= K >= TINY  # faster than to assign to a mask
    return K


def _squared_distances(X: Array, Z: Array, out: Array | None) -> Array:
    if X.shape[1] > 1:
        found: Array = cdist(X, Z, "sqeuclidean", out=out)
        return found
    distance = np.subtract(X, Z[:, 0], out=out)  # the same bits, and less to call
    return np.multiply(distance, distance, out=distance)
