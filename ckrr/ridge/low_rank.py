"""Kernel ridge regression where the kernel matrix has low rank, with the interface and accuracy of `ckrr.ridge.exact`.

With K = FF′ to rounding (`ckrr.ridge.pivots`), M = F′F + λI = LL′, β = M⁻¹F′y, h_i = ‖L⁻¹φ(x_i)‖², Q = (K + λI)⁻¹::

    a = Qy = (y − Fβ)/λ                     Q_ii = (1 − h_i)/λ
    σ̂² = (λ‖a‖² + ‖β‖²)/n                   log|K + λI| = log|M| + (n − r) log λ

and for a test point with features φ, δ = 1 − ‖φ‖², t = L⁻¹φ, c = L⁻ᵀt = M⁻¹φ, as long as k = Fφ::

    ŷ = φ′β        W = Qk = Fc        m = λ + δ + λ‖t‖²

Where |δ| is above rounding, as it is outside the hull of the training points, e = k − Fφ isn't 0, and Q multiplies it
by up to 1/λ. With u = L⁻¹F′e these are exact for any φ::

    ŷ = φ′β + e′a        W = F(c − L⁻ᵀu/λ) + e/λ        m = λ + δ + λ‖t‖² − 2t′u − (‖e‖² − ‖u‖²)/λ

That is n r² operations for the factor and n r for a test point, where the exact way has n³ and n². What is multiplied
by 1/λ is computed from products that are exact (`ckrr.ridge.pivots`): e, and the residual y − Fβ, by which β, a sum of
two doubles, is corrected. With one BLAS thread results for a test point are bitwise independent of the others: matrix
products always have the same shape, with rows of zeros where there are fewer points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import frexp, log

import numpy as np

from ckrr._validation import Array
from ckrr.kernels import gaussian
from ckrr.linalg.triangular import select_algebra
from ckrr.ridge.equal_points import EqualPoints
from ckrr.ridge.exact import FactorisationError, Projection, Target, scale_by_power_of_two
from ckrr.ridge.pivots import CANDIDATES, ROWS, Indices, PivotFeatures, Split

TEST_BLOCK = 168
"""Test points in one matrix product. Fixed, never tuned to a machine, since the last bits of results depend on it."""

OUTSIDE_BLOCK = 24
"""The same for test points with k ≠ Fφ, of which there are few."""

_MOST = 3
"""Blocks of test points at once. Results are bitwise independent of it, as they are of `_STRIP`."""

_STRIP = 1 << 25
"""Maximum number of entries of W at once, if that is more than one block."""

_OUTSIDE = 6e-16
"""A test point with |δ| above this has k ≠ Fφ; so has any that is outside the box of the training points."""

_REFINEMENTS = 2
"""Corrections of β by its own residual."""


class LowRankRidge:
    """Factorised ridge matrix FF′ + λI of a training sample, which is never formed."""

    def __init__(self, X: Array, theta: float, lam: float, features: PivotFeatures, F: Array) -> None:
        self.X, self.theta, self.lam = X, theta, lam
        self.n = len(X)
        self.low, self.high = X.min(axis=0), X.max(axis=0)
        self.features, self.F = features, F
        self._triangles = select_algebra(features.count)
        M = np.zeros((features.count, features.count), order="F")
        for here in self.cut_rows():
            M += (F[here].T @ F[here]).T
        M.reshape(-1, order="F")[:: len(M) + 1] += lam
        M = np.asfortranarray(np.tril(M))
        if self._triangles.factorise(M):
            raise FactorisationError("factorisation failed", theta, lam, self.n)
        self.log_det = 2.0 * float(np.log(M.diagonal()).sum()) + (self.n - len(M)) * log(lam)
        self._triangles.invert(M)
        self._G: Array = M

    @cached_property
    def diag_Q(self) -> Array:
        """diag(R⁻¹), shape (n,)."""
        leverages = np.empty(self.n)
        for here in self.cut_rows():
            U = self.F[here].copy()
            self._triangles.multiply(self._G, U.T)
            leverages[here] = np.vecdot(U, U)
        diagonal: Array = (1.0 - leverages) / self.lam
        return diagonal

    def make_target(self, y: Array) -> Target:
        """Compute a, β and σ̂² of one target y; β takes the place of v."""
        exponent = frexp(float(np.abs(y).max()))[1]
        scaled = scale_by_power_of_two(y, -exponent)
        beta, rest = self._solve(scaled @ self.F), np.zeros(self.features.count)
        left = self._subtract_fit(scaled, beta, rest)
        for _ in range(_REFINEMENTS):
            step = rest + self._solve(left @ self.F - self.lam * (beta + rest))
            beta, rest = beta + step, step - ((beta + step) - beta)
            left = self._subtract_fit(scaled, beta, rest)
        a = left / self.lam
        sigma2 = (self.lam * float(np.vecdot(a, a)) + float(np.vecdot(beta, beta))) / self.n
        return Target(scaled, beta, a, sigma2, exponent)

    def _subtract_fit(self, y: Array, beta: Array, rest: Array) -> Array:
        """Return y − F(β + rest), rounded once, by products that are exact and small ones."""
        unit = 2.0 ** frexp(float(np.linalg.norm(beta)))[1]
        part, left = Split.round(beta / unit), np.empty(self.n)
        coarse, fine = part.coarse * unit, part.fine * unit + rest
        for here in self.cut_rows():
            F = self.F[here]
            split = Split.round(F)
            left[here] = (y[here] - split.coarse @ coarse) - (split.fine @ coarse + F @ fine)
        return left

    def _solve(self, g: Array) -> Array:
        """Return M⁻¹g."""
        return self._triangles.multiply_transposed_vector(self._G, self._triangles.multiply_vector(self._G, g))

    def multiply(self, B: Array, size: int) -> Array:
        """Overwrite the rows b of B by L⁻¹b, in blocks of `size`, and return it."""
        for start in range(0, len(B), size):
            self._triangles.multiply(self._G, B[start : start + size].T)
        return B

    def multiply_transposed(self, B: Array, size: int) -> Array:
        """Overwrite the rows b of B by L⁻ᵀb, in blocks of `size`, and return it."""
        for start in range(0, len(B), size):
            self._triangles.multiply_transposed(self._G, B[start : start + size].T)
        return B

    def project(self, X_new: Array, targets: Sequence[Target], weights: bool = True) -> Iterator[Projection]:
        """Yield the projections of test points block by block; with `weights=False` W is left empty."""
        size = _count_strip(self.n)
        W = np.empty((min(size, round_up(len(X_new))), self.n)) if weights else np.empty((0, self.n))
        for start in range(0, len(X_new), size):
            block = X_new[start : start + size]
            points = _Projector(self, block, targets, weights)
            here, m = slice(start, start + len(block)), self.lam + points.variance
            if not m.min() > self.lam / 2:
                what = f"the variance at test point {start + int(np.argmin(m))} came out as {m.min():g}"
                raise FactorisationError(what, self.theta, self.lam, self.n)
            if weights:
                points.write_weights(W)
            equal = self._equal.find(block) if weights else self._equal.find(block[:0])
            yield Projection(here, points.means, points.variance, m, W[: len(block)], equal)

    @cached_property
    def _equal(self) -> EqualPoints:
        return EqualPoints(self.X, self.theta)

    def cut_rows(self) -> Iterator[slice]:
        """Cut training points into blocks."""
        return (slice(start, min(start + ROWS, self.n)) for start in range(0, self.n, ROWS))


class _Projector:
    """Predictions, variances and weights of a few blocks of test points."""

    def __init__(self, ridge: LowRankRidge, X: Array, targets: Sequence[Target], weights: bool) -> None:
        self._ridge, self._keep = ridge, weights
        self._phi = np.empty((round_up(len(X)), ridge.features.count))
        for start in range(0, len(X), TEST_BLOCK):
            self._phi[start : start + TEST_BLOCK] = ridge.features(_pad(X[start : start + TEST_BLOCK], TEST_BLOCK))
        self._t = ridge.multiply(self._phi.copy(), TEST_BLOCK)
        self._c = ridge.multiply_transposed(self._t.copy(), TEST_BLOCK)
        phi, t = self._phi[: len(X)], self._t[: len(X)]
        distances = 1.0 - np.vecdot(phi, phi)
        self.variance = distances + ridge.lam * np.vecdot(t, t)
        self.means = [np.vecdot(phi, target.v) for target in targets]
        self._outside = self._find_outside(X, distances)
        self._rest = self._compute_rest(X)
        for start in range(0, len(self._outside), OUTSIDE_BLOCK):
            self._correct(slice(start, min(start + OUTSIDE_BLOCK, len(self._outside))), targets)

    def _find_outside(self, X: Array, distances: Array) -> Indices:
        beyond = (self._ridge.low > X).any(axis=1) | (self._ridge.high < X).any(axis=1)
        return np.flatnonzero(beyond | (np.abs(distances) > _OUTSIDE))

    def _compute_rest(self, X: Array) -> Array:
        """Return e = k − Fφ of the test points outside: products that are exact, and small ones."""
        ridge, rows = self._ridge, self._outside
        e = np.empty((len(rows), ridge.n))
        gaussian(X[rows], ridge.X, ridge.theta, out=e)
        parts = []
        for start in range(0, len(rows), OUTSIDE_BLOCK):
            some = slice(start, min(start + OUTSIDE_BLOCK, len(rows)))
            parts.append((some, Split.round(_pad(self._phi[rows[some]], OUTSIDE_BLOCK))))
        for here in ridge.cut_rows() if parts else ():
            F = ridge.F[here]
            split = Split.round(F)
            for points, part in parts:
                b = points.stop - points.start
                e[points, here] -= (part.coarse @ split.coarse.T)[:b]
                e[points, here] -= (part.coarse @ split.fine.T + part.fine @ F.T)[:b]
        return e

    def _correct(self, points: slice, targets: Sequence[Target]) -> None:
        """Take e of some test points outside into account, and divide it by λ."""
        ridge, rows, e = self._ridge, self._outside[points], self._rest[points]
        b = len(rows)
        u = ridge.multiply(_pad(e, OUTSIDE_BLOCK) @ ridge.F, OUTSIDE_BLOCK)
        across, squares = np.vecdot(self._t[rows], u[:b]), np.vecdot(e, e) - np.vecdot(u[:b], u[:b])
        self.variance[rows] -= 2.0 * across + squares / ridge.lam
        for mean, target in zip(self.means, targets, strict=True):
            mean[rows] += np.vecdot(e, target.a)
        if self._keep:
            self._c[rows] -= ridge.multiply_transposed(u, OUTSIDE_BLOCK)[:b] / ridge.lam
            e /= ridge.lam

    def write_weights(self, W: Array) -> None:
        """Write W, one row for each test point, and rows without a meaning up to a whole block."""
        for start in range(0, len(self._c), TEST_BLOCK):
            here = slice(start, start + TEST_BLOCK)
            np.matmul(self._c[here], self._ridge.F.T, out=W[here])
        W[self._outside] += self._rest


def estimate_low_rank_memory(n: int, points: int, rank: int) -> float:
    """Estimate the peak memory of regions, in bytes: F, candidates for pivots, W and e of a strip, r×r matrices.

    The features of candidates are held up to three times while room is made for more pivots.
    """
    strip = min(round_up(points), _count_strip(n))
    return 8.0 * (n * rank + rank * (3 * min(n, CANDIDATES) + 8 * ROWS) + 2 * n * strip + 8 * rank * rank + 60 * n)


def estimate_low_rank_flops(n: int, points: int, rank: int) -> float:
    """Estimate the operations of the factor and the projections of test points, relative to those of BLAS.

    Products with F take 11nr², and choosing pivots as much for each of their candidates, since it isn't done by blocks;
    a kernel value with more digits counts as 2500 operations.
    """
    factor = 11.0 * (n + min(n, CANDIDATES)) * rank**2 + 2500.0 * rank * n
    return factor + points * rank * (500.0 + 2.0 * n + 8.0 * rank)


def _count_strip(n: int) -> int:
    """Return the number of test points at once."""
    return min(_MOST, max(1, _STRIP // (n * TEST_BLOCK))) * TEST_BLOCK


def round_up(points: int) -> int:
    """Return a number of test points rounded up to whole blocks."""
    return -(-points // TEST_BLOCK) * TEST_BLOCK


def _pad(rows: Array, size: int) -> Array:
    """Return rows followed by copies of the first one, so that there are `size`."""
    return rows if len(rows) == size else np.concatenate([rows, np.repeat(rows[:1], size - len(rows), axis=0)])
