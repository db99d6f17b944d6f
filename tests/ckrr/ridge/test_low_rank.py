"""Low rank is the exact way to rounding, and each test point has its own bits."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings, strategies as st

import ckrr
from ckrr._validation import Array
from ckrr.kernels import Matern52, gaussian
from ckrr.ridge import low_rank, structure
from ckrr.ridge.equal_points import EqualPoints
from ckrr.ridge.exact import Ridge
from ckrr.ridge.long_kernel import compute_long_kernel
from ckrr.ridge.low_rank import LowRankRidge
from ckrr.ridge.pivots import choose_pivots, factorise_accurately, factorise_kernel
from ckrr.ridge.structure import bound_rank, make_kernel_ridge
from tests.benchmarks.long_ridge import look, refer
from tests.ckrr.accuracy import bound, max_error, mean_scale, problem
from tests.ckrr.samples import same, sample
from tests.oracles import coefficients

SEEDS = st.integers(0, 2**32 - 1)


def make_low_rank(X: Array, theta: float, lam: float) -> LowRankRidge:
    found = factorise_kernel(X, theta, most=len(X))
    assert found is not None
    return LowRankRidge(X, theta, lam, *found)


def draw(n: int, d: int = 1, m: int = 200, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """As `sample`, with the first test points on training points, and the last ones far outside."""
    X, y, X_new, y_new = sample(n, d, m, seed)
    X_new[:3], X_new[-3:] = X[:3], X_new[-3:] + 2.0
    return X, y, X_new, y_new


@pytest.mark.parametrize("lam", [1e-8, 1e-6, 1e-3, 1e-1, 10.0])
@pytest.mark.parametrize(("n", "d", "theta"), [(1, 1, 3.0), (2, 1, 3.0), (40, 1, 3.0), (40, 1, 100.0), (40, 2, 1.0)])
def test_coefficients_are_within_their_bound(n: int, d: int, theta: float, lam: float) -> None:
    """Against 1024 bits, with a duplicate, a close pair, and test points on a training point and far outside."""
    X, y, X_new = problem(n + d, n, d)
    ridge = make_low_rank(X, theta, lam)
    target = ridge.make_target(y)
    (block,) = ridge.project(X_new, [target])
    unit, allowed = Fraction(2) ** target.exponent, bound(n, lam)
    for i, truth in enumerate(coefficients(X, y, X_new, theta, lam)):
        scale_a, scale_W = max(map(abs, truth.a)), max(map(abs, truth.W))
        assert abs(Fraction(block.m[i]) - truth.m) <= allowed * truth.m
        assert max_error(block.W[i], truth.W) <= allowed * (scale_W + 1)
        assert max_error(target.a, [a / unit for a in truth.a]) <= allowed * scale_a / unit
        assert max_error(ridge.diag_Q, truth.diag_Q) <= allowed * max(truth.diag_Q)
        assert abs(Fraction(block.means[0][i]) * unit - truth.mean) <= allowed * mean_scale(truth)
        assert abs(Fraction(target.sigma2) * unit**2 - truth.sigma2) <= allowed * truth.sigma2
        assert ridge.log_det == pytest.approx(truth.log_det, rel=float(allowed), abs=float(n * allowed))


@settings(max_examples=60, deadline=None)
@given(
    SEEDS,
    st.integers(1, 80),
    st.integers(1, 3),
    st.floats(np.log(1e-3), np.log(100)),
    st.sampled_from([1e-8, 1e-6, 1e-2, 1e3]),
    st.sampled_from(["constant", "zero", "rough"]),
    st.booleans(),
)
def test_low_rank_is_exact(seed: int, n: int, d: int, log_t: float, lam: float, kind: str, one: bool) -> None:
    """Against the exact way, with duplicates of all kinds down to a sample of one distinct point, where r = 1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))[rng.integers(0, 1 if one else n, n)]
    y = {"constant": np.ones(n), "zero": np.zeros(n), "rough": rng.standard_normal(n)}[kind]
    X_new, theta = np.concatenate([rng.random((5, d)), X[:2], rng.random((2, d)) + 1.5]), float(np.exp(log_t))
    low, exact = make_low_rank(X, theta, lam), Ridge(X, theta, lam)
    assert low.features.count <= len(np.unique(X, axis=0))
    allowed = 2 * float(bound(n, lam))
    targets = low.make_target(y), exact.make_target(y)
    (ours,), (truth,) = (ridge.project(X_new, [t]) for ridge, t in zip((low, exact), targets, strict=True))
    assert np.abs(ours.W - truth.W).max() <= allowed * (1 + np.abs(truth.W).max())
    assert (np.abs(ours.m - truth.m) <= allowed * truth.m).all()
    assert np.abs(low.diag_Q - exact.diag_Q).max() <= allowed * exact.diag_Q.max()
    assert np.abs(targets[0].a - targets[1].a).max() <= allowed * np.abs(targets[1].a).max()
    for i, own in zip(*ours.equal, strict=True):
        assert (X_new[i] == X[own]).all()
    assert [each.tolist() for each in ours.equal] == [each.tolist() for each in truth.equal]


