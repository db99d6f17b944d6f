"""Harder worlds: the laws of noise and of test inputs, in every source."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from scenarios import SOURCES, Source, Synthetic, Table, World
from scenarios.sources.types import Array
from scenarios.sources.world import LAWS
from tests.scenarios.worlds import Recorded, assert_begins, assert_same, parts

WORLDS = [
    World(noise="student"),
    World(noise="student", df=1.0),
    World(noise="skewed", skewness=-1.0),
    World(noise="heteroscedastic", shift=2.0),
    World(shift=-3.0),
]


def square(X: Array) -> Array:
    return X[:, 0] ** 2


def small_table() -> Table:
    rng = np.random.default_rng(0)
    return Table(rng.random((90, 3)), rng.random(90), test_points=30)


MADE: dict[str, Callable[[], Any]] = {
    "gp": lambda: SOURCES["gp"](test_points=30, domain=(-1.0, 3.0)),
    "gp with a pool": lambda: SOURCES["gp"](test_points=30, pool=80),
    "f2": lambda: SOURCES["f2"](test_points=30),
    "one's own": lambda: Synthetic(square, test_points=30),
    "table": small_table,
}
LAW = {
    "gaussian": lambda world: stats.norm(),
    "student": lambda world: stats.t(3.0, scale=math.sqrt(1 / 3)),
    "skewed": lambda world: stats.gamma(1.0, loc=-1.0),
}


@pytest.fixture(params=MADE.values(), ids=list(MADE))
def source(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_the_contract_of_sources_holds_in_every_world(source: Any, world: World) -> None:
    hard: Source = source.in_world(world)
    assert hard.test == ("shifted" if world.shift else "iid")
    path = hard.path(Recorded(1))
    longest = path.draw(Recorded(1, 0), 60, {})
    for n in (1, 25, 59):
        assert_begins(path.draw(Recorded(1, 0), n, {}), longest)
    assert_same(longest, pickle.loads(pickle.dumps(hard)).path(Recorded(1)).draw(Recorded(1, 0), 60, {}))
    plain = source.path(Recorded(1)).draw(Recorded(1, 0), 60, {})
    assert (longest.X == plain.X).all(), "train inputs are those of the plain world"
    assert (longest.y == plain.y).all()
    assert (parts(longest)["noise"] == parts(plain)["noise"]).all() == (world.noise == "gaussian")
    assert (longest.X_test == plain.X_test).all() == (world.shift == 0)


def test_the_plain_world_is_the_source_itself(source: Any) -> None:
    one, other = (each.path(Recorded(1)).draw(Recorded(1, 0), 20, {}) for each in (source, source.in_world(World())))
    assert_same(one, other)
    assert source.in_world(WORLDS[-1]).in_world(World()).test == "iid"


@pytest.mark.parametrize("name", LAW)
def test_noise_has_its_law(name: Any) -> None:
    world = World(noise=name)
    e = world.draw_noise(np.zeros(20_000), np.random.default_rng(1))
    law = LAW[name](world)
    assert law.mean() == pytest.approx(0)
    assert law.var() == pytest.approx(1)
    assert stats.kstest(e, law.cdf).pvalue > 1e-4


def test_every_law_has_a_test() -> None:
    assert {*LAW, "heteroscedastic"} == set(LAWS)


def test_skewness_is_what_it_says() -> None:
    for g in (-2.0, 0.5, 3.0):
        e = World(noise="skewed", skewness=g).draw_noise(np.zeros(400_000), np.random.default_rng(2))
        assert stats.skew(e) == pytest.approx(g, abs=0.1)
        assert (e.mean(), e.var()) == (pytest.approx(0, abs=0.01), pytest.approx(1, abs=0.03))


@pytest.mark.parametrize("df", [1.0, 2.0])
def test_without_a_variance_students_law_stays_as_it_is(df: float) -> None:
    e = World(noise="student", df=df).draw_noise(np.zeros(20_000), np.random.default_rng(1))
    assert stats.kstest(e, stats.t(df).cdf).pvalue > 1e-4


@pytest.mark.parametrize("spread", [None, 0.01, 0.999999, 1.0, 1.000001, 1e4])
def test_gamma_stays_the_average_variance(spread: float | None) -> None:
    world = World(noise="heteroscedastic", spread=spread)
    assert integrate.quad(lambda u: world.compute_deviation(np.array([u]))[0] ** 2, 0, 1)[0] == pytest.approx(1)
    left, right = world.compute_deviation(np.array([0.0, 1.0]))
    assert right / left == pytest.approx(10.0 if spread is None else spread)


def test_spread_is_along_the_first_coordinate() -> None:
    source = SOURCES["f2"](test_points=10_000)
    assert isinstance(source, Synthetic)
    sample = source.in_world(World(noise="heteroscedastic", spread=5.0)).path(Recorded(1)).draw(Recorded(2), 10, {})
    x = sample.X_test[:, 0]
    assert parts(sample)["noise_test"].var() == pytest.approx(1, abs=0.1)
    ends = [parts(sample)["noise_test"][where].std() for where in (x > 0.9, x < -0.9)]
    assert ends[0] / ends[1] == pytest.approx(5**0.95, rel=0.2)


def density(u: Array, s: float) -> Array:
    return s * np.exp(s * u) / (math.exp(s) - 1)


@pytest.mark.parametrize("s", [-10.0, -2.0, 1e-3, 4.0, 10.0])
def test_the_tilt_has_its_density(s: float) -> None:
    v = np.linspace(0, 1, 11)
    u = World(shift=s).tilt(v)
    below = [integrate.quad(density, 0, end, args=(s,))[0] for end in u]
    assert below == pytest.approx(v, abs=1e-7)
    assert World(shift=s).tilt(np.array([0.0, 1 - 2**-53])) == pytest.approx([0, 1], abs=1e-12)


@pytest.mark.parametrize("s", [-10.0, -3.0, 1e-9, 0.5, 10.0])
def test_the_density_ratio_is_that_of_the_tilt(s: float) -> None:
    """Its integral up to a quantile is the probability below it, by quadrature."""
    world = World(shift=s)
    for v in (0.1, 0.5, 0.9, 1.0):
        end = float(world.tilt(np.array([v]))[0])
        mass, _ = integrate.quad(lambda u: float(world.compute_density_ratio(np.array([u]))[0]), 0.0, end)
        assert mass == pytest.approx(v, rel=1e-6)


def test_sources_know_their_density_ratio(source: Any) -> None:
    """Training inputs with these weights are like test inputs: their mean is, within 5 standard errors."""
    assert (source.density_ratio(source.path(Recorded(1)).draw(Recorded(2), 20, {}).X) == 1).all()
    hard = source.in_world(World(shift=-3.0))
    samples = [hard.path(Recorded(i)).draw(Recorded(i, 1), 40, {}) for i in range(60)]
    X, X_test = (np.concatenate(each)[:, 0] for each in zip(*((s.X, s.X_test) for s in samples), strict=True))
    w = np.concatenate([hard.density_ratio(s.X) for s in samples])
    spread = X_test.std() * math.sqrt(1 / len(X_test) + (w**2).sum() / w.sum() ** 2)
    allowed = 5 * spread + (0.02 if isinstance(source, Table) else 0.0)  # of a table, 30 rows are sampled from
    assert abs(np.average(X, weights=w) - X_test.mean()) < allowed < 0.3 * abs(X.mean() - X_test.mean())


@pytest.mark.parametrize("pool", [None, 50])
def test_test_inputs_are_tilted_and_train_inputs_are_not(pool: int | None) -> None:
    source = Synthetic(lambda X: X[:, 1], dimension=2, domain=(0, 2), test_points=20_000, pool=pool)
    sample = source.in_world(World(shift=3.0)).path(Recorded(1)).draw(Recorded(2), 50, {})
    mean = integrate.quad(lambda u: 2 * u * density(u, 3.0), 0, 1)[0]
    assert sample.X_test.mean(axis=0) == pytest.approx([mean, 1.0], abs=0.02)
    assert (sample.y_test == sample.X_test[:, 1]).all()


def test_a_tables_test_rows_are_tilted_and_never_train_rows() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([np.exp(rng.standard_normal(2000)), rng.random(2000)])
    hard = Table(X, np.arange(2000.0), test_points=1000).in_world(World(shift=-2.0))
    sample = hard.draw(Recorded(4), 1000, {})
    assert not set(sample.y) & set(sample.y_test)
    ranks = stats.rankdata(X[:, 0])[sample.y_test.astype(int)] / 2000
    assert ranks.mean() == pytest.approx(integrate.quad(lambda u: u * density(u, -2.0), 0, 1)[0], abs=0.03)
    assert (X[sample.y_test.astype(int)] == sample.X_test).all()


def test_a_tables_noise_is_of_variance_one_over_its_rows() -> None:
    """Also where most of the first column is one value."""
    X = np.append(np.zeros(900), np.ones(100))
    hard = Table(X, np.zeros(1000), test_points=1).in_world(World(noise="heteroscedastic", spread=20.0))
    squares = [parts(hard.draw(Recorded(5, i), 999, {}))["noise"] ** 2 for i in range(30)]
    assert np.mean(squares) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"noise": "cauchy"}, "noise must be one of gaussian, student, skewed, heteroscedastic, got 'cauchy'"),
        ({"noise": "skwed"}, r"noise must be one of .*, got 'skwed' \(did you mean 'skewed'\?\)"),
        ({"noise": "student", "df": 0}, "df must be a finite number > 0, got 0"),
        ({"noise": "skewed", "skewness": 0.0}, "skewness must be a finite number other than 0, got 0.0"),
        ({"noise": "heteroscedastic", "spread": -1.0}, "spread must be a finite number > 0, got -1.0"),
        ({"noise": "student", "spread": 2.0}, 'spread must be left out unless noise = "heteroscedastic", got 2.0'),
        ({"df": 3.0}, 'df must be left out unless noise = "student", got 3.0'),
        ({"shift": math.inf}, "shift must be a finite number, got inf"),
        ({"shift": 11}, "shift must be from −10 to 10, got 11"),
    ],
)
def test_mistakes(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        World(**keywords)


def test_a_grid_cannot_be_shifted() -> None:
    with pytest.raises(
        ValueError, match=r'^shift must be left out where test = "grid": a grid has no distribution, got 2$'
    ):
        Synthetic(lambda X: X[:, 0], test="grid", world=World(shift=2.0))
