"""Kernels: how alike two points are. K(x, x) = 1, and θ means the same for all of them.

A kernel is a class with one method, `__call__(X, Z, theta, out)`: the matrix K(x_i, z_j), shape (len(X), len(Z)),
written to `out` where that is given. θ = 1/(2ℓ²), with ℓ the kernel's length scale, so θ has the unit of 1/x², and the
same θ stands for functions that vary over the same distances: with ρ = ‖x − x′‖/ℓ = √(2θ)·‖x − x′‖ the Gaussian kernel
is exp(−ρ²/2), and the Matérn kernels, polynomials in ρ times exp(−√(2ν)·ρ), tend to it as ν grows.

Distances are sums of differences, not ‖x‖² + ‖z‖² − 2x′z: equal points are at distance exactly 0.
"""

from __future__ import annotations

from math import sqrt
from typing import Literal, Protocol

import numpy as np
from scipy.spatial.distance import cdist

from ckrr._validation import Array

TINY = 1e-300
"""Kernel values below this become 0: products with denormal numbers make BLAS 3 to 4 times slower."""

_LOG_TINY = float(np.log(TINY))
_FLOOR = -700.0  # exp of it is below TINY and still a normal number: exp is slow where it underflows
_FAR = 708.0
"""exp(−s) is still a normal number here, and below TINY with any of our polynomials before it."""

_CHUNK = 1 << 15
"""Numbers that a polynomial is made for at once: they stay in the cache. No bit depends on it."""


class Kernel(Protocol):
    """What ridge regression asks of a kernel: K(x, x) = 1, K(x, x′) = K(x′, x), positive definite."""

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """The matrix K(x_i, z_j), shape (len(X), len(Z)), written to `out` where that is given."""
        ...


class Gaussian:
    """K(x, x′) = exp(−θ‖x − x′‖²): infinitely smooth functions.

    Examples
    --------
    >>> gaussian(np.array([[0.0], [1.0]]), np.array([[0.0]]), theta=np.log(2)).round(12)
    array([[1. ],
           [0.5]])
    """

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """The matrix K(x_i, z_j)."""
        with np.errstate(over="ignore"):  # an infinite distance is a kernel value of 0
            K = _compute_squared_distances(X, Z, out)
            far = K.size > 0 and float(K.max()) * theta > -_LOG_TINY
            K *= -theta
        if far:
            np.maximum(K, _FLOOR, out=K)
        np.exp(K, out=K)
        if far:
            K *= K >= TINY  # faster than to assign to a mask
        return K


class Laplacian:
    """K(x, x′) = exp(−√(2θ)·‖x − x′‖₁), the sum of absolute differences: continuous functions with kinks everywhere.

    It is a product over the coordinates; on the line it is the Matérn kernel with ν = 1/2. (scikit-learn's
    `laplacian_kernel` has gamma = √(2θ).)

    Examples
    --------
    >>> Laplacian()(np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]]), theta=0.5).round(3)  # exp(−3)
    array([[0.05]])
    """

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """The matrix K(x_i, z_j)."""
        return _evaluate_polynomial_exp((), _compute_distances(X, Z, "cityblock", out), sqrt(2 * theta))


class Matern32:
    """K(x, x′) = (1 + s)·exp(−s), s = √(6θ)·‖x − x′‖: functions with a derivative.

    Examples
    --------
    >>> Matern32()(np.array([[0.0]]), np.array([[1.0]]), theta=1 / 6).round(3)  # 2/e
    array([[0.736]])
    """

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """The matrix K(x_i, z_j)."""
        return _evaluate_polynomial_exp((1.0,), _compute_distances(X, Z, "euclidean", out), sqrt(6 * theta))


class Matern52:
    """K(x, x′) = (1 + s + s²/3)·exp(−s), s = √(10θ)·‖x − x′‖: functions with two derivatives.

    Examples
    --------
    >>> Matern52()(np.array([[0.0]]), np.array([[1.0]]), theta=1 / 10).round(3)  # (7/3)/e
    array([[0.858]])
    """

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """The matrix K(x_i, z_j)."""
        return _evaluate_polynomial_exp((1.0, 1 / 3), _compute_distances(X, Z, "euclidean", out), sqrt(10 * theta))


gaussian = Gaussian()

KERNELS: dict[str, Kernel] = {
    "gaussian": gaussian,
    "laplacian": Laplacian(),
    "matern32": Matern32(),
    "matern52": Matern52(),
}
"""By name; the first is the paper's."""


def _compute_squared_distances(X: Array, Z: Array, out: Array | None) -> Array:
    if X.shape[1] > 1:
        found: Array = cdist(X, Z, "sqeuclidean", out=out)
        return found
    distance = np.subtract(X, Z[:, 0], out=out)  # the same bits, and less to call
    return np.multiply(distance, distance, out=distance)


def _compute_distances(X: Array, Z: Array, norm: Literal["cityblock", "euclidean"], out: Array | None) -> Array:
    with np.errstate(over="ignore"):  # an infinite distance is a kernel value of 0
        if X.shape[1] > 1:
            found: Array = cdist(X, Z, norm, out=out)
            return found
        distance = np.subtract(X, Z[:, 0], out=out)
        return np.abs(distance, out=distance)


def _evaluate_polynomial_exp(coefficients: tuple[float, ...], distance: Array, rate: float) -> Array:
    """(1 + c₁s + c₂s² + …)·exp(−s) for s = rate·distance, in the place of the distance; 0 below TINY."""
    rows = max(1, _CHUNK // max(1, distance.shape[1]))
    for start in range(0, len(distance), rows):
        s = distance[start : start + rows]
        with np.errstate(over="ignore"):
            s *= rate
        far = s.size > 0 and float(s.max()) > -_LOG_TINY
        if far:
            np.minimum(s, _FAR, out=s)
        polynomial = _horner(coefficients, s)
        np.exp(np.negative(s, out=s), out=s)
        if coefficients:
            s *= polynomial
            np.minimum(s, 1.0, out=s)  # rounding may leave it just above
        if far:
            s *= s >= TINY
    return distance


def _horner(coefficients: tuple[float, ...], s: Array) -> Array | float:
    """1 + c₁s + c₂s² + …."""
    value: Array | float = 0.0
    for c in reversed(coefficients):
        value = s * (c + value)
    return 1.0 + value