@pytest.mark.parametrize(("n", "d", "theta", "lam"), [(600, 1, 50.0, 1e-8), (1000, 2, 0.8, 1e-6), (1000, 2, 0.8, 0.1)])
def test_regions_are_those_of_the_exact_way(n: int, d: int, theta: float, lam: float) -> None:
    X, y, X_new, y_new = draw(n, d)
    ours = ckrr.fit(X, y, theta, lam)
    with patch.object(structure, "is_low_rank", lambda *_: False):
        truth = ckrr.fit(X, y, theta, lam)
    assert isinstance(ours._ridge, LowRankRidge)
    assert isinstance(truth._ridge, Ridge)
    a, b = (fit.score(X_new, y_new, list(ckrr.PROCEDURES)) for fit in (ours, truth))
    bounded = np.isfinite(b.length)
    assert (np.isfinite(a.length) == bounded).all()
    bounded[:, -3:] = False
    width = b.upper[bounded] - b.lower[bounded]
    for one, other in ((a.lower, b.lower), (a.upper, b.upper)):
        assert np.abs((one[bounded] - other[bounded]) / width).max() < 1e-4
    assert (a.hits == b.hits).mean() > 0.999
    assert ours.log_likelihood == pytest.approx(truth.log_likelihood, abs=1e-4)
    assert ours.sigma2 == pytest.approx(truth.sigma2, rel=1e-6)


@pytest.mark.parametrize("blocks", [1, 3])
def test_each_test_point_and_target_has_its_own_bits(blocks: int) -> None:
    X, y, X_new, y_new = draw(600, m=420)
    factor, Y = ckrr.Inputs(X, X_new).factor(50.0, 1e-6), np.column_stack([y, y**2, np.ones_like(y)])
    Y_new = np.column_stack([y_new, y_new**2, np.ones_like(y_new)])
    with patch.object(low_rank, "_MOST", blocks):
        together = factor.score(Y, Y_new)
    assert isinstance(factor._ridge, LowRankRidge)
    assert same(factor.score(Y[:, 1], Y_new[:, 1]).take_target(0), together.take_target(1))
    for some in ([0], [419], [167, 168, 3, 418], range(100, 300)):
        rows = list(some)
        part = ckrr.Inputs(X, X_new[rows]).factor(50.0, 1e-6).score(Y, Y_new[rows])
        assert np.array_equal(part.lower, together.lower[:, :, rows], equal_nan=True)
        assert np.array_equal(part.length, together.length[:, :, rows], equal_nan=True)
    fit = ckrr.fit(X, y, 50.0, 1e-6)
    assert np.array_equal(fit.predict(X_new)[400:], fit.predict(X_new[400:]))


