"""Function spaces for ridge regression: of a kernel, of its random features, or linear."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Self

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, check_choice, check_positive, quote_value
from ckrr.kernels import KERNELS, LINEAR, Kernel
from ckrr.likelihood.profile import FeatureLikelihood, Likelihood, Profile
from ckrr.ridge.constant_mean import ConstantMeanRidge
from ckrr.ridge.feature_ridge import FeatureRidge
from ckrr.ridge.interface import FactorisedRidge
from ckrr.ridge.linear import make_linear_ridge
from ckrr.ridge.random_features import SPECTRA, Features
from ckrr.ridge.structure import make_kernel_ridge
from ckrr.theta import resolve_theta

FEATURES = 500
"""Default number of random features."""

ZERO, CONSTANT = "zero", "constant"
MEANS = (ZERO, CONSTANT)
"""Accepted values of `mean`."""

_RANDOM = "-rff"
SPACES = (*KERNELS, LINEAR, *(f"{name}{_RANDOM}" for name in SPECTRA))
"""Accepted names of `kernel`; those ending in -rff select random Fourier features."""


def is_random(kernel: str) -> bool:
    """Return whether a kernel name selects random features."""
    return kernel.endswith(_RANDOM)


Scales = Sequence[float] | Array
Seed = int | np.random.Generator


@dataclass(frozen=True, eq=False)
class Space(ABC):
    """Functions of points whose coordinates are measured in units of `scales`."""

    scales: Array | None
    """Unit of each coordinate, shape (d,), or None for points as they are."""

    def scale_points(self, x: Array) -> Array:
        """Return points in units of the scales."""
        return x if self.scales is None else x / self.scales

    def resolve_theta(self, theta: float | str | None, lengthscale: float | None) -> float | str:
        """Return θ, or the name of a search for it, from the arguments of which exactly one is not None."""
        return resolve_theta(theta, lengthscale)

    def check_theta(self, theta: object) -> float:
        """Return θ as a float; raise ValueError if it isn't a number that the space can use."""
        return check_positive("theta", theta)

    def rescale(self, found: Sequence[float] | None) -> Self:
        """Return the space with scales that were found in units of its own; the same one if none were."""
        if found is None:
            return self
        return replace(self, scales=np.array(found) * (1.0 if self.scales is None else self.scales))

    @abstractmethod
    def make_ridge(self, X: Array, theta: float, lam: float) -> FactorisedRidge:
        """Factorise the ridge matrix of scaled points."""

    @abstractmethod
    def make_profile(self, X: Array, y: Array, lam: float) -> Profile:
        """Return the profile likelihood of θ for scaled points."""


@dataclass(frozen=True, eq=False)
class KernelSpace(Space):
    """All functions of a kernel."""

    kernel: Kernel

    def make_ridge(self, X: Array, theta: float, lam: float) -> FactorisedRidge:
        """Factorise one n×n matrix, or without it where it has low rank."""
        return make_kernel_ridge(X, theta, lam, self.kernel)

    def make_profile(self, X: Array, y: Array, lam: float) -> Profile:
        """Return the profile likelihood of the kernel."""
        return Likelihood(X, y, lam, self.kernel)


@dataclass(frozen=True, eq=False)
class FeatureSpace(Space):
    """Linear combinations of random features."""

    features: Features

    def make_ridge(self, X: Array, theta: float, lam: float) -> FactorisedRidge:
        """Factorise in blocks of rows, without an n×n matrix."""
        return FeatureRidge(X, theta, lam, self.features)

    def make_profile(self, X: Array, y: Array, lam: float) -> Profile:
        """Return the profile likelihood of these features, whose frequencies θ scales."""
        return FeatureLikelihood(X, y, lam, self.features)


