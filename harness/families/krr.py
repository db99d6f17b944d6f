"""The family `krr`: conformal and Bayesian regions on kernel ridge regression, computed by `ckrr`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

import ckrr
from ckrr.kernels import LINEAR
from ckrr.likelihood.holdout import HOLDOUTS, kept_rows
from ckrr.likelihood.joint import FINDS_LAM, FINDS_SCALES
from ckrr.likelihood.median import MEDIAN
from ckrr.linalg.triangular import WHOLE
from ckrr.model import SEARCH_NAMES
from ckrr.procedures import ALL_PROCEDURES, WEIGHTED
from ckrr.ridge.exact import TEST_BLOCK
from ckrr.ridge.feature_ridge import estimate_feature_memory
from ckrr.ridge.low_rank import estimate_low_rank_flops, estimate_low_rank_memory
from ckrr.ridge.structure import RANKS, bound_rank, is_low_rank
from ckrr.space import CONSTANT, FEATURES, ZERO, is_random, make_space
from harness.core.families import MODEL_AXES
from harness.core.protocols import Factor, Target
from harness.core.types import Array, Streams

_SCRATCH = 1e8
"""Bytes of buffers whose size does not depend on n."""
_SEARCH = 45
"""Likelihood evaluations of a search that factorises at every θ: 36 for most kernels, 50 for random features."""
_WEIGHTED_COST = 2.5
"""Cost of scores with weighted procedures, relative to those without."""
_CLIMB = 100
"""Likelihoods with gradients of a search for scales."""
_STRUCTURED = 400
"""From this n on a search for θ and λ has cheaper forms at most θ."""
_RANK_MARGIN = 1.1
"""In one dimension ranks are up to this times `bound_rank`."""


@dataclass(frozen=True)
class _Box:
    """What the rank of a kernel matrix depends on: the range of each coordinate, θ and λ."""

    ranges: tuple[float, ...]
    theta: float
    lam: float


@dataclass(frozen=True)
class KernelRidge:
    """Family of conformal and Bayesian regions on kernel ridge regression, with a kernel or its random features."""

    kernel: str = "gaussian"
    scales: tuple[float, ...] | None = None
    features: int | None = None
    mean: str = ZERO
    """Mean of y: zero, or constant for an unknown one that each fit estimates."""
    streams: Streams | None = None
    """Random streams of the path; frequencies of random features are drawn from "frequencies"."""
    smoothed: bool = False
    """Whether p-values are smoothed, with random numbers from the replication's stream "smoothing"."""
    predictive: bool = False
    """Whether scores have the CRPS and the PIT, randomised by the replication's stream "pit"."""
    is_weighted: bool = False
    """Whether points have weights, for weighted procedures."""
    ratio: Callable[[Array], Array] | None = None
    """Weights of points: the density ratio of test over training inputs; None to estimate it."""
    box: _Box | None = None
    """θ, λ and ranges for which work is estimated; None if they aren't known."""
    is_noise_known: bool = False
    """Whether GPR-f and GPR-p are given the standard deviation of the noise."""
    dimension: int = 1
    """Number of coordinates, which the work of the linear kernel depends on."""
    search: str = "ml"
    """Search for which work is estimated."""

    procedures: Sequence[str] = (*ALL_PROCEDURES, *WEIGHTED)
    weighted: Sequence[str] = tuple(WEIGHTED)
    searches: Sequence[str] = SEARCH_NAMES
    input_searches: Sequence[str] = (MEDIAN,)
    finds_lam: Sequence[str] = FINDS_LAM
    finds_scales: Sequence[str] = FINDS_SCALES
    reference: str | None = "GPR-f"
    version: int = ckrr.NUMERICS_VERSION

    @property
    def axes(self) -> Sequence[str]:
        """Those of θ and λ that results depend on: the linear kernel has no θ."""
        return tuple(axis for axis in MODEL_AXES if axis != "theta" or self.kernel != LINEAR)

    def inputs(self, X: Array, X_test: Array) -> ckrr.Inputs:
        """Return the training and test inputs of a sample, to be factorised."""
        weights = self._make_weights(X, X_test)
        if not is_random(self.kernel):
            return ckrr.Inputs(X, X_test, self.kernel, self.scales, mean=self.mean, weights=weights)
        assert self.streams is not None, "features belong to a path"
        frequencies = self.streams("frequencies")
        return ckrr.Inputs(X, X_test, self.kernel, self.scales, self.features, frequencies, self.mean, weights)

    def _make_weights(self, X: Array, X_test: Array) -> tuple[Array, Array] | None:
        """Return the weights of training and test points, for weighted procedures."""
        if not self.is_weighted:
            return None
        return ckrr.estimate_weights(X, X_test) if self.ratio is None else (self.ratio(X), self.ratio(X_test))

    def on_kernel(
        self,
        dimension: int,
        kernel: str = "gaussian",
        scales: Sequence[float] | None = None,
        features: int | None = None,
        mean: str = ZERO,
    ) -> Self:
        """Return the family with another kernel or mean; raise ValueError if the options are invalid."""
        make_space(dimension, kernel, scales, features, mean=mean)  # validates the options
        has_scales = kernel != LINEAR and not is_random(kernel)
        mine = tuple(each for each in SEARCH_NAMES if kernel != LINEAR and (has_scales or each not in FINDS_SCALES))
        units = None if scales is None else tuple(scales)
        found = replace(self, kernel=kernel, scales=units, features=features, mean=mean)
        return replace(found, searches=mine, dimension=dimension)

    def on_ranges(self, ranges: Sequence[float], theta: float, lam: float) -> Self:
        """Return the family with estimates for one θ and λ, and for inputs in a box with these sides."""
        return replace(self, box=_Box(tuple(ranges), theta, lam))

    def weigh(self, ratio: Callable[[Array], Array] | None) -> Self:
        """Return the family with weights, for weighted procedures."""
        return replace(self, is_weighted=True, ratio=ratio)

    def on_search(self, search: str) -> Self:
        """Return the family with estimates for one search."""
        return replace(self, search=search)

    def smooth(self) -> Self:
        """Return the family with smoothed p-values."""
        return replace(self, smoothed=True)

    def with_distributions(self) -> Self:
        """Return the family with scores of predictive distributions."""
        return replace(self, predictive=True)

    def know_noise(self) -> Self:
        """Return the family whose Bayesian intervals know the standard deviation of the noise."""
        return replace(self, is_noise_known=True)

    def on_path(self, streams: Streams) -> Self:
        """Return the family with the random frequencies of a path, if the kernel uses random features."""
        return replace(self, streams=streams) if is_random(self.kernel) else self

    def score(
        self,
        factors: Sequence[Factor],
        targets: Sequence[Target],
        procedures: Sequence[str],
        alpha: Sequence[float],
        streams: Sequence[Streams],
    ) -> Sequence[ckrr.Scores]:
        """Score all targets together: twice as fast for small n, and bitwise identical to scoring each separately."""
        mine = [factor for factor in factors if isinstance(factor, ckrr.Factor)]
        Y, Y_test = [target.Y for target in targets], [target.Y_test for target in targets]
        latent = [target.f_test for target in targets if target.f_test is not None]
        by = [each("smoothing") for each in streams] if self.smoothed else None
        pit = [each("pit") for each in streams] if self.predictive else None
        known = [target.noise_sd for target in targets if target.noise_sd is not None] if self.is_noise_known else None
        return ckrr.score_together(
            mine, Y, Y_test, procedures, alpha, f_test=latent or None, smoothed=by, pit=pit, noise_sd=known
        )

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """Return the exact level of a conformal procedure; None for others."""
        return ckrr.exact_level(procedure, n, alpha, self.smoothed)

    def left(self, search: str, n: int) -> int | None:
        """Return the number of rows that a holdout search does not use, and all for "median"; None for the others."""
        if search == MEDIAN:
            return n
        return len(kept_rows(n)) if search in HOLDOUTS else None

    def flops(self, n: int, points: int, targets: int, searched: bool) -> float:
        """Estimate the operations for one factor and its targets.

        Factorisation and inverse take 2n³/3, products 2n²·points; passes over n × points numbers and the overhead of
        calls are added. The constants of the parts that aren't BLAS were measured relative to BLAS: the estimate is
        within a third of the true cost for n = 25 … 1500. So is that of a search for n up to 600, whether or not two γ
        share it; for n = 1500 it takes a quarter of the estimate in one dimension, up to twice as much in two. Where K
        has low rank r, which isn't known before the data, what is used for it is rather too high
        (`ckrr.ridge.structure.bound_rank`).
        """
        scores = targets * (points * (86e3 + 1200.0 * n) + 1.6e7) * (_WEIGHTED_COST if self.is_weighted else 1.0)
        if self.mean == CONSTANT:
            scores += 30.0 * n * points + 4.0 * n * n * targets  # W̃, and products with y twice
        if is_random(self.kernel):
            return scores + self._count_feature_flops(n, points, targets, searched)
        if self._is_primal(n):
            return scores + n * self.dimension * (4.0 * self.dimension + 2.0 * points + 50.0 * (2 + 3 * targets))
        rank = self._bound_rank(n)
        if rank is not None and not searched:
            return scores + estimate_low_rank_flops(n, points, rank)
        return 2 * n**3 / 3 + 2.0 * n * n * points + scores + (self._count_search_flops(n) if searched else 0.0)

    def _count_search_flops(self, n: int) -> float:
        """Estimate the operations of a search: from n = 400 on the Gaussian kernel mostly has cheaper forms."""
        if self.search in FINDS_LAM:
            return self._count_joint_flops(n - len(kept_rows(n)) if self.search in HOLDOUTS else n)
        if self.kernel != "gaussian":
            return _SEARCH * (n**3 / 3 + 400.0 * n * n)
        return 1.5e7 + 1e5 * n + min(3.5e3 * n, 1.5e6) * n + 0.7 * n**3

    def _count_joint_flops(self, n: int) -> float:
        """Estimate the operations of a search for θ and λ, and of climbs over scales: within a factor of 3.

        Each θ takes a decomposition of K, or a cheaper form; each step of a climb a factorisation and its inverse.
        """
        share = 0.5 if self.kernel == "gaussian" and n >= _STRUCTURED else 1.0
        found = _SEARCH * (1e7 + share * (1000.0 * n * n + 5 / 3 * n**3))
        return found + (_CLIMB * (2e6 + 600.0 * n * n + 1.2 * n**3) if self.search in FINDS_SCALES else 0.0)

    def _count_feature_flops(self, n: int, points: int, targets: int, searched: bool) -> float:
        """Estimate the operations on D random features, without the scores.

        QR factorisation takes 2nD² at half the speed, leverages nD², weights 2nD·points; a cosine counts as 900
        operations.
        """
        D = self.features or FEATURES
        once = 4.0 * n * D * D + D**3 / 3 + 1e7
        passes = 900.0 * n * D * (2 + 3 * targets + points // 128)
        return (
            once * (1 + _SEARCH * searched) + passes * (1 + _SEARCH * searched) + 1.0 * n * D * D + 2.0 * n * D * points
        )

    def _is_primal(self, n: int) -> bool:
        """Return whether the d×d matrix of the linear kernel is factorised in place of the n×n matrix."""
        return self.kernel == LINEAR and self.dimension < n

    def _bound_rank(self, n: int, stretch: float = 1.0) -> int | None:
        """Return the rank that estimates assume; None where K may be factorised exactly, or that isn't known.

        `stretch` multiplies the ranges: those of larger samples may be wider than those of the sample they are from.
        Inputs with heavy tails may be wider still, and then factorised exactly where low rank was planned.
        """
        if self.kernel != "gaussian" or self.box is None:
            return None
        ranges = np.array(self.box.ranges) / (1.0 if self.scales is None else np.array(self.scales))
        each = [factor * ranges for factor in {1.0, stretch}]
        rank = _RANK_MARGIN * bound_rank(stretch * ranges, self.box.theta)
        is_sure = all(is_low_rank(n, one, self.box.theta, self.box.lam) for one in each) and rank <= n // RANKS
        return int(rank) if is_sure else None

    def memory(self, n: int, points: int) -> float:
        """Estimate the bytes for one replication: the factor, its inverse in place, and blocks of test points.

        With random features, and where K has low rank, there are no n × n arrays. For large n a search takes no more
        than that; for small n several samples are scored together, and a search may take twice the factor's memory.
        """
        if is_random(self.kernel):
            return estimate_feature_memory(n, points, self.features or FEATURES)
        if self._is_primal(n):
            return estimate_feature_memory(n, points, self.dimension)
        rank = self._bound_rank(n, stretch=2.0)
        if rank is not None:
            return estimate_low_rank_memory(n, points, rank) + _SCRATCH
        if n > WHOLE:
            return 8.0 * (n * n + 3 * n * TEST_BLOCK) + _SCRATCH
        return 8.0 * (2 * n * n + 12 * n * min(points, TEST_BLOCK))


FAMILY = KernelRidge()
