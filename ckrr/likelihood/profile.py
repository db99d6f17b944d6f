"""Choose θ by maximum likelihood, for a given λ.

At the best σ² = y′Qy/n the log marginal likelihood of θ is ::

    ℓ(θ) = −n/2·(log 2π + log σ̂²(θ) + 1) − ½ log|K_θ + λI|

It has up to half a dozen local maxima for the functions of the paper, one of them hundreds of units worse than another,
so a local search from one start is not enough. Regions with a θ chosen on the training points are no longer exactly
valid: the choice depends on the training points but not on the test point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, log10, pi

import numpy as np
from scipy.optimize import fmin_cobyla

from ckrr._validation import Array
from ckrr.kernels import Kernel, gaussian
from ckrr.likelihood.maximize import find_maximum
from ckrr.likelihood.structured import StructuredLikelihood
from ckrr.linalg.triangular import select_algebra
from ckrr.ridge.exact import FactorisationError, make_ridge_matrix
from ckrr.ridge.feature_ridge import FeatureRidge
from ckrr.ridge.random_features import Features

LOWEST, HIGHEST = 1e-3, 1e6
"""The search is over LOWEST ≤ θ r² ≤ HIGHEST, r the largest range of a coordinate of X."""

_GAPS = 52
"""Number of gaps of the scan, each of 0.4 in log θ. With gaps of 0.8 the highest peak is missed for a step function."""
Parts = tuple[float, float]
"""log σ̂² and log|K + λI|."""


@dataclass(frozen=True)
class Profile(ABC):
    """Profile likelihood of θ for one sample and one λ."""

    X: Array
    y: Array
    lam: float

    @abstractmethod
    def compute_parts(self, theta: float) -> Parts:
        """Return log σ̂² and log|K + λI|; inf if K + λI cannot be factorised."""

    @abstractmethod
    def make_approximation(self) -> Callable[[float], Parts | None]:
        """Return a cheaper `compute_parts`, accurate to about 1e-4, that gives None where it does not apply."""

    def log_likelihood(self, theta: float) -> float:
        """Return ℓ(θ); −inf if K + λI cannot be factorised."""
        return self.combine_parts(*self.compute_parts(theta))

    def combine_parts(self, log_sigma2: float, log_det: float) -> float:
        """Return ℓ given its parts."""
        return -0.5 * (len(self.y) * (log(2 * pi) + log_sigma2 + 1) + log_det)


@dataclass(frozen=True)
class Likelihood(Profile):
    """Profile likelihood of a kernel by dense factorisation; the Gaussian kernel has a cheaper approximation."""

    kernel: Kernel = gaussian

    def compute_parts(self, theta: float) -> tuple[float, float]:
        """Return log σ̂² and log|K + λI|; inf if K + λI cannot be factorised."""
        n = len(self.y)
        L, way = make_ridge_matrix(self.X, theta, self.lam, self.kernel), select_algebra(n)
        if way.factorise(L):
            return inf, inf
        unit = np.abs(self.y).max() or 1.0
        v = way.solve_vector(L, self.y / unit)
        sigma2 = float(np.vecdot(v, v)) / n
        return (log(sigma2) + 2 * log(unit) if sigma2 else -inf), 2.0 * float(np.log(L.diagonal()).sum())

    def make_approximation(self) -> Callable[[float], Parts | None]:
        """Return an approximation by the structure of K, which only the Gaussian kernel has."""
        return (
            StructuredLikelihood(self.X, self.y, self.lam).compute_parts
            if self.kernel is gaussian
            else lambda theta: None
        )


@dataclass(frozen=True)
class FeatureLikelihood(Profile):
    """Profile likelihood of random features, which stay the same while θ scales their frequencies.

    Where θ r² is large, r the range of X, a small step of θ changes the features as much as drawing them again, and
    ℓ(θ) is as rough as noise.
    """

    features: Features

    def compute_parts(self, theta: float) -> Parts:
        """Return log σ̂² and log|ΦΦ′ + λI|; inf if the factorisation fails."""
        try:
            ridge = FeatureRidge(self.X, theta, self.lam, self.features)
            target = ridge.make_target(self.y)
        except FactorisationError:
            return inf, inf
        return (log(target.sigma2) + 2 * target.exponent * log(2) if target.sigma2 else -inf), ridge.log_det

    def make_approximation(self) -> Callable[[float], Parts | None]:
        """Return a function that always gives None: there is no cheaper form."""
        return lambda theta: None


@dataclass(frozen=True)
class SearchResult:
    """Result of a search for θ."""

    theta: float
    log_likelihood: float
    bounds: tuple[float, float]
    on_bound: bool
    """Whether the best θ is at a bound: the likelihood may keep rising beyond it."""
    evaluations: int
    """Number of evaluations of the likelihood."""


def search(likelihood: Profile) -> SearchResult:
    """Find the global maximum by a scan of log θ in steps of 0.4, refined where the highest peak may hide.

    The search is deterministic and needs about 60 evaluations of the likelihood, up to twice that where it is wiggly.
    For larger samples and the Gaussian kernel most of them use the structure of K, which is far cheaper than a
    factorisation and accurate to about 1e-4; the likelihood of the best θ is computed by a factorisation.

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> found = search(Likelihood(X, np.sin(8 * X[:, 0]), lam=1e-3))
    >>> round(found.theta, 1), found.on_bound
    (15.4, False)
    """
    reach = float(np.ptp(likelihood.X, axis=0).max()) or 1.0
    low, high = log(LOWEST / reach**2), log(HIGHEST / reach**2)
    cheaper = likelihood.make_approximation()

    def height(t: float) -> float:
        return likelihood.combine_parts(*(cheaper(exp(t)) or likelihood.compute_parts(exp(t))))

    seen = find_maximum(height, low, high, _GAPS)
    best = float(seen.t[seen.best])
    on_bound = best - low < 1e-3 or high - best < 1e-3
    top = likelihood.log_likelihood(exp(best))
    return SearchResult(exp(best), top, (exp(low), exp(high)), on_bound, len(seen.t) + 1)


def search_cobyla(likelihood: Profile) -> SearchResult:
    """Minimise σ̂²·|K + λI|^(1/n) over log₁₀θ by COBYLA: the search behind the published numbers.

    It starts at θ = n, with bounds 1 ≤ θ ≤ 1e4 whatever the scale of X. It is a local search, which may stop in a local
    optimum or on a bound.
    """
    n = len(likelihood.y)
    evaluations = 0

    def objective(t: Array) -> float:
        nonlocal evaluations
        evaluations += 1
        log_sigma2, log_det = likelihood.compute_parts(float(10.0 ** t[0]))
        return exp(log_sigma2 + log_det / n)

    bounds = [lambda t: t[0], lambda t: 4.0 - t[0]]
    (found,) = fmin_cobyla(objective, [log10(n)], bounds, rhobeg=1.0, rhoend=1e-4)
    theta = float(10.0**found)
    return SearchResult(
        theta, likelihood.log_likelihood(theta), (1.0, 1e4), bool(found < 1e-3 or found > 4 - 1e-3), evaluations
    )
