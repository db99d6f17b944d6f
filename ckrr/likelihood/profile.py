"""Choose θ by maximum likelihood, for a given λ.

At the best σ² = y′Qy/n the log marginal likelihood of θ is ::

    ℓ(θ) = −n/2·(log 2π + log σ̂²(θ) + 1) − ½ log|K_θ + λI|

It has up to half a dozen local maxima for the functions of the paper, one of them hundreds of units worse than another,
so a local search from one start is not enough. Regions with a θ chosen on the training points are no longer exactly
valid: the choice depends on the training points but not on the test point.

With a constant mean, ℓ is maximised over μ, too: y − μ̂ takes the place of y (`ckrr.linalg.squares`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import exp, inf, log, log10

import numpy as np
from scipy.optimize import fmin_cobyla

from ckrr._validation import Array
from ckrr.kernels import Kernel, gaussian
from ckrr.likelihood.curves import BestLams, GaussianCurves, decompose_features, decompose_kernel, find_best_lams
from ckrr.likelihood.heights import LEAST_LAM, GaussianHeights, Heights, combine_parts, compute_heights
from ckrr.likelihood.maximize import find_maximum
from ckrr.likelihood.spectrum import Targets
from ckrr.linalg.squares import add_ones, compute_squares, subtract_average
from ckrr.linalg.triangular import select_algebra
from ckrr.ridge.constant_mean import ConstantMeanRidge
from ckrr.ridge.exact import FactorisationError, make_ridge_matrix
from ckrr.ridge.feature_ridge import FeatureRidge
from ckrr.ridge.primal import ROWS
from ckrr.ridge.random_features import Features

LOWEST, HIGHEST = 1e-3, 1e6
"""The search is over LOWEST ≤ θ r² ≤ HIGHEST, r the largest range of a coordinate of X."""

GAPS = 52
"""Number of gaps of the scan, each of 0.4 in log θ where peaks may be, and twice that elsewhere."""
Parts = tuple[float, float]
"""log σ̂² and log|K + λI|."""


@dataclass(frozen=True)
class Profile(ABC):
    """Profile likelihood of θ for one sample and one λ."""

    X: Array
    y: Array
    lam: float
    has_mean: bool = field(default=False, kw_only=True)
    """Whether ℓ is maximised over a constant mean of y, too."""

    @abstractmethod
    def compute_shared_parts(self, theta: float, ys: Sequence[Array]) -> tuple[list[float], float]:
        """Return log σ̂² of each of several targets, and log|K + λI|; inf if K + λI cannot be factorised.

        Results are bitwise identical to computing those of each target separately.
        """

    def compute_parts(self, theta: float) -> Parts:
        """Return log σ̂² and log|K + λI|; inf if K + λI cannot be factorised."""
        (log_sigma2,), log_det = self.compute_shared_parts(theta, [self.y])
        return log_sigma2, log_det

    def log_likelihood(self, theta: float) -> float:
        """Return ℓ(θ); −inf if K + λI cannot be factorised."""
        return combine_parts(len(self.y), *self.compute_parts(theta))

    def centre(self, ys: Sequence[Array]) -> Sequence[Array]:
        """Return targets minus their averages, which changes nothing but rounding, if a mean is estimated."""
        return [subtract_average(y) for y in ys] if self.has_mean else ys

    def make_heights(self, ys: Sequence[Array]) -> Heights:
        """Return a function from several θ to ℓ of several targets on the same X."""
        return partial(compute_heights, len(self.X), lambda theta: self.compute_shared_parts(theta, ys))

    @abstractmethod
    def make_curves(self, targets: Targets) -> BestLams:
        """Return a function from θ to the most likely λ of each target; the λ of this profile isn't used."""


@dataclass(frozen=True)
class Likelihood(Profile):
    """Profile likelihood of a kernel by dense factorisation; the Gaussian kernel has faster forms for a search."""

    kernel: Kernel = gaussian

    def compute_shared_parts(self, theta: float, ys: Sequence[Array]) -> tuple[list[float], float]:
        """Return log σ̂² of each of several targets, and log|K + λI|, from one factorisation."""
        n, ys = len(self.X), self.centre(ys)
        L, way = make_ridge_matrix(self.X, theta, self.lam, self.kernel), select_algebra(n)
        if way.factorise(L):
            return [inf] * len(ys), inf
        units = [np.abs(y).max() or 1.0 for y in ys]
        scaled = add_ones([y / unit for y, unit in zip(ys, units, strict=True)], self.has_mean)
        squares = compute_squares([way.solve_vector(L, y) for y in scaled], self.has_mean)
        found = [log(each / n) + 2 * log(unit) if each / n else -inf for each, unit in zip(squares, units, strict=True)]
        return found, 2.0 * float(np.log(L.diagonal()).sum())

    def make_heights(self, ys: Sequence[Array]) -> Heights:
        """Return a function from several θ to ℓ of several targets, which for the Gaussian kernel is faster."""
        plain, ys = super().make_heights(ys), self.centre(ys)
        fast = self.kernel is gaussian and self.lam >= LEAST_LAM
        return GaussianHeights(self.X, ys, self.lam, plain, self.has_mean) if fast else plain

    def make_curves(self, targets: Targets) -> BestLams:
        """Return a function from θ to the most likely λ of each target, by the structure of K or a decomposition."""
        if self.kernel is gaussian:
            return GaussianCurves(self.X, targets)
        return lambda theta: find_best_lams(decompose_kernel(self.X, theta, self.kernel, targets), targets)


