"""Kernels: the similarity of two points, with K(x, x) = 1 and the same meaning of θ for all in `KERNELS`.

A kernel is a class with one method, `__call__(X, Z, theta, out)`, which returns the matrix K(x_i, z_j), shape
(len(X), len(Z)), written to `out` if that is given. θ = 1/(2ℓ²), with ℓ the kernel's length scale, so θ has the unit of
1/x², and the same θ stands for functions that vary over the same distances: with ρ = ‖x − x′‖/ℓ = √(2θ)·‖x − x′‖ the
Gaussian kernel is exp(−ρ²/2), and the Matérn kernels, polynomials in ρ times exp(−√(2ν)·ρ), tend to it as ν grows.

A kernel whose K(x, x) isn't 1 has a second method, `compute_diagonal(X, theta)`. The linear kernel is one.

Distances are sums over coordinate differences, not ‖x‖² + ‖z‖² − 2x′z: equal points are at distance exactly 0.
"""

from __future__ import annotations

from math import nan, sqrt
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from scipy.spatial.distance import cdist

from ckrr._validation import Array

TINY = 1e-300
"""Kernel values below this are set to 0: products with denormal numbers make BLAS 3 to 4 times slower."""

_LOG_TINY = float(np.log(TINY))
_FLOOR = -700.0  # exp(_FLOOR) is below TINY and still a normal number; exp is slow where it underflows
_FAR = 708.0
"""At s = _FAR exp(−s) is still a normal number, and below TINY times any of the polynomials used here."""

_CHUNK = 1 << 15
"""Entries processed at once, few enough to stay in the cache. Results are bitwise independent of it."""


class Kernel(Protocol):
    """Interface of a kernel: K(x, x) = 1 unless it `SupportsDiagonal`, K(x, x′) = K(x′, x), positive semi-definite."""

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """Return the matrix K(x_i, z_j), shape (len(X), len(Z)), written to `out` if that is given."""
        ...


@runtime_checkable
class SupportsDiagonal(Protocol):
    """A kernel that says its diagonal, because K(x, x) isn't 1."""

    def compute_diagonal(self, X: Array, theta: float) -> Array:
        """Return K(x_i, x_i), shape (len(X),), each ≥ 0."""
        ...


class Gaussian:
    """Gaussian kernel exp(−θ‖x − x′‖²), for infinitely smooth functions.

    Examples
    --------
    >>> gaussian(np.array([[0.0], [1.0]]), np.array([[0.0]]), theta=np.log(2)).round(12)
    array([[1. ],
           [0.5]])
    """

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """Return the matrix K(x_i, z_j)."""
        with np.errstate(over="ignore"):  # an infinite distance is a kernel value of 0
            K = _compute_squared_distances(X, Z, out)
            far = K.size > 0 and float(K.max()) * theta > -_LOG_TINY
            K *= -theta
        if far:
            np.maximum(K, _FLOOR, out=K)
        np.exp(K, out=K)
        if far:
            K *= K >= TINY  # faster than assignment through a mask
        return K

    def compute_squared_distances(self, X: Array) -> Array:
        """Return the matrix ‖x_i − x_j‖², of which exp(−θ·) is the kernel for any θ."""
        return _compute_squared_distances(X, X, None)


class Laplacian:
    """Laplacian kernel exp(−√(2θ)·‖x − x′‖₁), for continuous functions with kinks everywhere.

    It is a product over the coordinates; on the line it is the Matérn kernel with ν = 1/2. (scikit-learn's
    `laplacian_kernel` has gamma = √(2θ).)

    Examples
    --------
    >>> Laplacian()(np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]]), theta=0.5).round(3)  # exp(−3)
    array([[0.05]])
    """

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """Return the matrix K(x_i, z_j)."""
        return _evaluate_polynomial_exp((), _compute_distances(X, Z, "cityblock", out), sqrt(2 * theta))


