"""From the data to the regions: coefficients within their bound, endpoints within the bound that follows.

The coefficients are judged by dense algebra with 1024 bits. Their bound is SLACK·n·ε/λ, relative to the scale of each;
an endpoint m a_i/(D_i + W_i) inherits it divided by D_i + W_i, as an interval of doubt.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest

import ckrr
from ckrr.levels import parse_alpha
from ckrr.ridge.exact import Ridge
from tests.ckrr.accuracy import ALPHAS, CONFORMAL, bound, doubts, max_error, mean_scale, name_of, problem
from tests.oracles import coefficients, disagreements, refitted_p_value, region

LAMBDAS = [1e-8, 1e-6, 1e-3, 1e-1, 10.0]


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("theta", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (25, 1), (30, 2)])
def test_coefficients_are_within_their_bound(n: int, d: int, theta: float, lam: float) -> None:
    X, y, X_new = problem(n + d, n, d)
    ridge = Ridge(X, theta, lam)
    target = ridge.make_target(y)
    (block,) = ridge.project(X_new, [target])
    for i, truth in enumerate(coefficients(X, y, X_new, theta, lam)):
        allowed = bound(n, lam)
        scale_a, scale_W = max(map(abs, truth.a)), max(map(abs, truth.W))
        unit = Fraction(2) ** target.exponent
        assert abs(Fraction(block.m[i]) - truth.m) <= allowed * truth.m
        assert max_error(block.W[i], truth.W) <= allowed * (scale_W + 1)
        assert max_error(target.a, [a / unit for a in truth.a]) <= allowed * scale_a / unit
        assert max_error(ridge.diag_Q, truth.diag_Q) <= allowed * max(truth.diag_Q)
        assert abs(Fraction(block.means[0][i]) * unit - truth.mean) <= allowed * mean_scale(truth)
        assert abs(Fraction(target.sigma2) * unit**2 - truth.sigma2) <= allowed * truth.sigma2
        assert ridge.log_det == pytest.approx(truth.log_det, rel=float(allowed), abs=float(n * allowed))


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("theta", [3.0, 100.0])
@pytest.mark.parametrize("d", [1, 2])
def test_regions_are_within_the_bound_that_follows(d: int, theta: float, lam: float) -> None:
    n = 13
    X, y, X_new = problem(int(theta) + d, n, d, m=2)
    fit = ckrr.fit(X, y, theta, lam)
    for i, truth in enumerate(coefficients(X, y, X_new, theta, lam)):
        for score, residual in CONFORMAL:
            profile = truth.lines(residual).profile(score)
            regions = fit.regions(X_new, name_of(score, residual), ALPHAS)
            zones = doubts(truth, residual, score, bound(n, lam))
            for j, alpha in enumerate(ALPHAS):
                moved = [
                    (lo + truth.mean if lo > -inf else lo, hi + truth.mean if hi < inf else hi)
                    for lo, hi in region(profile, parse_alpha(alpha))
                ]
                assert not disagreements(regions.components(i, j), moved, zones), (score, residual, i, alpha)


def test_nearly_all_endpoints_are_within_a_millionth_of_the_width(capsys: pytest.CaptureFixture[str]) -> None:
    """At λ = 1e-6: the share of finite hull ends within 1e-6 of the region's width, against 1024 bits."""
    lam, n = 1e-6, 25
    errors = []
    for seed, theta in enumerate([10.0, 100.0, 1000.0]):
        X, y, X_new = problem(seed, n, 1, m=6)
        fit = ckrr.fit(X, y, theta, lam)
        for i, truth in enumerate(coefficients(X, y, X_new, theta, lam)):
            for score, residual in CONFORMAL:
                profile = truth.lines(residual).profile(score)
                regions = fit.regions(X_new[i : i + 1], name_of(score, residual), ALPHAS)
                for j, alpha in enumerate(ALPHAS):
                    parts = region(profile, parse_alpha(alpha))
                    lower, upper = parts[0][0], parts[-1][1]
                    assert (regions.lower[0, j] == -inf) == (lower == -inf)
                    assert (regions.upper[0, j] == inf) == (upper == inf)
                    if abs(lower) == inf or abs(upper) == inf:
                        continue
                    width = upper - lower
                    errors += [
                        float(abs(Fraction(regions.lower[0, j]) - truth.mean - lower) / width),
                        float(abs(Fraction(regions.upper[0, j]) - truth.mean - upper) / width),
                    ]
    share = float(np.mean(np.array(errors) <= 1e-6))
    with capsys.disabled():
        print(
            f"\n  endpoints within 1e-6 of the width at λ = 1e-6: {share:.2%} of {len(errors)}, worst {max(errors):.1e}"
        )
    assert len(errors) > 300
    assert share >= 0.98


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize(("n", "d", "theta"), [(1, 1, 3.0), (2, 1, 20.0), (6, 1, 20.0), (7, 2, 5.0)])
def test_p_values_are_those_of_refitted_models(n: int, d: int, theta: float, lam: float) -> None:
    """The augmented sample refitted at each candidate; leave-one-out by deleting rows."""
    X, y, X_new = problem(10 * n + d, n, d, m=1)
    fit = ckrr.fit(X, y, theta, lam)
    compared = 0
    for i, (x, truth) in enumerate(zip(X_new, coefficients(X, y, X_new, theta, lam), strict=True)):
        for score, residual in CONFORMAL:
            zones = doubts(truth, residual, score, bound(n, lam))
            for z in float(truth.mean) + np.array([-2.0, -0.4, -0.03, -1e-3, 1e-4, 0.02, 0.3, 3.0]):
                if any(lo <= Fraction(z) <= hi for lo, hi in zones):
                    continue
                (p,) = fit.p_values(X_new[i : i + 1], [z], name_of(score, residual))
                assert p == float(refitted_p_value(X, y, x, z, theta, lam, score, residual)), (score, residual, i, z)
                compared += 1
    assert compared > 50