@dataclass(frozen=True)
class FeatureLikelihood(Profile):
    """Profile likelihood of random features, which stay the same while θ scales their frequencies.

    Where θ r² is large, r the range of X, a small step of θ changes the features as much as drawing them again, and
    ℓ(θ) is as rough as noise.
    """

    features: Features

    def compute_shared_parts(self, theta: float, ys: Sequence[Array]) -> tuple[list[float], float]:
        """Return log σ̂² of each of several targets, and log|ΦΦ′ + λI|; inf if the factorisation fails."""
        try:
            base = FeatureRidge(self.X, theta, self.lam, self.features)
            ridge = ConstantMeanRidge(base) if self.has_mean else base
            targets = [ridge.make_target(y) for y in ys]
        except FactorisationError:
            return [inf] * len(ys), inf
        found = [log(one.sigma2) + 2 * one.exponent * log(2) if one.sigma2 else -inf for one in targets]
        return found, ridge.log_det

    def make_curves(self, targets: Targets) -> BestLams:
        """Return a function from θ to the most likely λ of each target, from one QR factorisation of Φ."""
        return lambda theta: find_best_lams(decompose_features(self.X, theta, self.features, ROWS, targets), targets)


@dataclass(frozen=True)
class SearchResult:
    """Result of a search for θ, or for θ and λ."""

    theta: float
    bounds: tuple[float, float]
    on_bound: bool
    """Whether the best θ is at a bound: the likelihood may keep rising beyond it."""
    evaluations: int
    """Number of evaluations of the likelihood."""
    likelihood: Profile = field(repr=False, compare=False)
    """The likelihood that was maximised."""
    lam: float | None = None
    """The most likely λ; None if λ was given."""
    lam_bounds: tuple[float, float] | None = None
    lam_on_bound: bool = False
    """Whether the best λ is at a bound, as it is for data without noise."""
    scales: tuple[float, ...] | None = None
    """The most likely scale of each coordinate, in units of the scales that were given; None if there is no search."""
    scale_bounds: tuple[tuple[float, float], ...] | None = None
    scales_on_bound: tuple[bool, ...] = ()
    """Whether each scale is at a bound: at the upper one the coordinate has no influence."""

    @cached_property
    def log_likelihood(self) -> float:
        """ℓ at the best θ, which takes a factorisation: the search itself may use cheaper approximations."""
        return self.likelihood.log_likelihood(self.theta)


def search(likelihood: Profile) -> SearchResult:
    """Find the global maximum by a scan of log θ in steps of 0.8 and 0.4, refined where the highest peak may hide.

    The search is deterministic and needs about 36 evaluations of the likelihood, up to three times that where it is
    wiggly. For larger samples and the Gaussian kernel most of them use the structure of K, which is far cheaper than a
    factorisation and accurate to about 1e-4.

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> found = search(Likelihood(X, np.sin(8 * X[:, 0]), lam=1e-3))
    >>> round(found.theta, 1), found.on_bound
    (15.4, False)
    """
    return search_together(likelihood, [likelihood.y])[0]


def search_together(likelihood: Profile, ys: Sequence[Array]) -> list[SearchResult]:
    """Search for the θ of each of several targets on the same X, which share the factorisations of the scan.

    Results are bitwise identical to searching for each target separately.

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> likelihood = Likelihood(X, np.sin(8 * X[:, 0]), lam=1e-3)
    >>> one, other = search_together(likelihood, [likelihood.y, X[:, 0] ** 2])
    >>> one == search(likelihood)
    True
    """
    reach = float(np.ptp(likelihood.X, axis=0).max()) or 1.0
    low, high = log(LOWEST / reach**2), log(HIGHEST / reach**2)
    heights = likelihood.make_heights(ys)
    shared: dict[float, Array] = {}
    results = []
    for i, y in enumerate(ys):
        column = _select_target(heights, shared, i) if len(ys) > 1 else lambda t: heights(np.exp(t))[:, 0]
        seen = find_maximum(column, low, high, GAPS)
        best = seen.t[seen.best]
        on_bound = best - low < 1e-3 or high - best < 1e-3
        found = replace(likelihood, y=y)
        results.append(SearchResult(exp(best), (exp(low), exp(high)), on_bound, len(seen.t), found))
    return results


def _select_target(heights: Heights, shared: dict[float, Array], target: int) -> Callable[[Array], Array]:
    """Return the heights of one target over log θ, and keep those of all: the next target needs many of them."""

    def column(t: Array) -> Array:
        missing = np.array([place for place in t.tolist() if place not in shared])
        if len(missing):
            shared.update(zip(missing.tolist(), heights(np.exp(missing)), strict=True))
        return np.array([shared[place][target] for place in t.tolist()])

    return column


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
    return SearchResult(theta, (1.0, 1e4), bool(found < 1e-3 or found > 4 - 1e-3), evaluations, likelihood)
