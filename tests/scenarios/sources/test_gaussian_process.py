"""Paths of a Gaussian process: their law, and that a path is a function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from scenarios.sources.gaussian_process import BLOCK, MOST_TERMS, FourierAxis, GaussianPath, GaussianProcess
from scenarios.sources.types import Array

LAWS = [
    (100.0, 1, (0.0, 1.0)),
    (100.0, 1, (-1.0, 1.0)),
    (1e-9, 1, (0.0, 1.0)),
    (0.3, 1, (-2.0, 5.0)),
    (1e5, 1, (0.0, 1.0)),
    (1e10, 1, (1000.0, 1000.01)),
    (100.0, 2, (-1.0, 1.0)),
    (1000.0, 2, (0.0, 1.0)),
    (10.0, 3, (0.0, 1.0)),
    (100.0, 3, (0.0, 1.0)),
]


def kernel(X: Array, Z: Array, theta: float) -> Array:
    return np.array([[np.exp(-theta * ((x - z) ** 2).sum()) for z in Z] for x in X])


def features(process: GaussianProcess, X: Array) -> Array:
    """Φ(x), the standard deviation of each coefficient included: all products over the coordinates, one by one."""
    axis = FourierAxis(process.theta, process.domain)
    rows = []
    for x in X:
        row = np.ones(1)
        for coordinate in x:
            row = np.multiply.outer(
                row, axis.compute_features(np.array([coordinate]))[0] * axis.compute_scales()
            ).ravel()
        rows.append(row)
    return np.array(rows)


def points(m: int, dimension: int, domain: tuple[float, float], seed: int = 0) -> Array:
    """Random points with two opposite corners among them, and neighbours at the scale of any kernel."""
    low, high = domain
    X = low + (high - low) * np.random.default_rng(seed).random((m, dimension))
    X[0], X[1] = low, high
    X[2:6] = X[6] + (high - low) * np.array([[1e-4], [-3e-3], [1e-2], [-5e-2]]) * (0.5 - (X[6] > (low + high) / 2))
    return X


@pytest.mark.parametrize(("theta", "dimension", "domain"), LAWS)
def test_the_covariance_is_the_kernel(theta: float, dimension: int, domain: tuple[float, float]) -> None:
    m = {1: 120, 2: 60, 3: 12}[dimension]
    X, Z = points(m, dimension, domain), points(m, dimension, domain, seed=1)
    process = GaussianProcess(theta, dimension, domain)
    product = features(process, X) @ features(process, np.vstack([X, Z])).T
    assert abs(product - kernel(X, np.vstack([X, Z]), theta)).max() <= 1e-11


@given(
    theta=st.floats(-6, 4).map(lambda power: 10.0**power),
    length=st.floats(-2, 1).map(lambda power: 10.0**power),
    low=st.floats(-10, 10),
)
@settings(max_examples=60, deadline=None)
def test_the_covariance_is_the_kernel_on_any_axis(theta: float, length: float, low: float) -> None:
    axis = FourierAxis(theta, (low, low + length))
    x = np.linspace(low, low + length, 31)
    Phi = axis.compute_features(x) * axis.compute_scales()
    assert abs(Phi @ Phi.T - kernel(x[:, None], x[:, None], theta)).max() <= 1e-11


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_path_is_its_coefficients_times_the_features(dimension: int) -> None:
    process = GaussianProcess(20.0, dimension, (-0.5, 0.5))
    X = points(10, dimension, process.domain)
    path = process(np.random.default_rng(3))
    plain = np.random.default_rng(3).standard_normal(path.coefficients.size)
    assert path(X) == pytest.approx(features(process, X) @ plain, abs=1e-12)


@pytest.mark.parametrize(("dimension", "paths"), [(1, 4000), (2, 1500)])
def test_paths_have_the_law_of_the_process(dimension: int, paths: int) -> None:
    """Means and products over many paths, and a fourth moment, within 5 standard errors."""
    process = GaussianProcess(10.0, dimension, (0.0, 1.0))
    X = np.random.default_rng(5).random((6, dimension)) * 0.5
    rng = np.random.default_rng(6)
    F = np.array([process(rng)(X) for _ in range(paths)])
    assert abs(F.mean(axis=0)).max() < 5 / np.sqrt(paths)
    K = kernel(X, X, 10.0)
    error = np.sqrt((1 + K**2) / paths)  # var(f_i f_j) = K_ii K_jj + K_ij²
    assert (abs(F.T @ F / paths - K) < 5 * error).all()
    assert abs((F[:, 0] ** 4).mean() - 3) < 5 * np.sqrt(96 / paths)  # var(f⁴) = 105 − 9


def test_paths_of_one_process_differ_and_repeat() -> None:
    process = GaussianProcess(100.0, 1, (0.0, 1.0))
    X = np.linspace(0, 1, 11)[:, None]
    assert (process(np.random.default_rng(1))(X) == process(np.random.default_rng(1))(X)).all()
    assert (process(np.random.default_rng(1))(X) != process(np.random.default_rng(2))(X)).all()


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_bits_do_not_depend_on_how_many_points_follow(dimension: int) -> None:
    process = GaussianProcess(5.0, dimension, (0.0, 1.0))
    path = process(np.random.default_rng(0))
    X = np.random.default_rng(1).random((2 * BLOCK + 7, dimension))
    whole = path(X)
    for n in (1, 2, 25, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK):
        assert (path(X[:n]) == whole[:n]).all()
    assert path(X[:0]).shape == (0,)


def test_a_path_is_a_smooth_function() -> None:
    """Its slope has variance 2θ; a difference quotient at a step of 1e-6 still sees it."""
    process = GaussianProcess(50.0, 1, (0.0, 1.0))
    rng = np.random.default_rng(2)
    X = np.array([[0.3], [0.3 + 1e-6]])
    slopes = [np.diff(process(rng)(X))[0] / 1e-6 for _ in range(2000)]
    assert np.var(slopes) == pytest.approx(100.0, rel=5 * np.sqrt(2 / 2000))


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("domain", [(0.0, 1.0), (-1.0, 1.0), (0.0, 1e-4), (0.0, 1e6)])
def test_too_long_a_series_is_refused_and_the_named_limit_is_allowed(
    dimension: int, domain: tuple[float, float]
) -> None:
    with pytest.raises(ValueError, match=r"^theta must be at most .*a shorter one allows more") as caught:
        GaussianProcess(1e100, dimension, domain)
    limit = float(str(caught.value).split("at most ")[1].split()[0])
    GaussianProcess(limit, dimension, domain)
    assert FourierAxis(limit, domain).terms <= MOST_TERMS[dimension]
    with pytest.raises(ValueError, match="theta must be at most"):
        GaussianProcess(1.02 * limit, dimension, domain)


def test_extremes_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match=r"^theta must be at most"):
        GaussianProcess(1.0, 1, (0.0, 1e300))
    GaussianProcess(1e300, 1, (0.0, 1e-300))


@pytest.mark.parametrize(
    ("theta", "dimension", "domain", "message"),
    [
        (0.0, 1, (0.0, 1.0), "theta must be a finite number > 0, got 0.0"),
        (float("inf"), 1, (0.0, 1.0), "theta must be a finite number > 0, got inf"),
        (True, 1, (0.0, 1.0), "theta must be a finite number > 0, got True"),
        (1.0, 4, (0.0, 1.0), "dimension must be an integer from 1 to 3, got 4"),
        (1.0, 1, (1.0, 0.0), r"domain must be two finite numbers, the lower first, got \(1.0, 0.0\)"),
    ],
)
def test_mistakes(theta: float, dimension: int, domain: tuple[float, float], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        GaussianProcess(theta, dimension, domain)


def test_memory_is_bounded() -> None:
    """A block's product is all that a path needs beyond its values."""
    import tracemalloc

    path = GaussianProcess(10.0, 3, (0.0, 1.0))(np.random.default_rng(0))
    assert isinstance(path, GaussianPath)
    X = np.random.default_rng(0).random((40 * BLOCK, 3))
    tracemalloc.start()
    path(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 8 * BLOCK * path.axis.terms**2
