"""Profile likelihood for all λ at once, from one decomposition of the kernel matrix.

With K = UDU′ and g = U′y, for every λ::

    y′Qy = Σ g_i²/(d_i + λ) + ρ/λ        log|K + λI| = Σ log(d_i + λ) + (n − r) log λ

in n operations, where r is the number of eigenvalues, and ρ the squared length of y outside their eigenvectors. U
itself isn't needed: K is made tridiagonal, H′KH = T, and g follows from H′y and the eigenvectors of T. For n = 1500
that takes as long as about five Cholesky factorisations. Where K = FF′ with few columns, F = HR, the decomposition is
that of RR′, and ρ is the squared length of what H′ leaves of y: no difference of nearly equal numbers.

With a constant mean μ, also by maximum likelihood, y′Qy − (1′Qy)²/(1′Q1) stands for y′Qy, with h = U′1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.linalg import blas, lapack

from ckrr._validation import Array
from ckrr.linalg.triangular import WHOLE

_REFLECTORS = 32
"""Columns that a QR factorisation treats together; fixed, because the last bits depend on it."""


@dataclass(frozen=True)
class Targets:
    """Targets in units of their largest value, less their mean if the model has one."""

    columns: list[Array]
    """The targets; with a mean, the vector of ones follows them."""
    shifts: list[float]
    """ℓ of each target without the terms that depend on K and λ."""
    has_mean: bool

    @classmethod
    def make(cls, ys: Sequence[Array], has_mean: bool = False) -> Targets:
        """Scale targets.

        Examples
        --------
        >>> Targets.make([np.array([2.0, 4.0])], has_mean=True).columns
        [array([-1.,  1.]), array([1., 1.])]
        """
        n, columns, shifts = len(ys[0]), [], []
        for y in ys:
            centred = _centre(y) if has_mean else y
            unit = float(np.abs(centred).max()) or 1.0
            columns.append(centred / unit)
            shifts.append(-0.5 * n * (log(2 * pi / n) + 2 * log(unit) + 1))
        return cls([*columns, np.ones(n)] if has_mean else columns, shifts, has_mean)

    def combine(self, target: int, quadratic: Array, log_det: Array) -> Array:
        """Return ℓ given y′Qy and log|K + λI|; NaN stands for a failed factorisation, and becomes −inf."""
        n = len(self.columns[0])
        h: Array = np.fmax(self.shifts[target] - 0.5 * n * np.log(quadratic) - 0.5 * log_det, -np.inf)
        return h


def _centre(y: Array) -> Array:
    """Return y less its mean; zeros if the rest is rounding error."""
    unit = float(np.abs(y).max()) or 1.0
    mean = float(np.mean(y / unit)) * unit
    rest = y - mean
    return rest if np.abs(rest).max() > 4 * np.spacing(unit) else np.zeros(len(y))


@dataclass(frozen=True)
class Coordinates:
    """A vector in the eigenvectors of K, and what is outside of them."""

    inside: Array
    outside: Array

    def dot(self, other: Coordinates) -> tuple[Array, float]:
        """Return the products of two vectors' coordinates, and the product of what is outside."""
        return self.inside * other.inside, float(np.vecdot(self.outside, other.outside))


