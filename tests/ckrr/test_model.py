"""The library as its users call it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tracemalloc
from math import inf, log, pi
from pathlib import Path

import numpy as np
import pytest

import ckrr
from ckrr.evaluation import batching, case
from ckrr.procedures import ALL_PROCEDURES, CONFORMAL
from ckrr.regions.bayesian import compute_deviation
from ckrr.ridge.exact import TEST_BLOCK
from tests.ckrr.samples import arrays, same, sample

ALPHA = [0.01, 0.05, 0.1, 0.25]


def test_predict_is_kernel_ridge_regression() -> None:
    X, y, X_new, _ = sample(40)
    K = np.exp(-5.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    k = np.exp(-5.0 * ((X_new[:, None] - X[None]) ** 2).sum(axis=2))
    fit = ckrr.fit(X, y, theta=5.0, lam=0.1)
    assert fit.predict(X_new) == pytest.approx(k @ np.linalg.solve(K + 0.1 * np.eye(40), y), rel=1e-10)
    assert fit.sigma2 == pytest.approx(y @ np.linalg.solve(K + 0.1 * np.eye(40), y) / 40, rel=1e-10)
    log_det = np.linalg.slogdet(K + 0.1 * np.eye(40))[1]
    assert fit.log_likelihood == pytest.approx(-20 * (log(2 * pi) + log(fit.sigma2) + 1) - log_det / 2, rel=1e-10)
    assert (fit.theta, fit.lam) == (5.0, 0.1)


def test_bayesian_intervals_are_those_of_scikit_learn() -> None:
    """Its kernel here is σ̂²K + σ̂²λI; its std is GPR-p's, and leaves the noise out."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    X, y, X_new, _ = sample(50)
    theta, lam = 8.0, 0.05
    fit = ckrr.fit(X, y, theta, lam)
    kernel = ConstantKernel(fit.sigma2) * RBF(1 / np.sqrt(2 * theta))
    peer = GaussianProcessRegressor(kernel, alpha=fit.sigma2 * lam, optimizer=None).fit(X, y)
    mean, std = peer.predict(X_new, return_std=True)
    z = np.array([1.959963984540054, 1.2815515655446004])
    for procedure, variance in (("GPR-p", std**2), ("GPR-f", std**2 + fit.sigma2 * lam)):
        regions = fit.regions(X_new, procedure, [0.05, 0.2])
        assert regions.upper == pytest.approx(mean[:, None] + np.sqrt(variance)[:, None] * z, rel=1e-9, abs=1e-9)
        assert regions.lower == pytest.approx(mean[:, None] - np.sqrt(variance)[:, None] * z, rel=1e-9, abs=1e-9)
    assert peer.log_marginal_likelihood_value_ == pytest.approx(fit.log_likelihood, rel=1e-9)


@pytest.mark.parametrize("procedure", ALL_PROCEDURES)
def test_score_is_regions_and_p_values(procedure: str) -> None:
    """The three ways to ask agree, at λ = 1e-6 where regions come in pieces."""
    X, y, X_new, y_new = sample(60, m=600)
    fit = ckrr.fit(X, y, theta=30.0, lam=1e-6)
    regions, p = fit.regions(X_new, procedure, ALPHA), fit.p_values(X_new, y_new, procedure)
    scores = fit.score(X_new, y_new, [procedure], ALPHA)
    assert np.array_equal(scores.hits[0], regions.contains(y_new))
    assert np.array_equal(scores.hits[0], p[:, None] >= np.array(ALPHA))
    for name in ("lower", "upper", "length", "count"):
        assert np.array_equal(getattr(scores, name)[0], getattr(regions, name), equal_nan=True)
    if procedure in CONFORMAL:
        # |W| < D = sqrt(m Q + W²): studentised residuals always give one interval, bounded at α > 1/N
        assert (scores.count > 1).any() == (not procedure.endswith("std"))
        assert np.isinf(scores.length[..., 1:]).any() == (not procedure.endswith("std"))


