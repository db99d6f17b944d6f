"""The nouns: what a source is, what it gives, and where its randomness comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

Streams = Callable[[str], np.random.Generator]
"""A random stream by its name: streams of different names are independent, and each is used for one thing only."""

Layout = Literal["grid", "iid"]
"""How test points lie: on a regular grid, or drawn from the law of the train inputs."""

LAYOUTS: tuple[Layout, ...] = ("grid", "iid")

RealisedLayout = Layout | Literal["shifted"]
"""And where they came out: "shifted" ones are drawn from another law than the train inputs."""


@dataclass(frozen=True, eq=False)
class Sample:
    """One train sample, and the test points that go with it.

    What is observed is y + √γ·noise, at train and test points alike; γ is the study's business.
    Arrays that several draws share are read-only.
    """

    X: Array
    """Train inputs, shape (n, d)."""
    y: Array
    """Train values before noise, shape (n,): the latent f, or the target column of a table."""
    noise: Array | None
    """Of variance 1 (standard normal, unless the world is another), shape (n,); None where nothing is to be added."""
    X_test: Array
    """Test inputs, shape (m, d)."""
    y_test: Array
    """Test values before noise, shape (m,)."""
    noise_test: Array | None
    """Likewise, shape (m,), or None."""

    def __post_init__(self) -> None:
        _check_part("X", self.X, {"y": self.y, "noise": self.noise})
        _check_part("X_test", self.X_test, {"y_test": self.y_test, "noise_test": self.noise_test})
        if self.X.shape[1] != self.X_test.shape[1]:
            raise ValueError(f"X_test must have {self.X.shape[1]} columns as X has, got shape {self.X_test.shape}")


class Path(Protocol):
    """One draw of the world: the latent function and, with a pool, its train points and the test targets."""

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """A train sample of n points. Ordinary sources take no notice of the grid point `at`."""


class Source(Protocol):
    """Where the data of a scenario come from."""

    @property
    def dimension(self) -> int:
        """The number of input columns."""

    @property
    def test(self) -> RealisedLayout:
        """How test points lie; only "iid" ones are exchangeable with the train points."""

    @property
    def test_points(self) -> int:
        """How many test points there are."""

    @property
    def knows_f(self) -> bool:
        """Whether y and y_test are the latent function."""

    @property
    def redraws(self) -> tuple[str, ...]:
        """The axes, among gamma, theta, lam, path and draw, that data depend on: `at` has their values."""

    @property
    def largest_n(self) -> int | None:
        """The largest train sample there can be; None for any."""

    def path(self, streams: Streams) -> Path:
        """One draw of the world."""


def make_read_only(array: Array) -> Array:
    """The same numbers, which nobody can change through this view.

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
