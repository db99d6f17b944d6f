"""The author's data, against a literal replay of each stream: loop in loop, as it was run."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from scenarios.published.as_run import PathAsRun, published_study
from scenarios.published.streams import Experiment
from scenarios.sources import functions

LINE = [25, 50, 100, 200, 400, 600, 800, 1000, 1200, 1400, 1600]
THETAS: list[Any] = [10.0, 100.0, 1000.0, "ml-cobyla"]
Key = tuple[str, float, float, int, Any, int]


def keys(studies: list[str], sizes: list[int], count: int) -> list[Key]:
    """Random cells, the very first and the very last among them, in no order."""
    rng = random.Random(7)
    first: Key = (studies[0], 1e-6, 1e-6, sizes[0], 10.0, 0)
    last: Key = (studies[-1], 1e-1, 1e-1, sizes[-1], "ml-cobyla", 24)
    some = [
        (rng.choice(studies), rng.choice([1e-6, 1e-1]), rng.choice([1e-6, 1e-1]), rng.choice(sizes), rng.choice(THETAS))
        for _ in range(count)
    ]
    found = [first, last, *((*each, rng.randrange(25)) for each in some)]
    rng.shuffle(found)
    return found


def drawn(source: Any, key: Key, replication: str) -> Any:
    _, gamma, lam, n, theta, number = key
    at = {"gamma": gamma, "lam": lam, "theta": theta, "path": 0, "draw": 0, replication: number}
    return source.path(None).draw(None, n, at)


@pytest.mark.parametrize(
    ("seed", "studies", "dimension", "test", "sizes"),
    [
        (0x08CCA9D9, ["f6", "heaviside", "pressure2"], 1, 1001, LINE),
        (0x3161F88E, ["f2", "f5"], 2, 2601, [150, 1500]),
    ],
)
def test_functions_get_the_numbers_of_a_literal_replay(
    seed: int, studies: list[str], dimension: int, test: int, sizes: list[int]
) -> None:
    wanted = keys(studies, sizes, 12)
    replay: dict[Key, Any] = {}
    stream = np.random.RandomState(seed)
    for study in studies:
        for gamma in [1e-6, 1e-1]:
            for lam in [1e-6, 1e-1]:
                for n in sizes:
                    for theta in THETAS:
                        for number in range(25):
                            X = stream.uniform(size=(n, dimension))
                            e = stream.normal(size=(test + n, 1))
                            if (study, gamma, lam, n, theta, number) in wanted:
                                replay[study, gamma, lam, n, theta, number] = X, e[:, 0]
    axis = np.linspace(0, 1, 1001) if dimension == 1 else np.linspace(-1, 1, 51)
    X_test = np.column_stack([each.ravel() for each in np.meshgrid(*[axis] * dimension)])
    for key in wanted:
        f, gamma = getattr(functions, key[0]), key[1]
        X, e = replay[key]
        X = X if dimension == 1 else 2 * X - 1
        sample = drawn(published_study(key[0]), key, "path")
        np.testing.assert_array_equal(sample.X, X)
        np.testing.assert_array_equal(sample.X_test, X_test)
        np.testing.assert_array_equal(sample.y, f(X) + gamma * e[test:])
        np.testing.assert_array_equal(sample.y_test, f(X_test) + gamma * e[:test])
        assert sample.noise is None
        assert sample.noise_test is None


def gaussian_replay(
    seed: int, dimension: int, test: int, pool: int, sizes: list[int], wanted: list[Key]
) -> tuple[Any, dict[float, Any], dict[Key, Any]]:
    """The pool, the normals of each path, and the picks of some replications."""
    stream = np.random.RandomState(seed)
    points = stream.uniform(size=(pool, dimension))
    normals, picks = {}, {}
    for gamma in [1e-6, 1e-1]:
        normals[gamma] = stream.normal(size=test + pool)
        for lam in [1e-6, 1e-1]:
            for n in sizes:
                for theta in THETAS:
                    for number in range(25):
                        picked = stream.choice(range(pool), size=n, replace=False)
                        for key in wanted:
                            if key[1:] == (gamma, lam, n, theta, number):
                                picks[key] = picked
    return points, normals, picks


@pytest.mark.parametrize(
    ("study", "seed", "dimension", "test", "pool", "sizes"),
    [("gp1", 0x98E8576F, 1, 1001, 10000, LINE), ("gp2", 0xB5066DBC, 2, 2601, 15001, [150, 1500])],
)
def test_paths_are_sampled_as_in_a_literal_replay(
    study: str, seed: int, dimension: int, test: int, pool: int, sizes: list[int]
) -> None:
    wanted = keys([study], sizes, 12)
    points, _, picks = gaussian_replay(seed, dimension, test, pool, sizes, wanted)
    paths = {
        "path-gamma=1e-06": np.arange(test + pool, dtype=float),
        "path-gamma=0.1": -np.arange(test + pool, dtype=float),
    }
    source = published_study(study)
    assert isinstance(source, PathAsRun)
    assert set(source.preparations({"gamma": [1e-6, 1e-1]})) == set(paths)
    for key in wanted:
        sample = drawn(source.given(paths.__getitem__), key, "draw")
        sign = 1 if key[1] == 1e-6 else -1
        np.testing.assert_array_equal(sample.X, points[picks[key]])
        np.testing.assert_array_equal(sample.y, sign * (test + picks[key]))
        np.testing.assert_array_equal(sample.y_test, sign * np.arange(test))


@pytest.mark.parametrize("gamma", [1e-6, 1e-1])
def test_a_path_is_the_factor_times_the_streams_normals(gamma: float) -> None:
    """A smaller experiment of the same kind: the published ones take a minute."""
    source = PathAsRun("gp2", Experiment(5, ("gp2",), 2, 49, (10, 20), pool=200))
    points, normals, _ = gaussian_replay(5, 2, 49, 200, [10, 20], [])
    axis = np.linspace(0, 1, 7)
    X = np.concatenate([np.column_stack([each.ravel() for each in np.meshgrid(axis, axis)]), points])
    K = np.exp(-100.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + gamma * np.eye(249)
    expected = np.linalg.cholesky(K) @ normals[gamma]
    np.testing.assert_allclose(source.prepare(f"path-gamma={gamma:g}"), expected, atol=1e-9)


def test_what_was_not_run_is_refused() -> None:
    source = published_study("f2")
    at = {"gamma": 0.1, "lam": 0.1, "theta": 10.0, "path": 0, "draw": 0}
    for change, message in [
        ({"gamma": 0.5}, r"gamma must be one of 1e-06, 0.1 \(f2 as run\), got 0.5"),
        ({"theta": "ml"}, "theta must be one of 10.0, 100.0, 1000.0, ml-cobyla"),
        ({"path": 25}, "path must be one of .*, 24 .*, got 25"),
        ({"draw": 1}, "draw must be one of 0 "),
    ]:
        with pytest.raises(ValueError, match=message):
            source.draw(lambda name: np.random.default_rng(), 150, {**at, **change})
    with pytest.raises(ValueError, match="n must be one of 150, 1500"):
        source.draw(lambda name: np.random.default_rng(), 151, at)
    with pytest.raises(ValueError, match="study must be one of gp1, gp2, f6, heaviside, pressure2, f2, f5, got 'f3'"):
        published_study("f3")


def test_a_path_must_be_prepared() -> None:
    at = {"gamma": 0.1, "lam": 0.1, "theta": 10.0, "path": 0, "draw": 0}
    with pytest.raises(ValueError, match="prepared first"):
        published_study("gp2").draw(lambda name: np.random.default_rng(), 150, at)
