"""Evaluate the profile likelihood of the Gaussian kernel for several θ and several targets, in the cheapest form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, pi

import numpy as np

from ckrr._validation import Array
from ckrr.likelihood.dense import LARGEST, DenseLikelihood
from ckrr.likelihood.structured import SMALLEST, StructuredLikelihood
from ckrr.linalg.squares import add_ones

LEAST_LAM = 1e-10
"""Below this K + λI may be singular to working precision, and ℓ is known by the factorisation of a fit alone."""

Heights = Callable[[Array], Array]
"""Returns ℓ for several θ and several targets, shape (thetas, targets); −inf where K + λI cannot be factorised."""
SharedParts = Callable[[float], tuple[list[float], float]]
"""Returns log σ̂² of each target and log|K + λI| for one θ; inf if K + λI cannot be factorised."""


def combine_parts(n: int, log_sigma2: float, log_det: float) -> float:
    """Return ℓ given log σ̂² and log|K + λI|."""
    return -0.5 * (n * (log(2 * pi) + log_sigma2 + 1) + log_det)


def compute_heights(n: int, compute_parts: SharedParts, thetas: Array) -> Array:
    """Return ℓ for several θ and several targets, by one factorisation for each θ."""
    parts = [compute_parts(theta) for theta in thetas.tolist()]
    return np.array([[combine_parts(n, one, log_det) for one in each] for each, log_det in parts])


class GaussianHeights:
    """ℓ of the Gaussian kernel, by the structure of K where that is cheaper, else by a dense factorisation.

    Parameters
    ----------
    X : (n, d) array
    ys : sequence of (n,) arrays
        Targets.
    lam : float
    large : callable
        ℓ by a dense factorisation for samples that are too large for `DenseLikelihood`.
    has_mean : bool
        Whether ℓ is maximised over a constant mean; the targets are then centred.
    """

    def __init__(self, X: Array, ys: Sequence[Array], lam: float, large: Heights, has_mean: bool = False) -> None:
        self._n = n = len(X)
        units = [float(np.abs(y).max()) or 1.0 for y in ys]
        self._shift = np.array([-0.5 * n * (log(2 * pi / n) + 2 * log(unit) + 1) for unit in units])
        scaled = add_ones([y / unit for y, unit in zip(ys, units, strict=True)], has_mean)
        dense = DenseLikelihood(X, scaled, lam, has_mean) if n <= LARGEST else None
        self._dense = large if dense is None else lambda thetas: self._combine(*dense.compute_parts(thetas))
        self._structured = StructuredLikelihood(X, scaled, lam, has_mean) if n >= SMALLEST else None

    def __call__(self, thetas: Array) -> Array:
        """Return ℓ for several θ, shape (thetas, targets)."""
        if self._structured is None:
            return self._dense(thetas)
        return np.concatenate([self._compute_one(self._structured, thetas[i : i + 1]) for i in range(len(thetas))])

    def _compute_one(self, structured: StructuredLikelihood, theta: Array) -> Array:
        found = structured.compute_parts(float(theta[0]))
        if found is None:
            return self._dense(theta)
        return self._combine(np.array([found[0]]), np.array([found[1]]))

    def _combine(self, quadratic: Array, log_det: Array) -> Array:
        """Return ℓ given y′Qy and log|K + λI|; NaN stands for a failed factorisation."""
        h: Array = np.fmax(self._shift - 0.5 * self._n * np.log(quadratic) - 0.5 * log_det[:, None], -np.inf)
        return h
