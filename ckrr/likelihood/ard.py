"""Choose a scale for each coordinate, and λ, by maximum likelihood ("automatic relevance determination").

Coordinate j has its own θ_j. With R = K + λI, Q = R⁻¹, a = Qy and σ̂² = y′Qy/n the gradient of ℓ is ::

    ∂ℓ = ½ tr((aa′/σ̂² − Q) ∂R)

over log θ_j (see below) and log λ (∂R = λI). With a mean, ã = a − q·(1′a)/(1′q), q = Q1, takes the place of a, and Q
stays. ℓ has many maxima in d + 1 variables, and no search of reasonable cost finds the highest for sure. L-BFGS-B
climbs from several fixed starts. The first is the global maximum with equal scales, so the result is never below that.

With ρ² = Σ 2θ_j (x_j − x′_j)² every kernel here has ::

    ∂K/∂log θ_j = −D_j ∘ H        D_j = θ_j (x_j − x′_j)²        (Laplacian: D_j = √(θ_j/2) |x_j − x′_j|)

==========  ====================================
gaussian    H = K
laplacian   H = K
matern32    H = 3 exp(−√3 ρ)
matern52    H = 5/3·(1 + √5 ρ) exp(−√5 ρ)
==========  ====================================

So the sum of B ∘ ∂K/∂log θ_j over all entries, for symmetric B, needs no matrix but B ∘ H.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log, sqrt

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import fmin_l_bfgs_b
from scipy.spatial.distance import cdist

from ckrr._validation import Array
from ckrr.kernels import Gaussian, Kernel, Laplacian, Matern32, Matern52
from ckrr.likelihood.joint import search_joint
from ckrr.likelihood.profile import HIGHEST, LOWEST, Likelihood, Profile, SearchResult
from ckrr.likelihood.ridge_curve import HIGHEST_LAM, LOWEST_LAM, clip_lam, is_on_bound
from ckrr.likelihood.spectrum import Targets

THETA = 0.5
"""θ of the result: that of the length scale 1, so that its scales are length scales."""

_DESIGN, _KEPT = 12, 2
"""Points at which ℓ is evaluated for starts, and how many of the best of these are starts."""
_MIDDLE = (1e-1, 1e4)
"""Range of θ_j r_j² for these points, r_j the range of coordinate j."""
_MIDDLE_LAM = (1e-5, 1.0)
_ITERATIONS = 100
"""Maximum iterations from each start."""
_NEAR = 1e-3
"""A scale is on a bound if its logarithm is this near to that of the bound."""
_NO_HEIGHT = 1e100
"""Value of −ℓ where K + λI can't be factorised."""
_ROWS = 256
"""Rows of |x_i − x_j| that are held at once."""

Slope = Callable[[Array, Array], Array]
"""Returns H, given points with coordinates √(2θ_j)·x_j, and K."""


@dataclass(frozen=True)
class ArdLikelihood:
    """ℓ and its gradient over log θ_1, …, log θ_d, log λ."""

    X: Array
    kernel: Kernel
    targets: Targets
    target: int

    def compute(self, p: Array) -> tuple[float, Array]:
        """Return ℓ and its gradient; zeros for that where ℓ is −inf (no factorisation) or inf (y = 0)."""
        Z, lam = self.X * np.sqrt(2.0 * np.exp(p[:-1])), exp(p[-1])
        n, y = len(Z), self.targets.columns[self.target]
        K = self.kernel(Z, Z, THETA)
        R = K.copy(order="F")
        R.reshape(-1, order="F")[:: n + 1] += lam
        L, failed = lapack.dpotrf(R, lower=1, overwrite_a=1)
        if failed:
            return -inf, np.zeros(len(p))
        log_det = 2.0 * float(np.log(L.diagonal()).sum())
        a, quadratic = self._solve(L, y)
        height = float(self.targets.combine(self.target, np.array([quadratic]), np.array([log_det]))[0])
        if not quadratic:
            return height, np.zeros(len(p))
        M = lapack.dpotri(L, lower=1, overwrite_c=1)[0]
        M = np.tril(M) + np.tril(M, -1).T
        np.subtract(np.multiply.outer(a, a * (n / quadratic)), M, out=M)
        by_lam = 0.5 * lam * float(M.trace())
        return height, np.append(0.5 * sum_slopes(self.kernel, Z, K, M), by_lam)

    def _solve(self, L: Array, y: Array) -> tuple[Array, float]:
        """Return Qy and y′Qy; with a mean, ã and y′Q̃y."""
        v = lapack.dtrtrs(L, y, lower=1)[0]
        if self.targets.has_mean:
            one = lapack.dtrtrs(L, np.ones(len(y)), lower=1)[0]
            v = v - one * (np.vecdot(one, v) / np.vecdot(one, one))
        return lapack.dtrtrs(L, v, lower=1, trans=1)[0], float(np.vecdot(v, v))


