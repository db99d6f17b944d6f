"""Ridge regression on random features, with the interface of `ckrr.ridge.exact` but without an n×n matrix.

The kernel is ΦΦ′. With M = Φ′Φ + λI = R′R (`ckrr.ridge.primal`), β = M⁻¹Φ′y, h_i = φ_i′M⁻¹φ_i, and Q = (ΦΦ′ + λI)⁻¹::

    a = Qy = (y − Φβ)/λ                     Q_ii = (1 − h_i)/λ
    σ̂² = (‖y − Φβ‖²/λ + ‖β‖²)/n             log|ΦΦ′ + λI| = log|M| + (n − D) log λ

and for a test point with features φ*, t = R⁻′φ*, c = R⁻¹t = M⁻¹φ*::

    ŷ = φ*′β        W = Qk = Φc        m = λ(1 + ‖t‖²)        m − λ = λ‖t‖²

m and σ̂² contain no difference of nearly equal numbers. a and Q_ii do where the leverage h_i is near 1: where n is
below D, and at isolated points. These points S are fewer than D/0.9, because Σh ≤ D. They are left out, and put back by
a Schur complement: with R₀ and β₀ of the others, T = Φ_S R₀⁻¹ and I + TT′ = CC′ ::

    λ Q_SS = (CC′)⁻¹            a_S = Q_SS (y_S − Φ_S β₀)

For n < D, where S contains every point, this is ridge regression with the kernel matrix, as in `ckrr.ridge.exact`.

Test points are processed in blocks of a fixed size, the last one padded, and training points likewise, so results for a
test point are bitwise independent of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import frexp, log, ulp

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack

from ckrr._validation import Array
from ckrr.ridge.equal_points import Places, find_equal_rows
from ckrr.ridge.exact import FactorisationError, Projection, Target, scale_by_power_of_two
from ckrr.ridge.primal import KEPT, ROWS, FeatureMap, Primal

TEST_BLOCK = 32
"""Test points in one matrix product. Fixed, never tuned to a machine, since the last bits of results depend on it."""

_STRIP = 1 << 27
"""Approximate number of entries of W at once, for test points that share a pass over Φ.

