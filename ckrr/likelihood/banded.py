"""Profile likelihood for large θ, where distant points are uncorrelated and K + λI is banded.

Sort the points by the coordinate of the largest range. Entries K(x_i, x_j) below δ are dropped; the ones left are
within w = √(log(1/δ)/θ) of each other in that coordinate, so within a band, and its Cholesky factor is in the same
band: n b² operations for a half-width of b, against n³/3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import lapack

from ckrr._validation import Array
from ckrr.linalg.banded_cholesky import ROOM, compute_band_parts
from ckrr.linalg.squares import compute_squares
from ckrr.linalg.triangular import WHOLE

_BLOCK = 16384
"""Entries of the band computed at once, few enough to stay in the cache. Results are bitwise independent of it."""


Parts = tuple[list[float], float]
"""y′Qy of each target, and log|K + λI|."""


@dataclass(frozen=True)
class SortedSample:
    """A sample sorted by one coordinate."""

    X: Array
    ys: Sequence[Array]
    """Targets."""
    x: Array
    """That coordinate, ascending."""
    has_mean: bool = False
    """Whether the last target is a vector of ones, for a mean of the others (`ckrr.linalg.squares`)."""

    @classmethod
    def from_sample(cls, X: Array, ys: Sequence[Array], has_mean: bool = False) -> SortedSample:
        """Sort a sample by its coordinate of the largest range.

        Examples
        --------
        >>> SortedSample.from_sample(np.array([[0.0, 5.0], [1.0, 3.0]]), [np.array([7.0, 8.0])]).ys
        [array([8., 7.])]
        """
        x = X[:, int(np.argmax(np.ptp(X, axis=0)))]
        order = np.argsort(x, kind="stable")
        return cls(X[order], [y[order] for y in ys], x[order], has_mean)

    def compute_half_width(self, theta: float, delta: float) -> int:
        """Return the half-width b: how far from the diagonal, in columns, K may have an entry of at least δ."""
        last = np.searchsorted(self.x, self.x + sqrt(-log(delta) / theta), side="right")
        return int((last - np.arange(1, len(self.x) + 1)).max())


def compute_banded_parts(points: SortedSample, theta: float, lam: float, delta: float, b: int) -> Parts | None:
    """Compute y′Qy of each target and log|K + λI|, with entries of K below δ dropped.

    None if the rest is not positive definite.
    """
    return factorise_band(points, make_band(points, theta, delta, b), lam, b)


def make_band(points: SortedSample, theta: float, delta: float, b: int) -> Array:
    """Return the band of K, with entries below δ dropped, for `factorise_band`."""
    return _make_band(points.X, theta, delta, b, room=2 * ROOM if len(points.X) > WHOLE else 0)


def factorise_band(points: SortedSample, band: Array, lam: float, b: int) -> Parts | None:
    """Compute y′Qy of each target and log|K + λI| given the band of K, which is overwritten.

    None if K + λI is not positive definite.
    """
    band[:, 0] += lam
    if len(points.X) > WHOLE:
        return compute_band_parts(band, points.ys, b, has_mean=points.has_mean)
    L, failed = lapack.dpbtrf(band.T, lower=1, overwrite_ab=1)
    if failed:
        return None
    vs = [lapack.dtbtrs(L, y[:, None], uplo="L")[0][:, 0] for y in points.ys]
    return compute_squares(vs, points.has_mean), 2.0 * float(np.log(L[0]).sum())


def _make_band(X: Array, theta: float, delta: float, b: int, room: int = 0) -> Array:
    """Return the band of K, with `room` extra columns.

    Row j holds K(x_j, x_j), K(x_{j+1}, x_j) … K(x_{j+b}, x_j), with 0 below δ and past the last point.
    """
    n = len(X)
    # after[c, j, k] is coordinate c of x_{j+k}: a view, no copy
    after = sliding_window_view(np.pad(X.T, ((0, 0), (0, b)), constant_values=np.inf), b + 1, axis=1)
    band = np.zeros((n, b + 1 + room))
    rows = max(_BLOCK // (b + 1), 1)
    for start in range(0, n, rows):
        block = slice(start, start + rows)
        _fill_kernel_rows(after[:, block], X.T[:, block], theta, delta, band[block, : b + 1])
    return band


def _fill_kernel_rows(after: Array, x: Array, theta: float, delta: float, out: Array) -> None:
    out.fill(0.0)
    for z, coordinate in zip(after, x, strict=True):
        gap = z - coordinate[:, None]
        gap *= gap
        out += gap
    with np.errstate(over="ignore"):  # an infinite distance is a kernel value of 0
        out *= -theta
    near = out >= log(delta)
    np.maximum(out, log(delta), out=out)  # exp is slow where it underflows
    np.exp(out, out=out)
    out *= near
