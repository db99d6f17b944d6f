"""The family of procedures that `ckrr` computes: the one place where the harness names it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import ckrr
from ckrr.likelihood.holdout import HOLDOUT, kept_rows
from ckrr.linalg.triangular import WHOLE
from ckrr.model import SEARCHES
from ckrr.procedures import ALL_PROCEDURES
from ckrr.ridge.exact import TEST_BLOCK
from ckrr.ridge.feature_ridge import estimate_feature_memory
from ckrr.space import FEATURES, is_random, make_space
from harness.core.protocols import Factor, Inputs, Scores, Target
from harness.core.types import Array, Streams

_SCRATCH = 1e8
"""Bytes of buffers that don't grow with n."""
_SEARCH = 60
"""Evaluations of the likelihood in a search by factorisations alone."""


@dataclass(frozen=True)
class KernelRidge:
    """Conformal and Bayesian regions on kernel ridge regression, with a kernel or on random features of one."""

    kernel: str = "gaussian"
    scales: tuple[float, ...] | None = None
    features: int | None = None
    streams: Streams | None = None
    """Of the path: frequencies come from there."""
    smoothed: bool = False
    """Whether p-values are smoothed, by numbers from the replication's stream "smoothing"."""

    procedures: Sequence[str] = tuple(ALL_PROCEDURES)
    searches: Sequence[str] = tuple(SEARCHES)
    reference: str | None = "GPR-f"
    version: int = ckrr.NUMERICS_VERSION

    def inputs(self, X: Array, X_test: Array) -> Inputs:
        """Train and test inputs."""
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
        """The same with another kernel."""
        make_space(dimension, kernel, scales, features)  # says what can't be
        return replace(self, kernel=kernel, scales=None if scales is None else tuple(scales), features=features)

    def smooth(self) -> Self:
        """The same with smoothed p-values."""
        return replace(self, smoothed=True)

    def on_path(self, streams: Streams) -> Self:
        """With the frequencies of a path."""
        return replace(self, streams=streams) if is_random(self.kernel) else self

    def score(
        self,
        factors: Sequence[Factor],
        targets: Sequence[Target],
        procedures: Sequence[str],
        alpha: Sequence[float],
        streams: Sequence[Streams],
    ) -> Sequence[Scores]:
        """All of them stacked: twice as fast where n is small, the same bits."""
        mine = [factor for factor in factors if isinstance(factor, ckrr.Factor)]
        Y, Y_test = [target.Y for target in targets], [target.Y_test for target in targets]
        latent = [target.f_test for target in targets if target.f_test is not None]
        by = [each("smoothing") for each in streams] if self.smoothed else None
        return ckrr.score_together(mine, Y, Y_test, procedures, alpha, f_test=latent or None, smoothed=by)

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """The exact one of conformal procedures."""
        return ckrr.exact_level(procedure, n, alpha, self.smoothed)

    def left(self, search: str, n: int) -> int | None:
        """With "holdout" the rows that θ wasn't chosen on."""
        return len(kept_rows(n)) if search == HOLDOUT else None

    def flops(self, n: int, points: int, targets: int, searched: bool) -> float:
        """Factorisation and inverse 2n³/3, products 2n²·points; then passes over n × points numbers, and calls.

        The constants of what isn't BLAS were measured against it: within a third of the truth for n = 25 … 1500.
        """
        scores = targets * (points * (86e3 + 1200.0 * n) + 1.6e7)
        if is_random(self.kernel):
            return scores + self._count_feature_flops(n, points, targets, searched)
        search = 2.2e8 + 4e6 * n + 2.0 * n**3 if self.kernel == "gaussian" else _SEARCH * (n**3 / 3 + 400.0 * n * n)
        return 2 * n**3 / 3 + 2.0 * n * n * points + scores + (search if searched else 0.0)

    def _count_feature_flops(self, n: int, points: int, targets: int, searched: bool) -> float:
        """QR factorisation 2nD² at half the speed, leverages nD², weights 2nD·points; a cosine is 900 operations."""
        D = self.features or FEATURES
        once = 4.0 * n * D * D + D**3 / 3 + 1e7
        passes = 900.0 * n * D * (2 + 3 * targets + points // 128)
        return (
            once * (1 + _SEARCH * searched) + passes * (1 + _SEARCH * searched) + 1.0 * n * D * D + 2.0 * n * D * points
        )

    def memory(self, n: int, points: int) -> float:
        """The factor, its inverse in place, and blocks of test points; on features there is nothing of n × n.

        A search takes no more. Of small samples several are scored together, and a search may take twice the factor.
        """
        if is_random(self.kernel):
            return estimate_feature_memory(n, points, self.features or FEATURES)
        if n > WHOLE:
            return 8.0 * (n * n + 3 * n * TEST_BLOCK) + _SCRATCH
        return 8.0 * (2 * n * n + 12 * n * min(points, TEST_BLOCK))


FAMILY = KernelRidge()
