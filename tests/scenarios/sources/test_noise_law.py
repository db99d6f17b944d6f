"""The distribution function of each noise is that of the numbers that are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scenarios.sources.synthetic import Synthetic
from scenarios.sources.world import World

WORLDS = [
    World(),
    World(noise="student"),
    World(noise="student", df=5.5),
    World(noise="student", df=1.0),
    World(noise="skewed"),
    World(noise="skewed", skewness=-0.7),
    World(noise="skewed", skewness=-2.0),
    World(noise="heteroscedastic"),
    World(noise="heteroscedastic", spread=0.2),
]


def name(world: World) -> str:
    return f"{world.noise} {world.df or world.skewness or world.spread or ''}"


@pytest.mark.parametrize("world", WORLDS, ids=name)
def test_probabilities_of_drawn_noise_are_uniform(world: World) -> None:
    u = np.random.default_rng(1).random(20_000)
    e = world.draw_noise(u, np.random.default_rng(2))
    assert stats.kstest(world.compute_cdf(u, e), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("world", WORLDS, ids=name)
def test_it_is_a_distribution_function(world: World) -> None:
    z = np.array([-np.inf, -1e200, -30.0, -3.0, -1.0, 0.0, 1e-9, 1.0, 3.0, 30.0, 1e200, np.inf])
    found = world.compute_cdf(np.full(len(z), 0.3), z)
    assert found[0] == 0
    assert found[-1] == 1
    assert (np.diff(found) >= 0).all()
    assert np.isnan(world.compute_cdf(np.array([0.3]), np.array([np.nan])))


def test_closed_forms_agree_with_scipy() -> None:
    t = np.concatenate([np.linspace(-50, 50, 1001), [-1e8, 1e8]])
    student, skewed = (World(noise=noise).compute_cdf(np.zeros_like(t), t) for noise in ("student", "skewed"))
    assert np.abs(student - stats.t(3).cdf(t * np.sqrt(3))).max() < 1e-15
    assert np.abs(skewed - stats.expon(-1).cdf(t)).max() < 1e-15


def test_a_source_asks_its_world_at_the_place_of_each_point() -> None:
    source = Synthetic(lambda X: X[:, 0], domain=(-1.0, 3.0), world=World(noise="heteroscedastic", spread=10.0))
    X, z = np.array([[-1.0], [3.0]]), np.ones((2, 5, 2))
    found = source.noise_cdf(X, z)
    assert found.shape == z.shape
    assert np.allclose(found[0, 0], stats.norm.cdf(1 / np.array([0.2157, 2.157])), atol=1e-3)
