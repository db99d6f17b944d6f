"""Profile likelihood in the cheapest of three forms, by the structure that K has at this θ.

Where θ is small K has low rank, where it is large K is banded, each to a tolerance that causes an error of about 1e-4
in the log likelihood. In between, for tiny λ and for small samples the dense factorisation is the cheapest or the only
choice. The form is chosen by counts of operations, never by timing, so results for the same sample are bitwise
identical.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ckrr._validation import Array
from ckrr.likelihood.banded import Parts, SortedSample, compute_banded_parts
from ckrr.likelihood.dense import LARGEST
from ckrr.likelihood.low_rank import (
    KernelAxis,
    compute_low_rank_parts,
    count_nodes,
    estimate_rank,
    make_low_rank_factor,
    select_products,
)
from ckrr.linalg.triangular import WHOLE

_ERROR = 5e-7
"""Tolerance for what is dropped from K, relative to λ: entries outside the band and, per point, terms of the expansion.

With twice this the log likelihood was off by up to 4e-4, over all functions of the paper at n = 1200 to 1600.
"""

_ROUNDING = 4e-16
"""Terms of the expansion of K below this are rounding errors."""

_RANKS = 5
"""Large samples use ranks up to n over this: F and its intermediate arrays then take less memory than K would."""

SMALLEST = 216
"""Samples of fewer points are not worth it: what Python adds to the structured forms takes longer than they save."""

# Costs besides matrix products, in operations of one: per entry of K, of a band and of F, per cubed node, per call.
_ENTRY, _BAND_ENTRY, _COLUMN_ENTRY, _NODE, _BAND_CALL, _LOW_RANK_CALL = 350, 250, 60, 20, 3e6, 4e6
_PACKED_ENTRY = 100
"""Cost of an entry of K for samples that `DenseLikelihood` evaluates."""


class StructuredLikelihood:
    """Likelihood of a sample where the structure of K + λI makes it cheaper than the dense factorisation."""

    def __init__(self, X: Array, ys: Sequence[Array], lam: float, has_mean: bool = False) -> None:
        self.X, self.ys, self.lam, self.has_mean = X, ys, lam, has_mean
        self.n = len(X)
        self.range = np.ptp(X, axis=0)
        self.delta = _ERROR * lam
        self.tolerance = max(_ERROR * lam / self.n, _ROUNDING)

    @cached_property
    def _sorted(self) -> SortedSample:
        return SortedSample.from_sample(self.X, self.ys, self.has_mean)

    @cached_property
    def _unit_cube(self) -> Array:
        cube: Array = (self.X - self.X.min(axis=0)) / np.where(self.range > 0, self.range, 1.0)
        return cube

    def compute_parts(self, theta: float) -> Parts | None:
        """Return y′Qy of each target, and log|K + λI|; None where the dense factorisation is the better choice.

        Examples
        --------
        >>> X = np.linspace(0, 1, 1000)[:, None]
        >>> sample = StructuredLikelihood(X, [np.sin(9 * X[:, 0])], lam=0.1)
        >>> (quadratic,), log_det = sample.compute_parts(theta=10.0)  # of low rank
        >>> round(quadratic, 3), round(log_det, 3)
        (10.334, -2260.682)
        >>> (quadratic,), log_det = sample.compute_parts(theta=1e5)  # banded
        >>> round(quadratic, 3), round(log_det, 3)
        (91.383, -1128.414)
        >>> few = StructuredLikelihood(X[:50], [np.ones(50)], lam=0.1)
        >>> few.compute_parts(theta=10.0) is None  # dense is as fast
        True
        """
        dense = self.n**3 / 3 + (_ENTRY if self.n > LARGEST else _PACKED_ENTRY) * self.n**2 / 2
        b = self._sorted.compute_half_width(theta, self.delta)
        banded = self._estimate_band_cost(b)
        found = self._compute_low_rank(theta, min(dense, banded))
        if found is None and banded < dense:
            found = compute_banded_parts(self._sorted, theta, self.lam, self.delta, b)
        return found

    def _compute_low_rank(self, theta: float, limit: float) -> Parts | None:
        """Compute y′Qy and log|K + λI| in the low-rank form; None if that costs more than the limit."""
        ts = [float(theta * r * r) for r in self.range]
        if self.tolerance > 10 * _ERROR * self.lam / self.n:
            return None
        most, least = self.n if self.n <= WHOLE else self.n // _RANKS, estimate_rank(ts, self.tolerance)
        if least > most or self._estimate_rank_cost(least, ts) > limit:
            return None
        axes = [KernelAxis(t) for t in ts]
        index = select_products(axes, self.tolerance, most)
        if index is None or self._estimate_rank_cost(len(index), ts) > limit:
            return None
        F = make_low_rank_factor(axes, self._unit_cube, index)
        return compute_low_rank_parts(F, self.ys, self.lam, self.has_mean)

    def _estimate_band_cost(self, b: int) -> float:
        return self.n * b**2 * (1 - 2 * b / (3 * self.n)) + _BAND_ENTRY * self.n * b + _BAND_CALL

    def _estimate_rank_cost(self, p: float, ts: list[float]) -> float:
        axes = sum(_NODE * count_nodes(t) ** 3 + _ENTRY * self.n * count_nodes(t) for t in ts)
        return axes + self.n * p**2 + p**3 / 3 + _COLUMN_ENTRY * self.n * p + _LOW_RANK_CALL
