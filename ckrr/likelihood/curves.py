"""Find the most likely λ at one θ for several targets, in the cheapest form.

Where K has low rank one decomposition of its factor serves all λ, elsewhere one of K itself
(`ckrr.likelihood.spectrum`). Where K is banded, each λ takes a factorisation of the band, which is cheaper still for
large θ. The form is chosen by counts of operations, never by timing, so results for the same sample are bitwise
identical.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import exp

import numpy as np

from ckrr._validation import Array
from ckrr.kernels import Kernel, gaussian
from ckrr.likelihood.banded import SortedSample, factorise_band, make_band
from ckrr.likelihood.low_rank import KernelAxis, count_nodes, estimate_rank, make_low_rank_factor, select_products
from ckrr.likelihood.ridge_curve import LOWEST_LAM, Best, find_best_lam
from ckrr.likelihood.spectrum import Spectrum, Targets
from ckrr.linalg.triangular import WHOLE
from ckrr.ridge.exact import make_ridge_matrix
from ckrr.ridge.random_features import Features

BestLams = Callable[[float], list[Best]]
"""Returns the largest ℓ over λ of each target at one θ."""

SMALLEST = 216
"""Samples of fewer points are decomposed as they are."""
_ERROR = 5e-7
"""Tolerance for what is dropped from a band, relative to λ, as in `ckrr.likelihood.structured`."""
_ROUNDING = 4e-16
"""Terms of the expansion of K below this are rounding errors."""
_LACKING = 1e-10
"""Maximum trace of K − FF′. At λ = 1e-8 and n = 600 ℓ was off by up to 1e-3, as it may be by rounding alone."""
_RANKS = 5
"""Large samples use ranks up to n over this: F then takes less memory than K would."""
_LAMS = 54
"""Values of λ at which ℓ is evaluated."""

# Costs in operations of a Cholesky factorisation: see `_estimate_costs`.
_TRIDIAGONAL, _EIGENVECTOR, _ENTRY, _BAND_ENTRY, _QR, _COLUMN_ENTRY, _NODE, _CALL = 5 / 3, 800, 175, 60, 5, 60, 20, 4e6


def decompose_kernel(X: Array, theta: float, kernel: Kernel, targets: Targets) -> Spectrum:
    """Return the spectrum of a kernel matrix."""
    return Spectrum.of_matrix(make_ridge_matrix(X, theta, 0.0, kernel), targets)


def decompose_features(X: Array, theta: float, features: Features, rows: int, targets: Targets) -> Spectrum:
    """Return the spectrum of ΦΦ′, from Φ in blocks of rows."""
    blocks = (slice(start, min(start + rows, len(X))) for start in range(0, len(X), rows))
    return Spectrum.of_factor(((here, features(X[here], theta).T) for here in blocks), features.count, targets)


def find_best_lams(spectrum: Spectrum, targets: Targets) -> list[Best]:
    """Return the largest ℓ over λ of each target."""
    return [
        find_best_lam(lambda s, i=i: spectrum.compute_heights(i, s))  # type: ignore[misc]
        for i in range(len(targets.shifts))
    ]


class GaussianCurves:
    """The most likely λ of several targets at any θ, for the Gaussian kernel."""

    def __init__(self, X: Array, targets: Targets) -> None:
        self._X, self._targets, self._n = X, targets, len(X)
        self._range = np.ptp(X, axis=0)

    def __call__(self, theta: float) -> list[Best]:
        """Return the largest ℓ over λ of each target."""
        if self._n < SMALLEST:
            return self._use_matrix(theta)
        n, b = self._n, self._band.compute_half_width(theta, _ERROR * LOWEST_LAM)
        dense = _TRIDIAGONAL * n**3 + (_EIGENVECTOR + _ENTRY) * n**2
        banded = _LAMS * (n * b**2 * (1 - 2 * b / (3 * n)) + _BAND_ENTRY * n * b) + _CALL
        found = self._use_low_rank(theta, min(dense, banded))
        if found is None and banded < dense:
            found = self._use_band(theta, b)
        return self._use_matrix(theta) if found is None else found

    def _use_matrix(self, theta: float) -> list[Best]:
        return find_best_lams(decompose_kernel(self._X, theta, gaussian, self._targets), self._targets)

    def _use_low_rank(self, theta: float, limit: float) -> list[Best] | None:
        """Use the low-rank form; None if it costs more than the limit, or isn't accurate."""
        n, ts = self._n, [float(theta * r * r) for r in self._range]
        most = n if n <= WHOLE else n // _RANKS
        if self._estimate_rank_cost(estimate_rank(ts, _ROUNDING), ts) > limit:
            return None
        axes = [KernelAxis(t) for t in ts]
        index = select_products(axes, _ROUNDING, most)
        if index is None or self._estimate_rank_cost(len(index), ts) > limit:
            return None
        F = make_low_rank_factor(axes, self._unit_cube, index)
        if abs(n - float(np.vecdot(F.T, F.T).sum())) > _LACKING:
            return None
        return find_best_lams(Spectrum.of_factor([(slice(0, n), F)], len(index), self._targets), self._targets)

    def _estimate_rank_cost(self, p: float, ts: list[float]) -> float:
        n = self._n
        axes = sum(_NODE * count_nodes(t) ** 3 + 2 * _ENTRY * n * count_nodes(t) for t in ts)
        return axes + _QR * n * p**2 + 3 * p**3 + _EIGENVECTOR * p**2 + _COLUMN_ENTRY * n * p + _CALL

    @cached_property
    def _unit_cube(self) -> Array:
        cube: Array = (self._X - self._X.min(axis=0)) / np.where(self._range > 0, self._range, 1.0)
        return cube

    @cached_property
    def _band(self) -> SortedSample:
        return SortedSample.from_sample(self._X, _with_sums(self._targets))

    def _use_band(self, theta: float, b: int) -> list[Best] | None:
        """Use the banded form; None if the band isn't positive definite for some λ."""
        parts = _BandedParts(self._band, self._targets, theta, b)
        found = [
            find_best_lam(lambda s, i=i: parts.compute_heights(i, s))  # type: ignore[misc]
            for i in range(len(self._targets.shifts))
        ]
        return found if all((each.row > -np.inf).all() for each in found) else None


