"""A source that resamples the rows of a table."""

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
    """Each draw shuffles the rows: the first `test_points` are the test points, the next n the train sample.

    Any n + 1 rows of a shuffled table are exchangeable, so exact levels hold on average over draws. The draws share
    rows, so they aren't independent, and what they show is about this table. All paths are the same.

    With a shift, the test points are picked from those `test_points` rows, with replacement and by the tilt's weights:
    the train rows keep the table's law, and none of them is a test point. Noise of any law comes on top of the targets.

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
    """Inputs, one row each."""
    y: Array
    """Targets."""
    test_points: int = 200
    """How many rows of each draw are test points."""
    world: World = PLAIN
    """The law of the noise that is added, and of the test rows."""

    knows_f: ClassVar[bool] = False
    redraws: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        X, y = _validation.check_inputs_and_targets(self.X, self.y)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        _check_test_points(self.test_points, len(y), "the table")

    @property
    def test(self) -> RealisedLayout:
        """From the law of the train rows, unless there is a shift."""
        return "shifted" if self.world.shift else "iid"

    @property
    def dimension(self) -> int:
        """The number of input columns."""
        return int(self.X.shape[1])

    @property
    def largest_n(self) -> int:
        """The number of rows that aren't test points."""
        return len(self.y) - self.test_points

    def in_world(self, world: World) -> Table:
        """The same rows with other noise on top, and other test rows."""
        return replace(self, world=world)

    @cached_property
    def _places(self) -> Array:
        """The share of rows below each, by the first column; half of those that tie."""
        x = self.X[:, 0]
        ordered = np.sort(x)
        return (np.searchsorted(ordered, x) + np.searchsorted(ordered, x, side="right")) / (2 * len(x))

    def _draw_noise(self, rng: np.random.Generator, rows: Indices) -> Array:
        """Of variance 1 on average over all rows: where many of them tie, places aren't uniform."""
        noise = self.world.draw_noise(self._places[rows], rng)
        if self.world.noise == "heteroscedastic":
            noise /= np.sqrt(np.mean(self.world.compute_deviation(self._places) ** 2))
        return noise

    def path(self, streams: Streams) -> Table:
        """A table is the only world there is."""
        return self

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """Test rows come first in the shuffle, so that they don't depend on n and n rows begin n + 1 rows."""
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
    """The rows of a file: .csv with a line of column names, or .npz with arrays X and y.

    Parameters
    ----------
    file
        Its path.
    target
        The target's column in a .csv file; the last one if None. All other columns are inputs.
    test_points
        How many rows of each draw are test points.
    scale
        Whether to map each input column to [0, 1] and to standardise the target.
    """
    _validation.check_integer("test_points", test_points, least=1)
    _validation.check_bool("scale", scale)
    X, y = read_table(file, target)
    _check_test_points(test_points, len(y), file)
    return Table(*scale_table(X, y), test_points) if scale else Table(X, y, test_points)


def scale_table(X: Array, y: Array) -> tuple[Array, Array]:
    """Inputs in [0, 1] by their range, targets of mean 0 and variance 1; what is constant becomes 0.

    The whole table sets the scales: they don't depend on the order of rows, so rows stay exchangeable.

    Examples
    --------
    >>> scale_table(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]), np.array([0.0, 4.0, 2.0]))[0]
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ]])
    """
    low, high = X.min(axis=0), X.max(axis=0)
    # Constant targets are seen by comparing them: the standard deviation of 0.1, 0.1, 0.1 isn't 0 in floats.
    standard = (y - y.mean()) / y.std() if y.min() < y.max() else np.zeros_like(y)
    return (X - low) / np.where(high > low, high - low, 1.0), standard


def _check_test_points(test_points: int, rows: int, of: str) -> None:
    if _validation.check_integer("test_points", test_points, least=1) >= rows:
        raise ValueError(f"test_points must be less than the {rows} rows of {of}, got {test_points}")
