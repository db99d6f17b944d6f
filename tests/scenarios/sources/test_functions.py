"""The published functions against their definitions, written once more, plainly, one point at a time."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, pi, sin, tanh

import numpy as np
import pytest

from scenarios.sources import functions
from scenarios.sources.types import Array


def heaviside(x: float) -> float:
    return 1 if x > 0.5 else 0


def f6(x: float) -> float:
    if x < 0.5:
        return 1 - 4 * x * x
    return 2 * (x - 0.5)


def pressure2(x: float) -> float:
    u = x * ((3 - x) / 2 + 0.01 * sin(pi * x))
    hill: float = u**0.55 * (1 - 0.99 * u) ** 0.48
    return hill - 0.11 / (1 + 100 * (u - 0.3) ** 2) - 0.02 * exp(-200 * (u - 0.5) ** 2)


def f2(x: float, y: float) -> float:
    near = (x - 1 / 4) ** 2 + (y - 1 / 4) ** 2
    return tanh(0.3 * (5 * exp(-4 * near) - 7 * exp(-40 * (x * x + y * y)) + x + y))


def f5(x: float, y: float) -> float:
    value = x + y
    if x * x + y * y <= 0.25:
        value += 1
    if (x - 0.7) ** 2 + (y - 0.7) ** 2 <= 1:
        value -= 2
    return value


@pytest.mark.parametrize("plain", [heaviside, f6, pressure2, f2, f5])
def test_definitions(plain: Callable[..., float]) -> None:
    function: Callable[[Array], Array] = getattr(functions, plain.__name__)
    dimension = plain.__code__.co_argcount
    knots = np.linspace(0, 1, 101) if dimension == 1 else np.linspace(-1, 1, 41)
    X = np.stack([each.ravel() for each in np.meshgrid(*[knots] * dimension)], axis=1)
    assert function(X) == pytest.approx(np.array([plain(*x) for x in X.tolist()]), abs=1e-14)
    assert function(X).dtype == np.float64


@pytest.mark.parametrize("name", ["heaviside", "f6", "pressure2", "f2", "f5"])
def test_bits_do_not_depend_on_how_many_points_follow(name: str) -> None:
    function: Callable[[Array], Array] = getattr(functions, name)
    X = np.random.default_rng(0).random((300, 1 if name in ("heaviside", "f6", "pressure2") else 2))
    whole = function(X)
    for n in range(1, 300, 7):
        assert (function(X[:n]) == whole[:n]).all()
