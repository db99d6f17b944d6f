"""Synthetic sources: inputs uniform in a box, values f(x) of a latent function, and separate noise of variance 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import numpy as np

from scenarios.sources import _validation, domain as boxes
from scenarios.sources.types import Array, Path, RealisedLayout, Sample, Streams, make_read_only
from scenarios.sources.world import PLAIN, World

Function = Callable[[Array], Array]
"""f(X) → y: one point per row of X, one value per point. The value of a row must not depend on the other rows."""

RandomFunction = Callable[[np.random.Generator], Function]
"""Draws an f from a generator; all random numbers that f needs must be drawn in this call."""

MOST_POINTS = 10**6
"""Largest number of test points, and of points in a pool. A plan draws a sample, so a sample must fit in memory."""


@dataclass(frozen=True)
class Synthetic:
    """Source of noisy values of a function: `Synthetic(f)`, or `Synthetic(random_function=…)` for a new f on each path.

    Without a pool, a path fixes only f, and each draw has new inputs and noise. With `pool` = N, a path fixes f, N
    training points with their noise, and the test points with their noise; a draw picks n of the N.

    Examples
    --------
    >>> def noisy_sine(frequency: float = 5.0, test_points: int = 201) -> Synthetic:
    ...     return Synthetic(lambda X: np.sin(frequency * X[:, 0]), test_points=test_points)

    With a function that differs between paths:

    >>> def any_sine(pool: int | None = None) -> Synthetic:
    ...     def draw_f(rng):
    ...         frequency = rng.uniform(2, 8)
    ...         return lambda X: np.sin(frequency * X[:, 0])
    ...
    ...     return Synthetic(random_function=draw_f, pool=pool)

    The harness provides random streams by name, and draws a sample like this:

    >>> def streams(name):
    ...     return np.random.default_rng([2024, *name.encode()])
    >>> sample = any_sine().path(streams).draw(streams, n=25, at={})
    >>> sample.X.shape, sample.y.shape, sample.X_test.shape
    ((25, 1), (25,), (201, 1))
    """

    function: Function | None = None
    """f, if it is the same on all paths."""
    _: KW_ONLY
    random_function: RandomFunction | None = None
    """Draws the f of a path from a random generator."""
    dimension: int = 1
    """The number of coordinates of a point."""
    domain: tuple[float, float] = (0.0, 1.0)
    """The range of each coordinate; inputs are uniform in it."""
    test: RealisedLayout = "iid"
    """Layout of test points: "grid", or "iid" from the training distribution, as exact levels require.

    "iid" becomes "shifted" if `world` has a shift."""
    test_points: int = 201
    """Number of test points."""
    pool: int | None = None
    """Number of training points that a path fixes and draws pick from; None if each draw has new ones."""
    world: World = PLAIN
    """Distribution of the noise, and shift of the test inputs."""

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
        """Size of the pool; None if n is unlimited."""
        return self.pool

    @property
    def box(self) -> tuple[tuple[float, float], ...]:
        """Range of each input variable."""
        return (self.domain,) * self.dimension

    def in_world(self, world: World) -> Synthetic:
        """Return a copy of this source with the noise and the test inputs of `world`."""
        return replace(self, world=world, test="grid" if self.test == "grid" else "iid")

    def path(self, streams: Streams) -> Path:
        """Draw f and, if there is a pool, all points and their noise."""
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
        """Draw n training inputs, uniform in the box."""
        return boxes.draw_uniform(rng, n, self.dimension, self.domain)

    def draw_test_inputs(self, rng: np.random.Generator) -> Array:
        """Draw the test inputs, for `test` other than "grid"."""
        return boxes.draw_uniform(rng, self.test_points, self.dimension, self.domain, self.world.tilt)

    def draw_noise(self, rng: np.random.Generator, X: Array) -> Array:
        """Draw the noise at the points X."""
        return self.world.draw_noise(boxes.compute_positions(X, self.domain), rng)

    @property
    def noise_sd(self) -> float | None:
        """Standard deviation of the noise; None if it differs between points, or the noise has no variance."""
        return self.world.noise_sd

    def noise_cdf(self, X: Array, z: Array) -> Array:
        """Return P(e ≤ z) of the noise e at each point of X, which belongs to the last axis of z."""
        return self.world.compute_cdf(boxes.compute_positions(X, self.domain), z)

    def density_ratio(self, X: Array) -> Array:
        """Return the density ratio of test over training inputs at each row of X."""
        return self.world.compute_density_ratio(boxes.compute_positions(X, self.domain))

    def test_grid(self) -> Array:
        """Return the test inputs for `test` = "grid"."""
        return boxes.make_grid(self.test_points, self.dimension, self.domain)

    def _draw_function(self, streams: Streams) -> Function:
        if self.function is not None:
            return self.function
        assert self.random_function is not None
        return self.random_function(streams("function"))


@dataclass(frozen=True, eq=False)
class _LatentValues:
    """Points and the values of f at them."""

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
    """Path without a pool: fixes f and, if test points lie on a grid, the values of f there."""

    source: Synthetic
    f: Function
    on_grid: _LatentValues | None

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """Draw n training points and the test points.

        Each part has its own stream, so test points don't depend on n, and the sample for n is a prefix of that for
        n + 1.
        """
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
    """Path with a pool: fixes everything except which training points a draw picks."""

    train: _LatentValues
    noise: Array
    test: _LatentValues
    noise_test: Array

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """Pick n training points from the pool.

        The whole pool is shuffled for every n, so the sample for n is a prefix of that for n + 1.
        """
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
    """Return the layout of test points in a world; raise ValueError for a grid with a shift."""
    if _validation.check_layout("test", test) == "grid" and world.shift:
        raise ValueError(f'shift must be left out where test = "grid": a grid has no distribution, got {world.shift:g}')
    return "shifted" if world.shift else test


def _check_function(function: object, random_function: object) -> None:
    given = {"function": function, "random_function": random_function}
    for name, value in given.items():
        if value is not None and not callable(value):
            raise ValueError(f"{name} must be callable, got {_validation.quote_value(value)}")
    if (function is None) == (random_function is None):
        number = "neither" if function is None else "both"
        raise ValueError(f"function must be given, or random_function in its place, got {number}")