def search_ard(likelihood: Profile, ys: Sequence[Array]) -> list[SearchResult]:
    """Find a scale for each coordinate, and λ, for each of several targets on the same X.

    The λ of `likelihood` isn't used. The bounds of λ are those of `search_joint`; θ_j is between `LOWEST`/r² and
    `HIGHEST`/r_j², with r_j the range of coordinate j and r the largest. The result has θ = ½, and scales 1/√(2θ_j).

    Examples
    --------
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> y = np.sin(8 * X[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(60)
    >>> (found,) = search_ard(Likelihood(X, y, lam=1.0), [y])
    >>> np.round(found.scales, 2), found.scales_on_bound, round(found.lam, 4)
    (array([ 0.22, 22.19]), (False, True), 0.0103)
    """
    if not isinstance(likelihood, Likelihood) or type(likelihood.kernel) not in SLOPES:
        raise ValueError(
            'theta must not be "ml-ard" or "holdout-ard" with random features or a custom kernel: '
            'use "ml-joint" or "holdout-joint"'
        )
    targets = Targets.make(ys, likelihood.has_mean)
    joint = search_joint(likelihood, ys)
    with np.errstate(all="ignore"):
        return [_search_one(likelihood, targets, i, y, one) for i, (y, one) in enumerate(zip(ys, joint, strict=True))]


def _search_one(likelihood: Likelihood, targets: Targets, target: int, y: Array, joint: SearchResult) -> SearchResult:
    height = ArdLikelihood(likelihood.X, likelihood.kernel, targets, target)
    bounds = _make_bounds(likelihood.X)
    assert joint.lam is not None
    first = np.append(np.full(likelihood.X.shape[1], log(joint.theta)), log(joint.lam))
    best, most, count = first, height.compute(first)[0], joint.evaluations + 1
    if targets.columns[target].any():
        starts, evaluated = _choose_starts(height, first, bounds)
        count += evaluated
        for start in starts:
            p, value, evaluated = _climb(height, start, bounds)
            count += evaluated
            if value > most:
                best, most = p, value
    return _make_result(likelihood, y, best, bounds, count)


def _make_bounds(X: Array) -> Array:
    """Return the bounds of log θ_j and log λ, shape (d + 1, 2); a constant coordinate keeps its range."""
    ranges = np.ptp(X, axis=0)
    reach = float(ranges.max()) or 1.0
    own = np.where(ranges > 0, ranges, reach)
    theta = np.column_stack([np.full(len(own), log(LOWEST / reach**2)), np.log(HIGHEST / own**2)])
    return np.vstack([theta, [log(LOWEST_LAM), log(HIGHEST_LAM)]])


def _choose_starts(height: ArdLikelihood, first: Array, bounds: Array) -> tuple[list[Array], int]:
    """Return where to climb from, and how many evaluations the choice took."""
    from scipy.stats.qmc import Halton  # imported late: it takes longer than all of ckrr

    d = len(first) - 1
    if d == 1:
        return [first], 0
    high = bounds[:-1, 1] - log(HIGHEST)  # −2 log r_j
    ends = [(*(log(end) + high), log(lam)) for end, lam in zip(_MIDDLE, _MIDDLE_LAM, strict=True)]
    places = np.array(ends[0]) + Halton(d + 1, scramble=False).random(_DESIGN + 1)[1:] * np.subtract(ends[1], ends[0])
    alike = np.append(first[:-1].mean() + high - high.mean(), first[-1])  # the same θ_j r_j² for all coordinates
    places = np.clip(np.vstack([alike, places]), bounds[:, 0], bounds[:, 1])
    heights = np.array([height.compute(place)[0] for place in places])
    order = np.argsort(-heights, kind="stable")[:_KEPT]
    return [first, *places[order]], len(places)


