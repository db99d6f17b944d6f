"""A scale for each coordinate, and λ: gradients by differences, never below equal scales."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ckrr
from ckrr._validation import Array
from ckrr.kernels import KERNELS
from ckrr.likelihood.ard import THETA, ArdLikelihood, search_ard
from ckrr.likelihood.joint import search_joint
from ckrr.likelihood.profile import Likelihood
from ckrr.likelihood.ridge_curve import LOWEST_LAM
from ckrr.likelihood.spectrum import Targets
from tests.ckrr.likelihood.joint_oracles import log_likelihood

SEEDS = st.integers(0, 2**32 - 1)
KERNEL_NAMES = st.sampled_from(sorted(KERNELS))


def draw(seed: int, n: int = 40, d: int = 3, noise: float = 0.1) -> tuple[Array, Array]:
    """Points with coordinates in different units; the last one has no influence."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * 10.0 ** rng.uniform(-2, 2, d)
    u = X / np.ptp(X, axis=0)
    y = np.sin(6 * u[:, 0]) + (u[:, 1] ** 2 if d > 2 else 0.0)
    return X, y + noise * rng.standard_normal(n)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 12), st.integers(1, 3), KERNEL_NAMES, st.booleans(), st.floats(-6, 1))
def test_the_likelihood_is_that_of_the_definition(
    seed: int, n: int, d: int, kernel: str, has_mean: bool, log10_lam: float
) -> None:
    X, y = draw(seed, n, d)
    p = np.append(np.random.default_rng(seed).uniform(-1, 5, d) - 2 * np.log(np.ptp(X, axis=0)), log(10**log10_lam))
    found, _ = ArdLikelihood(X, KERNELS[kernel], Targets.make([y], has_mean), 0).compute(p)
    Z = X * np.sqrt(2 * np.exp(p[:-1]))
    assert found == pytest.approx(log_likelihood(Z, y, THETA, float(np.exp(p[-1])), kernel, has_mean), abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(3, 40), st.integers(1, 4), KERNEL_NAMES, st.booleans(), st.floats(-4, 1))
def test_the_gradient_is_that_of_differences(
    seed: int, n: int, d: int, kernel: str, has_mean: bool, log10_lam: float
) -> None:
    X, y = draw(seed, n, d)
    likelihood = ArdLikelihood(X, KERNELS[kernel], Targets.make([y], has_mean), 0)
    p = np.append(np.random.default_rng(seed).uniform(-1, 5, d) - 2 * np.log(np.ptp(X, axis=0)), log(10**log10_lam))
    _, gradient = likelihood.compute(p)
    step = 1e-4
    by_differences = [
        (likelihood.compute(p + step * v)[0] - likelihood.compute(p - step * v)[0]) / (2 * step) for v in np.eye(d + 1)
    ]
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-4, atol=1e-4)


def test_a_singular_matrix_has_no_height() -> None:
    X = np.zeros((5, 1))
    found, gradient = ArdLikelihood(X, KERNELS["gaussian"], Targets.make([np.ones(5)]), 0).compute(
        np.array([0.0, -80.0])
    )
    assert found == -np.inf
    assert (gradient == 0).all()


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_never_below_equal_scales(kernel: str, seed: int) -> None:
    X, y = draw(seed, 30)
    has_mean = seed == 1
    likelihood = Likelihood(X, y, 1.0, KERNELS[kernel], has_mean=has_mean)
    (joint,), (found,) = (search(likelihood, [y]) for search in (search_joint, search_ard))
    assert found.scales is not None
    assert found.scale_bounds is not None
    assert found.lam is not None
    assert joint.lam is not None
    height = ArdLikelihood(X, KERNELS[kernel], Targets.make([y], has_mean), 0)
    theta = 0.5 / np.square(found.scales)
    ours = height.compute(np.log([*theta, found.lam]))[0]
    assert ours >= height.compute(np.log([*[joint.theta] * 3, joint.lam]))[0] - 1e-7
    assert all(
        low * 0.999 <= s <= high * 1.001 for s, (low, high) in zip(found.scales, found.scale_bounds, strict=True)
    )
    assert found.scales_on_bound == tuple(
        bool(min(abs(np.log(s / low)), abs(np.log(s / high))) < 5e-4)
        for s, (low, high) in zip(found.scales, found.scale_bounds, strict=True)
    )


def test_it_finds_which_coordinates_matter() -> None:
    X, y = draw(5, 60)
    fit = ckrr.fit(X, y, "ml-ard")
    assert fit.scales is not None
    length = fit.scales / np.ptp(X, axis=0)  # relative to the range of each coordinate
    assert length[0] < 1
    assert length[2] > 5 * length[0]
    assert fit.log_likelihood > ckrr.fit(X, y, "ml-joint").log_likelihood + 5


