"""Noise that isn't normal, and test inputs that don't follow the training distribution.

Both depend on the position u ∈ [0, 1] of a point along its first coordinate: the relative position between the ends of
the domain or, in a table, the share of rows below it. In both cases u is uniform under the training distribution.

The noise e in y + √γ·e has mean 0 and variance 1, so that γ is the variance of the noise:

==================  =============================================================================  =============
`noise`             distribution of e                                                              parameter
==================  =============================================================================  =============
"gaussian"          standard normal
"student"           t·√((ν − 2)/ν), t Student with ν degrees of freedom                            `df` = ν
"skewed"            (G − k)/√k, G gamma with shape k = 4/g²; mirrored for g < 0                    `skewness` = g
"heteroscedastic"   s(u)·z, z normal, s(u)² = r^(2u)·log r²/(r² − 1): 1 on average over u          `spread` = r
==================  =============================================================================  =============

For ν ≤ 2 there is no variance: then e is t itself, and γ the square of its scale. r is the ratio of the standard
deviation of the noise at the right end to that at the left end.

`shift` = s draws test inputs such that u has the density s·e^(su)/(e^s − 1), an exponential tilt: to the right for
s > 0. Given its input, a test value has the same distribution as a training value: that is covariate shift. Training
and test points are then not exchangeable, and no exact level is promised.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, expm1, log, pi, sqrt
from typing import Literal, get_args

import numpy as np
from scipy.special import gammainc, ndtr, stdtr

from scenarios.sources import _validation
from scenarios.sources.types import Array

Noise = Literal["gaussian", "student", "skewed", "heteroscedastic"]
LAWS: tuple[Noise, ...] = get_args(Noise)
_PARAMETERS = {"df": ("student", 3.0), "skewness": ("skewed", 2.0), "spread": ("heteroscedastic", 10.0)}
"""For each parameter, the noise it belongs to and its default."""

MOST_SHIFT = 10.0
"""Largest |shift|: one end of the domain is then e^10 times as likely as the other."""


@dataclass(frozen=True)
class World:
    """Distribution of the noise, and shift of the test inputs; its fields are keys of any [source] table.

    Examples
    --------
    >>> World(noise="student", df=5).draw_noise(np.array([0.2, 0.9]), np.random.default_rng(0)).shape
    (2,)
    >>> World(noise="heteroscedastic", spread=10.0).compute_deviation(np.array([0.0, 1.0])).round(3)
    array([0.216, 2.157])
    >>> World(df=5)
    Traceback (most recent call last):
    ...
    ValueError: df must be left out unless noise = "student", got 5
    """

    noise: Noise = "gaussian"
    """Distribution of the noise."""
    df: float | None = None
    """ν, degrees of freedom of Student noise (default: 3)."""
    skewness: float | None = None
    """g of skewed noise (default: 2, an exponential distribution); smaller |g| is nearer to the normal distribution."""
    spread: float | None = None
    """r of heteroscedastic noise (default: 10)."""
    shift: float = 0.0
    """s of the tilt of the test inputs; 0 for none."""

    def __post_init__(self) -> None:
        _validation.check_choice("noise", self.noise, LAWS)
        for name, (law, _) in _PARAMETERS.items():
            told = getattr(self, name)
            if self.noise != law and told is not None:
                raise ValueError(f'{name} must be left out unless noise = "{law}", got {_validation.quote_value(told)}')
        _validation.check_positive("df", self._get_parameter("df"))
        _validation.check_positive("spread", self._get_parameter("spread"))
        _validation.check_real("skewness", self._get_parameter("skewness"), but_zero=True)
        if not abs(_validation.check_real("shift", self.shift)) <= MOST_SHIFT:
            raise ValueError(f"shift must be from −{MOST_SHIFT:g} to {MOST_SHIFT:g}, got {self.shift:g}")

    def _get_parameter(self, name: str) -> float:
        """Return the given value of a parameter of the noise, or its default."""
        told: float | None = getattr(self, name)
        return _PARAMETERS[name][1] if told is None else told

    def draw_noise(self, u: Array, rng: np.random.Generator) -> Array:
        """Draw e for each position in u.

        With the same generator state, the values for fewer positions are the first ones of those for more.
        """
        n = len(u)
        if self.noise == "student":
            df = self._get_parameter("df")
            return rng.standard_t(df, n) * (sqrt((df - 2) / df) if df > 2 else 1.0)
        if self.noise == "skewed":
            g = self._get_parameter("skewness")
            k = 4 / g**2
            return copysign(1 / sqrt(k), g) * (rng.standard_gamma(k, n) - k)
        z = rng.standard_normal(n)
        return z if self.noise == "gaussian" else self.compute_deviation(u) * z

    def compute_cdf(self, u: Array, z: Array) -> Array:
        """Return P(e ≤ z) of the noise e at each position in u, which belongs to the last axis of z.

        Examples
        --------
        >>> World(noise="skewed").compute_cdf(np.array([0.5]), np.array([-1.0, 0.0, np.inf])).round(3)
        array([0.   , 0.632, 1.   ])
        """
        if self.noise == "student":
            df = self._get_parameter("df")
            return _compute_student_cdf(df, z / (sqrt((df - 2) / df) if df > 2 else 1.0))
        if self.noise == "skewed":
            g = self._get_parameter("skewness")
            return _compute_gamma_cdf(4 / g**2, z) if g > 0 else 1.0 - _compute_gamma_cdf(4 / g**2, -z)
        return np.asarray(ndtr(z if self.noise == "gaussian" else z / self.compute_deviation(u)))

    @property
    def noise_sd(self) -> float | None:
        """Standard deviation of e: 1; None if it differs between positions, or e has no variance."""
        has_none = self.noise == "student" and self._get_parameter("df") <= 2
        return None if has_none or self.noise == "heteroscedastic" else 1.0

    def compute_deviation(self, u: Array) -> Array:
        """Return s(u), the standard deviation of e at each position; 1 unless the noise is heteroscedastic."""
        c = log(self._get_parameter("spread")) if self.noise == "heteroscedastic" else 0.0
        return np.exp(c * u) / sqrt(expm1(2 * c) / (2 * c)) if c else np.ones_like(u)

    def tilt(self, v: Array) -> Array:
        """Map uniform positions to positions of the test inputs, through the quantile function of the tilt.

        Examples
        --------
        >>> World(shift=3.0).tilt(np.array([0.0, 0.5, 1.0])).round(3)
        array([0.   , 0.785, 1.   ])
        """
        if self.shift == 0:
            return v
        s = -abs(self.shift)  # compute the mirror image that never overflows
        places: Array = np.log1p((v if self.shift < 0 else 1 - v) * expm1(s)) / s
        return places if self.shift < 0 else 1 - places

    def compute_density_ratio(self, u: Array) -> Array:
        """Return the density of test inputs at the positions u, relative to that of training inputs.

        Examples
        --------
        >>> World(shift=2.0).compute_density_ratio(np.array([0.0, 0.5, 1.0])).round(3)
        array([0.313, 0.851, 2.313])
        """
        s = abs(self.shift)  # from the end where the density is larger, so that nothing overflows
        if s == 0:
            return np.ones_like(u)
        return np.asarray(s * np.exp(-s * (1 - u if self.shift > 0 else u)) / -expm1(-s))

    def compute_weights(self, u: Array) -> Array:
        """Return the density ratio of test to training inputs at the positions u, normalised to sum to 1."""
        w = np.exp(self.shift * u - max(self.shift, 0.0))
        return np.asarray(w / w.sum())


def _compute_student_cdf(df: float, t: Array) -> Array:
    """Return the distribution function of Student's t; that of the default, ν = 3, in closed form, 80 times as fast."""
    if df != 3:
        return np.asarray(stdtr(df, t))
    x = np.clip(t / sqrt(3), -1e150, 1e150)  # beyond, it is 0 or 1 to the last digit, and x² would overflow
    return np.asarray(0.5 + (x / (1 + x * x) + np.arctan(x)) / pi)


def _compute_gamma_cdf(k: float, z: Array) -> Array:
    """Return the distribution function of (G − k)/√k, G gamma with shape k; k = 1 is the exponential distribution."""
    x = np.maximum(k + sqrt(k) * z, 0.0)
    return np.asarray(-np.expm1(-x) if k == 1 else gammainc(k, x))


PLAIN = World()
"""The default world: normal noise, and test inputs from the training distribution."""
