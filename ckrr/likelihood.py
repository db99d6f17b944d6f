"""θ by maximum likelihood, for a given λ.

At the best σ² = y′Qy/n the log marginal likelihood of θ is ::

    ℓ(θ) = −n/2·(log 2π + log σ̂²(θ) + 1) − ½ log|K_θ + λI|

It has up to half a dozen local maxima for the functions of the paper, one of them hundreds of units worse than another,
so a local search from one start won't do. Regions with a θ chosen on the train points aren't exactly valid any more:
the choice knows the train points and doesn't know the test point.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, log10, pi

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import fmin_cobyla, minimize_scalar

from ckrr.checks import Array
from ckrr.ridge import ridge_matrix

LOWEST, HIGHEST = 1e-3, 1e6
"""The search is over LOWEST ≤ θ r² ≤ HIGHEST, r the largest range of a coordinate of X."""

_STEPS = 104
_PEAKS = 4


@dataclass(frozen=True)
class Likelihood:
    """The profile likelihood of one sample, for one λ."""

    X: Array
    y: Array
    lam: float

    def parts(self, theta: float) -> tuple[float, float]:
        """log σ̂² and log|K + λI|; inf where K + λI can't be factorised."""
        n = len(self.y)
        L, failed = lapack.dpotrf(ridge_matrix(self.X, theta, self.lam), lower=1, clean=0, overwrite_a=1)
        if failed:
            return inf, inf
        unit = np.abs(self.y).max() or 1.0
        v, _ = lapack.dtrtrs(L, self.y / unit, lower=1)
        sigma2 = float(np.vecdot(v, v)) / n
        return (log(sigma2) + 2 * log(unit) if sigma2 else -inf), 2.0 * float(np.log(L.diagonal()).sum())

    def log_likelihood(self, theta: float) -> float:
        """ℓ(θ); −inf where K + λI can't be factorised."""
        log_sigma2, log_det = self.parts(theta)
        return -0.5 * (len(self.y) * (log(2 * pi) + log_sigma2 + 1) + log_det)


@dataclass(frozen=True)
class Search:
    """What a search for θ found."""

    theta: float
    log_likelihood: float
    bounds: tuple[float, float]
    on_bound: bool
    """Whether the best θ is at a bound: the likelihood may go on rising beyond it."""
    evaluations: int


def search(likelihood: Likelihood) -> Search:
    """The global maximum: a scan of log θ, then the highest peaks of the scan to their tops.

    The scan has a step of 0.2, less than half of the distance at which the closest pairs of maxima were seen. It is the
    same every time, and needs about 130 evaluations of the likelihood, each a factorisation.

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> found = search(Likelihood(X, np.sin(8 * X[:, 0]), lam=1e-3))
    >>> round(found.theta, 1), found.on_bound
    (15.4, False)
    """
    reach = float(np.ptp(likelihood.X, axis=0).max()) or 1.0
    low, high = log(LOWEST / reach**2), log(HIGHEST / reach**2)
    seen: dict[float, float] = {}

    def height(t: float) -> float:
        if t not in seen:
            seen[t] = likelihood.log_likelihood(exp(t))
        return seen[t]

    scan = np.linspace(low, high, _STEPS)
    heights = np.array([height(float(t)) for t in scan])
    for i in _peaks(heights)[:_PEAKS]:
        bounds = float(scan[max(i - 1, 0)]), float(scan[min(i + 1, _STEPS - 1)])
        minimize_scalar(lambda t: -height(float(t)), bounds=bounds, method="bounded", options={"xatol": 1e-4})
    best = max(seen, key=lambda t: (seen[t], -t))
    on_bound = best - low < 1e-3 or high - best < 1e-3
    return Search(exp(best), seen[best], (exp(low), exp(high)), on_bound, len(seen))


def _peaks(heights: Array) -> list[int]:
    """Places at least as high as their neighbours, the highest first."""
    padded = np.concatenate([[-inf], heights, [-inf]])
    peaks = np.flatnonzero((heights >= padded[:-2]) & (heights >= padded[2:]) & (heights > -inf))
    return sorted(peaks.tolist(), key=lambda i: -float(heights[i]))


def published_search(likelihood: Likelihood) -> Search:
    """The search that the published numbers were made with: σ̂²·|K + λI|^(1/n) over log₁₀θ by COBYLA.

    One start at θ = n, bounds 1 ≤ θ ≤ 1e4 whatever the scale of X. It is a local search: it may stop in a local optimum
    or on a bound.
    """
    n = len(likelihood.y)
    evaluations = 0

    def objective(t: Array) -> float:
        nonlocal evaluations
        evaluations += 1
        log_sigma2, log_det = likelihood.parts(float(10.0 ** t[0]))
        return exp(log_sigma2 + log_det / n)

    bounds = [lambda t: t[0], lambda t: 4.0 - t[0]]
    (found,) = fmin_cobyla(objective, [log10(n)], bounds, rhobeg=1.0, rhoend=1e-4)
    theta = float(10.0**found)
    return Search(
        theta, likelihood.log_likelihood(theta), (1.0, 1e4), bool(found < 1e-3 or found > 4 - 1e-3), evaluations
    )
