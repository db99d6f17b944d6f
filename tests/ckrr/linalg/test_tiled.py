"""Triangular algebra in tiles against the whole matrix at once; large samples against oracles and the other code."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ckrr
from ckrr._validation import Array
from ckrr.likelihood import banded, low_rank, structured as structure
from ckrr.likelihood.profile import Likelihood, search
from ckrr.likelihood.structured import StructuredLikelihood
from ckrr.linalg import triangular
from ckrr.linalg.banded_cholesky import compute_band_parts
from ckrr.linalg.tiled import TiledAlgebra, cut_tiles
from ckrr.linalg.triangular import WHOLE, WholeAlgebra
from ckrr.ridge import exact
from ckrr.ridge.exact import TEST_BLOCK, FactorisationError, Ridge
from ckrr.space import make_space
from tests.ckrr.accuracy import bound, max_error, mean_scale, problem
from tests.ckrr.samples import arrays, same, sample
from tests.oracles import coefficients

EDGES = [
    (1, 1),
    (1, 4),
    (3, 4),
    (4, 4),
    (5, 4),
    (7, 4),
    (8, 4),
    (9, 4),
    (64, 32),
    (95, 32),
    (96, 32),
    (97, 32),
    (70, 200),
]
"""Rows and tiles: one row, one tile, just below, at and above a multiple."""


def definite(n: int, seed: int = 0) -> Array:
    rng = np.random.default_rng([n, seed])
    A = rng.standard_normal((n, n))
    return A @ A.T + n * np.eye(n)


def lower(A: Array) -> Array:
    return np.asfortranarray(np.tril(A))


@given(st.integers(0, 200), st.integers(1, 60))
def test_every_row_is_in_one_tile_and_none_is_small(n: int, tile: int) -> None:
    found = cut_tiles(n, tile)
    assert [row for part in found for row in range(part.start, part.stop)] == list(range(n))
    assert all(min(n, tile) <= part.stop - part.start < 2 * tile for part in found)


@pytest.mark.parametrize(("n", "tile"), EDGES)
def test_tiles_are_the_whole(n: int, tile: int) -> None:
    """Factor, inverse, products and solutions by their definitions."""
    A, way, rng = definite(n), TiledAlgebra(tile), np.random.default_rng(n)
    L = lower(A)
    assert way.factorise(L) == 0
    np.testing.assert_allclose(L, np.linalg.cholesky(A), rtol=0, atol=1e-13 * n)
    assert not np.triu(L, 1).any(), "zeros stay zeros"
    y = rng.standard_normal(n)
    np.testing.assert_allclose(way.solve_vector(L, y), np.linalg.solve(L, y), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(way.solve_transposed_vector(L, y), np.linalg.solve(L.T, y), rtol=1e-11, atol=1e-12)
    G = L.copy("F")
    way.invert(G)
    np.testing.assert_allclose(G @ L, np.eye(n), rtol=0, atol=1e-12)
    assert not np.triu(G, 1).any()
    B = rng.standard_normal((5, n))
    for multiply, expected in ((way.multiply, B @ G.T), (way.multiply_transposed, B @ G)):
        C = B.copy()
        multiply(G, C.T)
        np.testing.assert_allclose(C, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(way.multiply_vector(G, y), G @ y, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(way.multiply_transposed_vector(G, y), G.T @ y, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(way.sum_column_squares(G), (G**2).sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize(("n", "tile"), [(1, 1), (9, 4), (40, 16)])
def test_the_first_bad_row_is_told(n: int, tile: int) -> None:
    """As LAPACK tells it."""
    for row in range(n):
        A = lower(definite(n))
        A[row, row] = -1.0
        assert TiledAlgebra(tile).factorise(A.copy("F")) == WholeAlgebra().factorise(A) == row + 1


@pytest.mark.parametrize("lam", [1e-8, 1e-6, 1e-1])
@pytest.mark.parametrize("theta", [1.0, 100.0])
@pytest.mark.parametrize(("n", "d", "tile"), [(1, 1, 3), (25, 1, 8), (30, 2, 7), (24, 2, 24)])
def test_coefficients_are_within_the_bound_of_small_samples(
    n: int, d: int, tile: int, theta: float, lam: float
) -> None:
    """Against a thousand bits: tiles are as accurate as LAPACK is."""
    X, y, X_new = problem(n + d, n, d)
    exact = Ridge(X, theta, lam, way=TiledAlgebra(tile))
    target = exact.make_target(y)
    (block,) = exact.project(X_new, [target])
    allowed = bound(n, lam)
    for i, truth in enumerate(coefficients(X, y, X_new, theta, lam)):
        unit = Fraction(2) ** target.exponent
        assert abs(Fraction(block.m[i]) - truth.m) <= allowed * truth.m
        assert max_error(block.W[i], truth.W) <= allowed * (max(map(abs, truth.W)) + 1)
        assert max_error(target.a, [a / unit for a in truth.a]) <= allowed * max(map(abs, truth.a)) / unit
        assert max_error(exact.diag_Q, truth.diag_Q) <= allowed * max(truth.diag_Q)
        assert abs(Fraction(block.means[0][i]) * unit - truth.mean) <= allowed * mean_scale(truth)


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of more than 50 points go the way of large ones, in tiles of 16."""
    for module in (triangular, banded, low_rank, structure):
        monkeypatch.setattr(module, "WHOLE", 50)
    monkeypatch.setattr(triangular, "TiledAlgebra", lambda: TiledAlgebra(16))
    monkeypatch.setattr(exact, "select_algebra", triangular.select_algebra)


