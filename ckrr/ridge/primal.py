"""Ridge regression on features, in blocks of training points: M = Φ′Φ + λI = R′R.

R is the triangle of the QR factorisation of Φ on top of √λ I, updated with one block of Φ after the other, so Φ is
never whole in memory, and Φ′Φ is never formed: R is accurate to ε·√(n/λ), where a Cholesky factor of M would be
accurate to ε·n/λ. Cost: 2nD² operations for R, nD² for leverages.

With G = R⁻¹ explicit, β = M⁻¹Φ′y = GG′Φ′y is corrected once by its own residual::

    β₀ = GG′Φ′y            β = β₀ + GG′(Φ′(y − Φβ₀) − λβ₀)

("corrected seminormal equations", Björck 1987). The leverage of a training point is h_i = φ_i′M⁻¹φ_i = ‖G′φ_i‖² ≤ 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Protocol

import numpy as np
from scipy.linalg import blas, lapack

from ckrr._validation import Array

ROWS = 1024
"""Training points in a block. Fixed, never tuned to a machine, since the last bits of results depend on it."""

_REFLECTORS = 32
"""Columns that a QR factorisation treats together; fixed for the same reason."""

KEPT = 1 << 24
"""Maximum entries of a Φ kept between passes; larger ones are recomputed. Results are bitwise independent of it."""


class FeatureMap(Protocol):
    """Interface of a map from points to D features."""

    @property
    def count(self) -> int:
        """Number of features D."""
        ...

    def __call__(self, X: Array, theta: float) -> Array:
        """Return φ_j(x_i) at [j, i], shape (D, len(X)); features of a point are bitwise independent of the others."""
        ...

    def compute_reach(self, X: Array, theta: float) -> float:
        """Return a number that is not finite where the features, or sums of their squares, overflow."""
        ...


class Primal:
    """Factorised M = Φ′Φ + λI of some training points, possibly none."""

    def __init__(self, X: Array, features: FeatureMap, theta: float, lam: float) -> None:
        self.X, self.features, self.theta, self.lam = X, features, theta, lam
        self._blocks = self._cache_blocks() if features.count * len(X) <= KEPT else None
        self.R = self._compute_triangle()
        self.G: Array = lapack.dtrtri(self.R, lower=0)[0]

    def iter_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of points, each with its Φ′ of shape (D, rows), which must not be modified."""
        if self._blocks is not None:
            yield from self._blocks
            return
        for start in range(0, len(self.X), ROWS):
            here = slice(start, min(start + ROWS, len(self.X)))
            yield here, self.features(self.X[here], self.theta)

    def _cache_blocks(self) -> list[tuple[slice, Array]]:
        self._blocks = None
        return list(self.iter_blocks())

    def _compute_triangle(self) -> Array:
        D = self.features.count
        R = np.zeros((D, D), order="F")
        np.fill_diagonal(R, sqrt(self.lam))
        for _, F in self.iter_blocks():
            R = lapack.dtpqrt(0, min(_REFLECTORS, D), R, F.T, overwrite_a=1, overwrite_b=self._blocks is None)[0]
        return R

    def compute_leverages(self) -> Array:
        """Return the leverages h, shape (n,)."""
        h = np.empty(len(self.X))
        for here, F in self.iter_blocks():
            U = blas.dtrmm(1.0, self.G, F.T, side=1, lower=0, overwrite_b=self._blocks is None).T
            h[here] = np.einsum("ji,ji->i", U, U)
        return h

    def compute_coefficients(self, y: Array) -> Array:
        """Return the coefficients β, shape (D,)."""
        beta = self._solve(self._multiply_transposed(y))
        g = np.zeros(self.features.count)
        for here, F in self.iter_blocks():
            g += F @ (y[here] - beta @ F)
        found: Array = beta + self._solve(g - self.lam * beta)
        return found

    def compute_residuals(self, y: Array, beta: Array) -> Array:
        """Return the residuals y − Φβ, shape (n,)."""
        r = np.empty(len(y))
        for here, F in self.iter_blocks():
            r[here] = y[here] - beta @ F
        return r

    def _multiply_transposed(self, y: Array) -> Array:
        g = np.zeros(self.features.count)
        for here, F in self.iter_blocks():
            g += F @ y[here]
        return g

    def _solve(self, g: Array) -> Array:
        """Return M⁻¹g."""
        found: Array = blas.dtrmv(self.G, blas.dtrmv(self.G, g, lower=0, trans=1), lower=0)
        return found
