"""Samples with a peak of the likelihood."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import numpy as np

from ckrr._validation import Array


def sample(f: Callable[[np.random.Generator, Array], Array], n: int, gamma: float) -> tuple[Array, Array]:
    rng = np.random.default_rng([n, 3])
    X = rng.uniform(LOW.get(f, 0.0), 1, (n, 2 if f in TWO_D else 1))
    return X, f(rng, X) + np.sqrt(gamma) * rng.standard_normal(n)


def gp(rng: np.random.Generator, X: Array) -> Array:
    w, U = np.linalg.eigh(np.exp(-100.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2)))
    return U @ (np.sqrt(np.maximum(w, 0.0)) * rng.standard_normal(len(X)))


def gp2(rng: np.random.Generator, X: Array) -> Array:
    return gp(rng, X)


def heaviside(rng: np.random.Generator, X: Array) -> Array:
    return np.where(X[:, 0] > 0.5, 1.0, 0.0)


def f6(rng: np.random.Generator, X: Array) -> Array:
    x = X[:, 0]
    return np.where(x < 0.5, 1 - 4 * x**2, 2 * (x - 0.5))


def pressure2(rng: np.random.Generator, X: Array) -> Array:
    x = X[:, 0]
    u = x * ((3 - x) / 2 + 0.01 * np.sin(pi * x))
    bumps = 0.11 / (1 + 100 * (u - 0.3) ** 2) + 0.02 * np.exp(-200 * (u - 0.5) ** 2)
    return u**0.55 * (1 - 0.99 * u) ** 0.48 - bumps


def f2(rng: np.random.Generator, X: Array) -> Array:
    hill, pit = ((X - 0.25) ** 2).sum(axis=1), (X**2).sum(axis=1)
    return np.tanh(0.3 * (5 * np.exp(-4 * hill) - 7 * np.exp(-40 * pit) + X.sum(axis=1)))


def f5(rng: np.random.Generator, X: Array) -> Array:
    return X.sum(axis=1) + ((X**2).sum(axis=1) <= 0.25) - 2.0 * (((X - 0.7) ** 2).sum(axis=1) <= 1)


LOW = {f2: -1.0, f5: -1.0}
"""The functions whose domain starts below 0."""
ONE_D = [gp, heaviside, f6, pressure2]
TWO_D = [gp2, f2, f5]
