"""Predictive distributions of y* at m test points, with their quantiles, intervals and scores.

Made by `Fit.distribution`. The mathematics is in `ckrr.regions.distributions`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from ckrr._validation import Array, check_finite, check_values
from ckrr.levels import Alpha, Boundary, check_boundary, compute_thresholds, parse_alphas
from ckrr.regions.bayesian import make_normal_intervals
from ckrr.regions.distributions import (
    compute_normal_cdf,
    compute_normal_crps,
    compute_normal_pit,
    compute_step_crps,
    compute_step_pit,
    iter_slices,
)
from ckrr.regions.intervals import Regions, make_intervals
from ckrr.regions.smoothing import resolve_taus

_BLOCK = 1 << 17
"""Entries of an array processed at once. Results are bitwise independent of it."""


class Distribution(ABC):
    """Predictive distributions of y* at m test points.

    Made by `Fit.distribution`: `ConformalDistribution` for CRR-std, `NormalDistribution` for GPR-f.

    Examples
    --------
    >>> import ckrr
    >>> X = np.linspace(0, 1, 40)
    >>> y = np.sin(6 * X) + 0.1 * np.cos(50 * X)
    >>> D = ckrr.fit(X, y, theta=10.0, lam=0.01).distribution([0.25, 0.75])
    >>> D
    <ConformalDistribution of 2 points: 40 jumps each>
    >>> D.quantile([0.1, 0.5, 0.9]).round(2)
    array([[ 0.89,  0.99,  1.11],
           [-1.09, -0.99, -0.87]])
    >>> D.crps([1.0, -1.0]).round(3)
    array([0.025, 0.026])
    """

    @property
    @abstractmethod
    def _points(self) -> int:
        """Number of test points."""

    def cdf(self, y: npt.ArrayLike) -> Array:
        """Return the distribution function F of test point i at y[i].

        Parameters
        ----------
        y : (m,) or (m, k) array
            One value, or k values, for each test point.
        """
        at = check_finite("y", y)
        if at.ndim not in (1, 2) or len(at) != self._points:
            raise ValueError(f"y must be of shape ({self._points},) or ({self._points}, k), got shape {at.shape}")
        return self._compute_cdf(at if at.ndim == 2 else at[:, None]).reshape(at.shape)

    def quantile(self, q: Alpha) -> Array:
        """Return the smallest value at which the distribution function is at least q, shape (m, k).

        Parameters
        ----------
        q : number or sequence of k numbers in (0, 1)
            Read as the decimals that were written.
        """
        try:
            return self._compute_quantiles(parse_alphas(q))
        except ValueError as error:
            raise ValueError(f"q{str(error).removeprefix('alpha')}") from None

    def interval(self, alpha: Alpha = 0.1, boundary: str = ">=") -> Regions:
        """Return the prediction intervals at k levels: those of `Fit.regions` for the same procedure.

        Parameters
        ----------
        alpha : number or sequence of k numbers in (0, 1)
        boundary : {">=", ">"}
            As in `Fit.regions`.
        """
        return self._compute_intervals(parse_alphas(alpha), check_boundary(boundary))

    def crps(self, y: npt.ArrayLike) -> Array:
        """Return the continuous ranked probability score ∫ (F(z) − 1{z ≥ y[i]})² dz of each test point, shape (m,).

        It is in the units of y; smaller is better.
        """
        return self._compute_crps(check_values("y", y, self._points, of="X_new"))

    def pit(self, y: npt.ArrayLike, rng: np.random.Generator | npt.ArrayLike) -> Array:
        """Return the randomised probability integral transform of y[i] at each test point, shape (m,).

        It is uniform on [0, 1] if the distributions are right; for CRR-std it is if the points are exchangeable.

        Parameters
        ----------
        y : (m,) array
        rng : Generator or (m,) array
            Source of τ, uniform on [0, 1] for each test point and independent of all data; or those τ.
        """
        tau = resolve_taus(rng, self._points, name="rng")
        assert tau is not None
        return self._compute_pit(check_values("y", y, self._points, of="X_new"), tau)

    @abstractmethod
    def _compute_cdf(self, y: Array) -> Array: ...

    @abstractmethod
    def _compute_quantiles(self, q: tuple[Fraction, ...]) -> Array: ...

    @abstractmethod
    def _compute_intervals(self, alpha: tuple[Fraction, ...], boundary: Boundary) -> Regions: ...

    @abstractmethod
    def _compute_crps(self, y: Array) -> Array: ...

    @abstractmethod
    def _compute_pit(self, y: Array, tau: Array) -> Array: ...


class ConformalDistribution(Distribution):
    """Conformal predictive distributions from studentised residuals (CRR-std).

    `cdf`, `quantile` and `crps` are of F(z) = #{C_i ≤ z}/n. `pit` is Q(z) = (#{C_i < z} + τ(1 + #{C_i = z}))/(n + 1),
    which is exactly uniform for exchangeable points, and so is what guarantees the level of `interval`.

    Attributes
    ----------
    jumps : (m, n) array
        C_i of each test point, ascending.
    """

    def __init__(self, jumps: Array) -> None:
        self.jumps = jumps

    def __repr__(self) -> str:
        return f"<ConformalDistribution of {self._points} points: {self.jumps.shape[1]} jumps each>"

    @property
    def _points(self) -> int:
        return len(self.jumps)

    def _compute_cdf(self, y: Array) -> Array:
        counts = [np.searchsorted(jumps, at, side="right") for jumps, at in zip(self.jumps, y, strict=True)]
        return np.asarray(np.array(counts) / self.jumps.shape[1])

    def _compute_quantiles(self, q: tuple[Fraction, ...]) -> Array:
        n = self.jumps.shape[1]
        return self.jumps[:, [-(-n * each // 1) - 1 for each in q]]

    def _compute_intervals(self, alpha: tuple[Fraction, ...], boundary: Boundary) -> Regions:
        n = self.jumps.shape[1]
        k = compute_thresholds(n + 1, [each / 2 for each in alpha], boundary)
        lower = np.where(k > 0, self.jumps[:, k - 1], -np.inf)
        upper = np.where(k > 0, self.jumps[:, np.minimum(n - k, n - 1)], np.inf)
        return make_intervals(lower, upper)

    def _compute_crps(self, y: Array) -> Array:
        return np.concatenate([compute_step_crps(self.jumps[here], y[here]) for here in self._iter_slices()])

    def _compute_pit(self, y: Array, tau: Array) -> Array:
        slices = self._iter_slices()
        return np.concatenate([compute_step_pit(self.jumps[here], y[here], tau[here]) for here in slices])

    def _iter_slices(self) -> list[slice]:
        return list(iter_slices(self._points, max(1, _BLOCK // self.jumps.shape[1])))


class NormalDistribution(Distribution):
    """Normal predictive distributions (GPR-f); where the deviation is 0, all probability is at the mean.

    Attributes
    ----------
    mean, deviation : (m,) arrays
        Mean ŷ and standard deviation σ̂√m of each test point.
    """

    def __init__(self, mean: Array, deviation: Array) -> None:
        self.mean, self.deviation = mean, deviation

    def __repr__(self) -> str:
        return f"<NormalDistribution of {self._points} points>"

    @property
    def _points(self) -> int:
        return len(self.mean)

    def _compute_cdf(self, y: Array) -> Array:
        return compute_normal_cdf(self.mean[:, None], self.deviation[:, None], y)

    def _compute_quantiles(self, q: tuple[Fraction, ...]) -> Array:
        return self.mean[:, None] + np.multiply.outer(self.deviation, ndtri([float(each) for each in q]))

    def _compute_intervals(self, alpha: tuple[Fraction, ...], boundary: Boundary) -> Regions:
        z = -np.asarray(ndtri([float(each) / 2 for each in alpha]))
        return make_normal_intervals(self.mean, self.deviation, z)

    def _compute_crps(self, y: Array) -> Array:
        return compute_normal_crps(self.mean, self.deviation, y)

    def _compute_pit(self, y: Array, tau: Array) -> Array:
        return compute_normal_pit(self.mean, self.deviation, y, tau)
