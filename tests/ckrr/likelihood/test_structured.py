"""The likelihood by the structure of K is the one by a dense factorisation, where it is given at all."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ckrr._validation import Array
from ckrr.likelihood.banded import Parts, SortedSample, compute_banded_parts
from ckrr.likelihood.heights import combine_parts
from ckrr.likelihood.low_rank import (
    KernelAxis,
    compute_low_rank_parts,
    estimate_rank,
    make_low_rank_factor,
    select_products,
)
from ckrr.likelihood.profile import Likelihood
from ckrr.likelihood.structured import StructuredLikelihood

SEEDS = st.integers(0, 2**32 - 1)
LOG_LAMS = st.floats(np.log(1e-7), np.log(1e-1))


def draw(seed: int, n: int, d: int) -> tuple[Array, Array]:
    """Points in a box with sides of all lengths, some of them equal, and a target that is no more tame."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) ** rng.choice([0.3, 1.0, 3.0], d) * 10.0 ** rng.uniform(-2, 1, d) + rng.normal(size=d)
    X[: rng.integers(0, n // 2)] = X[n - 1]
    return X, np.sign(np.sin(3 * (X - X.min(axis=0)).sum(axis=1))) + rng.choice([0.0, 1e-3, 1.0]) * rng.normal(size=n)


def difference(X: Array, y: Array, theta: float, lam: float, found: Parts) -> float:
    (quadratic,), log_det = found
    height = combine_parts(len(y), float(np.log(quadratic / len(y))), log_det)
    return abs(height - Likelihood(X, y, lam).log_likelihood(theta))


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(400, 600), st.integers(1, 3), st.floats(np.log(1e-3), np.log(1e6)), LOG_LAMS)
def test_structure_changes_nothing_that_matters(seed: int, n: int, d: int, log_t: float, log_lam: float) -> None:
    X, y = draw(seed, n, d)
    theta, lam = exp(log_t) / np.ptp(X, axis=0).max() ** 2, exp(log_lam)
    found = StructuredLikelihood(X, [y], lam).compute_parts(theta)
    if found is not None:
        assert difference(X, y, theta, lam, found) < 1e-3 * max(1.0, 1e-6 / lam)


@settings(max_examples=50, deadline=None)
@given(SEEDS, st.integers(20, 200), st.integers(1, 2), st.floats(np.log(1e-3), np.log(50)), LOG_LAMS)
def test_low_rank_is_dense(seed: int, n: int, d: int, log_t: float, log_lam: float) -> None:
    X, y = draw(seed, n, d)
    r = np.ptp(X, axis=0)
    theta, lam = exp(log_t) / r.max() ** 2, exp(log_lam)
    axes = [KernelAxis(float(t)) for t in theta * r**2]
    index = select_products(axes, 4e-16, most=5000)
    assert index is not None
    assert len(index) > estimate_rank([axis.t for axis in axes], 4e-16) / 2
    F = make_low_rank_factor(axes, (X - X.min(axis=0)) / r, index)
    assert np.abs(F @ F.T - np.exp(-theta * ((X[:, None] - X[None]) ** 2).sum(axis=2))).max() < 1e-12
    found = compute_low_rank_parts(F, [y], lam)
    assert found is not None
    assert difference(X, y, theta, lam, found) < 1e-3


@settings(max_examples=50, deadline=None)
@given(SEEDS, st.integers(20, 200), st.integers(1, 3), st.floats(np.log(1), np.log(1e6)), LOG_LAMS)
def test_banded_is_dense(seed: int, n: int, d: int, log_t: float, log_lam: float) -> None:
    X, y = draw(seed, n, d)
    theta, lam = exp(log_t) / np.ptp(X, axis=0).max() ** 2, exp(log_lam)
    points, delta = SortedSample.from_sample(X, [y]), 1e-7 * lam
    b = points.compute_half_width(theta, delta)
    K = np.exp(-theta * ((points.X[:, None] - points.X[None]) ** 2).sum(axis=2))
    i, j = np.indices(K.shape)
    assert (K[abs(i - j) > b] <= delta).all()
    found = compute_banded_parts(points, theta, lam, delta, b)
    assert found is not None
    assert difference(X, y, theta, lam, found) < 1e-3


def test_what_isnt_the_kernel_is_no_answer() -> None:
    X, y = draw(3, 300, 1)
    axis = KernelAxis(100.0)
    F = make_low_rank_factor(
        [axis], (X - X.min()) / np.ptp(X), np.arange(20)[:, None]
    )  # half of the terms that it takes
    assert compute_low_rank_parts(F, [y], 1e-3) is None
    points = SortedSample.from_sample(X, [y])
    assert compute_banded_parts(points, 100.0 / np.ptp(X) ** 2, 1e-3, 1e-1, 60) is None, (
        "cut that short it isn't positive"
    )


def test_all_three_forms_are_taken_where_they_should() -> None:
    X, y = np.random.default_rng(0).random((700, 2)), np.ones(700)
    assert [StructuredLikelihood(X, [y], 1e-6).compute_parts(theta) is None for theta in (0.1, 30.0, 1e4)] == [
        False,
        True,
        False,
    ]
    assert StructuredLikelihood(X[:30], [y[:30]], 1e-6).compute_parts(0.1) is None
    assert StructuredLikelihood(X, [0 * y], 0.1).compute_parts(1.0) == (
        [0.0],
        pytest.approx(Likelihood(X, y, 0.1).compute_parts(1.0)[1]),
    )
