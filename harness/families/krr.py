"""The family `krr`: conformal and Bayesian regions on kernel ridge regression, computed by `ckrr`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

import ckrr
from ckrr.likelihood.holdout import HOLDOUTS, kept_rows
from ckrr.likelihood.joint import FINDS_LAM, FINDS_SCALES
from ckrr.linalg.triangular import WHOLE
from ckrr.model import SEARCHES
from ckrr.procedures import ALL_PROCEDURES
from ckrr.ridge.exact import TEST_BLOCK
from ckrr.ridge.feature_ridge import estimate_feature_memory
from ckrr.ridge.low_rank import estimate_low_rank_flops, estimate_low_rank_memory
from ckrr.ridge.structure import RANKS, bound_rank, is_low_rank
from ckrr.space import FEATURES, is_random, make_space
from harness.core.protocols import Factor, Target
from harness.core.types import Array, Streams

_SCRATCH = 1e8
"""Bytes of buffers whose size does not depend on n."""
_SEARCH = 45
"""Likelihood evaluations of a search that factorises at every θ: 36 for most kernels, 50 for random features."""
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
    streams: Streams | None = None
    """Random streams of the path; frequencies of random features are drawn from "frequencies"."""
    smoothed: bool = False
    """Whether p-values are smoothed, with random numbers from the replication's stream "smoothing"."""
    box: _Box | None = None
    """θ, λ and ranges for which work is estimated; None if they aren't known."""
    search: str = "ml"
    """Search for which work is estimated."""

    procedures: Sequence[str] = tuple(ALL_PROCEDURES)
    searches: Sequence[str] = tuple(SEARCHES)
    finds_lam: Sequence[str] = FINDS_LAM
    reference: str | None = "GPR-f"
    version: int = ckrr.NUMERICS_VERSION

    def inputs(self, X: Array, X_test: Array) -> ckrr.Inputs:
        """Return the training and test inputs of a sample, to be factorised."""
        if not is_random(self.kernel):
            return ckrr.Inputs(X, X_test, self.kernel, self.scales)
        assert self.streams is not None, "features belong to a path"
        return ckrr.Inputs(X, X_test, self.kernel, self.scales, self.features, self.streams("frequencies"))

    def on_kernel(
        self,
        dimension: int,
        kernel: str = "gaussian",
        scales: Sequence[float] | None = None,
        features: int | None = None,
    ) -> Self:
        """Return the family with another kernel; raise ValueError if the options are invalid."""
        make_space(dimension, kernel, scales, features)  # validates the options
        return replace(self, kernel=kernel, scales=None if scales is None else tuple(scales), features=features)

    def on_ranges(self, ranges: Sequence[float], theta: float, lam: float) -> Self:
        """Return the family with estimates for one θ and λ, and for inputs in a box with these sides."""
        return replace(self, box=_Box(tuple(ranges), theta, lam))

    def on_search(self, search: str) -> Self:
        """Return the family with estimates for one search."""
        return replace(self, search=search)

    def smooth(self) -> Self:
        """Return the family with smoothed p-values."""
        return replace(self, smoothed=True)

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
        return ckrr.score_together(mine, Y, Y_test, procedures, alpha, f_test=latent or None, smoothed=by)

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """Return the exact level of a conformal procedure; None for others."""
        return ckrr.exact_level(procedure, n, alpha, self.smoothed)

    def left(self, search: str, n: int) -> int | None:
        """Return the number of rows that a search on held-out rows does not use; None for other searches."""
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
        scores = targets * (points * (86e3 + 1200.0 * n) + 1.6e7)
        if is_random(self.kernel):
            return scores + self._count_feature_flops(n, points, targets, searched)
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

    def _bound_rank(self, n: int, stretch: float = 1.0) -> int | None:
        """Return the rank that estimates assume; None where K may be factorised exactly, or that isn't known.

        `stretch` multiplies the ranges: those of larger samples may be wider than those of the sample they are from.
        """
        if self.kernel != "gaussian" or self.box is None:
            return None
        ranges = stretch * np.array(self.box.ranges) / (1.0 if self.scales is None else np.array(self.scales))
        rank = _RANK_MARGIN * bound_rank(ranges, self.box.theta)
        is_sure = is_low_rank(n, ranges, self.box.theta, self.box.lam) and rank <= n // RANKS
        return int(rank) if is_sure else None

    def memory(self, n: int, points: int) -> float:
        """Estimate the bytes for one replication: the factor, its inverse in place, and blocks of test points.

        With random features, and where K has low rank, there are no n × n arrays. For large n a search takes no more
        than that; for small n several samples are scored together, and a search may take twice the factor's memory.
        """
        if is_random(self.kernel):
            return estimate_feature_memory(n, points, self.features or FEATURES)
        rank = self._bound_rank(n, stretch=2.0)
        if rank is not None:
            return estimate_low_rank_memory(n, points, rank) + _SCRATCH
        if n > WHOLE:
            return 8.0 * (n * n + 3 * n * TEST_BLOCK) + _SCRATCH
        return 8.0 * (2 * n * n + 12 * n * min(points, TEST_BLOCK))


FAMILY = KernelRidge()
