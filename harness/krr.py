"""The family of procedures that `ckrr` computes: the one place where the harness names it."""

from __future__ import annotations

from collections.abc import Sequence

import ckrr
from ckrr.model import SEARCHES
from ckrr.procedures import ALL_PROCEDURES
from ckrr.ridge import TEST_BLOCK
from ckrr.triangles import WHOLE
from harness.nouns import Array, Factor, Inputs, Scores, Streams, Target

_SCRATCH = 1e8
"""Bytes of buffers that don't grow with n."""


class KernelRidge:
    """Conformal and Bayesian regions on kernel ridge regression."""

    procedures: Sequence[str] = tuple(ALL_PROCEDURES)
    searches: Sequence[str] = tuple(SEARCHES)
    reference: str | None = "GPR-f"
    version: int = ckrr.NUMERICS_VERSION

    def inputs(self, X: Array, X_test: Array) -> Inputs:
        """Train and test inputs."""
        return ckrr.Inputs(X, X_test)

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
        return ckrr.score_together(mine, Y, Y_test, procedures, alpha, f_test=latent or None)

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """The exact one of conformal procedures."""
        return ckrr.exact_level(procedure, n, alpha)

    def flops(self, n: int, points: int, targets: int, searched: bool) -> float:
        """Factorisation and inverse 2n³/3, products 2n²·points; then passes over n × points numbers, and calls.

        The constants of what isn't BLAS were measured against it: within a third of the truth for n = 25 … 1500.
        """
        scores = targets * (points * (86e3 + 1200.0 * n) + 1.6e7)
        search = 2.2e8 + 4e6 * n + 2.0 * n**3 if searched else 0.0
        return 2 * n**3 / 3 + 2.0 * n * n * points + scores + search

    def memory(self, n: int, points: int) -> float:
        """The factor, its inverse in place, and blocks of test points. A search takes no more.

        Of small samples several are scored together, and a search may take twice the factor.
        """
        if n > WHOLE:
            return 8.0 * (n * n + 3 * n * TEST_BLOCK) + _SCRATCH
        return 8.0 * (2 * n * n + 12 * n * min(points, TEST_BLOCK))


FAMILY = KernelRidge()
