"""Kernel ridge regression from one factorisation of R = K + λI.

With R = LL′, Q = R⁻¹ and G = L⁻¹ explicit and triangular::

    v = G y        a = G′v = Qy        diag Q = column sums of G²        log|R| = 2 Σ log L_ii

and for a block of test points x*, whose kernel columns are k = K(X, x*)::

    V = G k        W = G′V = Qk        ŷ = v′V        m = λ + 1 − Σ V²

with K(x*, x*) in place of 1 for kernels where it is another number.

An explicit Q would be as fast but inaccurate for small λ (m has a relative error of 5e-3 at λ = 1e-6); triangular
solves would be as accurate but two to three times slower.

With one BLAS thread results are bitwise independent of how the work is split: test points go through BLAS in blocks of
a fixed size, the last one padded, because the last bits of a product depend on the number of columns; products with y
are computed one target at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import frexp, isnan, ulp

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.kernels import Kernel, SupportsDiagonal, gaussian
from ckrr.linalg.triangular import TriangularAlgebra, select_algebra
from ckrr.ridge.equal_points import Places, find_equal_rows

TEST_BLOCK = 504
"""Test points in one matrix product. Fixed, never tuned to a machine, since the last bits of results depend on it.

A multiple of 24, as the padding is (`ckrr.linalg.triangular`), so that no column is left over at an edge.
"""

_PANEL = 128
"""Columns of the kernel matrix computed at once. Results are bitwise independent of it."""

_LOST = 16
"""Pivots and variances are at least λ, with errors of about n ε K(x, x). One below `_LOST` times that has no digits."""


class FactorisationError(np.linalg.LinAlgError):
    """K + λI cannot be factorised to working precision."""

    def __init__(self, what: str, theta: float, lam: float, n: int) -> None:
        has_theta = not isnan(theta)
        given, more = (f"theta={theta:g}, ", ", a larger theta,") if has_theta else ("", "")
        super().__init__(
            f"{what} for {given}lam={lam:g}, n={n}: K + lam*I is singular to working precision; "
            f"try a larger lam{more} or fewer nearly equal rows in X"
        )


@dataclass(frozen=True)
class Target:
    """One target y and its products with the factor: v = Gy, a = Qy, σ̂² = v′v/n, in units of 2^exponent.

    The unit is the power of two just above max|y|. Scaling by it is exact, so it changes no bit of ordinary results,
    and intervals for y of 1e-300 or 1e300 are computed as for y of 1.
    """

    y: Array
    v: Array
    a: Array
    sigma2: float
    exponent: int
    mean: float = 0.0
    """Estimated mean, which predictions include beside v, in the target's units (`ckrr.ridge.constant_mean`)."""

    def with_noise(self, noise_sd: float, lam: float) -> Target:
        """Return the target with σ² = noise_sd²/λ in place of its estimate, for noise of known standard deviation."""
        with np.errstate(over="ignore", under="ignore"):
            sd = float(np.ldexp(noise_sd, -self.exponent))
        return replace(self, sigma2=sd * sd / lam)

    def scale(self, y: Array) -> Array:
        """Convert values of y to the target's units."""
        return scale_by_power_of_two(y, -self.exponent)

    def unscale(self, y: Array) -> Array:
        """Convert values in the target's units to values of y."""
        return scale_by_power_of_two(y, self.exponent)


@dataclass(frozen=True)
class Projection:
    """Predictions, variances and weights of a block of b test points."""

    points: slice
    """Positions of these test points among all."""
    means: list[Array]
    """ŷ, shape (b,), one for each target, in that target's units."""
    variance: Array
    """K(x*, x*) − Σ V², shape (b,): posterior variance of f(x*) in units of σ²; rounding may leave it just below 0."""
    m: Array
    """λ + K(x*, x*) − Σ V², shape (b,), above 0."""
    W: Array
    """Qk, shape (b, n), a row for each test point. Overwritten by the next block."""
    equal: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
    """Rows and columns of W at which the test point equals a training point (`ckrr.ridge.equal_points`)."""


