"""Kernel ridge regression with an unknown constant mean, on top of any factorised ridge matrix.

The model is y = μ + f + ε, with μ estimated together with f by generalised least squares, which is the limit of a
normal prior of μ whose variance tends to infinity. With R = K + λI, Q = R⁻¹ and ::

    q = Q1        c = 1′Q1        g = 1 − 1′W        μ̂ = q′y/c

all that regions depend on is that of the model with mean 0, plus a term of rank one::

    ã = Q(y − μ̂1)        Q̃_ii = Q_ii − q_i²/c        σ̂² = (y − μ̂1)′Q(y − μ̂1)/n
    W̃ = W + q g/c        m̃ = m + g²/c               ŷ = μ̂ + k′ã

σ̂² is the maximum-likelihood estimate, a sum of squares over n; the unbiased one has n − 1. Residuals of the augmented
sample are linear in the candidate as before, r_i = (m̃ ã_i − W̃_i s)/D_i, so every procedure is the same code. Far from
the data W̃ tends to q/c, ŷ to μ̂ and m̃ to 1 + λ + 1/c.

q and c come from the base's target y = 1, of which g is 1 minus the prediction. ã is computed from y − μ̂ itself, after
ȳ has been subtracted, and not as Qy − μ̂q, a difference that loses digits where μ̂ is large; c is a sum of squares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import frexp, ulp

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.ridge.exact import FactorisationError, Projection, Target, scale_by_power_of_two
from ckrr.ridge.interface import FactorisedRidge

_CHUNK = 1 << 15
"""Entries of W changed at once, few enough to stay in the cache. Results are bitwise independent of it."""

_LOST = 16
"""A share 1 − q_i²/(c Q_ii) that is not above `_LOST` n ε has no correct digits."""


class ConstantMeanRidge:
    """Factorised ridge matrix with an unknown constant mean.

    Parameters
    ----------
    base : FactorisedRidge
        The same ridge matrix, with mean 0.
    """

    def __init__(self, base: FactorisedRidge) -> None:
        self.base = base
        self.X, self.theta, self.lam, self.n, self.log_det = base.X, base.theta, base.lam, base.n, base.log_det
        self._ones = base.make_target(np.ones(self.n))
        self.q = self._ones.unscale(self._ones.a)
        """Q1, shape (n,)."""
        self.c = 4.0**self._ones.exponent * self.n * self._ones.sigma2
        """1′Q1."""

    @cached_property
    def diag_Q(self) -> Array:
        """diag Q̃, shape (n,)."""
        whole = self.base.diag_Q
        share = 1.0 - self.q * (self.q / (self.c * whole))
        worst = int(np.argmin(share))
        if not share[worst] > _LOST * self.n * ulp(1.0):
            what = f"the mean depends on row {worst} of X alone"
            raise FactorisationError(what, self.theta, self.lam, self.n)
        found: Array = whole * share
        return found

    def make_target(self, y: Array) -> Target:
        """Estimate the mean of one target y, and compute the products of the factor with y − μ̂.

        Examples
        --------
        >>> from ckrr.ridge.exact import Ridge
        >>> ridge = ConstantMeanRidge(Ridge(np.array([[0.0], [0.3], [9.0]]), theta=1.0, lam=0.1))
        >>> target = ridge.make_target(np.array([101.0, 102.0, 104.0]))
        >>> round(float(target.unscale(target.mean)), 3), bool(abs(target.a.sum()) < 1e-15)
        (102.695, True)
        """
        exponent = frexp(float(np.abs(y).max()))[1]
        scaled = scale_by_power_of_two(y, -exponent)
        mean = np.clip(scaled.mean(), scaled.min(), scaled.max())  # exactly y if that is constant
        mean += self._estimate_mean(self._multiply(scaled - mean)[1])
        v, a, sigma2 = self._multiply(scaled - mean)
        rest = self._estimate_mean(a)
        v, a = v - rest * self._ones.unscale(self._ones.v), a - rest * self.q
        return Target(scaled, v, a, sigma2, exponent, float(mean + rest))

    def _multiply(self, y: Array) -> tuple[Array, Array, float]:
        """Return v, a and σ̂² of a target in units of y."""
        target = self.base.make_target(y)
        return target.unscale(target.v), target.unscale(target.a), float(np.ldexp(target.sigma2, 2 * target.exponent))

    def _estimate_mean(self, a: Array) -> float:
        return float(a.sum()) / self.c

    def project(self, X_new: Array, targets: Sequence[Target], weights: bool = True) -> Iterator[Projection]:
        """Yield the projections of test points block by block; with `weights=False` W is left empty."""
        for block in self.base.project(X_new, [self._ones, *targets], weights):
            ones, *means = block.means
            g = 1.0 - self._ones.unscale(ones)
            more = g * g / self.c
            if weights:
                self._add_to_weights(block.W, g / self.c)
            means = [mean + target.mean for mean, target in zip(means, targets, strict=True)]
            yield Projection(block.points, means, block.variance + more, block.m + more, block.W, block.equal)

    def _add_to_weights(self, W: Array, share: Array) -> None:
        rows = max(1, _CHUNK // self.n)
        for start in range(0, len(W), rows):
            W[start : start + rows] += np.multiply.outer(share[start : start + rows], self.q)

    def remove_mean(self, columns: Array, S: npt.NDArray[np.intp]) -> Array:
        """Return columns S of G, of an exact base with Q = G′G, without their part along G1, so that Q̃ = G̃′G̃."""
        v = self._ones.unscale(self._ones.v)
        found: Array = columns - np.multiply.outer(v, self.q[S] / self.c)
        return found
