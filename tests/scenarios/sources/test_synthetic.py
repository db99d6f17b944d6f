"""Sources with a latent function: what a path fixes, what a draw draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scenarios import SOURCES, Synthetic
from scenarios.sources.synthetic import Function
from scenarios.sources.types import Array
from tests.scenarios.worlds import Recorded, parts


def sine(X: Array) -> Array:
    return np.sin(5 * X[:, 0])


def any_sine(rng: np.random.Generator) -> Function:
    frequency = rng.uniform(2, 8)
    return lambda X: np.sin(frequency * X[:, 0])


def test_a_draw_without_a_pool_by_hand() -> None:
    source = Synthetic(sine, dimension=2, domain=(-1, 1), test_points=7)
    path_streams, streams = Recorded(1), Recorded(2)
    sample = source.path(path_streams).draw(streams, 5, {})
    again = Recorded(2)
    X = -1 + 2 * again("inputs").random((5, 2))
    X_test = -1 + 2 * again("test inputs").random((7, 2))
    expected = {
        "X": X,
        "y": sine(X),
        "noise": again("noise").standard_normal(5),
        "X_test": X_test,
        "y_test": sine(X_test),
        "noise_test": again("test noise").standard_normal(7),
    }
    for name, array in parts(sample).items():
        assert (array == expected[name]).all(), name
    assert path_streams.names == []
    assert set(streams.names) == set(again.names)


def test_a_draw_from_a_pool_by_hand() -> None:
    source = Synthetic(random_function=any_sine, test_points=7, pool=50)
    path_streams, streams = Recorded(1), Recorded(2)
    sample = source.path(path_streams).draw(streams, 5, {})
    again = Recorded(1)
    f = any_sine(again("function"))
    X, noise = again("inputs").random((50, 1)), again("noise").standard_normal(50)
    X_test, noise_test = again("test inputs").random((7, 1)), again("test noise").standard_normal(7)
    pick = Recorded(2)("pick").permutation(50)[:5]
    expected = {
        "X": X[pick],
        "y": f(X)[pick],
        "noise": noise[pick],
        "X_test": X_test,
        "y_test": f(X_test),
        "noise_test": noise_test,
    }
    for name, array in parts(sample).items():
        assert (array == expected[name]).all(), name
    assert set(path_streams.names) == set(again.names)
    assert streams.names == ["pick"]


@pytest.mark.parametrize("pool", [None, 30])
def test_a_grid_is_the_same_for_all_draws(pool: int | None) -> None:
    source = Synthetic(random_function=any_sine, domain=(0, 2), test="grid", test_points=5, pool=pool)
    path_streams, streams = Recorded(1), Recorded(2)
    sample = source.path(path_streams).draw(streams, 3, {})
    assert sample.X_test.tolist() == [[0], [0.5], [1], [1.5], [2]]
    assert (sample.y_test == any_sine(Recorded(1)("function"))(sample.X_test)).all()
    assert "test inputs" not in path_streams.names + streams.names


@pytest.mark.parametrize("name", ["gp", "heaviside"])
def test_draws_from_a_pool_share_all_but_the_pick(name: str) -> None:
    path = SOURCES[name](pool=40, test_points=9).path(Recorded(1))
    everything = {
        draw: np.column_stack([s.X, s.y, s.noise])  # type: ignore[list-item]
        for draw in range(3)
        for s in [path.draw(Recorded(1, draw), 40, {})]
    }
    ordered = [rows[np.lexsort(rows.T)] for rows in everything.values()]
    assert (ordered[0] == ordered[1]).all()
    assert (ordered[0] == ordered[2]).all()
    assert not (everything[0] == everything[1]).all()
    one, other = (parts(path.draw(Recorded(1, draw), 4, {})) for draw in range(2))
    for part in ("X_test", "y_test", "noise_test"):
        assert (one[part] == other[part]).all()


def test_a_pool_is_picked_without_replacement_and_evenly() -> None:
    path = Synthetic(lambda X: X[:, 0], pool=10, test_points=1).path(Recorded(1))
    pool = np.sort(path.draw(Recorded(0), 10, {}).y)
    counts = np.zeros(10)
    for draw in range(3000):
        y = path.draw(Recorded(2, draw), 3, {}).y
        assert len(set(y)) == 3
        counts[np.searchsorted(pool, y)] += 1
    assert abs(counts / 3000 - 0.3).max() < 5 * np.sqrt(0.21 / 3000)


def test_paths_have_different_functions_and_draws_the_same() -> None:
    source = Synthetic(random_function=any_sine, test="grid")
    path, other = source.path(Recorded(1)), source.path(Recorded(2))
    assert (path.draw(Recorded(3), 5, {}).y_test == path.draw(Recorded(4), 9, {}).y_test).all()
    assert not (path.draw(Recorded(3), 5, {}).y_test == other.draw(Recorded(3), 5, {}).y_test).all()


def test_values_at_a_pool_are_the_path_itself() -> None:
    """f at the pool has the bits of f at any point picked from it, in the pool's own order."""
    pooled = SOURCES["gp"](pool=300, test_points=9).path(Recorded(1)).draw(Recorded(2), 300, {})
    source = SOURCES["gp"]()
    assert isinstance(source, Synthetic)
    assert source.random_function is not None
    f = source.random_function(Recorded(1)("function"))
    order = np.argsort(Recorded(2)("pick").permutation(300))
    assert (f(pooled.X[order]) == pooled.y[order]).all()
    assert f(pooled.X) == pytest.approx(pooled.y, abs=1e-13)


def test_a_function_can_neither_spoil_its_points_nor_keep_its_values() -> None:
    kept: list[Array] = []

    def shifts(X: Array) -> Array:
        X -= 0.5
        return X[:, 0]

    def returns_what_it_keeps(X: Array) -> Array:
        kept.append(X[:, 0].copy())
        return kept[-1]

    with pytest.raises(ValueError, match="read-only"):
        Synthetic(shifts).path(Recorded(1)).draw(Recorded(2), 5, {})
    sample = Synthetic(returns_what_it_keeps).path(Recorded(1)).draw(Recorded(2), 5, {})
    kept[0][:] = -1
    assert (sample.y == sample.X[:, 0]).all()
    identity = Synthetic(lambda X: X[:, 0]).path(Recorded(1)).draw(Recorded(2), 5, {})
    assert not np.shares_memory(identity.X, identity.y)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: X, r"function must give one number for each row of X, shape \(5,\), got shape \(5, 1\) \(X\[:, 0\]"),
        (lambda X: 1.0, r"function must give one number for each row of X, shape \(5,\), got shape \(\)$"),
        (lambda X: np.where(X[:, 0] > 0, np.nan, 0), r"function must be finite, got nan at x = \[0\.\d+\] \(5 such\)$"),
    ],
)
def test_bad_functions(function: Function, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Synthetic(function).path(Recorded(1)).draw(Recorded(2), 5, {})


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "function must be given, or random_function in its place, got neither"),
        ({"function": sine, "random_function": any_sine}, "function must be given, .* got both"),
        ({"function": "sine"}, "function must be callable, got 'sine'"),
        ({"random_function": 3}, "random_function must be callable, got 3"),
        ({"function": sine, "dimension": 0}, "dimension must be an integer >= 1, got 0"),
        ({"function": sine, "pool": "all"}, "pool must be an integer from 1 to 1000000, got 'all'"),
        ({"function": sine, "domain": None}, "domain must be two finite numbers, the lower first, got None"),
    ],
)
def test_mistakes(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Synthetic(**keywords)
