"""A known standard deviation of the noise: against Bayesian ridge regression and Gaussian processes from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import ckrr
from ckrr.baselines import student
from ckrr.procedures import ALL_PROCEDURES, CONFORMAL
from tests.ckrr.samples import sample


def test_it_is_bayesian_ridge_regression() -> None:
    """The prior of the coefficients is N(0, s²/λ): precision X′X/s² + λ/s², and the noise is added for y*."""
    rng, s, lam, alpha = np.random.default_rng(0), 0.3, 2.0, 0.1
    X, X_new, y = 1 + rng.random((40, 3)), rng.random((5, 3)), rng.standard_normal(40)
    posterior = np.linalg.inv(X.T @ X / s**2 + lam / s**2 * np.eye(3))
    mean = X_new @ posterior @ X.T @ y / s**2
    sd = np.sqrt(np.einsum("ij,jk,ik->i", X_new, posterior, X_new))
    z = norm.isf(alpha / 2)
    fit = ckrr.fit(X, y, lam=lam, kernel="linear", noise_sd=s)
    for procedure, deviation in (("GPR-p", sd), ("GPR-f", np.hypot(sd, s))):
        R = fit.regions(X_new, procedure, alpha)
        assert R.lower[:, 0] == pytest.approx(mean - z * deviation, rel=1e-10)
        assert R.upper[:, 0] == pytest.approx(mean + z * deviation, rel=1e-10)
        p = fit.p_values(X_new, mean + deviation, procedure)
        assert p == pytest.approx(2 * norm.sf(1.0), rel=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "matern32"])
def test_it_is_a_gaussian_process(kernel: str) -> None:
    """Of variance s²/λ with noise of variance s²."""
    X, y, X_new, _ = sample(30)
    s, lam = 0.2, 0.05
    from ckrr.kernels import KERNELS

    k = KERNELS[kernel]
    amplitude = s**2 / lam
    S = amplitude * k(X, X, 3.0) + s**2 * np.eye(30)
    across = amplitude * k(X_new, X, 3.0)
    mean = across @ np.linalg.solve(S, y)
    variance = amplitude - np.einsum("ij,ji->i", across, np.linalg.solve(S, across.T))
    R = ckrr.fit(X, y, 3.0, lam, kernel, noise_sd=s).regions(X_new, "GPR-f", 0.05)
    half = norm.isf(0.025) * np.sqrt(variance + s**2)
    assert R.lower[:, 0] == pytest.approx(mean - half, rel=1e-8)
    assert R.upper[:, 0] == pytest.approx(mean + half, rel=1e-8)


def test_nothing_else_depends_on_it() -> None:
    X, y, X_new, y_new = sample(30)
    one, other = ckrr.fit(X, y, "ml", 0.05), ckrr.fit(X, y, "ml", 0.05, noise_sd=7.0)
    for name in CONFORMAL:
        assert np.array_equal(one.regions(X_new, name).lower, other.regions(X_new, name).lower)
    assert one.search == other.search
    assert (one.theta, one.sigma2, one.log_likelihood) == (other.theta, other.sigma2, other.log_likelihood)
    assert np.array_equal(student(one, X_new, 0.1).lower, student(other, X_new, 0.1).lower)
    assert one.noise_sd is None
    assert other.noise_sd == 7.0
    assert not np.array_equal(one.score(X_new, y_new, "GPR-f").lower, other.score(X_new, y_new, "GPR-f").lower)


@pytest.mark.parametrize("power", [-990, 0, 990])
def test_units_are_no_matter(power: int) -> None:
    X, y, X_new, _ = sample(20)
    ends = ckrr.fit(X, y, 3.0, 0.1, noise_sd=0.5).regions(X_new, "GPR-p").upper
    scaled = ckrr.fit(X, np.ldexp(y, power), 3.0, 0.1, noise_sd=float(np.ldexp(0.5, power)))
    assert np.array_equal(scaled.regions(X_new, "GPR-p").upper, np.ldexp(ends, power))


def test_every_target_has_its_own() -> None:
    """In `Factor.score` and `score_together`, with the bits of each alone; so has the estimator."""
    X, y, X_new, y_new = sample(30)
    Y, Y_new = np.column_stack([y, 2 * y]), np.column_stack([y_new, 2 * y_new])
    factor = ckrr.Inputs(X, X_new).factor(3.0, 0.1)
    both = factor.score(Y, Y_new, ALL_PROCEDURES, noise_sd=[0.1, 0.4])
    for t, s in enumerate((0.1, 0.4)):
        alone = ckrr.fit(X, Y[:, t], 3.0, 0.1, noise_sd=s).score(X_new, Y_new[:, t], ALL_PROCEDURES)
        assert np.array_equal(both.lower[t], alone.lower)
        assert np.array_equal(factor.fit(Y[:, t], noise_sd=s).regions(X_new, "GPR-p").lower, alone.lower[1][:, 2:3])
    together = ckrr.score_together([factor] * 2, [Y, Y], [Y_new] * 2, ALL_PROCEDURES, noise_sd=[[0.1, 0.4], 0.4])
    assert np.array_equal(together[0].lower, both.lower)
    assert np.array_equal(together[1].lower[1], both.lower[1])
    estimator = ckrr.ConformalKernelRidge("GPR-f", 3.0, 0.1, noise_sd=0.1, mean="zero").fit(X, y)
    assert np.array_equal(estimator.predict_interval(X_new)[1][:, 0, 0], both.lower[0, 0, :, 2])


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.inf, "known", [0.1]])
def test_it_must_be_a_positive_number(wrong: object) -> None:
    X, y, X_new, y_new = sample(10)
    with pytest.raises(ValueError, match=r"^noise_sd must be a finite number > 0, got "):
        ckrr.fit(X, y, 3.0, 0.1, noise_sd=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^noise_sd must be "):
        ckrr.Inputs(X, X_new).factor(3.0, 0.1).score(y, y_new, noise_sd=[wrong, 1.0])  # type: ignore[list-item]
