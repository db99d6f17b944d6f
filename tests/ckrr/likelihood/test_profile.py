"""θ by maximum likelihood: never below a fine grid, whatever the number of local maxima."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, pi

import numpy as np
import pytest
from scipy.optimize import minimize

import ckrr
from ckrr._validation import Array
from ckrr.likelihood.profile import HIGHEST, LOWEST, Likelihood, search, search_cobyla
from tests.ckrr.likelihood.samples import ONE_D, TWO_D, f6, gp, heaviside, sample

TOLERANCE = 1e-3


def by_definition(X: Array, y: Array, theta: float, lam: float) -> float:
    n = len(y)
    R = np.exp(-theta * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + lam * np.eye(n)
    sigma2 = y @ np.linalg.solve(R, y) / n
    return float(-0.5 * (n * (log(2 * pi) + log(sigma2) + 1) + np.linalg.slogdet(R)[1]))


def check_never_below_a_grid(f: Callable[..., Array], n: int, gamma: float, lam: float) -> None:
    X, y = sample(f, n, gamma)
    likelihood = Likelihood(X, y, lam)
    found = search(likelihood)
    assert found.log_likelihood == likelihood.log_likelihood(found.theta)
    grid = np.geomspace(*found.bounds, 200)
    assert found.bounds == pytest.approx(np.array([LOWEST, HIGHEST]) / np.ptp(X, axis=0).max() ** 2)
    assert found.log_likelihood >= max(likelihood.log_likelihood(theta) for theta in grid) - TOLERANCE


GRID = [pytest.mark.parametrize("lam", [1e-6, 1e-1]), pytest.mark.parametrize("gamma", [1e-6, 1e-1])]


def over(*cases: tuple[list[Callable[..., Array]], list[int]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Parametrise over functions and sizes, and over all γ and λ of the paper."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        pairs = [pytest.param(f, n, id=f"{f.__name__}-{n}") for fs, ns in cases for n in ns for f in fs]
        for mark in [*GRID, pytest.mark.parametrize(("f", "n"), pairs)]:
            test = mark(test)
        return test

    return decorate


@over((ONE_D, [25, 100, 200]), (TWO_D, [150]))
def test_the_search_is_global(f: Callable[..., Array], n: int, gamma: float, lam: float) -> None:
    check_never_below_a_grid(f, n, gamma, lam)


@pytest.mark.soak
@over((ONE_D, [50, 400, 600, 800, 1000, 1200, 1400, 1600]), (TWO_D, [1500]))
def test_the_search_is_global_over_the_papers_grid(f: Callable[..., Array], n: int, gamma: float, lam: float) -> None:
    check_never_below_a_grid(f, n, gamma, lam)


def test_the_likelihood_is_its_definition() -> None:
    X, y = sample(gp, 40, 0.1)
    for theta, lam in [(0.5, 0.1), (100.0, 1e-3), (1e5, 0.1)]:
        expected = by_definition(X, y, theta, lam)
        assert Likelihood(X, y, lam).log_likelihood(theta) == pytest.approx(expected, rel=1e-9)
        assert ckrr.fit(X, y, theta, lam).log_likelihood == pytest.approx(expected, rel=1e-9)
    assert Likelihood(np.zeros((5, 1)), np.ones(5), 1e-30).log_likelihood(1.0) == -inf


@pytest.mark.parametrize("scale", [1e-4, 1e5])
def test_the_search_follows_the_scale_of_the_inputs(scale: float) -> None:
    X, y = sample(f6, 50, 1e-6)
    one, other = search(Likelihood(X, y, 1e-3)), search(Likelihood(scale * X, y, 1e-3))
    assert other.theta * scale**2 == pytest.approx(one.theta, rel=1e-3)
    assert not one.on_bound


def test_an_optimum_on_a_bound_is_said() -> None:
    X = np.linspace(0, 1, 20)[:, None]
    noise = np.random.default_rng(0).standard_normal(20)
    assert search(Likelihood(X, np.ones(20), 1e-3)).on_bound, "a constant is the smoother the better"
    assert not search(Likelihood(X, np.sin(9 * X[:, 0]) + 0.01 * noise, 1e-3)).on_bound


def test_fit_and_factor_search() -> None:
    X, y = sample(gp, 60, 1e-1)
    fit = ckrr.fit(X, y, theta="ml", lam=0.1)
    assert fit.search == search(Likelihood(X, y, 0.1))
    assert fit.search is not None
    assert fit.theta == fit.search.theta
    assert fit.log_likelihood == pytest.approx(fit.search.log_likelihood, rel=1e-9)
    assert ckrr.fit(X, y, theta=fit.theta, lam=0.1).search is None
    assert ckrr.Inputs(X, X).factor_ml(y, 0.1).theta == fit.theta
    assert ckrr.Inputs(X, X).factor_ml(y, 0.1, "ml-cobyla").theta == ckrr.fit(X, y, "ml-cobyla", 0.1).theta != fit.theta
    with pytest.raises(ValueError, match=r"^theta must be one of ml, .*, got 'mle' \(did you mean 'ml'\?\)$"):
        ckrr.Inputs(X, X).factor_ml(y, 0.1, "mle")
    with pytest.raises(ValueError, match=r"^lam must be a finite number > 0, got -1$"):
        ckrr.fit(X, y, theta="ml", lam=-1)


@pytest.mark.parametrize("f", [gp, heaviside, f6])
@pytest.mark.parametrize("lam", [1e-6, 1e-1])
def test_the_published_search_is_cobyla(f: Callable[..., Array], lam: float) -> None:
    """σ̂²·det(K + λI)^(1/n) over log₁₀θ from θ = n within 1 … 1e4, by SciPy's other way in, on the plain formula."""
    X, y = sample(f, 50, 1e-6)
    n = len(y)

    def objective(t: Array) -> float:
        R = np.exp(-(10 ** t[0]) * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + lam * np.eye(n)
        return float(y @ np.linalg.solve(R, y) / n * np.exp(np.linalg.slogdet(R)[1] / n))

    constraints = [{"type": "ineq", "fun": lambda t: t[0]}, {"type": "ineq", "fun": lambda t: 4 - t[0]}]
    options = {"rhobeg": 1.0, "tol": 1e-4}
    expected = minimize(objective, [np.log10(n)], method="COBYLA", constraints=constraints, options=options).x[0]
    found = search_cobyla(Likelihood(X, y, lam))
    assert np.log10(found.theta) == pytest.approx(expected, abs=2e-3)
    assert found.bounds == (1.0, 1e4)
    assert found.evaluations < 60
