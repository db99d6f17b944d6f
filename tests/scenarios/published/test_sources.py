"""One contract for all sources: what the harness counts on."""

from __future__ import annotations

import inspect
import pickle
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, validate_call

from scenarios import SOURCES, Source, Synthetic, Table
from tests.scenarios.worlds import Recorded, assert_begins, assert_same, parts

Make = Callable[[], Source]


def small_table() -> Table:
    rng = np.random.default_rng(0)
    return Table(rng.random((90, 3)), rng.random(90), test_points=30)


MADE: dict[str, Make] = {
    "gp": lambda: SOURCES["gp"](test_points=30),
    "gp with a pool": lambda: SOURCES["gp"](test_points=30, pool=80),
    "gp, grid": lambda: SOURCES["gp"](dimension=2, test="grid", test_points=25),
    "gp, grid, pool": lambda: SOURCES["gp"](dimension=2, domain=[-1, 1], test="grid", test_points=25, pool=80),
    "gp, 3-d": lambda: SOURCES["gp"](theta=5, dimension=3, test_points=30),
    "heaviside": lambda: SOURCES["heaviside"](),
    "f6": lambda: SOURCES["f6"](test="grid"),
    "pressure2": lambda: SOURCES["pressure2"](pool=100),
    "f2": lambda: SOURCES["f2"](test="grid"),
    "f5": lambda: SOURCES["f5"](test="grid", test_points=100, pool=60),
    "linear": SOURCES["linear"],
    "table": small_table,
}


@pytest.fixture(params=MADE.values(), ids=list(MADE))
def source(request: pytest.FixtureRequest) -> Source:
    made: Source = request.param()
    return made


def test_shapes(source: Source) -> None:
    sample = source.path(Recorded(1)).draw(Recorded(1, 0), 25, {})
    d, m = source.dimension, source.test_points
    shapes = {name: array.shape for name, array in parts(sample).items()}
    assert shapes == {
        "X": (25, d),
        "y": (25,),
        "noise": (25,),
        "X_test": (m, d),
        "y_test": (m,),
        "noise_test": (m,),
    }
    assert {array.dtype for array in parts(sample).values()} == {np.dtype(np.float64)}
    assert all(array.flags.c_contiguous for array in parts(sample).values())


def test_the_same_streams_give_the_same_bits(source: Source) -> None:
    """Also when other draws came between, and at any other place of the grid."""
    path = source.path(Recorded(1))
    first = path.draw(Recorded(1, 0), 25, {"gamma": 0.1})
    path.draw(Recorded(1, 1), 50, {})
    assert_same(first, path.draw(Recorded(1, 0), 25, {"gamma": 1e-6}))
    assert_same(first, source.path(Recorded(1)).draw(Recorded(1, 0), 25, {}))
    assert_same(first, pickle.loads(pickle.dumps(source)).path(Recorded(1)).draw(Recorded(1, 0), 25, {}))


def test_a_smaller_n_begins_a_larger_one(source: Source) -> None:
    path = source.path(Recorded(1))
    longest = path.draw(Recorded(1, 0), 60, {})
    for n in (1, 2, 25, 59):
        assert_begins(path.draw(Recorded(1, 0), n, {}), longest)


def test_draws_differ(source: Source) -> None:
    path = source.path(Recorded(1))
    one, other = (parts(path.draw(Recorded(1, draw), 25, {})) for draw in range(2))
    assert not (one["X"] == other["X"]).all()
    assert not (one["noise"] == other["noise"]).all()


def test_noise_is_independent_of_the_test_noise_and_standard(source: Source) -> None:
    z, z_test = [], []
    for path in range(120):
        sample = source.path(Recorded(path)).draw(Recorded(path, 0), 20, {})
        z.append(parts(sample)["noise"][:20])
        z_test.append(parts(sample)["noise_test"][:20])
    both = np.stack([np.ravel(z), np.ravel(z_test)])
    count = both.shape[1]
    assert abs(both.mean(axis=1)).max() < 5 / np.sqrt(count)
    assert abs(both @ both.T / count - np.eye(2)).max() < 5 * np.sqrt(2 / count)


def test_what_is_shared_cannot_be_changed(source: Source) -> None:
    """Either a draw has its own arrays, or they are read-only: spoiling one draw leaves the next as it was."""
    path = source.path(Recorded(1))
    kept = pickle.loads(pickle.dumps(path.draw(Recorded(1, 0), 25, {})))
    for array in parts(path.draw(Recorded(1, 0), 25, {})).values():
        if array.flags.writeable:
            array[:] = -1
    assert_same(path.draw(Recorded(1, 0), 25, {}), kept)