def _with_sums(targets: Targets) -> Sequence[Array]:
    """Return the targets; with a mean also the ones, and each target plus these: its form with them follows."""
    ys = targets.columns
    return [*ys, *(y + ys[-1] for y in ys[:-1])] if targets.has_mean else ys


class _BandedParts:
    """ℓ at any λ by a banded factorisation, of which each serves all targets."""

    def __init__(self, sample: SortedSample, targets: Targets, theta: float, b: int) -> None:
        self._sample, self._targets, self._b = sample, targets, b
        self._matrix = make_band(sample, theta, _ERROR * LOWEST_LAM, b)
        self._known: dict[float, tuple[list[float], float]] = {}

    def compute_heights(self, target: int, log_lams: Array) -> Array:
        parts = [self._compute_parts(s) for s in log_lams.tolist()]
        quadratic = np.array([self._profile(target, each) for each, _ in parts])
        return self._targets.combine(target, quadratic, np.array([log_det for _, log_det in parts]))

    def _profile(self, target: int, forms: list[float]) -> float:
        """Return y′Qy of a target, given those of all columns; with a mean, less what the mean explains."""
        if not self._targets.has_mean:
            return forms[target]
        count = len(self._targets.shifts)
        ones, both = forms[count], forms[count + 1 + target]
        return max(forms[target] - (0.5 * (both - forms[target] - ones)) ** 2 / ones, 0.0)

    def _compute_parts(self, s: float) -> tuple[list[float], float]:
        if s not in self._known:
            found = factorise_band(self._sample, self._matrix.copy(), exp(s), self._b)
            nothing = [np.nan] * len(self._sample.ys), np.nan
            self._known[s] = nothing if found is None else found
        return self._known[s]
