"""Sources with a latent function: inputs uniform in a box, values f(x), noise of variance 1 beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import numpy as np

from scenarios.sources import _validation, domain as boxes
from scenarios.sources.types import Array, Path, RealisedLayout, Sample, Streams, make_read_only
from scenarios.sources.world import PLAIN, World

Function = Callable[[Array], Array]
"""f(X) → y: one point a row of X, one value for each; each row by itself, whatever other rows there are."""

RandomFunction = Callable[[np.random.Generator], Function]
"""Draws an f, taking all the randomness that f needs at once."""

MOST_POINTS = 10**6
"""Test points, and points of a pool: a plan draws a sample, and the largest n is no larger."""


@dataclass(frozen=True)
class Synthetic:
    """Data from a function of your own: `Synthetic(f)`, or `Synthetic(random_function=…)` for another f on each path.

    Without a pool, a path fixes f, and each draw has inputs and noise of its own. With `pool` = N, a path fixes f,
    N train points with their noise, the test points and their noise; a draw picks n of the N.

    Examples
    --------
    >>> def noisy_sine(frequency: float = 5.0, test_points: int = 201) -> Synthetic:
    ...     return Synthetic(lambda X: np.sin(frequency * X[:, 0]), test_points=test_points)

    A function that differs from path to path:

    >>> def any_sine(pool: int | None = None) -> Synthetic:
    ...     def draw_f(rng):
    ...         frequency = rng.uniform(2, 8)
    ...         return lambda X: np.sin(frequency * X[:, 0])
    ...
    ...     return Synthetic(random_function=draw_f, pool=pool)

    The harness hands out random streams by name; here is what it does with them:

    >>> def streams(name):
    ...     return np.random.default_rng([2024, *name.encode()])
    >>> sample = any_sine().path(streams).draw(streams, n=25, at={})
    >>> sample.X.shape, sample.y.shape, sample.X_test.shape
    ((25, 1), (25,), (201, 1))
    """

    function: Function | None = None
    """The same f on all paths."""
    _: KW_ONLY
    random_function: RandomFunction | None = None
    """Makes the f of a path from a random generator."""
    dimension: int = 1
    """The number of coordinates of a point."""
    domain: tuple[float, float] = (0.0, 1.0)
    """The range of each coordinate; inputs are uniform in it."""
    test: RealisedLayout = "iid"
    """Test points on a regular grid, or drawn as the train points are (only then do exact levels hold).

    "iid" becomes "shifted" where the world has a shift."""
    test_points: int = 201
    """How many test points there are."""
    pool: int | None = None
    """How many train points a path fixes, for draws to pick from; None: each draw has its own."""
    world: World = PLAIN
    """The law of the noise, and of the test inputs."""

    knows_f: ClassVar[bool] = True
    redraws: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        _check_function(self.function, self.random_function)
        _validation.check_integer("dimension", self.dimension, least=1)
        object.__setattr__(self, "domain", _validation.check_interval("domain", self.domain))
        object.__setattr__(self, "test", _resolve_layout(self.test, self.world))
        _validation.check_integer("test_points", self.test_points, least=1, most=MOST_POINTS)
        if self.pool is not None:
            _validation.check_integer("pool", self.pool, least=1, most=MOST_POINTS)
        if self.test == "grid":
            boxes.find_side(self.test_points, self.dimension)

    @property
    def largest_n(self) -> int | None:
        """The size of the pool; None for any n."""
        return self.pool

    def in_world(self, world: World) -> Synthetic:
        """The same function with other noise, and other test inputs."""
        return replace(self, world=world, test="grid" if self.test == "grid" else "iid")

    def path(self, streams: Streams) -> Path:
        """Draw f and, where there is a pool, all the points and their noise."""
        f = self._draw_function(streams)
        if self.pool is None:
            on_grid = _LatentValues.evaluate(f, self.test_grid()) if self.test == "grid" else None
            return _FreshPath(self, f, on_grid)
        train = _LatentValues.evaluate(f, self.draw_inputs(streams("inputs"), self.pool))
        test = _LatentValues.evaluate(
            f, self.test_grid() if self.test == "grid" else self.draw_test_inputs(streams("test inputs"))
        )
        return _PooledPath(
            train=train,
            noise=self.draw_noise(streams("noise"), train.X),
            test=test,
            noise_test=self.draw_noise(streams("test noise"), test.X),
        )

    def draw_inputs(self, rng: np.random.Generator, n: int) -> Array:
        """n points, uniform in the box."""
        return boxes.draw_uniform(rng, n, self.dimension, self.domain)

    def draw_test_inputs(self, rng: np.random.Generator) -> Array:
        """The test points, where they don't lie on a grid."""
        return boxes.draw_uniform(rng, self.test_points, self.dimension, self.domain, self.world.tilt)

    def draw_noise(self, rng: np.random.Generator, X: Array) -> Array:
        """The noise at some points."""
        return self.world.draw_noise(boxes.compute_positions(X, self.domain), rng)

    def test_grid(self) -> Array:
        """The test points, where they lie on a grid."""
        return boxes.make_grid(self.test_points, self.dimension, self.domain)

    def _draw_function(self, streams: Streams) -> Function:
        if self.function is not None:
            return self.function
        assert self.random_function is not None
        return self.random_function(streams("function"))


