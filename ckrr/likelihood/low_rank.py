"""Profile likelihood for small θ, where K has low rank: K ≈ FF′ with few columns.

The kernel is a product over the coordinates, and on an interval each factor has an expansion Σ μ_k φ_k(x) φ_k(x′)
whose μ_k fall faster than any power. The products of the factors' terms that are above a tolerance are the columns of
F, shape (n, p). Then with M = F′F + λI_p and β = M⁻¹F′y::

    y′Qy = (‖y − Fβ‖² + λ‖β‖²)/λ        log|K + λI| = log|M| + (n − p) log λ

which is n p² operations against n³/3. This form of y′Qy is a sum of squares, accurate at small λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gamma, log, pi, prod, sqrt

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, eigh, lapack

from ckrr._validation import Array
from ckrr.linalg.squares import compute_squares
from ckrr.linalg.tiled import TiledAlgebra
from ckrr.linalg.triangular import WHOLE

_LACKING = 1e-3
"""Maximum trace of K − FF′, relative to λ."""
_MANY = 1100
"""Above this many nodes, as only samples of more than 4000 points have, NumPy's `eigh` is used: it releases the GIL."""


@dataclass(frozen=True)
class KernelAxis:
    """Factor of the kernel for one coordinate, exp(−t(u − u′)²) u in [0, 1], discretised on Chebyshev nodes."""

    t: float

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        z, w = _make_chebyshev_nodes(count_nodes(self.t))
        root = np.sqrt(w)
        K = np.exp(-self.t * (z[:, None] - z) ** 2) * root[:, None] * root
        mu, U = eigh(K, driver="evd", overwrite_a=True) if len(z) <= _MANY else np.linalg.eigh(K)
        return mu[::-1], root[:, None] * U[:, ::-1]

    @property
    def mu(self) -> Array:
        """Eigenvalues μ_k, descending."""
        return self._spectrum[0]

    def compute_columns(self, u: Array, p: int) -> Array:
        """Return √μ_k φ_k(u) for the first p terms, shape (len(u), p).

        Examples
        --------
        >>> u = np.array([0.0, 0.25, 1.0])
        >>> F = KernelAxis(t=2.0).compute_columns(u, 12)
        >>> np.allclose(F @ F.T, np.exp(-2.0 * (u[:, None] - u) ** 2), rtol=0, atol=1e-13)
        True
        """
        z, _ = _make_chebyshev_nodes(count_nodes(self.t))
        mu, U = self._spectrum
        gap = u[:, None] - z
        gap *= gap
        gap *= -self.t
        np.maximum(gap, -700.0, out=gap)
        columns: Array = np.exp(gap, out=gap) @ (U[:, :p] / np.sqrt(mu[:p]))
        return columns


def count_nodes(t: float) -> int:
    """Return how many Chebyshev nodes resolve exp(−t(u − u′)²) on [0, 1] to rounding error."""
    return 14 + int(5.5 * sqrt(t))


def estimate_rank(ts: list[float], tolerance: float) -> float:
    """Estimate, rather too low, how many products of terms are above the tolerance: a volume of frequencies."""
    d = len(ts)
    reach = [max(2 / pi * sqrt(-t * log(tolerance)), 1.0) for t in ts]
    return prod(reach) * (sqrt(pi) / 2) ** d / gamma(d / 2 + 1)


def select_products(axes: list[KernelAxis], tolerance: float, most: int) -> npt.NDArray[np.intp] | None:
    """Select the products of terms above the tolerance; return None if there are more than `most`.

    The result has shape (p, d): which term of each axis is in each product.

    Examples
    --------
    >>> select_products([KernelAxis(0.0), KernelAxis(0.1)], 1e-3, most=10)
    array([[0, 0],
           [0, 1]])
    """
    value, index = np.ones(1), np.empty((1, 0), dtype=np.intp)
    for axis in axes:
        row, term = np.nonzero(np.multiply.outer(value, axis.mu) > tolerance)
        value = value[row] * axis.mu[term]
        index = np.column_stack([index[row], term])
        if len(value) > most:
            return None
    return index


def make_low_rank_factor(axes: list[KernelAxis], U: Array, index: npt.NDArray[np.intp]) -> Array:
    """Return F, shape (n, p), in Fortran order: K ≈ FF′."""
    rows = np.ones((len(index), len(U)))
    for axis, u, term in zip(axes, U.T, index.T, strict=True):
        rows *= np.ascontiguousarray(axis.compute_columns(u, int(term.max()) + 1).T)[term]
    return rows.T


def compute_low_rank_parts(
    F: Array, ys: Sequence[Array], lam: float, has_mean: bool = False
) -> tuple[list[float], float] | None:
    """Compute y′Qy of each target and log|FF′ + λI|; None if FF′ is not K to the tolerance, or the factorisation fails.

    K has ones on its diagonal, so n − tr FF′ is the trace of K − FF′; log|K + λI| changes by at most that over λ. With
    `has_mean` the last target is a vector of ones: v = (r/√λ, β) is a whitened target (`ckrr.linalg.squares`).
    """
    n, p = F.shape
    large = n > WHOLE
    M = (F.T @ F).T if large else blas.dsyrk(1.0, F, trans=1, lower=1)
    diagonal = M.reshape(-1, order="F")[:: p + 1]
    if not abs(n - diagonal.sum()) < _LACKING * lam:
        return None
    diagonal += lam
    if TiledAlgebra().factorise(M) if large else lapack.dpotrf(M, lower=1, clean=0, overwrite_a=1)[1]:
        return None
    quadratic, vs = [], []
    for y in ys:
        beta = (_solve_tiled if large else _solve)(M, F.T @ y)
        r = y - F @ beta
        quadratic.append(float(np.vecdot(r, r)) / lam + float(np.vecdot(beta, beta)))
        vs.append(np.concatenate([r / sqrt(lam), beta]))
    quadratic = compute_squares(vs, True) if has_mean else quadratic
    return quadratic, 2.0 * float(np.log(M.diagonal()).sum()) + (n - p) * log(lam)


def _solve(L: Array, z: Array) -> Array:
    """Return (LL′)⁻¹z."""
    beta: Array = lapack.dpotrs(L, z, lower=1)[0]
    return beta


def _solve_tiled(L: Array, z: Array) -> Array:
    """Return (LL′)⁻¹z as `_solve` does, for large samples, without holding the GIL."""
    way = TiledAlgebra()
    return way.solve_transposed_vector(L, way.solve_vector(L, z))


def _make_chebyshev_nodes(m: int) -> tuple[Array, Array]:
    """Return m Chebyshev nodes on [0, 1], and the approximate length of the interval that each represents."""
    angle = (np.arange(m) + 0.5) * pi / m
    return (1 - np.cos(angle)) / 2, np.sin(angle) * pi / (2 * m)
