"""The samples of the paper's figures, against a literal replay of their streams."""

from __future__ import annotations

import numpy as np
import pytest

from scenarios.published.profiles import (
    draw_f2_surface,
    draw_far_profile,
    draw_function_profile,
    draw_gp_profile,
    draw_gp_surface,
)
from scenarios.sources.types import Array


def path(X: Array, gamma: float, e: Array) -> Array:
    """L·e, with LL′ = K + γI, in NumPy's own words."""
    apart = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    whole: Array = np.linalg.cholesky(np.exp(-100 * apart) + gamma * np.eye(len(X))) @ e
    return whole


def test_paths_are_those_of_a_literal_replay() -> None:
    stream = np.random.RandomState(0x7A5F2F22)
    for size in [50, 200]:
        for gamma in [1e-6, 1e-1]:
            x_test, x = np.linspace(0, 1, 501), np.linspace(0.05, 0.95, size + 1)
            y = path(np.concatenate([x_test, x])[:, None], gamma, stream.normal(size=501 + size + 1))
            sample = draw_gp_profile(gamma, size)
            np.testing.assert_array_equal(sample.X[:, 0], x)
            np.testing.assert_array_equal(sample.X_test[:, 0], x_test)
            np.testing.assert_allclose(sample.y_test, y[:501], atol=1e-8)
            np.testing.assert_allclose(sample.y, y[501:], atol=1e-8)


def test_functions_are_those_of_a_literal_replay() -> None:
    stream = np.random.RandomState(0x4A04E61B)
    for study in ["f6", "heaviside", "pressure2"]:
        for size in [50, 200]:
            for gamma in [1e-6, 1e-1]:
                e = stream.normal(size=501 + size + 1)
                if study != "heaviside":
                    continue
                sample = draw_function_profile(study, gamma, size)
                for X, y, noise in ((sample.X_test, sample.y_test, e[:501]), (sample.X, sample.y, e[501:])):
                    np.testing.assert_array_equal(y, [float(x > 0.5) for x in X[:, 0]] + gamma * noise)


def test_what_was_not_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match=r"size and gamma must be among .* got 51 and 0.1"):
        draw_gp_profile(0.1, 51)
    with pytest.raises(ValueError, match=r"there is no profile of f5 with size 50 and gamma 0.1"):
        draw_function_profile("f5", 0.1)


def test_a_path_is_one_function_near_and_far() -> None:
    """Where a test knot lies on a train knot, the values differ by two noises alone."""
    sample = draw_far_profile(1e-6)
    assert (sample.X.min(), sample.X.max(), sample.X_test.min(), sample.X_test.max()) == (0.0, 1.0, -1.0, 2.0)
    nearest = np.abs(sample.X - sample.X_test.T).argmin(axis=1)
    assert np.abs(sample.y - sample.y_test[nearest]).max() < 6 * np.sqrt(2e-6)
    assert np.ptp(sample.y) > 1


def test_the_surface_is_the_published_path() -> None:
    """Points that come later don't matter: here 200 of the pool are factorised with the test points."""
    stream = np.random.RandomState(0xB5066DBC)
    pool = stream.uniform(size=(15001, 2))
    e = stream.normal(size=2601 + 15001)  # γ = 1e-6 is the first
    axis = np.linspace(0, 1, 51)
    X = np.array([(first, second) for second in axis for first in axis])
    whole = path(np.concatenate([X, pool[:200]]), 1e-6, e[:2801])
    points, y = draw_gp_surface(1e-6)
    np.testing.assert_array_equal(points, X)
    np.testing.assert_allclose(y, whole[:2601], atol=1e-6)


def test_f2_is_its_first_replication() -> None:
    stream = np.random.RandomState(0x3161F88E)
    for _ in ("λ = 1e-6", "λ = 1e-1"):  # at γ = 1e-6
        for n in [150, 1500]:
            for _ in range(4 * 25):
                stream.uniform(size=(n, 2))
                stream.normal(size=(2601 + n, 1))
    stream.uniform(size=(150, 2))
    e = stream.normal(size=(2601 + 150, 1))[:2601, 0]
    (x1, x2), y = draw_f2_surface(0.1)[0].T, draw_f2_surface(0.1)[1]
    hill, pit = 5 * np.exp(-4 * ((x1 - 0.25) ** 2 + (x2 - 0.25) ** 2)), 7 * np.exp(-40 * (x1**2 + x2**2))
    np.testing.assert_allclose(y, np.tanh(0.3 * (hill - pit + x1 + x2)) + 0.1 * e, atol=1e-12)