def test_too_large_n_is_refused(source: Source) -> None:
    path = source.path(Recorded(1))
    with pytest.raises(ValueError, match=r"^n must be an integer >= 1, got 0$"):
        path.draw(Recorded(1, 0), 0, {})
    if source.largest_n is None:
        assert len(path.draw(Recorded(1, 0), 1234, {}).y) == 1234
        return
    assert len(path.draw(Recorded(1, 0), source.largest_n, {}).y) == source.largest_n
    with pytest.raises(ValueError, match=f"^n must be at most .*{source.largest_n}.*, got {source.largest_n + 1}$"):
        path.draw(Recorded(1, 0), source.largest_n + 1, {})


def test_sources_describe_themselves(source: Source) -> None:
    assert source.test in ("grid", "iid")
    assert source.redraws == ()
    assert source.knows_f == (not isinstance(source, Table))


def test_defaults() -> None:
    defaults = {name: SOURCES[name]() for name in SOURCES if name not in ("table", "dataset", "published")}
    assert {name: (s.dimension, s.test, s.test_points, s.largest_n) for name, s in defaults.items()} == {
        "gp": (1, "iid", 201, None),
        "heaviside": (1, "iid", 201, None),
        "f6": (1, "iid", 201, None),
        "pressure2": (1, "iid", 201, None),
        "f2": (2, "iid", 2601, None),
        "f5": (2, "iid", 2601, None),
        "linear": (2, "iid", 201, None),
    }


@pytest.mark.parametrize("name", SOURCES)
def test_pydantic_can_check_the_keywords(name: str) -> None:
    """A harness may check the keys of a file against the annotations."""
    with pytest.raises(ValueError, match="test_points"):
        validate_call(SOURCES[name])(test_points="many")
    for parameter in inspect.signature(SOURCES[name], eval_str=True).parameters.values():
        TypeAdapter(parameter.annotation)


def test_pydantic_takes_the_values_of_a_toml_file() -> None:
    source = validate_call(SOURCES["gp"])(theta=100, dimension=2, domain=[-1, 1], test="grid", test_points=49)
    assert (source.dimension, source.test_points) == (2, 49)
    assert (source.path(Recorded(1)).draw(Recorded(2), 5, {}).X_test.min(axis=0) == -1).all()


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [
        ("gp", {"test_points": 0}, "test_points must be an integer from 1 to 1000000, got 0"),
        ("gp", {"test_points": 2.5}, "test_points must be an integer from 1 to 1000000, got 2.5"),
        ("gp", {"test_points": True}, "test_points must be an integer from 1 to 1000000, got True"),
        ("gp", {"pool": 0}, "pool must be an integer from 1 to 1000000, got 0"),
        ("gp", {"dimension": 0}, "dimension must be an integer from 1 to 3, got 0"),
        ("gp", {"test": "random"}, "test must be one of grid, iid, got 'random'"),
        ("gp", {"domain": (0, 0)}, r"domain must be two finite numbers, the lower first, got \(0, 0\)"),
        ("gp", {"theta": "ml"}, "theta must be a finite number > 0, got 'ml'"),
        ("f6", {"test": "grid", "test_points": 1}, "test_points must be an integer >= 2 for a grid, got 1"),
        (
            "f2",
            {"test": "grid", "test_points": 2600},
            r"test_points must be k\*\*2 with k >= 2 for a grid in 2 dimensions \(2500 or 2601\), got 2600",
        ),
        ("table", {"file": "x.csv", "test_points": 0}, "test_points must be an integer >= 1, got 0"),
        ("table", {"file": "x.csv", "scale": "yes"}, "scale must be true or false, got 'yes'"),
        ("dataset", {"dataset": "engel", "test_points": 0}, "test_points must be an integer >= 1, got 0"),
        ("dataset", {"dataset": "engel", "scale": 1}, "scale must be true or false, got 1"),
    ],
)
def test_mistakes(name: str, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        SOURCES[name](**keywords)


def test_a_users_file(tmp_path: Path) -> None:
    """As short as the one in the docstring of the package."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\n"
        "from scenarios import Synthetic\n"
        "def noisy_sine(frequency=5.0, test_points=201):\n"
        "    return Synthetic(lambda X: np.sin(frequency * X[:, 0]), test_points=test_points)\n"
    )
    source = runpy.run_path(str(file))["noisy_sine"](frequency=3.0)
    assert isinstance(source, Synthetic)
    sample = source.path(Recorded(1)).draw(Recorded(2), 40, {})
    assert (sample.y == np.sin(3.0 * sample.X[:, 0])).all()
