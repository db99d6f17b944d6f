"""The Gaussian kernel."""

from __future__ import annotations

import numpy as np
import pytest

from ckrr.kernels import TINY, gaussian


def test_it_is_the_formula() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
    expected = [[np.exp(-2.5 * ((x - z) ** 2).sum()) for z in Z] for x in X]
    assert gaussian(X, Z, 2.5) == pytest.approx(np.array(expected), rel=1e-13)


def test_on_the_line_it_has_the_bits_it_has_in_the_plane() -> None:
    rng = np.random.default_rng(2)
    X, Z = 3 * rng.standard_normal((70, 1)), rng.standard_normal((50, 1))
    flat = np.hstack([X, np.zeros_like(X)]), np.hstack([Z, np.zeros_like(Z)])
    for theta in (0.1, 10.0, 1000.0):
        assert np.array_equal(gaussian(X, Z, theta), gaussian(*flat, theta))


def test_equal_points_are_at_distance_zero() -> None:
    """Also far from the origin, where ‖x‖² + ‖z‖² − 2x′z has lost everything."""
    X = 1e8 + np.random.default_rng(1).random((4, 2))
    assert (gaussian(X, X, 1e3).diagonal() == 1).all()


def test_no_denormal_numbers() -> None:
    X = np.linspace(0, 2, 2001)[:, None]
    K = gaussian(X, np.zeros((1, 1)), 1000.0)
    assert (K[K > 0] >= TINY).all()
    assert (K == 0).any()
    plain = np.exp(-1000.0 * X**2)
    assert K[plain >= TINY] == pytest.approx(plain[plain >= TINY], rel=1e-12)
    assert (gaussian(np.full((1, 1), 1e200), np.zeros((1, 1)), 1e200) == 0).all()