class Matern32:
    """Matérn kernel with ν = 3/2, (1 + s)·exp(−s), s = √(6θ)·‖x − x′‖, for functions with a derivative.

    Examples
    --------
    >>> Matern32()(np.array([[0.0]]), np.array([[1.0]]), theta=1 / 6).round(3)  # 2/e
    array([[0.736]])
    """

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """Return the matrix K(x_i, z_j)."""
        return _evaluate_polynomial_exp((1.0,), _compute_distances(X, Z, "euclidean", out), sqrt(6 * theta))


class Matern52:
    """Matérn kernel with ν = 5/2, (1 + s + s²/3)·exp(−s), s = √(10θ)·‖x − x′‖, for functions with two derivatives.

    Examples
    --------
    >>> Matern52()(np.array([[0.0]]), np.array([[1.0]]), theta=1 / 10).round(3)  # (7/3)/e
    array([[0.858]])
    """

    def __call__(self, X: Array, Z: Array, theta: float, out: Array | None = None) -> Array:
        """Return the matrix K(x_i, z_j)."""
        return _evaluate_polynomial_exp((1.0, 1 / 3), _compute_distances(X, Z, "euclidean", out), sqrt(10 * theta))


class Linear:
    """Linear kernel x′x̃, for linear functions without an intercept: ridge regression. It has no use for θ.

    `ckrr.fit` uses it only where points have as many coordinates as there are points; else see `ckrr.ridge.linear`.

    Examples
    --------
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])), Linear().compute_diagonal(np.array([[1.0, 2.0]]))
    (array([[11.]]), array([5.]))
    """

    def __call__(self, X: Array, Z: Array, theta: float = nan, out: Array | None = None) -> Array:
        """Return the matrix x_i′z_j, each entry summed by itself, so that it is bitwise independent of the others."""
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite product makes the factorisation fail
            found: Array = np.vecdot(X[:, None], Z, out=out)
        return found

    def compute_diagonal(self, X: Array, theta: float = nan) -> Array:
        """Return ‖x_i‖²."""
        with np.errstate(over="ignore"):
            found: Array = np.vecdot(X, X)
        return found


gaussian = Gaussian()
LINEAR = "linear"
"""Name of the linear kernel, which isn't among `KERNELS`: it has no θ."""

KERNELS: dict[str, Kernel] = {
    "gaussian": gaussian,
    "laplacian": Laplacian(),
    "matern32": Matern32(),
    "matern52": Matern52(),
}
"""Kernels by name; the first is the paper's."""


def _compute_squared_distances(X: Array, Z: Array, out: Array | None) -> Array:
    if X.shape[1] > 1:
        found: Array = cdist(X, Z, "sqeuclidean", out=out)
        return found
    distance = np.subtract(X, Z[:, 0], out=out)  # bitwise identical, with less overhead
    return np.multiply(distance, distance, out=distance)


def _compute_distances(X: Array, Z: Array, norm: Literal["cityblock", "euclidean"], out: Array | None) -> Array:
    with np.errstate(over="ignore"):  # an infinite distance is a kernel value of 0
        if X.shape[1] > 1:
            found: Array = cdist(X, Z, norm, out=out)
            return found
        distance = np.subtract(X, Z[:, 0], out=out)
        return np.abs(distance, out=distance)


def _evaluate_polynomial_exp(coefficients: tuple[float, ...], distance: Array, rate: float) -> Array:
    """Overwrite distances by (1 + c₁s + c₂s² + …)·exp(−s), s = rate·distance; values below TINY become 0."""
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
            np.minimum(s, 1.0, out=s)  # rounding may leave it just above 1
        if far:
            s *= s >= TINY
    return distance


def _horner(coefficients: tuple[float, ...], s: Array) -> Array | float:
    """Return 1 + c₁s + c₂s² + … by Horner's rule."""
    value: Array | float = 0.0
    for c in reversed(coefficients):
        value = s * (c + value)
    return 1.0 + value