class Spectrum:
    """Eigenvalues of K, with all targets in its eigenvectors: ℓ for any λ.

    Parameters
    ----------
    eigenvalues : (r,) array
        Those of K; n − r others are 0.
    vectors : list of Coordinates
        Columns of `targets`.
    targets : Targets
    """

    def __init__(self, eigenvalues: Array, vectors: Sequence[Coordinates], targets: Targets) -> None:
        self.eigenvalues = np.maximum(eigenvalues, 0.0)
        self._targets, self._null = targets, len(targets.columns[0]) - len(eigenvalues)
        ys = vectors[:-1] if targets.has_mean else vectors
        self._squares = [y.dot(y) for y in ys]
        self._across = [y.dot(vectors[-1]) for y in ys] if targets.has_mean else []
        self._ones = vectors[-1].dot(vectors[-1]) if targets.has_mean else None

    @classmethod
    def of_matrix(cls, K: Array, targets: Targets) -> Spectrum:
        """Decompose a kernel matrix, given by its lower triangle in Fortran order; it is overwritten.

        Examples
        --------
        >>> spectrum = Spectrum.of_matrix(np.eye(3, order="F"), Targets.make([np.array([1.0, 0.0, 0.0])]))
        >>> quadratic, log_det = spectrum.compute_parts(0, np.array([1.0]))
        >>> quadratic, log_det  # 1/(1 + λ) and 3 log(1 + λ)
        (array([0.5]), array([2.07944154]))
        """
        d, inside = decompose(K, targets.columns)
        return cls(d, [Coordinates(each, np.empty(0)) for each in inside], targets)

    @classmethod
    def of_factor(cls, blocks: Iterable[tuple[slice, Array]], p: int, targets: Targets) -> Spectrum:
        """Decompose FF′ given F in blocks of rows, each in Fortran order with p columns; blocks are overwritten."""
        R, tops = np.zeros((p, p), order="F"), [np.zeros((p, 1), order="F") for _ in targets.columns]
        left: list[list[Array]] = [[] for _ in tops]
        for here, F in blocks:
            R, V, T, _ = lapack.dtpqrt(0, min(_REFLECTORS, p), R, F, overwrite_a=1, overwrite_b=1)
            for i, y in enumerate(targets.columns):
                tops[i], rest, _ = lapack.dtpmqrt(0, V, T, tops[i], y[here, None], side="L", trans="T")
                left[i].append(rest[:, 0])
        R = np.triu(R)
        d, inside = decompose(
            np.asfortranarray(blas.dtrmm(1.0, R, R, side=1, lower=0, trans_a=1)), [t[:, 0] for t in tops]
        )
        return cls(d, [Coordinates(a, np.concatenate(b)) for a, b in zip(inside, left, strict=True)], targets)

    def compute_parts(self, target: int, lams: Array) -> tuple[Array, Array]:
        """Return y′Qy and log|K + λI| for several λ."""
        shifted = self.eigenvalues + lams[:, None]
        log_det = np.add.reduce(np.log(shifted), axis=1) + self._null * np.log(lams)
        weights = np.reciprocal(shifted, out=shifted)
        quadratic = _weigh(weights, lams, *self._squares[target])
        if self._ones is not None:
            across = _weigh(weights, lams, *self._across[target])
            quadratic = np.maximum(quadratic - across**2 / _weigh(weights, lams, *self._ones), 0.0)
        return quadratic, log_det

    def compute_heights(self, target: int, log_lams: Array) -> Array:
        """Return ℓ of one target for several log λ."""
        return self._targets.combine(target, *self.compute_parts(target, np.exp(log_lams)))


def _weigh(weights: Array, lams: Array, inside: Array, outside: float) -> Array:
    found: Array = weights @ inside + outside / lams
    return found


def decompose(K: Array, columns: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Return the eigenvalues of a symmetric matrix K = UDU′ and U′b of each column b.

    K is given by its lower triangle in Fortran order, and overwritten. Each U′b is bitwise independent of the others.

    Examples
    --------
    >>> d, (g,) = decompose(np.array([[2.0, 0.0], [1.0, 2.0]], order="F"), [np.array([1.0, 1.0])])
    >>> d, g**2
    (array([1., 3.]), array([0., 2.]))
    """
    n = len(K)
    if n > WHOLE:  # NumPy's function doesn't hold the GIL
        d, U = np.linalg.eigh(K, UPLO="L")
        return d, [b @ U for b in columns]
    if n == 1:
        return K[0, :1].copy(), list(columns)
    work = int(lapack.dsytrd_lwork(n, lower=1)[0])
    K, diagonal, beside, tau, _ = lapack.dsytrd(K, lower=1, lwork=work, overwrite_a=1)
    turned = [_reflect(K, tau, b) for b in columns]
    d, Z, _ = lapack.dstevd(diagonal, beside)
    return d, [b @ Z for b in turned]


def _reflect(K: Array, tau: Array, b: Array) -> Array:
    """Return H′b, with the reflectors that `dsytrd` left below the diagonal."""
    n = len(b)
    found = b.copy()
    found[1:] = lapack.dormqr("L", "T", K[1:, : n - 1], tau, b[1:, None], max(1, 64 * n))[0][:, 0]
    return found