def test_points_outside_need_what_features_lack() -> None:
    """Without e = k − Fφ the weights outside are off by far more than rounding."""
    X, X_new = np.random.default_rng(0).random((600, 1)), np.array([[1.01], [1.1], [1.3]])
    low, exact = make_low_rank(X, 10.0, 1e-8), Ridge(X, 10.0, 1e-8)
    (truth,), (ours,) = exact.project(X_new, []), low.project(X_new, [])
    with patch.object(low_rank._Projector, "_find_outside", lambda *_: np.arange(0)):
        (without,) = low.project(X_new, [])
    off, lacking = (np.abs(one.W - truth.W).max(axis=1) / np.abs(truth.W).max(axis=1) for one in (ours, without))
    assert (off < 3e-5).all()
    assert lacking.max() > 10 * off.max()


def test_the_factor_is_the_kernel_to_a_few_ulp() -> None:
    """Neither in one go nor with candidates that leave corners out; doubles alone are ten times worse."""
    X = np.random.default_rng(0).random((800, 2))
    K, rest = compute_long_kernel(X, X, 5.0)
    for candidates in (8192, 250):
        with patch("ckrr.ridge.pivots.CANDIDATES", candidates):
            found = factorise_kernel(X, 5.0, most=400)
        assert found is not None
        features, F = found
        assert features.count == pytest.approx(190, abs=8)
        long = F[::7].astype(np.longdouble)
        off = np.abs(long @ long.T - K[::7, ::7] - rest[::7, ::7])
        assert off.max() < 1.5e-15
        assert off.mean() < 1e-16


def test_pivots_near_rounding_errors_have_digits() -> None:
    """LL′ = K of the pivots with the digits of long doubles: L itself, rounded to doubles, isn't as good."""
    P = choose_pivots(np.linspace(0, 1, 200)[:, None], 10.0, most=200)
    assert P is not None
    K, rest = compute_long_kernel(P, P, 10.0)
    L, kept = factorise_accurately(K, rest)
    long = L.coarse.astype(np.longdouble) + L.fine
    there = np.ix_(kept, kept)
    assert len(kept) > 15
    assert long.diagonal().min() < 1e-7
    assert np.abs(long @ long.T - K[there] - rest[there]).max() < 1e-18
    assert np.abs(L.coarse * 2.0**26 % 1).max() == 0, "multiples of 2⁻²⁶, whose products are exact"


@pytest.mark.parametrize("theta", [0.3, 20.0, 900.0])
def test_kernels_have_more_digits_than_doubles(theta: float) -> None:
    """Against 200 bits, also where the table ends."""
    X, Z = np.random.default_rng(0).random((20, 2)), np.random.default_rng(1).random((15, 2))
    K, rest = compute_long_kernel(X, Z, theta)
    with ctx.workprec(200):
        for i, j in product(range(20), range(15)):
            square = sum(((arb(a) - arb(b)) ** 2 for a, b in zip(X[i].tolist(), Z[j].tolist(), strict=True)), arb(0))
            off = arb(float(K[i, j])) + arb(float(rest[i, j])) - (-arb(theta) * square).exp()
            assert abs(float(off)) < 2e-18
    assert np.abs(K - gaussian(X, Z, theta)).max() < 3e-16


@pytest.mark.parametrize("lam", [1e-7, 1e-2])
def test_low_rank_is_more_accurate_than_the_exact_way(lam: float) -> None:
    """Also far outside: against long doubles, which needs what rounding takes from kernels, too."""
    rng = np.random.default_rng(0)
    X, X_new = rng.random((250, 1)), np.array([[0.4], [1.003], [1.05], [-0.3], [1.8]])
    y = np.sign(X[:, 0] - 0.5) + 0.3 * rng.standard_normal(250)
    (truth,) = refer(X, [y], X_new, 20.0, lam)
    low, exact = (look(ridge, y, X_new) for ridge in (make_low_rank(X, 20.0, lam), Ridge(X, 20.0, lam)))
    for name, share in (("a", 0.1), ("diag_Q", 0.1), ("W", 0.5), ("mean", 0.5)):
        ours, theirs = (np.abs(getattr(one, name) - getattr(truth, name)).max() for one in (low, exact))
        assert ours < share * theirs, name


