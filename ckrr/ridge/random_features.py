"""Random Fourier features: functions of x whose inner products have the kernel as their mean.

With D frequencies ω_j drawn from the kernel's spectral distribution, and phases b_j uniform on [0, 2π)::

    φ_j(x) = √(2/D)·cos(ω_j′x + b_j)            E φ(x)′φ(x′) = K(x, x′)

In units of 1/ℓ = √(2θ) the frequencies ζ_j = ω_j/√(2θ) don't depend on θ, and their distributions are

==========  ==========================================================================
gaussian    normal, N(0, I)
laplacian   Cauchy in each coordinate: quotients of two normals
matern32    Student's t with 3 degrees of freedom: normal over the root of a mean of 3 squared normals
matern52    likewise with 5
==========  ==========================================================================

They are drawn independently of the data, so ridge regression on them treats all points alike, and conformal regions
are exactly valid however few features there are. All are computed from one table of normal numbers, one row per
feature: more features extend the table without changing its first rows, and θ only scales the frequencies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from scipy.special import ndtr

from ckrr._validation import Array

Spectrum = Callable[[Array, Array], Array]
"""(normal numbers of shape (D, d), auxiliary normal numbers) → frequencies of shape (D, d)."""

_BESIDE = 5
"""Auxiliary normal numbers of each feature: this many, or one per coordinate if those are more."""


def _make_student_spectrum(degrees: int) -> Spectrum:
    def frequencies(z: Array, beside: Array) -> Array:
        found: Array = z / np.sqrt(np.mean(beside[:, :degrees] ** 2, axis=1, keepdims=True))
        return found

    return frequencies


SPECTRA: dict[str, Spectrum] = {
    "gaussian": lambda z, beside: z,
    "laplacian": lambda z, beside: z / beside[:, : z.shape[1]],
    "matern32": _make_student_spectrum(3),
    "matern52": _make_student_spectrum(5),
}
"""Spectral distributions of kernels, by name."""


@dataclass(frozen=True, eq=False)
class Features:
    """D random Fourier features of points in d dimensions.

    Examples
    --------
    >>> features = Features.draw("gaussian", 20000, dimension=1, rng=np.random.default_rng(0))
    >>> F = features(np.array([[0.0], [1.0]]), theta=0.5)
    >>> F.shape, (F.T @ F).round(1)  # exp(−½) = 0.6
    ((20000, 2), array([[1. , 0.6], [0.6, 1. ]]))
    """

    frequencies: Array
    """ζ, shape (D, d): in units of √(2θ)."""
    phases: Array
    """b, shape (D,)."""

    @classmethod
    def draw(cls, kernel: str, count: int, dimension: int, rng: np.random.Generator) -> Features:
        """Draw `count` features of a kernel."""
        normal = rng.standard_normal((count, 1 + dimension + max(dimension, _BESIDE)))
        z, beside = normal[:, 1 : 1 + dimension], normal[:, 1 + dimension :]
        return cls(SPECTRA[kernel](z, beside), 2 * pi * ndtr(normal[:, 0]))

    @property
    def count(self) -> int:
        """Number of features D."""
        return len(self.phases)

    def __call__(self, X: Array, theta: float) -> Array:
        """Return φ_j(x_i) at [j, i], shape (D, len(X)).

        Sums run over coordinates, so features of a point are bitwise independent of the other points.
        """
        found = np.repeat(self.phases[:, None], len(X), axis=1)
        omega = sqrt(2 * theta) * self.frequencies
        for frequency, x in zip(omega.T, X.T, strict=True):
            found += np.multiply.outer(frequency, x)
        np.cos(found, out=found)
        found *= sqrt(2 / self.count)
        return found

    def compute_reach(self, X: Array, theta: float) -> float:
        """Return an upper bound of |ω′x|, which is not finite where the features overflow."""
        with np.errstate(over="ignore"):
            return float(sqrt(2 * theta) * (np.abs(self.frequencies).max(axis=0) * np.abs(X).max(axis=0)).sum())
