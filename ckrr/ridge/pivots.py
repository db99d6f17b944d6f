"""Low-rank factor of a Gaussian kernel matrix, accurate to rounding: K = FF′ + E, with every |E_ij| about 1e-16.

Pivoted Cholesky factorisation chooses r training points P, the pivots. With K_PP = LL′ and k_P(x) the kernel between x
and the pivots, a point has r features ::

    φ(x) = L⁻¹k_P(x)            δ(x) = 1 − ‖φ(x)‖²

where δ is the squared distance from K(·, x) to the span of the pivots, and F has the rows φ(x_i)′. Pivots are added,
each the point with the largest δ, until none is above `_LIMIT`.

E has to be much smaller than in plain double arithmetic, because K + λI magnifies it by 1/λ, and E isn't random as
rounding errors of a dense matrix are: what is left out, and errors of L, act on all points alike. So K_PP and K_P have
more digits than a double (`ckrr.ridge.long_kernel`), L has those of a long double, and φ is corrected by a residual.
With A and c the parts of L and φ rounded to multiples of 2⁻²⁶, sums of their products are multiples of 2⁻⁵² below 2, so
BLAS computes Ac without any rounding error, in whatever order it adds, and ::

    k − Lφ = (k − Ac) − (A(φ − c) + (L − A)φ)

has an error of about 2⁻²⁶ε (Ozaki, Ogita, Oishi and Rump 2012). Pivots of 1e-16 are right to a few digits then.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.kernels import gaussian
from ckrr.linalg.triangular import select_algebra
from ckrr.ridge.long_kernel import Long, compute_long_kernel

ROWS = 1024
"""Training points in a block. Fixed, never tuned to a machine, since the last bits of results depend on it."""

_STOP = 5e-16
"""No pivots are chosen below this: they would be rounding errors."""

_LEAST = 2e-17
"""Chosen pivots are kept if they are above this, computed accurately."""

_LIMIT = 2e-15
"""The largest δ of a training point, as computed: a few ε. What is left out of K costs digits of Qy."""

_NEAR = 3e-14
"""Where a δ is above this, all pivots are chosen anew: in another order than by distance errors would be magnified."""

_DOUBT = 1e-14
"""Where a δ is below minus this, the features of the point lost their digits."""

CANDIDATES = 8192
"""Maximum number of training points that the first pivots are chosen from. The last bits of results depend on it."""

_ROUNDS = 8
"""Maximum rounds of adding pivots."""

_PANEL = 16
"""Columns of L computed from one accurate residual. The last bits of results depend on it."""

_COARSE = 1.5 * 2.0**26
"""A number of at most 2²⁵ plus this, minus this, is rounded to a multiple of 2⁻²⁶."""

Indices = npt.NDArray[np.intp]


class PivotFeatures:
    """Features φ(x) = L⁻¹k_P(x) of points, from the pivots P."""

    def __init__(self, points: Array, theta: float) -> None:
        self._L, kept = factorise_accurately(*compute_long_kernel(points, points, theta))
        self.points, self.theta = points[kept], theta
        self._algebra = select_algebra(len(kept))
        self._G = np.asfortranarray(self._L.coarse + self._L.fine)
        self._algebra.invert(self._G)

    @property
    def count(self) -> int:
        """Number of features r."""
        return len(self.points)

    def __call__(self, X: Array) -> Array:
        """Return the features of points, shape (len(X), r); their last bits depend on the number of points."""
        return self._solve(gaussian(X, self.points, self.theta), 0.0)

    def compute_accurately(self, X: Array) -> Array:
        """Return the features by a kernel of more digits than a double has."""
        return self._solve(*compute_long_kernel(X, self.points, self.theta))

    def _solve(self, k: Array, rest: Array | float) -> Array:
        """Return the solutions φ of Lφ = k + rest, for each row of k, which is overwritten."""
        phi = self._multiply(self._G, k.copy())
        part = Split.round(phi)
        fine = self._multiply(self._L.coarse, part.fine)
        fine += self._multiply(self._L.fine, phi.copy())
        k -= self._multiply(self._L.coarse, part.coarse)
        k += rest - fine
        phi += self._multiply(self._G, k)
        return phi

    def _multiply(self, T: Array, B: Array) -> Array:
        """Overwrite the rows b of B by Tb, and return it."""
        self._algebra.multiply(T, B.T)
        return B


@dataclass(frozen=True)
class Split:
    """A matrix as a sum of two of doubles: multiples of 2⁻²⁶, and the rest."""

    coarse: Array
    fine: Array

    @staticmethod
    def round(values: Array | Long) -> Split:
        """Split numbers up to 2²⁵, of doubles or of long doubles."""
        coarse = (values.astype(np.float64, copy=False) + _COARSE) - _COARSE
        return Split(coarse, (values - coarse).astype(np.float64, copy=False))


def factorise_accurately(K: Array, rest: Array) -> tuple[Split, Indices]:
    """Return L of the pivots that are kept, K + rest = LL′ to the digits of long doubles, and which they are.

    L is computed panel by panel from the left. Pivots up to `_LEAST` are left out.

    Examples
    --------
    >>> K = np.array([[1.0, 1.0, 0.6], [1.0, 1.0, 0.6], [0.6, 0.6, 1.0]])
    >>> L, kept = factorise_accurately(K, np.zeros_like(K))
    >>> L.coarse + L.fine, kept
    (array([[1. , 0. ],
           [0.6, 0.8]]), array([0, 2]))
    """
    r = len(K)
    L, coarse, fine = (np.zeros((r, r), order="F") for _ in range(3))
    for start in range(0, r, _PANEL):
        here, done = slice(start, min(start + _PANEL, r)), slice(0, start)
        panel = K[start:, here].astype(np.longdouble, order="F")
        panel += rest[start:, here]
        panel -= coarse[start:, done] @ coarse[here, done].T
        panel -= coarse[start:, done] @ fine[here, done].T + fine[start:, done] @ L[here, done].T
        _eliminate(panel)
        part = Split.round(panel)
        L[start:, here], coarse[start:, here], fine[start:, here] = panel, part.coarse, part.fine
    kept = np.flatnonzero(L.diagonal())
    return Split(*(np.asfortranarray(each[np.ix_(kept, kept)]) for each in (coarse, fine))), kept


def _eliminate(panel: Long) -> None:
    """Overwrite a panel of residuals, in Fortran order, by its columns of L, with zeros for pivots left out."""
    for j in range(panel.shape[1]):
        column, pivot = panel[:, j], panel[j, j]
        column *= 1 / np.sqrt(pivot) if pivot > _LEAST else 0
        column[:j] = 0
        panel[:, j + 1 :] -= column[:, None] * panel[j + 1 : panel.shape[1], j]


def factorise_kernel(X: Array, theta: float, most: int) -> tuple[PivotFeatures, Array] | None:
    """Return features whose products are the kernel, and F of the training points; None if `most` aren't enough.

    Examples
    --------
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> features, F = factorise_kernel(X, 1.0, most=20)
    >>> F.shape, bool(np.abs(F @ F.T - gaussian(X, X, 1.0)).max() < 1e-14)
    ((500, 12), True)
    >>> factorise_kernel(X, 1.0, most=5)
    """
    candidates, features = X[:: -(-len(X) // CANDIDATES)], None
    for _ in range(_ROUNDS):
        points = choose_pivots(candidates, theta, most, features)
        if points is None:
            return None
        features = PivotFeatures(points, theta)
        F, distances = _compute_factor(X, features)
        if not np.isfinite(distances).all():
            return None
        far = (distances > _LIMIT) | (distances < -_DOUBT)
        if not far.any():
            return features, F
        candidates = X[far]
        if distances.max() > _NEAR or distances.min() < -_DOUBT:
            candidates, features = np.concatenate([features.points, candidates]), None
    return None


def choose_pivots(X: Array, theta: float, most: int, features: PivotFeatures | None = None) -> Array | None:
    """Return the pivots of some features, if given, and then of X, each the farthest from those before.

    Returns None if there are more than `most`.
    """
    old = 0 if features is None else features.count
    F = np.empty((old + _PANEL, len(X)))
    if features is not None:
        F[:old] = features(X).T
    distances = 1.0 - np.einsum("ij,ij->j", F[:old], F[:old])
    chosen: list[int] = []
    while distances.max() > _STOP:
        r, p = old + len(chosen), int(np.argmax(distances))
        if r == most:
            return None
        if r == len(F):
            F = np.concatenate([F, np.empty_like(F)])
        row = gaussian(X[p : p + 1], X, theta)[0]
        row -= F[:r, p] @ F[:r]
        row /= sqrt(distances[p])
        distances -= row * row
        distances[p] = -np.inf
        F[r] = row
        chosen.append(p)
    return X[chosen] if features is None else np.concatenate([features.points, X[chosen]])


def _compute_factor(X: Array, features: PivotFeatures) -> tuple[Array, Array]:
    """Return F, shape (n, r), and δ of all points."""
    F = np.empty((len(X), features.count))
    for start in range(0, len(X), ROWS):
        F[start : start + ROWS] = features.compute_accurately(X[start : start + ROWS])
    return F, 1.0 - np.vecdot(F, F)