@dataclass(frozen=True, eq=False)
class ConstantMeanSpace(Space):
    """Functions of another space plus an unknown constant."""

    base: Space

    def resolve_theta(self, theta: float | str | None, lengthscale: float | None) -> float | str:
        """Return θ or the name of a search, as the other space does."""
        return self.base.resolve_theta(theta, lengthscale)

    def check_theta(self, theta: object) -> float:
        """Return θ as a float, as the other space does."""
        return self.base.check_theta(theta)

    def make_ridge(self, X: Array, theta: float, lam: float) -> FactorisedRidge:
        """Factorise the ridge matrix of the other space, and estimate the constant of each target."""
        if len(X) < 2:
            raise ValueError(f'X must have at least 2 rows for mean = "{CONSTANT}", got 1 sample')
        return ConstantMeanRidge(self.base.make_ridge(X, theta, lam))

    def make_profile(self, X: Array, y: Array, lam: float) -> Profile:
        """Return the profile likelihood of θ, maximised over the constant, too."""
        if len(X) < 2:
            raise ValueError(f'X must have at least 2 rows to search for theta with mean = "{CONSTANT}", got 1 sample')
        return replace(self.base.make_profile(X, y, lam), has_mean=True)


@dataclass(frozen=True, eq=False)
class LinearSpace(Space):
    """Linear functions of the coordinates, without an intercept and without θ: λ alone sets the scale."""

    def resolve_theta(self, theta: float | str | None, lengthscale: float | None) -> float | str:
        """Return the name of a search, which is refused later, or NaN: any θ is ignored."""
        if lengthscale is not None:
            raise ValueError(f"lengthscale must be left out for kernel={LINEAR!r}, which has none, got {lengthscale!r}")
        return theta if isinstance(theta, str) else nan

    def check_theta(self, theta: object) -> float:
        """Return NaN: any θ is ignored."""
        return nan

    def make_ridge(self, X: Array, theta: float, lam: float) -> FactorisedRidge:
        """Factorise the smaller one of the n×n and the d×d matrix."""
        return make_linear_ridge(X, lam)

    def make_profile(self, X: Array, y: Array, lam: float) -> Profile:
        """Raise ValueError: there is no θ to search for."""
        raise ValueError(
            f"theta must be left out for kernel={LINEAR!r}, which has no θ to search for (lam sets its scale)"
        )


def make_space(
    dimension: int,
    kernel: str | Kernel,
    scales: Scales | None = None,
    features: int | None = None,
    seed: Seed = 0,
    mean: str = ZERO,
) -> Space:
    """Validate the arguments of `ckrr.fit` and return the function space that they describe.

    Examples
    --------
    >>> make_space(2, "matern52").scales is None, make_space(2, "gaussian-rff", features=100).features.count
    (True, 100)
    >>> make_space(2, "matern52", [1.0])
    Traceback (most recent call last):
    ...
    ValueError: scales must be 2 numbers, one for each column of X, got [1.0]
    """
    space = _make_centred_space(dimension, kernel, scales, features, seed)
    return ConstantMeanSpace(space.scales, space) if check_choice("mean", mean, MEANS) == CONSTANT else space


def _make_centred_space(
    dimension: int, kernel: str | Kernel, scales: Scales | None, features: int | None, seed: Seed
) -> Space:
    name = None if callable(kernel) else check_choice("kernel", kernel, SPACES)
    checked = None if scales is None else _check_scales(scales, dimension)
    if name is not None and is_random(name):
        drawn = Features.draw(name.removesuffix(_RANDOM), _check_count(features), dimension, _make_rng(seed))
        return FeatureSpace(checked, drawn)
    if features is not None:
        raise ValueError(f"features must be left out unless kernel ends in {_RANDOM}, got {quote_value(features)}")
    if name == LINEAR:
        return LinearSpace(checked)
    return KernelSpace(checked, kernel if callable(kernel) else KERNELS[kernel])


def _check_scales(scales: npt.ArrayLike, dimension: int) -> Array:
    found = np.asarray(scales)
    if found.dtype.kind not in "iuf" or found.shape != (dimension,):
        columns = "a number" if dimension == 1 else f"{dimension} numbers"
        raise ValueError(f"scales must be {columns}, one for each column of X, got {quote_value(scales)}")
    if not ((found > 0) & (found < np.inf)).all():
        raise ValueError(f"scales must be finite numbers > 0, got {quote_value(scales)}")
    return found.astype(np.float64)


def _check_count(features: object) -> int:
    if features is None:
        return FEATURES
    if isinstance(features, int | np.integer) and not isinstance(features, bool) and features >= 1:
        return int(features)
    raise ValueError(f"features must be a whole number >= 1, got {quote_value(features)}")


def _make_rng(seed: object) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return np.random.default_rng(int(seed))
    raise ValueError(f"seed must be a whole number >= 0 or a numpy Generator, got {quote_value(seed)}")
