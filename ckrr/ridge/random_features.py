"""Random Fourier features: functions of x whose products are, on average, the kernel.

With D frequencies ω_j drawn from the kernel's spectral law, and phases b_j uniform on [0, 2π)::

    φ_j(x) = √(2/D)·cos(ω_j′x + b_j)            E φ(x)′φ(x′) = K(x, x′)

In units of 1/ℓ = √(2θ) the frequencies ζ_j = ω_j/√(2θ) don't depend on θ, and their laws are

==========  ==========================================================================
gaussian    normal, N(0, I)
laplacian   Cauchy in each coordinate: quotients of two normals
matern32    Student's t with 3 degrees of freedom: normal over the root of a mean of 3 squares of normals
matern52    likewise with 5
==========  ==========================================================================

They are drawn without a look at the data, so ridge regression on them treats all points alike, and conformal regions
are exactly valid however few they are. All are made from one table of normal numbers, a row for each feature: the first
features of many are those of few, and another θ only stretches them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from scipy.special import ndtr

from ckrr._validation import Array

Spectrum = Callable[[Array, Array], Array]
"""Normal numbers, shape (D, d), and more of them beside → frequencies, shape (D, d)."""

_BESIDE = 5
"""Normal numbers beside those for the frequencies: so many, or as many as there are coordinates."""


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
"""The spectral laws of kernels, by name."""


@dataclass(frozen=True, eq=False)
class Features:
    """D features of points in d dimensions.

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
        """So many features of a kernel."""
        normal = rng.standard_normal((count, 1 + dimension + max(dimension, _BESIDE)))
        z, beside = normal[:, 1 : 1 + dimension], normal[:, 1 + dimension :]
        return cls(SPECTRA[kernel](z, beside), 2 * pi * ndtr(normal[:, 0]))

    @property
    def count(self) -> int:
        """D."""
        return len(self.phases)

    def __call__(self, X: Array, theta: float) -> Array:
        """φ_j(x_i) at [j, i], shape (D, len(X)); sums over coordinates, so that a point has its bits in any company."""
        found = np.repeat(self.phases[:, None], len(X), axis=1)
        omega = sqrt(2 * theta) * self.frequencies
        for frequency, x in zip(omega.T, X.T, strict=True):
            found += np.multiply.outer(frequency, x)
        np.cos(found, out=found)
        found *= sqrt(2 / self.count)
        return found

    def compute_reach(self, X: Array, theta: float) -> float:
        """A bound of |ω′x|; inf where it is no number."""
        with np.errstate(over="ignore"):
            return float(sqrt(2 * theta) * (np.abs(self.frequencies).max(axis=0) * np.abs(X).max(axis=0)).sum())
