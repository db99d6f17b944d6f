"""Resample the rows of a table as training and test points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from scenarios.sources import _validation
from scenarios.sources.marking import source
from scenarios.sources.read_table import read_table
from scenarios.sources.types import Array, RealisedLayout, Sample, Streams
from scenarios.sources.world import PLAIN, World

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Table:
    """Source that shuffles the rows of a table in each draw.

    The first `test_points` rows of the shuffle are the test points, the next n rows the training sample. Any n + 1 rows
    of a shuffled table are exchangeable, so exact levels hold on average over draws. Draws share rows, so they aren't
    independent, and results hold for this table only. All paths are the same.

    With a shift, the test points are sampled from those `test_points` rows, with replacement and with the weights of
    the tilt: the training rows keep the distribution of the table, and none of them is a test point. Noise of any
    distribution is added to the targets.

    Examples
    --------
    >>> table = Table(X=[[1.0], [2.0], [3.0], [4.0]], y=[10.0, 20.0, 30.0, 40.0], test_points=1)
    >>> table.largest_n
    3
    >>> sample = table.draw(lambda name: np.random.default_rng(7), n=2, at={})
    >>> sample.y / sample.X[:, 0]
    array([10., 10.])
    """

    X: Array
    """Inputs, shape (rows, columns)."""
    y: Array
    """Targets, shape (rows,)."""
    test_points: int = 200
    """Number of rows that each draw uses as test points."""
    world: World = PLAIN
    """Distribution of the added noise, and shift of the test rows."""

    knows_f: ClassVar[bool] = False
    redraws: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        X, y = _validation.check_inputs_and_targets(self.X, self.y)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        _check_test_points(self.test_points, len(y), "the table")

    @property
    def test(self) -> RealisedLayout:
        """Layout of the test rows: "shifted" with a shift, otherwise "iid" (exchangeable with the training rows)."""
        return "shifted" if self.world.shift else "iid"

    @property
    def dimension(self) -> int:
        """Number of input columns."""
        return int(self.X.shape[1])

    @property
    def largest_n(self) -> int:
        """Number of rows that aren't test points."""
        return len(self.y) - self.test_points

    @property
    def box(self) -> tuple[tuple[float, float], ...]:
        """Range of each input column; a constant one is given a length."""
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        ends = np.where(high > low, high, low + np.maximum(np.abs(low), 1.0))
        return tuple(zip(low.tolist(), ends.tolist(), strict=True))

    def in_world(self, world: World) -> Table:
        """Return a copy of this source with the noise and the test rows of `world`."""
        return replace(self, world=world)

    @cached_property
    def _places(self) -> Array:
        """u of each row: the share of rows below it in the first column, ties counted by half."""
        x = self.X[:, 0]
        ordered = np.sort(x)
        return (np.searchsorted(ordered, x) + np.searchsorted(ordered, x, side="right")) / (2 * len(x))

    def _draw_noise(self, rng: np.random.Generator, rows: Indices) -> Array:
        """Draw noise of variance 1, averaged over all rows.

        Heteroscedastic noise is rescaled for that: with many ties in the first column, u isn't uniform.
        """
        noise = self.world.draw_noise(self._places[rows], rng)
        if self.world.noise == "heteroscedastic":
            noise /= np.sqrt(np.mean(self.world.compute_deviation(self._places) ** 2))
        return noise

    def path(self, streams: Streams) -> Table:
        """Return this source: all paths share the one table."""
        return self

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """Draw n training rows and the test rows.

        Test rows come first in the shuffle, so they don't depend on n, and the sample for n is a prefix of that for
        n + 1.
        """
        if _validation.check_integer("n", n, least=1) > self.largest_n:
            rows = f"{len(self.y)} rows − {self.test_points} test points"
            raise ValueError(f"n must be at most {self.largest_n} ({rows}), got {n}")
        m = self.test_points
        order = streams("rows").permutation(len(self.y))
        test, train = order[:m], order[m : m + n]
        if self.world.shift:
            test = streams("shift").choice(test, m, p=self.world.compute_weights(self._places[test]))
        return Sample(
            X=self.X[train],
            y=self.y[train],
            noise=self._draw_noise(streams("noise"), train),
            X_test=self.X[test],
            y_test=self.y[test],
            noise_test=self._draw_noise(streams("test noise"), test),
        )


@source
def table(file: str, target: str | None = None, test_points: int = 200, scale: bool = False) -> Table:
    """Make a source from a file: CSV, Parquet, Arrow or Feather, or .npz with arrays X and y.

    Parameters
    ----------
    file
        Path of the file.
    target
        Name of the target column; the last column if None. All other columns are inputs, text among them one-hot.
    test_points
        Number of rows that each draw uses as test points.
    scale
        Whether to map each input column to [0, 1] and to standardise the target.
    """
    check_options(test_points, scale)
    return make_table(*read_table(file, target), test_points, scale, file)


def check_options(test_points: int, scale: bool) -> None:
    """Raise ValueError for values that no table can have. Call it first: reading a file may take long."""
    _validation.check_integer("test_points", test_points, least=1)
    _validation.check_bool("scale", scale)


def make_table(X: Array, y: Array, test_points: int, scale: bool, name: str) -> Table:
    """Make a source from inputs and targets, scaled if asked for; `name` is that of the data, for error messages."""
    _check_test_points(test_points, len(y), name)
    return Table(*scale_table(X, y), test_points) if scale else Table(X, y, test_points)


def scale_table(X: Array, y: Array) -> tuple[Array, Array]:
    """Scale each input column to [0, 1] and the targets to mean 0 and variance 1; constant columns become 0.

    Scales are computed from the whole table. They don't depend on the order of rows, so rows stay exchangeable.

    Examples
    --------
    >>> scale_table(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]), np.array([0.0, 4.0, 2.0]))[0]
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ]])
    """
    low, high = X.min(axis=0), X.max(axis=0)
    # Compare minimum and maximum to detect constant targets: y.std() of 0.1, 0.1, 0.1 isn't 0 in floats.
    standard = (y - y.mean()) / y.std() if y.min() < y.max() else np.zeros_like(y)
    return (X - low) / np.where(high > low, high - low, 1.0), standard


def _check_test_points(test_points: int, rows: int, of: str) -> None:
    if _validation.check_integer("test_points", test_points, least=1) >= rows:
        raise ValueError(f"test_points must be less than the {rows} rows of {of}, got {test_points}")
