"""Latent functions of the published study: f(X) → y, with one point per row of X.

[·] is 1 where the condition holds and 0 elsewhere. The first three functions are defined on [0, 1], the last two on
[−1, 1]².
"""

from __future__ import annotations

import numpy as np

from scenarios.sources.types import Array


def heaviside(X: Array) -> Array:
    """Evaluate a step at ½: [x > ½].

    Examples
    --------
    >>> heaviside(np.array([[0.25], [0.5], [0.75]]))
    array([0., 0., 1.])
    """
    return np.where(X[:, 0] > 0.5, 1.0, 0.0)


def f6(X: Array) -> Array:
    """Evaluate a parabola, then a line: (1 − 4x²)·[x < ½] + 2(x − ½)·[x > ½].

    Examples
    --------
    >>> f6(np.array([[0.0], [0.25], [0.5], [1.0]]))
    array([1.  , 0.75, 0.  , 1.  ])
    """
    x = X[:, 0]
    return (1 - 4 * x**2) * (x < 0.5) + 2 * (x - 0.5) * (x > 0.5)


def pressure2(X: Array) -> Array:
    """Evaluate a smooth hill with two dents.

    u^0.55·(1 − 0.99u)^0.48 − 0.11/(1 + 100(u − 0.3)²) − 0.02·exp(−200(u − 0.5)²), u = x·((3 − x)/2 + 0.01·sin πx).

    Examples
    --------
    >>> pressure2(np.array([[0.0], [0.5], [1.0]])).round(6)
    array([-0.011   ,  0.475237,  0.107448])
    """
    x = X[:, 0]
    u = x * ((3 - x) / 2 + 0.01 * np.sin(np.pi * x))
    bulk = u**0.55 * (1 - 0.99 * u) ** 0.48
    return bulk - 0.11 / (1 + 100 * (u - 0.3) ** 2) - 0.02 * np.exp(-200 * (u - 0.5) ** 2)


def f2(X: Array) -> Array:
    """Evaluate a smooth hill with a pit: tanh(0.3·(5·exp(−4‖x − (¼, ¼)‖²) − 7·exp(−40‖x‖²) + x₁ + x₂)).

    Examples
    --------
    >>> f2(np.array([[0.0, 0.0], [0.25, 0.25]])).round(6)
    array([-0.830642,  0.92689 ])
    """
    x1, x2 = X[:, 0], X[:, 1]
    hill = 5 * np.exp(-4 * ((x1 - 0.25) ** 2 + (x2 - 0.25) ** 2))
    pit = 7 * np.exp(-40 * (x1**2 + x2**2))
    y: Array = np.tanh(0.3 * (hill - pit + x1 + x2))
    return y


def f5(X: Array) -> Array:
    """Evaluate a plane with two steps along circles: x₁ + x₂ + [‖x‖² ≤ ¼] − 2·[(x₁ − 0.7)² + (x₂ − 0.7)² ≤ 1].

    Examples
    --------
    >>> f5(np.array([[0.0, 0.0], [-0.5, 0.0], [0.5, 0.5], [-1.0, 1.0]]))
    array([-1. ,  0.5, -1. ,  0. ])
    """
    x1, x2 = X[:, 0], X[:, 1]
    disc = x1**2 + x2**2 <= 0.25
    corner = (x1 - 0.7) ** 2 + (x2 - 0.7) ** 2 <= 1
    return x1 + x2 + disc - 2.0 * corner


def linear(X: Array) -> Array:
    """Evaluate the sum of the coordinates, x₁ + … + x_d, in any number of dimensions. Not of the published study.

    Examples
    --------
    >>> linear(np.array([[0.25, 0.5], [1.0, -1.0]]))
    array([0.75, 0.  ])
    """
    y: Array = np.add.reduce(X, axis=1)
    return y
