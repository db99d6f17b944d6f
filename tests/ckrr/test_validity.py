"""What conformal prediction promises: p-values follow their exact laws when train and test points are exchangeable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

import ckrr
from ckrr._validation import Array
from ckrr.procedures import CONFORMAL
from tests.ckrr.validity import FALSE_ALARM, follows_its_law, skewed_sample


@pytest.mark.parametrize(("n", "lam"), [(9, 1e-6), (10, 0.1), (4, 1e-3)])
def test_p_values_follow_their_law(n: int, lam: float) -> None:
    """A chi-squared test over 1500 independent samples with one test point each."""
    rng = np.random.default_rng([n, 1])
    N, samples = n + 1, 1500
    p = np.empty((len(CONFORMAL), samples))
    for i in range(samples):
        X, y = skewed_sample(rng, N)
        fit = ckrr.fit(X[:n], y[:n], theta=20.0, lam=lam)
        p[:, i] = [fit.p_values(X[n:], y[n:], procedure)[0] for procedure in CONFORMAL]
    assert [name for name, each in zip(CONFORMAL, p, strict=True) if not follows_its_law(name, N, each)] == []


def binary(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    return rng.integers(0, 2, n).astype(float), rng.integers(0, 2, n).astype(float)


def mostly_one(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    return rng.integers(0, 3, n).astype(float), 1.0 + (rng.random(n) < 0.05)


def constant(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    return np.full(n, 0.3), np.full(n, 1.0)


def rounded(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.integers(0, 12, n) / 7
    return X, np.round(np.sin(4 * X) + 0.2 * rng.standard_normal(n), 1)


@pytest.mark.parametrize("procedure", CONFORMAL)
@pytest.mark.parametrize(
    ("draw", "n", "lam"), [(binary, 30, 0.1), (mostly_one, 39, 0.1), (constant, 20, 0.1), (rounded, 29, 1e-6)]
)
def test_p_values_are_valid_for_data_with_ties(
    procedure: str, draw: Callable[..., tuple[Array, Array]], n: int, lam: float
) -> None:
    """Where points occur again, ties count for the test point: P(p ≤ t/N) ≤ t/N for RRCM, 2⌊t/2⌋/N for CRR."""
    rng = np.random.default_rng(n)
    N, samples = n + 1, 600
    p = np.empty(samples)
    for i in range(samples):
        X, y = draw(rng, N)
        p[i] = ckrr.fit(X[:n], y[:n], theta=1.0, lam=lam).p_values(X[n:], y[n:], procedure)[0]
    for t in range(1, N):
        allowed = (t if procedure.startswith("RRCM") else 2 * (t // 2)) / N
        assert binom.sf((p <= (t + 0.5) / N).sum() - 1, samples, allowed) > FALSE_ALARM / N


@pytest.mark.parametrize("procedure", CONFORMAL)
def test_a_value_that_occurs_again_is_no_surprise(procedure: str) -> None:
    """n equal points, and the test point is one more: every residual ties, so p = 1."""
    for n in range(1, 40):
        fit = ckrr.fit(np.full(n, 0.3), np.full(n, 1.7), theta=10.0, lam=0.1)
        assert fit.p_values([0.3], [1.7], procedure) == [1.0]
        assert fit.regions([0.3], procedure, [0.3, 0.99]).contains([1.7]).all()


def gaussian_path(rng: np.random.Generator, X: Array, gamma: float) -> Array:
    """GP(0, K_100 + γδ) at the points X."""
    K = np.exp(-100.0 * (X[:, None] - X[None]) ** 2)
    w, U = np.linalg.eigh(K)
    f = U @ (np.sqrt(np.maximum(w, 0.0)) * rng.standard_normal(len(X)))
    return f + np.sqrt(gamma) * rng.standard_normal(len(X))


@pytest.mark.parametrize("theta", [10.0, 100.0, 1000.0])
def test_coverage_holds_at_small_lambda(theta: float, capsys: pytest.CaptureFixture[str]) -> None:
    """γ = λ = 1e-6, n = 199, nominal 90 %, iid test points.

    Full conformal prediction in online-cp covers 3, 16 and 61 % here, for θ = 10, 100 and 1000.
    """
    rng = np.random.default_rng(int(theta))
    n, m, paths, gamma = 199, 20, 150, 1e-6
    hits = np.empty((paths, len(ckrr.PROCEDURES), m), dtype=bool)
    for path in range(paths):
        X = rng.random(n + m)
        y = gaussian_path(rng, X, gamma)
        fit = ckrr.fit(X[:n], y[:n], theta=theta, lam=1e-6)
        hits[path] = fit.score(X[n:], y[n:], alpha=0.1).hits[:, :, 0]
    coverage = hits.mean(axis=(0, 2))
    error = hits.mean(axis=2).std(axis=0, ddof=1) / np.sqrt(paths)  # test points of one path aren't independent
    with capsys.disabled():
        told = ", ".join(f"{p} {c:.1%} ± {e:.1%}" for p, c, e in zip(ckrr.PROCEDURES, coverage, error, strict=True))
        print(f"\n  coverage, θ = {theta:g}, nominal 90 %: {told}")
    N = n + 1
    exact = {"RRCM": 1 - (20 - 1) / N, "CRR": 1 - 2 * (10 - 1) / N}
    for i, procedure in enumerate(ckrr.PROCEDURES):
        if procedure in CONFORMAL:
            assert abs(coverage[i] - exact[procedure.split("-")[0]]) < 4.5 * error[i] < 0.05


@pytest.fixture(scope="module")
def ordinary() -> tuple[ckrr.Fit, Array]:
    rng = np.random.default_rng(5)
    X = rng.random((60, 2))
    return ckrr.fit(X, np.sin(4 * X[:, 0]) + 0.2 * rng.standard_normal(60), theta=15.0, lam=1e-2), rng.random((50, 2))


@pytest.mark.parametrize("procedure", ["RRCM", "RRCM-loo", "RRCM-std"])
def test_rrcm_contains_the_prediction(ordinary: tuple[ckrr.Fit, Array], procedure: str) -> None:
    fit, X_new = ordinary
    alpha = [0.01, 0.3, 0.6, 0.99]
    assert fit.regions(X_new, procedure, alpha).contains(fit.predict(X_new)).all()
    assert (fit.p_values(X_new, fit.predict(X_new), procedure) == 1).all()


def test_in_sample_and_leave_one_out_residuals_differ_by_their_leverage() -> None:
    """r_in = λ Q_ii r_loo, from real refits with one row deleted."""
    rng = np.random.default_rng(8)
    X, lam, theta = rng.random(12), 0.05, 8.0
    y = rng.standard_normal(12)
    fit = ckrr.fit(X, y, theta, lam)
    Q = np.linalg.inv(np.exp(-theta * (X[:, None] - X[None]) ** 2) + lam * np.eye(12))
    for i in range(12):
        others = np.arange(12) != i
        r_loo = y[i] - ckrr.fit(X[others], y[others], theta, lam).predict(X[i : i + 1])[0]
        assert y[i] - fit.predict(X[i : i + 1])[0] == pytest.approx(lam * Q[i, i] * r_loo, rel=1e-9)


def test_limits_far_from_the_data(ordinary: tuple[ckrr.Fit, Array]) -> None:
    """Far away W → 0 and m → 1 + λ: RRCM's half-width is a quantile of (1 + λ)|a|, GPR-f's is z σ̂ sqrt(1 + λ)."""
    fit, _ = ordinary
    far = np.full((1, 2), 1e3)
    K = np.exp(-fit.theta * ((fit.X[:, None] - fit.X[None]) ** 2).sum(axis=2))
    Q = np.linalg.inv(K + fit.lam * np.eye(60))
    a = np.sort(np.abs(Q @ fit.y))[::-1]
    k = 7 - 1  # ⌈61 · 0.1⌉ − 1
    rrcm = fit.regions(far, "RRCM", 0.1)
    assert rrcm.upper[0, 0] == pytest.approx((1 + fit.lam) * a[k - 1], rel=1e-9)
    assert rrcm.lower[0, 0] == pytest.approx(-(1 + fit.lam) * a[k - 1], rel=1e-9)
    loo = fit.regions(far, "RRCM-loo", 0.1)
    r_loo = np.sort(np.abs((Q @ fit.y) / np.diag(Q)))[::-1]
    assert loo.upper[0, 0] == pytest.approx(r_loo[k - 1], rel=1e-9)
    gpr = fit.regions(far, "GPR-f", 0.1)
    assert gpr.upper[0, 0] == pytest.approx(1.6448536269514722 * np.sqrt(fit.sigma2 * (1 + fit.lam)), rel=1e-12)


def test_regions_shrink_as_alpha_grows(ordinary: tuple[ckrr.Fit, Array]) -> None:
    fit, X_new = ordinary
    for procedure in ckrr.PROCEDURES:
        regions = fit.regions(X_new, procedure, [0.05, 0.1, 0.2, 0.4])
        assert (np.diff(regions.length, axis=1) <= 0).all()
        assert (np.diff(regions.lower, axis=1) >= 0).all()
