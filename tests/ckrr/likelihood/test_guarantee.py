"""No peak is missed: random likelihoods of small samples, against a dense grid.

The grid is evaluated as the search is, which `test_dense.py` compares with the definition, so that tens of thousands of
searches take minutes. `test_profile.py` has the functions of the paper up to n = 1600, with whole factorisations on the
grid.
"""

from __future__ import annotations

import numpy as np
import pytest

from ckrr._validation import Array
from ckrr.likelihood.profile import Likelihood, search
from tests.ckrr.likelihood.samples import LOW, ONE_D, TWO_D

TOLERANCE = 1e-3


def draw(seed: int, least: int, most: int) -> Likelihood:
    """A sample of any kind: points random, clustered or equidistant; targets of the paper, smooth, rough or noise."""
    rng = np.random.default_rng([seed, 17])
    n, kind = int(np.exp(rng.uniform(np.log(least), np.log(most + 1)))), int(rng.integers(10))
    d = 2 if rng.random() < 0.3 else 1
    X = rng.random((n, d)) ** rng.choice([1.0, 1.0, 3.0])
    if d == 1 and rng.random() < 0.2:
        X = np.linspace(0, 1, n)[:, None]
    y = _draw_target(rng, X, kind) + 10.0 ** rng.choice([-9, -3, -2, -1, -0.5, 0.5]) * rng.standard_normal(n)
    return Likelihood(X * 10.0 ** rng.uniform(-2, 2), y, float(10.0 ** rng.choice([-8, -6, -4, -3, -2, -1, 0])))


def _draw_target(rng: np.random.Generator, X: Array, kind: int) -> Array:
    papers = TWO_D if X.shape[1] == 2 else ONE_D
    if kind < 5:
        f = papers[rng.integers(len(papers))]
        low = LOW.get(f, 0.0)
        return f(rng, low + (1 - low) * X)
    x = X @ rng.standard_normal(X.shape[1])
    if kind == 5:  # two scales far apart: two peaks
        return np.sin(2 * x) + 10.0 ** rng.uniform(-3, 0) * np.sin(10.0 ** rng.uniform(1, 3) * x)
    if kind == 6:
        return np.sign(np.sin(rng.uniform(3, 60) * x))
    if kind == 7:
        return np.where(rng.random(len(x)) < 0.1, 5.0, 0.0) + x
    if kind == 8:
        return np.round(rng.uniform(1, 9) * x)
    return np.exp(-(10.0 ** rng.uniform(0, 5)) * (x - x[0]) ** 2)


def measure_shortfall(likelihood: Likelihood, points: int) -> float:
    """Return how far ℓ at the θ found is below its maximum on a grid of so many points."""
    found = search(likelihood)
    thetas = np.append(np.geomspace(*found.bounds, points), found.theta)
    with np.errstate(all="ignore"):
        heights = likelihood.make_heights([likelihood.y])(thetas)[:, 0]
    return float(heights.max() - heights[-1])


def test_no_peak_is_missed() -> None:
    shortfalls = [measure_shortfall(draw(seed, 2, 60), 200) for seed in range(150)]
    assert max(shortfalls) <= TOLERANCE


def test_gaps_beside_the_best_point_are_looked_at_again() -> None:
    """Of some 40 000 searches this one was 0.005 short when promises were from before the points around were known."""
    assert measure_shortfall(draw(1003013, 30, 120), 800) <= TOLERANCE


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize(("least", "most", "searches"), [(2, 30, 3000), (30, 120, 2000), (120, 512, 200)])
def test_no_peak_is_missed_in_many(least: int, most: int, searches: int, part: int) -> None:
    """52 000 searches, more than half of them below n = 30."""
    seeds = range(10**6 + part * searches, 10**6 + (part + 1) * searches)
    missed = {seed: short for seed in seeds if (short := measure_shortfall(draw(seed, least, most), 800)) > TOLERANCE}
    print(f"n = {least} … {most}: {len(missed)} of {searches} missed", missed)
    assert not missed
