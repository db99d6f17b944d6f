"""What the harness sees of sources and of families of procedures: small protocols and plain arrays, and nothing else.

A source or a family that can do more says so by having the methods of one protocol more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from harness.core.types import Array, Bools, Streams

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Sample(Protocol):
    """One train sample, and the test points that go with it."""

    @property
    def X(self) -> Array: ...  # noqa: D102 - shape (n, dimension)
    @property
    def y(self) -> Array: ...  # noqa: D102 - shape (n,), without the noise that γ scales
    @property
    def noise(self) -> Array | None: ...  # noqa: D102 - of variance 1; None adds nothing
    @property
    def X_test(self) -> Array: ...  # noqa: D102
    @property
    def y_test(self) -> Array: ...  # noqa: D102
    @property
    def noise_test(self) -> Array | None: ...  # noqa: D102


class Path(Protocol):
    """One draw of the world."""

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """A train sample of size n; `at` has the values of the axes that the source redraws at."""
        ...


class Source(Protocol):
    """Where data come from."""

    @property
    def dimension(self) -> int: ...  # noqa: D102
    @property
    def test(self) -> str:
        """How test points are laid out: "iid" from the law of the train inputs, "shifted" from another, or "grid"."""
        ...

    @property
    def test_points(self) -> int: ...  # noqa: D102
    @property
    def knows_f(self) -> bool:
        """Whether y and y_test of a sample are the latent function's values."""
        ...

    @property
    def redraws(self) -> tuple[str, ...]:
        """The axes (of REDRAWS) whose values `at` has: data are drawn anew at each γ, θ or λ; () shares them.

        A source that has data of its own for each replication names path or draw: then `at` has its number.
        """
        ...

    @property
    def largest_n(self) -> int | None: ...  # noqa: D102

    def path(self, streams: Streams) -> Path:
        """One draw of the world."""
        ...


@runtime_checkable
class LimitedSource(Protocol):
    """A source that has data for some values only."""

    @property
    def only(self) -> Mapping[str, Sequence[object]]:
        """For some of gamma, theta, lam, n, path and draw the values there are."""
        ...


@runtime_checkable
class SupportsWorld(Protocol):
    """A source that takes the keys of `scenarios.World`: noise that isn't normal, test inputs of another law."""

    def in_world(self, world: Any) -> Source:
        """The same source in another world; a ValueError says what can't be, in a line that begins with the key."""
        ...


@runtime_checkable
class SupportsPreparation(Protocol):
    """A source that needs arrays that are expensive, and shared: made once, before the units, and kept in the store."""

    def preparations(self, grid: Mapping[str, Sequence[object]]) -> Mapping[str, tuple[float, float]]:
        """The names of what the data of a grid need, each with its operations (n³/3 is a Cholesky factor) and bytes."""
        ...

    def prepare(self, name: str) -> Array:
        """One of them; with one BLAS thread."""
        ...

    def given(self, find: Callable[[str], Array]) -> Source:
        """The same source, which finds what was prepared by its name."""
        ...


class Scores(Protocol):
    """How regions did at known values: arrays of shape (targets, procedures, points, levels)."""

    @property
    def hits(self) -> Bools: ...  # noqa: D102 - the region contains y*
    @property
    def hits_f(self) -> Bools | None: ...  # noqa: D102 - the region contains f(x*), where f was given
    @property
    def lower(self) -> Array: ...  # noqa: D102 - of the hull; NaN where empty
    @property
    def upper(self) -> Array: ...  # noqa: D102
    @property
    def length(self) -> Array: ...  # noqa: D102 - of the region
    @property
    def count(self) -> npt.NDArray[np.int64]: ...  # noqa: D102 - of components


@runtime_checkable
class TimedScores(Protocol):
    """Scores of procedures that were computed one after the other: receipts have the time of each."""

    @property
    def seconds(self) -> Mapping[str, float]:
        """By the name of the procedure."""
        ...


class Factor(Protocol):
    """A fit that is ready to be asked about targets."""

    @property
    def theta(self) -> float: ...  # noqa: D102


class Inputs(Protocol):
    """Train and test inputs."""

    def factor(self, theta: float, lam: float) -> Factor:
        """For a given θ: shared by all targets."""
        ...

    def factor_ml(self, y: Array, lam: float, search: str) -> Factor:
        """For the θ that a search finds for this target."""
        ...


class Family(Protocol):
    """Procedures that share work: the only thing the harness knows of them."""

    @property
    def procedures(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def searches(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def reference(self) -> str | None:
        """The procedure that the ends of all others are measured from."""
        ...

    @property
    def version(self) -> int:
        """Raised by any change that moves a bit of a result."""
        ...

    def inputs(self, X: Array, X_test: Array) -> Inputs: ...  # noqa: D102

    def score(
        self,
        factors: Sequence[Factor],
        targets: Sequence[Target],
        procedures: Sequence[str],
        alpha: Sequence[float],
        streams: Sequence[Streams],
    ) -> Sequence[Scores]:
        """All procedures and levels for each factor with its target. Bits don't depend on how many come at once.

        A procedure that needs chance takes it from its replication's streams, by a name of its own.
        """
        ...

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """The coverage that a procedure promises where train and test points are exchangeable; None if none is."""
        ...

    def flops(self, n: int, points: int, targets: int, searched: bool) -> float:
        """The work of one factor and its scores, in operations of a matrix product: n³/3 is a Cholesky factor."""
        ...

    def memory(self, n: int, points: int) -> float:
        """Bytes that one replication needs at its peak."""
        ...


@runtime_checkable
class SupportsKernel(Protocol):
    """A family whose procedures are on a kernel, which the scenario may choose."""

    def on_kernel(
        self, dimension: int, kernel: str = ..., scales: Sequence[float] | None = ..., features: int | None = ...
    ) -> Family:
        """The same family on another kernel; a ValueError says what can't be, in a line that begins with the key."""
        ...


@runtime_checkable
class SupportsTestGrid(Protocol):
    """A source whose test points may lie on a fixed grid."""

    def test_grid(self) -> Array:
        """The points of the grid, without drawing anything."""
        ...


@runtime_checkable
class SupportsSmoothing(Protocol):
    """A family whose p-values can be smoothed by chance."""

    def smooth(self) -> Family:
        """The same family with smoothed p-values; its levels are those, too."""
        ...


@runtime_checkable
class SupportsHoldout(Protocol):
    """A family with searches for θ that leave some of the train points alone."""

    def left(self, search: str, n: int) -> int | None:
        """Of n train points how many a search leaves alone, for which levels hold exactly; None if it looks at all."""
        ...


@runtime_checkable
class SupportsPath(Protocol):
    """A family that takes chance before it sees data: the same for all draws on a path."""

    def on_path(self, streams: Streams) -> Family:
        """The family with a path's streams."""
        ...


@dataclass(frozen=True, eq=False)
class Target:
    """Train and test values, a column for each γ; and the latent function at the test points, if it is known."""

    Y: Array
    Y_test: Array
    f_test: Array | None