def _climb(height: ArdLikelihood, start: Array, bounds: Array) -> tuple[Array, float, int]:
    """Return the place and the height that L-BFGS-B reaches from a start, and the evaluations."""

    def objective(p: Array) -> tuple[float, Array]:
        value, gradient = height.compute(p)
        return (-value, -gradient) if np.isfinite(value) else (_NO_HEIGHT, np.zeros(len(p)))

    limits = [(low, high) for low, high in bounds.tolist()]
    p, value, how = fmin_l_bfgs_b(objective, start, bounds=limits, factr=1e7, pgtol=1e-4, maxiter=_ITERATIONS)
    return p, -float(value), int(how["funcalls"])


def _make_result(likelihood: Likelihood, y: Array, p: Array, bounds: Array, count: int) -> SearchResult:
    scales, lam = 1.0 / np.sqrt(2.0 * np.exp(p[:-1])), clip_lam(float(p[-1]))
    on_bound = ((p - bounds[:, 0] < _NEAR) | (bounds[:, 1] - p < _NEAR))[:-1]
    limits = 1.0 / np.sqrt(2.0 * np.exp(bounds[:-1, ::-1]))
    return SearchResult(
        theta=THETA,
        bounds=(THETA, THETA),
        on_bound=bool(on_bound.any()),
        evaluations=count,
        likelihood=replace(likelihood, X=likelihood.X / scales, y=y, lam=lam),
        lam=lam,
        lam_bounds=(LOWEST_LAM, HIGHEST_LAM),
        lam_on_bound=is_on_bound(lam),
        scales=tuple(scales.tolist()),
        scale_bounds=tuple((low, high) for low, high in limits.tolist()),
        scales_on_bound=tuple(on_bound.tolist()),
    )


def _same(Z: Array, K: Array) -> Array:
    return K


def _slope_of_matern32(Z: Array, K: Array) -> Array:
    found: Array = 3.0 * np.exp(-sqrt(3) * cdist(Z, Z))
    return found


def _slope_of_matern52(Z: Array, K: Array) -> Array:
    s = sqrt(5) * cdist(Z, Z)
    found: Array = 5 / 3 * (1.0 + s) * np.exp(-s)
    return found


SLOPES: dict[type[Kernel], Slope] = {
    Gaussian: _same,
    Laplacian: _same,
    Matern32: _slope_of_matern32,
    Matern52: _slope_of_matern52,
}
"""H of each kernel that has a derivative here."""


def sum_slopes(kernel: Kernel, Z: Array, K: Array, B: Array) -> Array:
    """Return the sum over all entries of B ∘ ∂K/∂log θ_j, shape (d,), for a symmetric B, which is overwritten.

    Parameters
    ----------
    kernel : Kernel
        One of those in `SLOPES`.
    Z : (n, d) array
        Points with coordinates √(2θ_j)·x_j.
    K, B : (n, n) array
        The kernel matrix, and the weights.

    Examples
    --------
    >>> Z = np.array([[0.0], [1.0]])
    >>> sum_slopes(Gaussian(), Z, np.exp([[0.0, -0.5], [-0.5, 0.0]]), np.ones((2, 2))).round(6)  # −2·½ exp(−½)
    array([-0.606531])
    """
    B *= SLOPES[type(kernel)](Z, K)
    if isinstance(kernel, Laplacian):
        return -0.5 * np.array([_sum_distances(B, z) for z in Z.T])
    rows, found = B.sum(axis=1), np.empty(Z.shape[1])
    for j, z in enumerate(Z.T):
        centred = z - z.mean()
        found[j] = rows @ centred**2 - centred @ (B @ centred)  # Σ B_ik (z_i − z_k)²/2
    return -found


def _sum_distances(B: Array, z: Array) -> float:
    """Return the sum of B_ik |z_i − z_k|."""
    starts = range(0, len(z), _ROWS)
    return float(sum(np.vdot(B[i : i + _ROWS], np.abs(z[i : i + _ROWS, None] - z)) for i in starts))
