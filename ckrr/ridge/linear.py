"""Ridge regression: the linear kernel K(x, x′) = x′x, of linear functions without an intercept.

Its features are the coordinates, φ(x) = x, so with more points than coordinates everything follows from a d×d matrix,
M = X′X + λI, as for random features (`ckrr.ridge.feature_ridge`)::

    W = XM⁻¹x*        m = λ(1 + x*′M⁻¹x*)        Q_ii = (1 − x_i′M⁻¹x_i)/λ

where m is a sum of positive numbers, with a relative error of about ε·‖X‖/√λ. That takes n d² operations, and n d for a
test point. With no more points than coordinates the n×n matrix is smaller, and `ckrr.ridge.exact` factorises it.

Coordinates may have very different units: the QR factorisation behind M is accurate column by column, so what counts is
how far each column is from a combination of the others, relative to its own size.

This is Bayesian ridge regression (Burnaev & Vovk 2014): with noise of variance σ², coefficients have the prior
N(0, σ²/λ).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.kernels import Linear
from ckrr.ridge.exact import Ridge
from ckrr.ridge.feature_ridge import FeatureRidge
from ckrr.ridge.primal import Primal

_LOST = 2.0**-48
"""R has no digits where a column, less its part in the columns before it, is the root of this below its own size."""


class Coordinates:
    """The map φ(x) = x.

    Examples
    --------
    >>> Coordinates(2)(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    array([[1., 3., 5.],
           [2., 4., 6.]])
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, X: Array, theta: float = nan) -> Array:
        """Return the coordinates, shape (d, len(X)), as a copy."""
        return np.array(X.T, order="C")

    def compute_reach(self, X: Array, theta: float = nan) -> float:
        """Return an upper bound of Σ‖x_i‖², which is not finite where that overflows."""
        with np.errstate(over="ignore"):
            return float(np.square(np.abs(X).max()) * X.size)


class LinearRidge(FeatureRidge):
    """Factorised ridge matrix XX′ + λI of a training sample, by the d×d matrix."""

    def __init__(self, X: Array, lam: float) -> None:
        self._reach = np.abs(X).max(axis=0)
        super().__init__(X, nan, lam, Coordinates(X.shape[1]))

    def _has_digits(self, diagonal: Array) -> bool:
        """Compare each entry of the diagonal of R with the norm of its column, which the units don't matter for."""
        sizes = np.linalg.norm(self._primal.R, axis=0)
        return bool((diagonal**2 > _LOST * sizes**2).all())

    def _estimate_sizes(self, C: Array) -> Array:
        """Return the largest possible terms of W = Xc, summed, for each row c."""
        sizes: Array = np.abs(C) @ self._reach
        return sizes

    def compute_left_out_errors(self, y: Array, folds: Sequence[npt.NDArray[np.intp]], has_mean: bool) -> Array:
        """Return the error of each point by the fit that leaves its fold out, shape (n,).

        With a constant mean each fit is that of its centred points: an intercept without a penalty.
        """
        errors = np.empty(self.n)
        for S in folds:
            others = np.setdiff1d(np.arange(self.n), S)
            x, level = (self.X[others].mean(axis=0), y[others].mean()) if has_mean else (0.0, 0.0)
            fit = Primal(self.X[others] - x, self.features, self.theta, self.lam)
            beta = fit.compute_coefficients(y[others] - level)
            errors[S] = (y[S] - level) - self.features(self.X[S] - x, self.theta).T @ beta
        return errors


def make_linear_ridge(X: Array, lam: float) -> FeatureRidge | Ridge:
    """Factorise XX′ + λI of a training sample, by whichever of the two matrices is smaller.

    Examples
    --------
    >>> X = np.eye(3)
    >>> [type(make_linear_ridge(X[:, :d], 0.1)).__name__ for d in (2, 3)]
    ['LinearRidge', 'Ridge']
    """
    n, d = X.shape
    return LinearRidge(X, lam) if d < n else Ridge(X, nan, lam, Linear())