class Ridge:
    """Factorised ridge matrix R = K + λI = LL′ of a training sample, stored as G = L⁻¹ in the buffer of K."""

    def __init__(
        self, X: Array, theta: float, lam: float, kernel: Kernel = gaussian, *, way: TriangularAlgebra | None = None
    ) -> None:
        self.X, self.theta, self.lam, self.kernel = X, theta, lam, kernel
        self.n = len(X)
        self._doubt = _LOST * self.n * ulp(1.0)
        self._triangles = way or select_algebra(self.n)
        L = make_ridge_matrix(X, theta, lam, kernel)
        largest = 1.0 if not isinstance(kernel, SupportsDiagonal) else float(L.diagonal().max()) - lam
        failed = self._triangles.factorise(L)
        if failed:
            raise FactorisationError(f"factorisation failed at row {failed - 1} of X", *self._get_parameters())
        pivot = int(np.argmin(L.diagonal()))
        if not L[pivot, pivot] ** 2 > self._doubt * largest:
            raise FactorisationError(f"factorisation lost its digits at row {pivot} of X", *self._get_parameters())
        self.log_det = 2.0 * float(np.log(L.diagonal()).sum())
        self._triangles.invert(L)
        self.G: Array = L

    @cached_property
    def diag_Q(self) -> Array:
        """diag(R⁻¹), shape (n,): the column sums of G²."""
        return self._triangles.sum_column_squares(self.G)

    def make_target(self, y: Array) -> Target:
        """Compute the products of the factor with one target y."""
        exponent = frexp(float(np.abs(y).max()))[1]
        scaled = scale_by_power_of_two(y, -exponent)
        v = self._triangles.multiply_vector(self.G, scaled)
        a = self._triangles.multiply_transposed_vector(self.G, v)
        return Target(scaled, v, a, float(np.vecdot(v, v)) / self.n, exponent)

    def project(self, X_new: Array, targets: Sequence[Target], weights: bool = True) -> Iterator[Projection]:
        """Yield the projections of test points block by block; with `weights=False` W is left empty."""
        padding = self._triangles.padding
        buffer = np.zeros((_round_up(min(TEST_BLOCK, len(X_new)), padding), self.n))
        for start in range(0, len(X_new), TEST_BLOCK):
            block = X_new[start : start + TEST_BLOCK]
            b = len(block)
            k = buffer[: _round_up(b, padding)]
            self.kernel(block, self.X, self.theta, out=k[:b])
            own, equal = self._compute_own(block, k[:b] if weights else k[:0])
            self._triangles.multiply(self.G, k.T)
            V = k[:b]
            variance = own - np.vecdot(V, V)
            m = self.lam + variance
            if not (m > self._doubt * own).all():
                i = int(np.argmin(m - self._doubt * own))
                raise FactorisationError(
                    f"the variance at test point {start + i} came out as {m[i]:g}", *self._get_parameters()
                )
            means = [np.vecdot(V, target.v) for target in targets]
            if weights:
                self._triangles.multiply_transposed(self.G, k.T)
            W = k[:b] if weights else k[:0]
            yield Projection(slice(start, start + b), means, variance, m, W, equal)

    def _compute_own(self, block: Array, k: Array) -> tuple[float | Array, Places]:
        """Return K(x*, x*) of test points, and where they equal training points: none if k has no rows."""
        if not isinstance(self.kernel, SupportsDiagonal):
            return 1.0, _find_ones(k)
        return self.kernel.compute_diagonal(block, self.theta), find_equal_rows(block[: len(k)], self.X)

    def _get_parameters(self) -> tuple[float, float, int]:
        return self.theta, self.lam, self.n


def _find_ones(k: Array) -> Places:
    row, col = np.nonzero(k == 1.0) if k.size and k.max() == 1.0 else np.empty((2, 0), dtype=np.intp)
    return row, col


def _round_up(b: int, padding: int) -> int:
    return -(-b // padding) * padding


def make_ridge_matrix(X: Array, theta: float, lam: float, kernel: Kernel = gaussian) -> Array:
    """Return the lower triangle of K + λI in a Fortran-ordered n×n buffer, with zeros above it."""
    n = len(X)
    R = np.zeros((n, n), order="F")
    for start in range(0, n, _PANEL):
        end = min(start + _PANEL, n)
        block = kernel(X[start:end], X[start:], theta)
        block[:, : end - start] *= _make_upper_mask(end - start)
        R.T[start:end, start:] = block
    R.reshape(-1, order="F")[:: n + 1] += lam  # the diagonal
    return R


@lru_cache(maxsize=_PANEL)
def _make_upper_mask(size: int) -> npt.NDArray[np.bool_]:
    return np.tri(size, dtype=bool).T


def scale_by_power_of_two(y: Array, exponent: int | npt.NDArray[np.int64], out: Array | None = None) -> Array:
    """Return y·2^exponent, by a product where that is equally exact, which is several times faster."""
    largest = abs(exponent) if isinstance(exponent, int) else np.abs(exponent).max()
    with np.errstate(over="ignore", under="ignore"):
        if largest < 1000:
            return np.multiply(y, np.ldexp(1.0, exponent), out=out)
        return np.ldexp(y, exponent, out=out)
