"""Harder worlds: noise that isn't normal, and test inputs from another law than the train inputs.

Both are told by where a point is along its first coordinate: u ∈ [0, 1], its place between the ends of the domain, or
the share of a table's rows that lie below it. Either way u is uniform where inputs have the law of the train points.

==================  =============================================================================  =============
`noise`             law of e in y + √γ·e: of mean 0 and variance 1, so that γ is the noise's variance  its parameter
==================  =============================================================================  =============
"gaussian"          standard normal
"student"           t·√((ν − 2)/ν), t of Student's law with ν degrees of freedom                   `df` = ν
"skewed"            (G − k)/√k, G of the gamma law with k = 4/g²; mirrored for g < 0               `skewness` = g
"heteroscedastic"   s(u)·z, z normal, s(u)² = r^(2u)·log r²/(r² − 1): 1 on average over u          `spread` = r
==================  =============================================================================  =============

For ν ≤ 2 there is no variance: then e is t itself, and γ the square of its scale. r is the noise's deviation at the
right end over that at the left end.

`shift` = s takes test inputs from the law with the density s·e^(su)/(e^s − 1) of u, an exponential tilt: to the right
for s > 0. Given its input a test value has the law of the train values: that is covariate shift. Train and test points
aren't exchangeable then, and no exact level is promised.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, expm1, log, sqrt
from typing import Literal, get_args

import numpy as np

from scenarios.sources import _validation
from scenarios.sources.types import Array

Noise = Literal["gaussian", "student", "skewed", "heteroscedastic"]
LAWS: tuple[Noise, ...] = get_args(Noise)
_PARAMETERS = {"df": ("student", 3.0), "skewness": ("skewed", 2.0), "spread": ("heteroscedastic", 10.0)}
"""Of which law each is, and what it is unless told."""

MOST_SHIFT = 10.0
"""The end of the domain is e^10 times as likely as the other then."""


@dataclass(frozen=True)
class World:
    """The law of the noise, and how far test inputs are from train inputs; the keys of any [source] table.

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
    """The law of the noise."""
    df: float | None = None
    """ν of Student's law; 3 unless told."""
    skewness: float | None = None
    """g of skewed noise: 2, unless told, is an exponential law, less is nearer to the normal one."""
    spread: float | None = None
    """r of heteroscedastic noise; 10 unless told."""
    shift: float = 0.0
    """s of the test inputs' law; 0 is none."""

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
        """As told, or as it is without."""
        told: float | None = getattr(self, name)
        return _PARAMETERS[name][1] if told is None else told

    def draw_noise(self, u: Array, rng: np.random.Generator) -> Array:
        """One e for each place; those for fewer places are the first ones of those for more."""
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

    def compute_deviation(self, u: Array) -> Array:
        """s(u); 1 but for heteroscedastic noise."""
        c = log(self._get_parameter("spread")) if self.noise == "heteroscedastic" else 0.0
        return np.exp(c * u) / sqrt(expm1(2 * c) / (2 * c)) if c else np.ones_like(u)

    def tilt(self, v: Array) -> Array:
        """Places of the test inputs' law from uniform ones, by its quantiles.

        Examples
        --------
        >>> World(shift=3.0).tilt(np.array([0.0, 0.5, 1.0])).round(3)
        array([0.   , 0.785, 1.   ])
        """
        if self.shift == 0:
            return v
        s = -abs(self.shift)  # of the two mirror images the one that never overflows
        places: Array = np.log1p((v if self.shift < 0 else 1 - v) * expm1(s)) / s
        return places if self.shift < 0 else 1 - places

    def compute_weights(self, u: Array) -> Array:
        """How much likelier places are for test inputs than for train inputs, in shares of 1."""
        w = np.exp(self.shift * u - max(self.shift, 0.0))
        return np.asarray(w / w.sum())


PLAIN = World()
"""Normal noise, and test inputs of the law of the train inputs."""