def test_regions_add_up() -> None:
    """Hull, length, count and membership follow from the components."""
    X, y, X_new, y_new = sample(30, m=100)
    fit = ckrr.fit(X, y, theta=100.0, lam=1e-6)
    for procedure in CONFORMAL:
        R = fit.regions(X_new, procedure, [0.1, 0.3])
        for i in range(100):
            for j in range(2):
                parts = R.components(i, j)
                assert parts == sorted(parts)
                assert all(hi < lo for (_, hi), (lo, _) in itertools.pairwise(parts))
                assert (R.lower[i, j], R.upper[i, j], R.count[i, j]) == (parts[0][0], parts[-1][1], len(parts))
                assert R.length[i, j] == pytest.approx(sum(hi - lo for lo, hi in parts), rel=1e-12)
                assert R.contains(y_new)[i, j] == any(lo <= y_new[i] <= hi for lo, hi in parts)
        for ends in (R.lower, R.upper):
            finite = np.isfinite(ends[:, 0])
            assert R.contains(np.where(finite, ends[:, 0], 0.0))[finite, 0].all(), "a region contains its ends"


def test_targets_have_the_bits_they_have_alone() -> None:
    X, y, X_new, y_new = sample(60, m=70)
    rng = np.random.default_rng(1)
    Y, Y_new = np.column_stack([y, rng.standard_normal(60), 1e5 * y]), np.column_stack([y_new, y_new, 1e5 * y_new])
    factor = ckrr.Inputs(X, X_new).factor(theta=30.0, lam=1e-4)
    together = factor.score(Y, Y_new)
    assert together.hits.shape == (3, 6, 70, 4)
    for t in range(3):
        assert same(factor.score(Y[:, t], Y_new[:, t]), ckrr.Scores(*(each[t : t + 1] for each in arrays(together))))
        alone = ckrr.fit(X, Y[:, t], theta=30.0, lam=1e-4).score(X_new, Y_new[:, t])
        assert same(alone, ckrr.Scores(*(each[t] for each in arrays(together))))
        assert same(alone, factor.fit(Y[:, t]).score(X_new, Y_new[:, t]))


@pytest.mark.parametrize("n", [7, 33, 150])
def test_a_test_point_has_the_bits_it_has_alone(n: int) -> None:
    """However the test points are cut, and in whatever company."""
    m = TEST_BLOCK + 45
    X, y, X_new, y_new = sample(n, m=m)
    fit = ckrr.fit(X, y, theta=30.0, lam=1e-5)
    together = fit.score(X_new, y_new)
    for part in (slice(0, 1), slice(3, 40), slice(TEST_BLOCK - 1, m), slice(m - 1, m)):
        alone = fit.score(X_new[part], y_new[part])
        assert same(alone, ckrr.Scores(*(each[:, part] for each in arrays(together))))
    shuffled = np.random.default_rng(2).permutation(m)
    assert np.array_equal(fit.predict(X_new[shuffled]), fit.predict(X_new)[shuffled])


def test_regions_of_many_points_are_those_of_few() -> None:
    """More than are computed at once, in regions of several pieces, too."""
    X, y, X_new, _ = sample(150, m=4 * TEST_BLOCK)
    fit = ckrr.fit(X, y, theta=30.0, lam=1e-5)
    together = fit.regions(X_new, "CRR", 0.5)
    assert (together.count[-TEST_BLOCK:] > 1).any()
    for start in range(0, len(X_new), TEST_BLOCK):
        alone = fit.regions(X_new[start : start + TEST_BLOCK], "CRR", 0.5)
        for i in range(TEST_BLOCK):
            assert together.components(start + i) == alone.components(i)


_TYPES = {"SkylakeX": "avx512dq avx512bw avx512vl", "Haswell": "avx2 fma", "Sandybridge": "avx"}
"""Types of CPU that OpenBLAS has code of its own for, and what a CPU must know to run it."""


