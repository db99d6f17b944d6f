"""Types of data sources: `Source`, `Path`, `Sample` and the random streams they draw from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

Streams = Callable[[str], np.random.Generator]
"""Returns the random generator of a named stream. Streams are independent; each is used for one purpose only."""

Layout = Literal["grid", "iid"]
"""Requested layout of test points: on a regular grid, or drawn from the training distribution."""

LAYOUTS: tuple[Layout, ...] = ("grid", "iid")

RealisedLayout = Layout | Literal["shifted"]
"""Actual layout of test points: "shifted" ones are drawn from a distribution other than the training distribution."""


@dataclass(frozen=True, eq=False)
class Sample:
    """One training sample with its test points.

    The observed values are y + √γ·noise, at training and test points alike; the study chooses γ.
    Arrays shared between draws are read-only.
    """

    X: Array
    """Training inputs, shape (n, d)."""
    y: Array
    """Training values before noise, shape (n,): the latent f, or the target column of a table."""
    noise: Array | None
    """Noise of variance 1 (standard normal in the default world), shape (n,); None to add no noise."""
    X_test: Array
    """Test inputs, shape (m, d)."""
    y_test: Array
    """Test values before noise, shape (m,)."""
    noise_test: Array | None
    """Noise at the test points, shape (m,), or None."""

    def __post_init__(self) -> None:
        _check_part("X", self.X, {"y": self.y, "noise": self.noise})
        _check_part("X_test", self.X_test, {"y_test": self.y_test, "noise_test": self.noise_test})
        if self.X.shape[1] != self.X_test.shape[1]:
            raise ValueError(f"X_test must have {self.X.shape[1]} columns as X has, got shape {self.X_test.shape}")


class Path(Protocol):
    """One realisation of the data-generating process.

    It fixes the latent function and, with a pool, the training points and the test targets.
    """

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """Draw a training sample of n points.

        `at` has the values of the axes in `Source.redraws` for this cell; most sources ignore it.
        """


class Source(Protocol):
    """The data-generating process of a scenario."""

    @property
    def dimension(self) -> int:
        """Number of input columns."""

    @property
    def test(self) -> RealisedLayout:
        """Layout of the test points; only "iid" ones are exchangeable with the training points."""

    @property
    def test_points(self) -> int:
        """Number of test points."""

    @property
    def knows_f(self) -> bool:
        """Whether y and y_test of a sample are values of the latent function."""

    @property
    def redraws(self) -> tuple[str, ...]:
        """The axes, among gamma, theta, lam, path and draw, that data depend on; `at` has their values."""

    @property
    def largest_n(self) -> int | None:
        """Size of the largest possible training sample; None if unlimited."""

    def path(self, streams: Streams) -> Path:
        """Draw one realisation of the data-generating process."""


def make_read_only(array: Array) -> Array:
    """Return a read-only view of an array.

    Examples
    --------
    >>> make_read_only(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _check_part(name: str, X: Array, columns: Mapping[str, Array | None]) -> None:
    if X.ndim != 2:
        raise ValueError(f"{name} must be of shape (points, dimension), got shape {X.shape}")
    for column, values in columns.items():
        if values is not None and values.shape != (len(X),):
            raise ValueError(
                f"{column} must be of shape ({len(X)},), one for each row of {name}, got shape {values.shape}"
            )
