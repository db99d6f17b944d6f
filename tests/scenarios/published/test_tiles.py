"""A path in tiles against the whole matrix at once."""

from __future__ import annotations

import numpy as np
import pytest

from scenarios.published.tiles import correlate_noise, count_operations, estimate_memory


def whole(X, theta, gamma, e):
    """The definition."""
    K = np.exp(-theta * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return np.linalg.cholesky(K + gamma * np.eye(len(X))) @ e


@pytest.mark.parametrize(("n", "tile"), [(1, 4), (4, 4), (5, 4), (60, 7), (60, 64), (300, 100), (301, 100)])
@pytest.mark.parametrize("gamma", [1e-6, 0.1])
@pytest.mark.parametrize("dimension", [1, 2])
def test_tiles_are_the_whole(n: int, tile: int, gamma: float, dimension: int) -> None:
    rng = np.random.default_rng([n, tile, dimension])
    X, e = rng.random((n, dimension)), rng.standard_normal(n)
    before = X.copy(), e.copy()
    found = correlate_noise(X, 30.0, gamma, e, tile)
    # A factor inherits rounding divided by the smallest pivot, which is about γ.
    np.testing.assert_allclose(found, whole(X, 30.0, gamma, e), rtol=0, atol=1e-13 * n / gamma**0.5)
    assert np.array_equal(X, before[0])
    assert np.array_equal(e, before[1])


def test_points_that_coincide_are_no_trouble_with_noise() -> None:
    X = np.zeros((10, 2))
    e = np.arange(10.0)
    np.testing.assert_allclose(correlate_noise(X, 100.0, 0.5, e, 3), whole(X, 100.0, 0.5, e), atol=1e-12)


def test_what_is_singular_is_told() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="singular to working precision"):
        correlate_noise(np.zeros((10, 1)), 100.0, 0.0, np.ones(10), 4)


def test_the_published_paths_fit_into_four_gigabytes() -> None:
    assert estimate_memory(17602) < 2e9
    assert count_operations(17602) == pytest.approx(1.818e12, rel=1e-3)