@pytest.mark.parametrize("kind", _TYPES)
def test_bits_depend_on_no_company_on_other_types_of_cpu(kind: str) -> None:
    """This CPU runs the code for older ones, too."""
    cpu = Path("/proc/cpuinfo")
    if not cpu.exists() or not set(_TYPES[kind].split()) <= set(cpu.read_text().split()):
        pytest.skip(f"this CPU can't run OpenBLAS's code for {kind}")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", __file__, "-k", "alone"]
    environment = {**os.environ, "OPENBLAS_CORETYPE": kind}
    done = subprocess.run(command, env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_problems_have_the_bits_they_have_alone() -> None:
    """Stacked or not, with other problems of the same or of another size before and after them."""
    jobs = []
    for seed, (n, m) in enumerate([(9, 40), (9, 40), (9, 7), (30, 40), (9, 300), (200, 1100), (9, 40)]):
        X, y, X_new, y_new = sample(n, m=m, seed=seed)
        if seed == 1:
            X_new[:3], y_new[:3] = X[:3], y[:3]  # a stack with test points that are train points
        factor = ckrr.Inputs(X, X_new).factor(30.0, 1e-6)
        jobs.append((factor, np.column_stack([y, 3 * y**2]), np.column_stack([y_new, 3 * y_new**2])))
    together = ckrr.score_together(*zip(*jobs, strict=True))
    assert any((scores.count > 1).any() for scores in together)
    for (factor, Y, Y_new), scores in zip(jobs, together, strict=True):
        assert same(scores, factor.score(Y, Y_new))
    with pytest.raises(ValueError, match=r"^Y_test must have one entry for each of the 7 factors, got 0$"):
        ckrr.score_together(*list(zip(*jobs, strict=True))[:2], [])


def test_train_points_as_test_points_have_the_bits_they_have_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """In chunks, strips and blocks, so that the places of equal points are counted from the right start."""
    X, y, _, _ = sample(700)
    monkeypatch.setattr(batching, "STRIP", 150 * 700)
    monkeypatch.setattr(case, "CHUNK", 40 * 700)
    fit = ckrr.fit(X, y, theta=30.0, lam=1e-2)
    together = fit.score(X, y)
    for part in (slice(0, 1), slice(TEST_BLOCK - 9, TEST_BLOCK + 2), slice(400, 420)):
        assert same(fit.score(X[part], y[part]), ckrr.Scores(*(each[:, part] for each in arrays(together))))


def test_no_bit_depends_on_how_the_work_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, X_new, y_new = sample(60, m=700)
    X_new[100], X_new[300] = X[1], X[2]
    factors = [ckrr.Inputs(X, X_new).factor(theta, 1e-6) for theta in (20.0, 100.0)]
    whole = ckrr.score_together(factors, [y, y**2], [y_new, y_new**2], ALL_PROCEDURES)
    for strip, stack, chunk in ((1, 1, 1), (60 * 90, 1, 60 * 7), (1 << 20, 1 << 20, 60 * 333), (1, 60 * 2000, 1 << 20)):
        monkeypatch.setattr(batching, "STRIP", strip)
        monkeypatch.setattr(batching, "STACK", stack)
        monkeypatch.setattr(case, "CHUNK", chunk)
        cut = ckrr.score_together(factors, [y, y**2], [y_new, y_new**2], ALL_PROCEDURES)
        assert all(same(a, b) for a, b in zip(whole, cut, strict=True)), (strip, stack, chunk)


def test_bayesian_deviations_are_never_of_negative_variances() -> None:
    assert compute_deviation(np.array([-1e-17, 0.0, 4.0]), np.array([2.0])).tolist() == [0.0, 0.0, np.sqrt(8.0)]


def test_a_procedure_has_the_bits_it_has_alone() -> None:
    X, y, X_new, y_new = sample(50)
    fit = ckrr.fit(X, y, theta=30.0, lam=1e-6)
    together = fit.score(X_new, y_new, ckrr.PROCEDURES, ALPHA)
    for i, procedure in enumerate(ckrr.PROCEDURES):
        alone = fit.score(X_new, y_new, procedure, ALPHA[1])
        assert same(alone, ckrr.Scores(*(each[i : i + 1, :, 1:2] for each in arrays(together))))


@pytest.mark.parametrize("exponent", [-1000, -200, 100, 990])
def test_the_scale_of_y_changes_no_bit(exponent: int) -> None:
    X, y, X_new, y_new = sample(30)
    unit = 2.0**exponent
    base, scaled = ckrr.fit(X, y, 20.0, 1e-6), ckrr.fit(X, unit * y, 20.0, 1e-6)
    one, other = base.score(X_new, y_new), scaled.score(X_new, unit * y_new)
    assert np.array_equal(one.hits, other.hits)
    for name in ("lower", "upper", "length"):
        expected = np.clip(getattr(one, name), -1e308 / unit, 1e308 / unit) * unit
        ours = getattr(other, name)
        comparable = np.abs(expected) < 1e300
        assert np.array_equal(ours[comparable], expected[comparable])
    assert np.array_equal(scaled.predict(X_new), unit * base.predict(X_new))
    shift = 30 * exponent * log(2)
    assert scaled.log_likelihood == pytest.approx(base.log_likelihood - shift, rel=1e-12)


def test_constant_y() -> None:
    X, _, X_new, _ = sample(20)
    zero = ckrr.fit(X, np.zeros(20), theta=10.0, lam=0.1)
    for procedure in ckrr.PROCEDURES:
        R = zero.regions(X_new, procedure, 0.2)
        assert (R.length == 0).all()
        assert R.components(0) == [(0.0, 0.0)]
        assert R.contains(np.zeros(30)).all()
        assert not R.contains(np.full(30, 1e-300)).any()
    assert zero.log_likelihood == inf
    assert zero.sigma2 == 0
    ones = ckrr.fit(X, np.ones(20), theta=10.0, lam=1e-6)
    assert np.isfinite(ones.predict(X_new)).all()
    assert (ones.score(X_new, np.ones(30)).count > 0).all()


@pytest.mark.parametrize("procedure", CONFORMAL)
def test_smallest_samples(procedure: str) -> None:
    """With n points the whole line is kept until α > 1/N, or 2/N for CRR."""
    for n in (1, 2, 3):
        X, y, X_new, _ = sample(n)
        N = n + 1
        limit = 1 / N if procedure.startswith("RRCM") else 2 / N
        R = ckrr.fit(X, y, theta=3.0, lam=0.1).regions(X_new, procedure, [limit * 0.99, min(limit * 1.01, 0.999)])
        assert (R.lower[:, 0] == -inf).all()
        assert (R.upper[:, 0] == inf).all()
        if limit < 0.99:
            assert (R.length[:, 1] < inf).any()


def test_the_boundary_rule() -> None:
    """At N = 20, α = 0.05: p ≥ α keeps everything, p > α doesn't; between multiples of 1/N they agree."""
    X, y, X_new, _ = sample(19)
    fit = ckrr.fit(X, y, theta=3.0, lam=0.1)
    kept = fit.regions(X_new, "RRCM", [0.05, 0.06], boundary=">=")
    strict = fit.regions(X_new, "RRCM", [0.05, 0.06], boundary=">")
    assert np.isinf(kept.length[:, 0]).all()
    assert np.isfinite(strict.length[:, 0]).all()
    assert np.array_equal(kept.upper[:, 1], strict.upper[:, 1])
    assert np.array_equal(strict.upper[:, 0], kept.upper[:, 1])


def test_a_test_point_on_a_train_point_and_duplicated_rows() -> None:
    X, y, _, _ = sample(25)
    X[5], y[5] = X[4], y[4]
    fit = ckrr.fit(X, y, theta=20.0, lam=1e-6)
    assert fit.predict(X) == pytest.approx(y, abs=1e-4)
    for procedure in CONFORMAL:
        R = fit.regions(X, procedure, 0.1)
        assert R.contains(y).mean() > 0.8
        assert R.components(4) == R.components(5), "equal points have equal regions"


def test_memory_is_one_square_and_blocks() -> None:
    """Kernel matrix, factor and inverse share a buffer; the number of test points doesn't matter."""
    n, m = 700, 8000
    X, y, X_new, y_new = sample(n, m=m)
    tracemalloc.start()
    fit = ckrr.fit(X, y, theta=100.0, lam=1e-6)
    fitting = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    fit.score(X_new, y_new)
    scoring = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    square, block, strips = 8 * n * n, 8 * n * TEST_BLOCK, 8 * (batching.STRIP + 6 * case.CHUNK)
    results = m * 4 * 6 * (1 + 4 * 8)
    assert fitting < square + block
    assert scoring < square + block + strips + results


def test_failed_factorisations_say_what_to_try() -> None:
    X = np.linspace(0, 1, 60)
    with pytest.raises(
        ckrr.FactorisationError,
        match=r"^factorisation failed at row \d+ of X for theta=0.1, lam=1e-18, n=60: .*try a larger lam[^\n]*$",
    ):
        ckrr.fit(X, X, theta=0.1, lam=1e-18)
    with pytest.raises(
        ckrr.FactorisationError,
        match=r"^factorisation lost its digits at row \d+ of X for theta=1, lam=1e-14, n=30: .*try a larger lam[^\n]*$",
    ):
        ckrr.fit(np.random.default_rng(0).random(30), np.zeros(30), theta=1.0, lam=1e-14)
    fit = ckrr.fit([0.0, 100.0, 200.0], [1.0, 2.0, 3.0], theta=1.0, lam=1e-16)
    with pytest.raises(
        ckrr.FactorisationError,
        match=r"^the variance at test point 1 came out as \S* for theta=1, lam=1e-16, n=3: ",
    ):
        fit.regions([7.0, 0.0, 9.0])


def test_one_dimension_may_be_flat() -> None:
    X, y, X_new, y_new = sample(20, d=1)
    flat = ckrr.fit(X[:, 0], y, theta=10.0, lam=0.1).score(X_new[:, 0], y_new)
    assert same(flat, ckrr.fit(X, y, theta=10.0, lam=0.1).score(X_new, y_new))


def test_arguments_are_left_alone() -> None:
    X, y, X_new, y_new = sample(20)
    before = [each.copy() for each in (X, y, X_new, y_new)]
    fit = ckrr.fit(X, y, theta=10.0, lam=0.1)
    fit.score(X_new, y_new)
    fit.p_values(X_new, y_new)
    assert all(np.array_equal(a, b) for a, b in zip(before, (X, y, X_new, y_new), strict=True))


def test_arguments_may_change_afterwards() -> None:
    X, y, X_new, _ = sample(20)
    fit = ckrr.fit(X, y, theta=10.0, lam=0.1)
    before = fit.predict(X_new)
    X[:], y[:] = 0.0, 0.0
    assert np.array_equal(fit.predict(X_new), before)
    assert fit.X.any()
    assert fit.y.any()


def test_a_fit_can_be_asked_again() -> None:
    X, y, X_new, y_new = sample(40)
    fit = ckrr.fit(X, y, theta=100.0, lam=1e-6)
    first = fit.score(X_new, y_new)
    fit.regions(X_new, "CRR")
    assert same(first, fit.score(X_new, y_new))


def test_kinds_of_arrays() -> None:
    """Lists, integers, single precision, Fortran order and read-only arrays."""
    X, y = np.arange(10), np.arange(10) % 3
    expected = ckrr.fit(X.astype(float), y.astype(float), 0.1, 0.1).predict([2.5])
    assert ckrr.fit(X.tolist(), y.tolist(), np.float64(0.1), 0.1).predict([2.5]) == expected
    assert ckrr.fit(X, y, 0.1, 0.1).predict(np.array([2.5], np.float32)) == expected
    grid = np.asfortranarray(np.arange(20.0).reshape(10, 2))
    grid.flags.writeable = False
    assert ckrr.fit(grid, y, 0.1, 0.1).regions(grid[::2]).lower.shape == (5, 1)


@pytest.mark.parametrize("lam", [1e-6, 1e-1])
def test_the_latent_function_is_asked_beside(lam: float) -> None:
    """`hits_f` is what `hits` would be, were f the test values; nothing else changes."""
    rng = np.random.default_rng(3)
    factors = [ckrr.Inputs(rng.random(20), rng.random(31)).factor(100.0, lam) for _ in range(3)]
    Y, Y_test, f = rng.standard_normal((3, 20, 2)), rng.standard_normal((3, 31, 2)), rng.standard_normal((3, 31))
    without = ckrr.score_together(factors, list(Y), list(Y_test))
    latent = ckrr.score_together(factors, list(Y), [np.column_stack([each, each]) for each in f])
    for i, both in enumerate(ckrr.score_together(factors, list(Y), list(Y_test), f_test=list(f))):
        assert both.hits_f is not None
        np.testing.assert_array_equal(both.hits_f, latent[i].hits)
        np.testing.assert_array_equal(both.hits, without[i].hits)
        np.testing.assert_array_equal(both.lower, without[i].lower)
        assert without[i].hits_f is None
    single = factors[1].score(Y[1], Y_test[1], f_test=f[1])
    np.testing.assert_array_equal(single.hits_f, latent[1].hits)
    with pytest.raises(ValueError, match=r"^f_test must be of shape \(31,\), one for each row of X_test"):
        factors[1].score(Y[1], Y_test[1], f_test=f[1][:5])
    with pytest.raises(ValueError, match=r"^f_test must have one entry for each of the 3 factors, got 1$"):
        ckrr.score_together(factors, list(Y), list(Y_test), f_test=[f[0]])