@pytest.mark.parametrize("lam", [1e-6, 1e-1])
@pytest.mark.usefixtures("small_is_large")
def test_large_samples_have_the_scores_of_whole_ones(lam: float) -> None:
    X, y, X_new, y_new = sample(120, m=150)
    X_new[3], X_new[140] = X[1], X[77]
    fit = ckrr.fit(X, y, theta=30.0, lam=lam)
    whole = ckrr.Factor(make_space(2, "gaussian"), X, Ridge(X, 30.0, lam, way=WholeAlgebra()), X_new).score(y, y_new)
    ours = fit.score(X_new, y_new)
    assert isinstance(fit._ridge._triangles, TiledAlgebra)
    assert (ours.hits == whole.hits[0]).all()
    for name in ("lower", "upper"):
        np.testing.assert_allclose(getattr(ours, name), getattr(whole, name)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("small_is_large")
def test_bits_depend_on_no_company() -> None:
    """Test points and targets have the bits they have alone, whatever the number of BLAS threads here."""
    m = TEST_BLOCK + 45
    X, y, X_new, y_new = sample(133, m=m)
    fit = ckrr.fit(X, y, theta=30.0, lam=1e-5)
    together = fit.score(X_new, y_new)
    for part in (slice(0, 1), slice(3, 40), slice(TEST_BLOCK - 1, m), slice(m - 1, m)):
        alone = fit.score(X_new[part], y_new[part])
        assert same(alone, ckrr.Scores(*(each[:, part] for each in arrays(together))))
    factor = ckrr.Inputs(X, X_new).factor(30.0, 1e-5)
    several = factor.score(np.column_stack([-y, y]), np.column_stack([-y_new, y_new]))
    assert same(together, ckrr.Scores(*(each[1] for each in arrays(several))))


def test_failures_are_told_as_for_small_samples() -> None:
    X = np.linspace(0, 1, 60)[:, None]
    for way in (WholeAlgebra(), TiledAlgebra(16)):
        with pytest.raises(FactorisationError, match=r"^factorisation failed at row \d+ of X for theta=0.1, lam=1e-18"):
            Ridge(X, 0.1, 1e-18, way=way)
        with pytest.raises(FactorisationError, match=r"^factorisation lost its digits at row \d+ of X for theta=1, "):
            Ridge(np.random.default_rng(0).random((30, 1)), 1.0, 1e-14, way=way)
        exact = Ridge(np.array([[0.0], [100.0], [200.0]]), 1.0, 1e-16, way=way)
        with pytest.raises(FactorisationError, match=r"^the variance at test point 1 came out as "):
            list(exact.project(np.array([[7.0], [0.0], [9.0]]), []))


def test_equal_rows_and_little_noise_are_no_trouble() -> None:
    """As near to singular as samples of half a thousand points get: the same residuals to what λ = 1e-8 allows."""
    rng = np.random.default_rng(5)
    X = np.repeat(rng.random((130, 1)), 4, axis=0)
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(520)
    one, other = (Ridge(X, 20.0, 1e-8, way=way).make_target(y) for way in (WholeAlgebra(), TiledAlgebra(64)))
    scale = np.abs(one.a).max()
    np.testing.assert_allclose(other.a, one.a, rtol=0, atol=8 * 520 * 2.0**-52 / 1e-8 * scale)


def test_everything_is_in_one_buffer() -> None:
    """Beside it are columns of tiles, and a block of test points."""
    n, tile = 1200, 64
    X, y, X_new, _ = sample(n, m=40)
    tracemalloc.start()
    exact = Ridge(X, 100.0, 1e-6, way=TiledAlgebra(tile))
    fitting = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    for _ in exact.project(X_new, [exact.make_target(y)]):
        pass
    scoring = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    square, panel = 8 * n * n, 8 * n * 128
    assert fitting < square + 2.5 * panel
    assert scoring < square + 8 * n * TEST_BLOCK + 2.5 * panel


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_bands_in_tiles_are_the_whole(n: int, b: int, tile: int, seed: int) -> None:
    b = min(b, n - 1)
    rng = np.random.default_rng(seed)
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    A = np.where(distance <= b, rng.uniform(-1, 1, (n, n)), 0.0)
    A = np.tril(A) + np.tril(A, -1).T + 2 * (b + 1) * np.eye(n)
    band = np.zeros((n, b + 1 + 2 * tile))
    for j in range(n):
        band[j, : min(b + 1, n - j)] = A[j : j + b + 1, j]
    ys = [rng.standard_normal(n) for _ in range(2)]
    found = compute_band_parts(band, ys, b, tile)
    assert found is not None
    assert found[0] == pytest.approx([y @ np.linalg.solve(A, y) for y in ys], rel=1e-10)
    assert found[1] == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-10)


