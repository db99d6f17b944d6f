"""Draw paths of a Gaussian process with kernel exp(−θ‖x − x′‖²), as functions that can be evaluated anywhere in a box.

On an axis of length r, make the kernel periodic with a period P a little longer than r. By Poisson summation, for
|s| ≤ r,

    exp(−θs²) ≈ Σ_j exp(−θ(s + jP)²) = Σ_k w_k·cos(2πks/P),    w_k = (2 − [k = 0])·√π/q·exp(−(πk/q)²),    q = P√θ,

and cos(2πk(x − x′)/P) is cos·cos + sin·sin. So the 2M + 1 functions √w_k·cos(2πkx/P), √w_k·sin(2πkx/P) with independent
standard normal coefficients sum to a path. With ε the tolerance and L = √log(1/ε), the choice P = r + L/√θ makes the
contribution of the neighbouring periods smaller than ε, and M ≥ Lq/π makes the truncation error of the sum smaller than
erfc(πM/q) < ε. That is M ≈ L(r√θ + L)/π: 45 for θ = 100 on [−1, 1]. The weights are then normalised to sum to 1, the
variance at every x.

The kernel is a product over coordinates, so in d dimensions the coefficients are a tensor with d axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log, log10, pi, sqrt

import numpy as np

from scenarios.sources import _validation
from scenarios.sources.types import Array

TOLERANCE = 1e-13
"""ε: bound, per axis, on each of the two errors of the covariance (periodisation and truncation)."""

BLOCK = 128
"""Points per evaluated block. The last bits of results depend on it, so it is part of the definition of a path."""

MOST_TERMS = {1: 10_000, 2: 2_000, 3: 160}
"""Largest allowed number of functions per axis, by dimension: about 4 million coefficients, 32 MB per path."""

_REACH = sqrt(-log(TOLERANCE))  # L


@dataclass(frozen=True)
class FourierAxis:
    """Fourier functions of one axis and their weights.

    The functions are cos(2πk(x − c)/P), k = 0, …, M, and sin(2πk(x − c)/P), k = 1, …, M, with c the middle of the
    domain.

    Examples
    --------
    >>> axis = FourierAxis(theta=100.0, domain=(-1.0, 1.0))
    >>> axis.terms
    91
    >>> features = axis.compute_features(np.array([0.0, 0.1])) * axis.compute_scales()
    >>> (features @ features.T).round(12)
    array([[1.        , 0.36787944],
           [0.36787944, 1.        ]])
    """

    theta: float
    domain: tuple[float, float]

    @property
    def order(self) -> int:
        """M, the highest frequency in the sum."""
        return ceil(_REACH * self._compute_period() / pi)

    @property
    def terms(self) -> int:
        """2M + 1, the number of functions."""
        return 2 * self.order + 1

    def compute_scales(self) -> Array:
        """Return √w for each function, shape (terms,)."""
        k = np.arange(self.order + 1)
        weights = np.exp(-((pi * k / self._compute_period()) ** 2))
        weights[1:] *= 2
        root = np.sqrt(weights / weights.sum())
        return np.concatenate([root, root[1:]])

    def compute_features(self, x: Array) -> Array:
        """Evaluate the functions at the coordinates x, shape (len(x), terms)."""
        low, high = self.domain
        step = 2 * pi * sqrt(self.theta) / self._compute_period()  # 2π/P
        angles = np.multiply.outer(x - (low + (high - low) / 2), step * np.arange(1, self.order + 1))
        features = np.empty((len(x), self.terms))
        features[:, 0] = 1.0
        np.cos(angles, out=features[:, 1 : self.order + 1])
        np.sin(angles, out=features[:, self.order + 1 :])
        return features

    def _compute_period(self) -> float:
        """Return q, the period in units of the kernel's width 1/√θ; it stays finite as θ → 0, unlike P."""
        low, high = self.domain
        return (high - low) * sqrt(self.theta) + _REACH


@dataclass(frozen=True, eq=False)
class GaussianPath:
    """A path f(x) = Σ_ijk C_ijk·φ_i(x₁)·φ_j(x₂)·φ_k(x₃), in as many dimensions as C has axes."""

    axis: FourierAxis
    coefficients: Array

    def __call__(self, X: Array) -> Array:
        """Evaluate f at each row of X.

        Points are processed in blocks, so working memory is bounded and each value is bitwise independent of the
        number of points.
        """
        blocks = [self._evaluate_block(X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
        return np.concatenate(blocks) if blocks else np.empty(0)

    def _evaluate_block(self, X: Array) -> Array:
        """Evaluate f at up to BLOCK points; pad a short block, since rounding in BLAS depends on array shapes."""
        full = np.zeros((BLOCK, X.shape[1]))
        full[: len(X)] = X
        terms = self.axis.terms
        total = self.axis.compute_features(full[:, 0]) @ self.coefficients.reshape(terms, -1)
        for x in full.T[1:]:
            total = np.einsum("bi,bij->bj", self.axis.compute_features(x), total.reshape(BLOCK, terms, -1))
        return total[: len(X), 0]


@dataclass(frozen=True)
class GaussianProcess:
    """Gaussian process with mean 0 and kernel exp(−θ‖x − x′‖²) on the box domain^dimension; calling it draws a path.

    Examples
    --------
    >>> process = GaussianProcess(theta=100.0, dimension=2, domain=(0.0, 1.0))
    >>> f = process(np.random.default_rng(0))
    >>> f(np.array([[0.5, 0.5], [0.5, 0.5]])).shape
    (2,)
    """

    theta: float
    dimension: int
    domain: tuple[float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", _validation.check_positive("theta", self.theta))
        object.__setattr__(self, "dimension", _validation.check_integer("dimension", self.dimension, least=1, most=3))
        object.__setattr__(self, "domain", _validation.check_interval("domain", self.domain))
        self._check_size()

    def _check_size(self) -> None:
        """Raise ValueError if a path needs too many functions: solves M ≥ L(r√θ + L)/π for the largest r√θ."""
        length = self.domain[1] - self.domain[0]
        reach = pi * ((MOST_TERMS[self.dimension] - 1) // 2) / _REACH - _REACH
        if length * sqrt(self.theta) > reach:
            raise ValueError(
                f"theta must be at most {_round_down((reach / length) ** 2):g} for a path in {self.dimension}-d "
                f"on a domain of length {length:g} (a shorter one allows more), got {self.theta:g}"
            )

    def __call__(self, rng: np.random.Generator) -> GaussianPath:
        """Draw a path; all its coefficients are drawn from `rng` in one call."""
        axis = FourierAxis(self.theta, self.domain)
        coefficients = rng.standard_normal((axis.terms,) * self.dimension)
        for each in range(self.dimension):
            coefficients *= axis.compute_scales().reshape((-1,) + (1,) * each)  # along one axis of the tensor at a time
        return GaussianPath(axis, coefficients)


def _round_down(number: float) -> float:
    """Round down to three digits, so that the limit named in a message is itself allowed."""
    unit = 10.0 ** (floor(log10(max(number, 1e-300))) - 2)
    return floor(number / unit) * unit