Results are bitwise independent of it.
"""

_MOST = 512
"""Maximum number of test points at once."""

_HIGH = 0.9
"""Leverages above this are high: 1 − h would lose more than a digit."""

_LOST = 16
"""A number that is not above `_LOST` times its error bound has no correct digits."""


class FeatureRidge:
    """Factorised ridge matrix ΦΦ′ + λI of a training sample, which is never formed."""

    def __init__(self, X: Array, theta: float, lam: float, features: FeatureMap) -> None:
        self.X, self.theta, self.lam, self.features = X, theta, lam, features
        self.n = len(X)
        if not features.compute_reach(X, theta) < np.inf:
            raise FactorisationError("the features overflow", *self._get_parameters())
        self._primal = Primal(X, features, theta, lam)
        diagonal = np.abs(self._primal.R.diagonal())
        if not self._has_digits(diagonal):
            raise FactorisationError("factorisation lost its digits", *self._get_parameters())
        self.log_det = 2.0 * float(np.log(diagonal).sum()) + (self.n - features.count) * log(lam)

    def _has_digits(self, diagonal: Array) -> bool:
        """Return whether R, with this diagonal (absolute values), is far enough from singular."""
        return bool(diagonal.min() ** 2 > _LOST * ulp(1.0) * diagonal.max() ** 2)

    @cached_property
    def diag_Q(self) -> Array:
        """Diagonal of Q, shape (n,)."""
        diagonal: Array = (1.0 - self._leverages) / self.lam
        if self._high_leverage is not None:
            diagonal[self._high_leverage.points] = self._high_leverage.diag_Q
        return diagonal

    @cached_property
    def _leverages(self) -> Array:
        return self._primal.compute_leverages()

    @cached_property
    def _high_leverage(self) -> _HighLeverage | None:
        """Training points of high leverage, or None if there are none."""
        high = self._leverages > _HIGH
        if not high.any():
            return None
        try:
            return _HighLeverage(self._primal, high)
        except np.linalg.LinAlgError as error:
            raise FactorisationError(str(error), *self._get_parameters()) from None

    def make_target(self, y: Array) -> Target:
        """Compute a, β and σ̂² of one target y; β takes the place of v."""
        exponent = frexp(float(np.abs(y).max()))[1]
        scaled = scale_by_power_of_two(y, -exponent)
        beta = self._primal.compute_coefficients(scaled)
        a = self._primal.compute_residuals(scaled, beta) / self.lam
        if self._high_leverage is not None:
            a[self._high_leverage.points] = self._high_leverage.compute_dual(scaled)
        sigma2 = (self.lam * float(np.vecdot(a, a)) + float(np.vecdot(beta, beta))) / self.n
        return Target(scaled, beta, a, sigma2, exponent)

    def project(self, X_new: Array, targets: Sequence[Target], weights: bool = True) -> Iterator[Projection]:
        """Yield the projections of test points block by block; with `weights=False` W is left empty."""
        size = min(_MOST, max(1, _STRIP // (self.n * TEST_BLOCK)) * TEST_BLOCK)
        W = np.empty((min(size, _round_up(len(X_new))), self.n)) if weights else np.empty((0, self.n))
        for start in range(0, len(X_new), size):
            block = X_new[start : start + size]
            b = len(block)
            F, T, C = self._solve_features(block)
            spread = np.vecdot(T[:b], T[:b])
            self._check(self._estimate_sizes(C[:b]), start)
            means = [np.vecdot(F[:b], target.v) for target in targets]
            equal = self._compute_weights(C, W, block) if weights else _make_empty_places()
            here, m = slice(start, start + b), self.lam * (1.0 + spread)
            yield Projection(here, means, self.lam * spread, m, W[:b], equal)

    def _solve_features(self, X: Array) -> tuple[Array, Array, Array]:
        """Return φ*, t and c of some test points, one row each, padded with zeros to whole blocks."""
        F = np.zeros((_round_up(len(X)), self.features.count))
        if not self.features.compute_reach(X, self.theta) < np.inf:
            raise FactorisationError("the features of a test point overflow", *self._get_parameters())
        F[: len(X)] = self.features(X, self.theta).T
        T, C = np.empty_like(F), np.empty_like(F)
        for i in range(0, len(F), TEST_BLOCK):
            here = slice(i, i + TEST_BLOCK)
            T[here] = blas.dtrmm(1.0, self._primal.G, F[here].T, lower=0, trans_a=1).T
            C[here] = blas.dtrmm(1.0, self._primal.G, T[here].T, lower=0).T
        return F, T, C

    def _compute_weights(self, C: Array, W: Array, X_new: Array) -> Places:
        """Write W = Φc to `W` in one pass over Φ, and return where test points equal training points."""
        places = [_make_empty_places()]
        for here, F in self._primal.iter_blocks():
            for i in range(0, len(C), TEST_BLOCK):
                np.matmul(C[i : i + TEST_BLOCK], F, out=W[i : i + TEST_BLOCK, here])
            row, col = find_equal_rows(X_new, self.X[here])
            places.append((row, col + here.start))
        row, col = (np.concatenate(each) for each in zip(*places, strict=True))
        order = np.lexsort((col, row))
        return row[order], col[order]

    def _estimate_sizes(self, C: Array) -> Array:
        """Estimate the largest terms of W = Φc, given the rows c: features have norms of about 1."""
        sizes: Array = np.sqrt(np.vecdot(C, C))
        return sizes

    def _check(self, sizes: Array, start: int) -> None:
        """Raise FactorisationError if W = Φc, whose error is ε times the largest terms, has no correct digits."""
        worst = int(np.argmax(sizes))
        if not _LOST * ulp(1.0) * sizes[worst] < 1:
            raise FactorisationError(
                f"the weights at test point {start + worst} lost their digits", *self._get_parameters()
            )

    def _get_parameters(self) -> tuple[float, float, int]:
        return self.theta, self.lam, self.n


class _HighLeverage:
    """Training points of high leverage, put back after the others: I + TT′ = CC′, T = Φ_S R₀⁻¹."""

    def __init__(self, whole: Primal, high: npt.NDArray[np.bool_]) -> None:
        self.points, self._others = np.flatnonzero(high), np.flatnonzero(~high)
        self._rest = Primal(whole.X[self._others], whole.features, whole.theta, whole.lam)
        self._F = whole.features(whole.X[self.points], whole.theta)
        T = blas.dtrmm(1.0, self._rest.G, self._F.T, side=1, lower=0)
        A = blas.dsyrk(1.0, T, lower=1)
        A.reshape(-1, order="F")[:: len(A) + 1] += 1.0
        doubt = _LOST * len(A) * ulp(1.0) * float(A.diagonal().max())
        L, failed = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=1)
        pivot = int(np.argmin(L.diagonal()))
        if failed or not L[pivot, pivot] ** 2 > doubt:
            row = self.points[failed - 1 if failed else pivot]
            raise np.linalg.LinAlgError(f"factorisation lost its digits at row {row} of X")
        self._G: Array = lapack.dtrtri(L, lower=1, overwrite_c=1)[0]

    @property
    def diag_Q(self) -> Array:
        """Diagonal of Q at these points."""
        diagonal: Array = np.vecdot(self._G.T, self._G.T) / self._rest.lam
        return diagonal

    def compute_dual(self, y: Array) -> Array:
        """Return a = Q_SS(y_S − Φ_S β₀) at these points, given y at all points."""
        beta = self._rest.compute_coefficients(y[self._others])
        v = blas.dtrmv(self._G, y[self.points] - beta @ self._F, lower=1)
        found: Array = blas.dtrmv(self._G, v, lower=1, trans=1) / self._rest.lam
        return found


def estimate_feature_memory(n: int, points: int, D: int) -> float:
    """Estimate the peak memory of regions, in bytes: W of a strip, a few matrices of the size of M, vectors."""
    strip = min(_round_up(points), max(1, _STRIP // (n * TEST_BLOCK)) * TEST_BLOCK, _MOST)
    kept = D * n if D * n <= KEPT else 4 * D * ROWS
    return 8.0 * (n * strip + kept + 6 * D * D + 60 * n)


def _round_up(b: int) -> int:
    return -(-b // TEST_BLOCK) * TEST_BLOCK


def _make_empty_places() -> Places:
    return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