def test_equal_points_are_found_whatever_the_axes() -> None:
    """With ties on the widest axis, against all pairs."""
    rng = np.random.default_rng(0)
    X = np.column_stack([100.0 * rng.integers(0, 2, 300), rng.integers(0, 20, 300) / 20])
    X_new = np.concatenate([X[:40], X[:5] + 1e-9, X[:5] + 0.01])
    row, col = EqualPoints(X, 10.0).find(X_new)
    expected = np.nonzero(gaussian(X_new, X, 10.0) == 1.0)
    assert (row.tolist(), col.tolist()) == (expected[0].tolist(), expected[1].tolist())
    assert len(row) > 200


def test_the_rule_is_one_of_counts() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((1000, 1))

    def way(X: Array, theta: float, lam: float = 1e-6, kernel: ckrr.Kernel = gaussian) -> str:
        return type(make_kernel_ridge(X, theta, lam, kernel)).__name__

    assert way(X, 10.0) == way(X, 1000.0) == way(X, 10.0, 1e-8) == "LowRankRidge"
    assert way(X, 1.0) == way(X, 1e4) == way(X, 10.0, 9e-9) == way(X[:399], 10.0) == "Ridge"
    assert way(X, 10.0, kernel=Matern52()) == "Ridge"
    assert way(rng.random((1000, 2)), 10.0) == "Ridge", "the rank is 280"
    assert way(np.zeros((500, 2)), 10.0) == "Ridge"
    for d, theta, rank in ((1, 10.0, 21), (1, 1000.0, 130), (2, 10.0, 290)):
        assert 0.95 * rank < bound_rank(np.ones(d), theta) < 1.5 * rank
    with patch.object(structure, "HAS_DIGITS", False):
        assert way(X, 10.0) == "Ridge"


def test_what_cannot_be_factorised_is_tried_the_exact_way() -> None:
    """Inputs whose rank is above the limit, though they are in a box of low rank, are no error."""
    X = np.random.default_rng(0).random((1000, 1))
    with patch.object(structure, "bound_rank", lambda *_: 1.0):
        assert isinstance(make_kernel_ridge(X, 1e4, 1e-6, gaussian), Ridge)


def test_points_beyond_all_numbers_are_as_the_exact_way_says() -> None:
    """A test point so far away that its kernel values are 0, or its distance is infinite."""
    X, y, _, _ = draw(600)
    X_new = np.array([[1e3], [-1e200], [0.5]])
    ours = ckrr.fit(X, y, 20.0, 1e-6)
    with patch.object(structure, "is_low_rank", lambda *_: False):
        truth = ckrr.fit(X, y, 20.0, 1e-6)
    assert isinstance(ours._ridge, LowRankRidge)
    assert ours.predict(X_new)[:2].tolist() == truth.predict(X_new)[:2].tolist() == [0.0, 0.0]
    a, b = (fit.score(X_new, np.zeros(3)) for fit in (ours, truth))
    assert np.array_equal(np.isfinite(a.length), np.isfinite(b.length))
    assert np.allclose(a.length, b.length, rtol=1e-6, equal_nan=True)
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="X_new"):
            ours.predict([[wrong]])


def test_a_factor_that_needs_too_many_pivots_is_no_answer() -> None:
    X = np.random.default_rng(0).random((500, 1))
    assert factorise_kernel(X, 100.0, most=40) is None
    assert factorise_kernel(X, 100.0, most=60) is not None


def test_there_is_no_square_matrix() -> None:
    """At n = 20,000 it would take 3.2 GB."""
    import tracemalloc

    X, y, X_new, y_new = draw(20_000, m=50)
    tracemalloc.start()
    ckrr.fit(X, y, 10.0, 1e-6).score(X_new, y_new)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.5 * peak < low_rank.estimate_low_rank_memory(20_000, 50, 30) < 1e8
