"""Packed matrices, several at a time: the likelihood's definition, in bits that no company changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ckrr._validation import Array
from ckrr.likelihood import dense
from ckrr.likelihood.dense import LARGEST, DenseLikelihood

SEEDS = st.integers(0, 2**32 - 1)


def draw(seed: int, n: int, d: int, targets: int) -> tuple[Array, list[Array], Array]:
    """Points, some of them equal, with targets of all sizes, and θ over the range of a search."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    X[: rng.integers(0, n // 3 + 1)] = X[n - 1]
    ys = [rng.standard_normal(n) * 10.0 ** rng.uniform(-100, 100) for _ in range(targets)]
    return X, ys, np.exp(rng.uniform(np.log(1e-3), np.log(1e6), 7))


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(1, 60), st.integers(1, 3), st.floats(-4.0, 0.0))
def test_parts_are_their_definition(seed: int, n: int, d: int, log_lam: float) -> None:
    X, ys, thetas = draw(seed, n, d, 2)
    quadratic, log_det = DenseLikelihood(X, ys, 10**log_lam).compute_parts(thetas)
    for i, theta in enumerate(thetas):
        K = np.exp(-theta * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 10**log_lam * np.eye(n)
        np.testing.assert_allclose(log_det[i], np.linalg.slogdet(K)[1], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(quadratic[i], [y @ np.linalg.solve(K, y) for y in ys], rtol=1e-7)


def check_alone(seed: int, n: int, d: int, first: int) -> None:
    """Compare bits for each θ and each target alone, and for θ cut into two calls at any place."""
    X, ys, thetas = draw(seed, n, d, 3)
    together = DenseLikelihood(X, ys, 1e-6)
    quadratic, log_det = together.compute_parts(thetas)
    for part in (slice(0, first), slice(first, 7), *(slice(i, i + 1) for i in range(7))):
        if len(thetas[part]):
            some, dets = together.compute_parts(thetas[part])
            assert some.tobytes() == quadratic[part].tobytes()
            assert dets.tobytes() == log_det[part].tobytes()
    for j, y in enumerate(ys):
        alone, dets = DenseLikelihood(X, [y], 1e-6).compute_parts(thetas)
        assert alone[:, 0].tobytes() == quadratic[:, j].tobytes()
        assert dets.tobytes() == log_det.tobytes()


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from([1, 2, 3, 7, 16, 25, 33, 50, 100, 181]), st.integers(1, 2), st.integers(1, 7))
def test_bits_depend_on_no_company(seed: int, n: int, d: int, first: int) -> None:
    check_alone(seed, n, d, first)


def test_bits_depend_on_no_company_on_an_old_cpu() -> None:
    """OpenBLAS's code for Prescott sums vectors in an order that depends on where they start in memory."""
    cpu = Path("/proc/cpuinfo")
    if not cpu.exists() or "pni" not in cpu.read_text().split():
        pytest.skip("this CPU can't run OpenBLAS's code for Prescott")
    code = f"from {__name__} import check_alone; [check_alone(7, n, 1, 3) for n in (2, 9, 25, 33, 50)]"
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_bits_depend_on_no_company_in_the_largest_samples() -> None:
    X, ys, thetas = draw(5, LARGEST, 2, 2)
    quadratic, log_det = DenseLikelihood(X, ys, 1e-6).compute_parts(thetas[:3])
    for i in range(3):
        alone, det = DenseLikelihood(X, ys[1:], 1e-6).compute_parts(thetas[i : i + 1])
        assert (alone[0, 0], det[0]) == (quadratic[i, 1], log_det[i])


def test_a_singular_matrix_costs_its_neighbours_nothing() -> None:
    X, ys, _ = draw(3, 30, 1, 2)
    quadratic, log_det = DenseLikelihood(X, ys, 1e-30).compute_parts(np.array([1e6, 1e-3, 1e4]))
    assert np.isnan(log_det[1])
    assert np.isnan(quadratic[1]).all()
    X[:] = np.arange(30.0)[:, None]  # no two points are equal any more
    found = DenseLikelihood(X, ys, 1e-30)
    quadratic, log_det = found.compute_parts(np.array([10.0, 1e-9, 3.0]))
    assert np.isnan(log_det).tolist() == np.isnan(quadratic[:, 0]).tolist() == [False, True, False]
    assert found.compute_parts(np.array([3.0]))[1][0] == log_det[2]


def test_points_infinitely_far_apart_are_independent() -> None:
    X = np.array([[0.0], [1e200], [2e200]])
    quadratic, log_det = DenseLikelihood(X, [np.ones(3)], 1.0).compute_parts(np.array([1.0, 1e3]))
    np.testing.assert_allclose(quadratic, 1.5, rtol=1e-15)
    np.testing.assert_allclose(log_det, 3 * np.log(2.0), rtol=1e-15)


def test_small_samples_are_evaluated_several_at_a_time() -> None:
    """Otherwise the tests above compare nothing."""
    assert dense._TOGETHER // (50 * 51 // 2) > 20
