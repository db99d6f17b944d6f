"""θ from the distances between all inputs: its definition, its symmetry, and the exact level that follows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom

import ckrr
from ckrr._validation import Array
from ckrr.likelihood import median as module
from ckrr.likelihood.median import choose_median_theta
from tests.ckrr.validity import FALSE_ALARM

POINTS = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=14)


def define(points: list[tuple[int, ...]]) -> Fraction | None:
    """1/median of the squared distances, in integers; None where all points are equal."""
    squares = [sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) for x, z in combinations(points, 2)]
    positive = [each for each in squares if each]
    return Fraction(1) / (Fraction(median(map(Fraction, squares))) or min(positive)) if positive else None


@settings(max_examples=200, deadline=None)
@given(POINTS, st.integers(1, 13), st.integers(-400, 400), st.randoms())
def test_it_is_its_definition_and_symmetric(points: list[tuple[int, int]], n: int, exponent: int, rng: object) -> None:
    """Whatever the unit, and whichever of the points are test points."""
    n, expected = min(n, len(points) - 1), define(points)
    Z = np.ldexp(np.array(points, dtype=float), exponent)
    if expected is None:
        with pytest.raises(ValueError, match=r"^X and X_test must have distances .* got equal rows only$"):
            choose_median_theta(Z[:n], Z[n:])
        return
    theta = choose_median_theta(Z[:n], Z[n:])
    assert theta == pytest.approx(float(np.ldexp(float(expected), -2 * exponent)), rel=1e-15)
    rng.shuffle(points)  # type: ignore[attr-defined]
    moved = np.ldexp(np.array(points, dtype=float), exponent)
    assert choose_median_theta(moved[:n], moved[n:]) == theta


@pytest.mark.parametrize("d", [1, 3])
def test_beyond_the_limit_a_symmetric_subset_decides(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same θ in every order of the points, near the median of all."""
    rng = np.random.default_rng(d)
    Z = np.round(rng.standard_normal((900, d)), 1)  # with ties in every coordinate
    whole = choose_median_theta(Z[:500], Z[500:])
    monkeypatch.setattr(module, "MOST", 200)
    found = choose_median_theta(Z[:500], Z[500:])
    assert found == pytest.approx(whole, rel=0.15)
    for _ in range(5):
        Z = rng.permutation(Z)
        assert choose_median_theta(Z[:899], Z[899:]) == found


def test_inputs_choose_it_and_share_a_factor() -> None:
    rng = np.random.default_rng(0)
    X, X_new, Y = rng.random((30, 2)), rng.random((9, 2)), rng.standard_normal((30, 2))
    scales = [1.0, 50.0]
    inputs = ckrr.Inputs(X, X_new, scales=scales)
    one, other = (make() for make in inputs.search_ml(Y, 0.1, "median"))
    assert one is other
    assert one.theta == choose_median_theta(X / scales, X_new / scales) != choose_median_theta(X, X_new)
    assert inputs.factor_ml(Y[:, 0], 0.1, "median").theta == one.theta
    given_theta = ckrr.fit(X, Y[:, 0], one.theta, 0.1, scales=scales)
    assert (one.fit(Y[:, 0]).regions(X_new).lower == given_theta.regions(X_new).lower).all()


def cover(choose: Callable[[Array, Array], float], samples: int) -> int:
    """How often RRCM-loo at n = 4, Cauchy inputs and α = 0.4 covers y*; exactly 4/5 of the time with a symmetric θ."""
    rng, hits = np.random.default_rng(27), 0
    for _ in range(samples):
        X, y = rng.standard_cauchy((5, 1)), rng.standard_normal(5)
        y += np.sin(X[:, 0])
        theta = choose(X[:4], X[4:])
        hits += ckrr.fit(X[:4], y[:4], theta, 0.01).p_values(X[4:], y[4:], "RRCM-loo")[0] >= 0.4
    return hits


@pytest.mark.parametrize("samples", [2000, pytest.param(40_000, marks=pytest.mark.soak)])
def test_it_keeps_the_exact_level_and_train_inputs_alone_do_not(samples: int) -> None:
    """A binomial test with a false-alarm rate of 1e-4 on each side, and its power: θ of training inputs alone fails."""
    assert ckrr.exact_level("RRCM-loo", 4, 0.4) == 0.8
    exact = cover(choose_median_theta, samples)
    assert binom.cdf(exact, samples, 0.8) > FALSE_ALARM
    assert binom.sf(exact - 1, samples, 0.8) > FALSE_ALARM
    alone = cover(lambda X, X_test: choose_median_theta(X[:1], X[1:]), samples)
    assert binom.sf(alone - 1, samples, 0.8) < FALSE_ALARM


def test_a_fit_has_no_test_inputs() -> None:
    with pytest.raises(ValueError, match=r"^theta must not be 'median', which takes .*use Inputs\(X, X_test\)"):
        ckrr.fit([0.0, 1.0], [0.0, 1.0], "median", 0.1)
    with pytest.raises(ValueError, match=r"^theta must be a number > 0, got 'median' \(for a search use factor_ml\)"):
        ckrr.Inputs([0.0, 1.0], [0.5]).factor("median", 0.1)  # type: ignore[arg-type]
