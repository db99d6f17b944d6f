"""Profile likelihood of the Gaussian kernel for small samples: several θ and several targets at a time.

At n = 50 a factorisation takes 4 µs, and Python around it many times that. So squared distances are computed once, all
kernel matrices that fit into the cache by one call of exp, factors one after the other in place, and each factor
serves all targets. Matrices are in LAPACK's rectangular full packed format, n(n + 1)/2 numbers without gaps, which
halves the work besides the factorisation.

Results are bitwise independent of how many θ and how many targets are evaluated together: entries are computed one by
one, each matrix is factorised separately, and each target is solved for separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from ckrr._validation import Array
from ckrr.kernels import gaussian
from ckrr.linalg.squares import remove_ones
from ckrr.linalg.workspace import shared_workspace

LARGEST = 512
"""Samples of up to this many points are evaluated here: for larger ones there is little to gain."""

_LOG_LEAST = -80.0
"""Entries of K are at least exp of this: it is far below rounding error, and its products are no denormal numbers."""

_TOGETHER = 1 << 15
"""Entries of the matrices that are evaluated together, few enough to stay in the cache."""


class DenseLikelihood:
    """Likelihood of a small sample by Cholesky factorisation.

    Parameters
    ----------
    X : (n, d) array
    ys : sequence of (n,) arrays
        Targets.
    lam : float
    has_mean : bool
        Whether the last target is a vector of ones, for a mean of the others (`ckrr.linalg.squares`).
    """

    def __init__(self, X: Array, ys: Sequence[Array], lam: float, has_mean: bool = False) -> None:
        self.lam, self.n, self._has_mean = lam, len(X), has_mean
        self._columns = [y[:, None] for y in ys]
        with np.errstate(over="ignore"):  # an infinite distance is a kernel value of 0
            self._exponents = -_pack(gaussian.compute_squared_distances(X))
        self._farthest = float(self._exponents.min())
        self._diagonal = _find_diagonal(self.n)

    def compute_parts(self, thetas: Array) -> tuple[Array, Array]:
        """Return y′Qy, shape (thetas, targets), and log|K + λI|, shape (thetas,); NaN where the factorisation fails.

        Examples
        --------
        >>> quadratic, log_det = DenseLikelihood(np.zeros((1, 1)), [np.ones(1)], 1.0).compute_parts(np.array([3.0]))
        >>> quadratic, log_det  # 1/(1 + λ), log(1 + λ)
        (array([[0.5]]), array([0.69314718]))
        """
        size = max(_TOGETHER // len(self._exponents), 1)
        if len(thetas) <= size:
            return self._compute_few(thetas)
        parts = [self._compute_few(thetas[i : i + size]) for i in range(0, len(thetas), size)]
        return np.concatenate([quadratic for quadratic, _ in parts]), np.concatenate([log_det for _, log_det in parts])

    def _compute_few(self, thetas: Array) -> tuple[Array, Array]:
        K, n, columns = self._make_ridge_matrices(thetas), self.n, self._columns
        V = np.empty((len(thetas), len(columns), _pad(n)))[:, :, :n]
        for L, solutions in zip(K, V, strict=True):
            if lapack.dpftrf(n, L, "N", "L", 1)[1]:  # in place; names of arguments would double the overhead
                L.fill(np.nan)
            for i, y in enumerate(columns):
                solutions[i] = lapack.dtfsm(1.0, L, y, "N", "L", "L")[:, 0]
        V = remove_ones(V) if self._has_mean else V
        return np.vecdot(V, V), 2.0 * np.add.reduce(np.log(K.take(self._diagonal, axis=1)), axis=1)

    def _make_ridge_matrices(self, thetas: Array) -> Array:
        """Return K + λI for each θ, packed, shape (thetas, n(n + 1)/2)."""
        size = len(self._exponents)
        K = shared_workspace()("ridge matrices", (len(thetas), _pad(size)))[:, :size]
        np.multiply(thetas[:, None], self._exponents, out=K)
        if not self._farthest * max(thetas.tolist()) > _LOG_LEAST:
            np.maximum(K, _LOG_LEAST, out=K)
        np.exp(K, out=K)
        K[:, self._diagonal] = 1.0 + self.lam
        return K


def _pad(size: int) -> int:
    """Return the size of rows that all start at the same alignment: BLAS for older CPUs sums in an order by that."""
    return size + size % 2


def _pack(A: Array) -> Array:
    """Return the lower triangle of a symmetric matrix in rectangular full packed format."""
    packed: Array = lapack.dtrttf(A.T, "N", "L")[0]
    return packed


@lru_cache(maxsize=16)
def _find_diagonal(n: int) -> npt.NDArray[np.intp]:
    """Return the positions of the diagonal of a packed matrix."""
    return np.flatnonzero(_pack(np.eye(n)))