@dataclass(frozen=True, eq=False)
class _LatentValues:
    """Points, and f there."""

    X: Array
    y: Array

    @classmethod
    def evaluate(cls, f: Function, X: Array) -> _LatentValues:
        y = np.array(f(make_read_only(X)), dtype=np.float64)  # a copy: f may return a part of X, or an array it keeps
        if y.shape != (len(X),):
            raise ValueError(
                f"function must give one number for each row of X, shape ({len(X)},), got shape {y.shape}"
                + (" (X[:, 0] is the first coordinate as such an array)" if y.shape == (len(X), 1) else "")
            )
        bad = np.flatnonzero(~np.isfinite(y))
        if len(bad):
            raise ValueError(f"function must be finite, got {y[bad[0]]} at x = {X[bad[0]].tolist()} ({len(bad)} such)")
        return cls(X, y)


@dataclass(frozen=True, eq=False)
class _FreshPath:
    """A path without a pool: it fixes f, and f on the grid where test points lie on one."""

    source: Synthetic
    f: Function
    on_grid: _LatentValues | None

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """Each part has a stream of its own, so that test points don't depend on n and n points begin n + 1 points."""
        _validation.check_integer("n", n, least=1)
        train = _LatentValues.evaluate(self.f, self.source.draw_inputs(streams("inputs"), n))
        test = self.on_grid or _LatentValues.evaluate(self.f, self.source.draw_test_inputs(streams("test inputs")))
        return Sample(
            X=train.X,
            y=train.y,
            noise=self.source.draw_noise(streams("noise"), train.X),
            X_test=make_read_only(test.X),
            y_test=make_read_only(test.y),
            noise_test=self.source.draw_noise(streams("test noise"), test.X),
        )


@dataclass(frozen=True, eq=False)
class _PooledPath:
    """A path with a pool: it fixes everything but which train points are seen."""

    train: _LatentValues
    noise: Array
    test: _LatentValues
    noise_test: Array

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """The whole pool is shuffled whatever n is, so that n points begin n + 1 points."""
        size = len(self.noise)
        if _validation.check_integer("n", n, least=1) > size:
            raise ValueError(f"n must be at most the pool's {size} points, got {n}")
        picked = streams("pick").permutation(size)[:n]
        return Sample(
            X=self.train.X[picked],
            y=self.train.y[picked],
            noise=self.noise[picked],
            X_test=make_read_only(self.test.X),
            y_test=make_read_only(self.test.y),
            noise_test=make_read_only(self.noise_test),
        )


def _resolve_layout(test: RealisedLayout, world: World) -> RealisedLayout:
    """How test points lie in the end."""
    if _validation.check_layout("test", test) == "grid" and world.shift:
        raise ValueError(f'shift must be left out where test = "grid": a grid has no law, got {world.shift:g}')
    return "shifted" if world.shift else test


def _check_function(function: object, random_function: object) -> None:
    given = {"function": function, "random_function": random_function}
    for name, value in given.items():
        if value is not None and not callable(value):
            raise ValueError(f"{name} must be callable, got {_validation.quote_value(value)}")
    if (function is None) == (random_function is None):
        number = "neither" if function is None else "both"
        raise ValueError(f"function must be given, or random_function in its place, got {number}")