def test_bands_that_are_not_positive_definite_are_told() -> None:
    band = np.zeros((9, 1 + 2 + 4))
    band[:, 0], band[:, 1] = 1.0, 2.0
    assert compute_band_parts(band, [np.ones(9)], 2, tile=2) is None


@pytest.mark.usefixtures("small_is_large")
def test_the_likelihood_of_large_samples_is_that_of_whole_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all three forms, each of which is met."""
    monkeypatch.setattr(banded, "ROOM", 16)
    monkeypatch.setattr(banded, "compute_band_parts", partial(compute_band_parts, tile=16))
    X, y, _, _ = sample(900, d=1)
    structured = StructuredLikelihood(X, [y], 0.01)
    by_structure = 0
    for theta in (0.5, 5.0, 50.0, 500.0, 3e3, 3e4, 3e5):
        K = np.exp(-theta * (X - X.T) ** 2) + 0.01 * np.eye(900)
        truth = np.log(y @ np.linalg.solve(K, y) / 900), np.linalg.slogdet(K)[1]
        assert Likelihood(X, y, 0.01).compute_parts(theta) == pytest.approx(truth, rel=1e-9, abs=1e-7)
        parts = structured.compute_parts(theta)
        if parts is not None:
            by_structure += 1
            assert (np.log(parts[0][0] / 900), parts[1]) == pytest.approx(truth, rel=1e-6, abs=1e-3)
    assert by_structure >= 5


@pytest.mark.usefixtures("small_is_large")
def test_the_search_finds_what_it_finds_for_whole_samples() -> None:
    X, y, _, _ = sample(300, d=1)
    found = search(Likelihood(X, y, 0.01))
    with pytest.MonkeyPatch.context() as patch:
        for module in (triangular, banded, low_rank, structure):
            patch.setattr(module, "WHOLE", WHOLE)
        whole = search(Likelihood(X, y, 0.01))
    assert found.theta == pytest.approx(whole.theta, rel=1e-3)
    assert found.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-3)


@pytest.mark.soak
@pytest.mark.parametrize("threads", ["2", "3", "8"])
def test_no_number_of_threads_crashes(threads: str) -> None:
    """OpenBLAS's own `potrf` ends the process at this size with two threads."""
    code = """
import numpy as np
from ckrr.ridge import ridge_matrix
from ckrr.triangles import triangles
n = 17_000
L = ridge_matrix(np.random.default_rng(0).random((n, 2)), 1000.0, 1e-3)
way = triangles(n)
row = L[-1].copy()
assert way.factorise(L) == 0
k = L[-1, :] @ L[-1, :]
assert abs(k - row[-1]) < 1e-9, k
print(way)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip()[:5]) == (0, "Tiled"), done.stderr