def test_fit_has_the_scales_that_were_found() -> None:
    X, y = draw(2)
    fit = ckrr.fit(X, y, "ml-ard", kernel="matern52")
    assert fit.scales is not None
    assert fit.search is not None
    assert fit.search.scales == tuple(fit.scales.tolist())
    assert fit.theta == THETA
    assert fit.log_likelihood == pytest.approx(fit.search.log_likelihood, rel=1e-9)
    assert fit.search.on_bound == any(fit.search.scales_on_bound)
    again = ckrr.fit(X, y, fit.theta, fit.lam, "matern52", scales=fit.scales)
    factor = ckrr.Inputs(X, X[:5], "matern52").factor_ml(y, theta="ml-ard")
    assert factor.scales is not None
    for one in (again, factor.fit(y)):
        assert (one.regions(X[:5], "CRR").upper == fit.regions(X[:5], "CRR").upper).all()
    assert ckrr.fit(X, y, 1.0, 0.1).scales is None


def test_given_scales_are_the_units_of_those_found() -> None:
    X, y = draw(3)
    units = np.array([2.0, 0.5, 4.0])  # powers of two, so that no bit changes
    one, other = ckrr.fit(X, y, "ml-ard"), ckrr.fit(X * units, y, "ml-ard", scales=units)
    assert one.scales is not None
    assert other.scales is not None
    assert (other.scales == one.scales * units).all()
    assert other.lam == one.lam


def test_each_target_has_the_bits_it_has_alone() -> None:
    X, y = draw(4, 25)
    ys = [y, 1e30 * y**2, np.zeros(25)]
    likelihood = Likelihood(X, y, 1.0)
    found = search_ard(likelihood, ys)
    assert [search_ard(likelihood, [each])[0] for each in ys] == found
    assert found[2].lam == LOWEST_LAM
    assert found[0].scales != found[1].scales


def test_held_out_rows_choose_scales_too() -> None:
    X, y = draw(6)
    some, others = np.arange(40) % 4 == 0, np.arange(40) % 4 != 0
    search, fit = ckrr.fit(X[some], y[some], "ml-ard"), ckrr.fit(X, y, "holdout-ard")
    factor = ckrr.Inputs(X, X[:3]).factor_ml(y, theta="holdout-ard")
    assert (X[others] == fit.X).all()
    for one in (fit, factor, factor.fit(y)):
        assert one.lam == search.lam
        assert (one.scales == search.scales).all()  # type: ignore[union-attr]
    assert (factor.fit(y).regions(X[:3], "RRCM").lower == fit.regions(X[:3], "RRCM").lower).all()


def test_a_constant_coordinate_and_one_coordinate() -> None:
    X, y = draw(7, 30)
    flat = X.copy()
    flat[:, 1] = 3.0
    fit = ckrr.fit(flat, y, "ml-ard")
    assert np.isfinite(fit.regions(flat, "RRCM", 0.2).length).all()
    line = Likelihood(X[:, :1], y, 1.0)
    (one,), (joint,) = search_ard(line, [y]), search_joint(line, [y])
    assert one.log_likelihood >= joint.log_likelihood - 1e-6


@pytest.mark.parametrize("kernel", ["gaussian-rff", lambda X, Z, theta, out=None: np.ones((len(X), len(Z)))])
def test_what_has_no_scales_is_refused(kernel: object) -> None:
    with pytest.raises(ValueError, match=r'^theta must not be "ml-ard" or "holdout-ard" with random features or'):
        ckrr.fit(np.eye(3), np.ones(3), "ml-ard", kernel=kernel)  # type: ignore[arg-type]


@pytest.mark.soak
def test_it_is_never_below_equal_scales_in_many() -> None:
    short, gains = {}, []
    for seed in range(300):
        X, y = draw(seed, 10 + seed % 50, 1 + seed % 4, [0.0, 0.03, 0.3, 3.0][seed % 4])
        kernel = KERNELS[sorted(KERNELS)[seed % 4]]
        likelihood = Likelihood(X, y, 1.0, kernel)
        (joint,), (found,) = search_joint(likelihood, [y]), search_ard(likelihood, [y])
        gains.append(found.log_likelihood - joint.log_likelihood)
        if gains[-1] < -1e-3:
            short[seed] = gains[-1]
    print(f"{len(short)} of 300 short, median gain {np.median(gains):.2f}", short)
    assert not short
