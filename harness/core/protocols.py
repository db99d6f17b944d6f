"""Protocols through which the harness uses data sources and families of procedures.

The harness depends on these protocols and on plain arrays, never on a concrete source or family. `Source` and `Family`
are required; the runtime-checkable protocols (`LimitedSource`, `LimitedFamily`, `Supports…`, `PiecewiseScores`,
`PredictiveScores`, `TimedScores`) are optional capabilities, which a class has by implementing their members.
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
    """One training sample, and the test points that belong to it."""

    @property
    def X(self) -> Array:
        """Training inputs, of shape (n, dimension)."""
        ...

    @property
    def y(self) -> Array:
        """Training values, of shape (n,), without the noise that γ scales."""
        ...

    @property
    def noise(self) -> Array | None:
        """Noise of variance 1 of the training values, of shape (n,); None for no noise."""
        ...

    @property
    def X_test(self) -> Array:
        """Test inputs, of shape (test_points, dimension)."""
        ...

    @property
    def y_test(self) -> Array:
        """Test values, of shape (test_points,), without the noise that γ scales."""
        ...

    @property
    def noise_test(self) -> Array | None:
        """Noise of variance 1 of the test values; None for no noise."""
        ...


class Path(Protocol):
    """One independent realisation of the data-generating process."""

    def draw(self, streams: Streams, n: int, at: Mapping[str, object]) -> Sample:
        """Draw a training sample.

        Parameters
        ----------
        streams : Streams
            Named random streams of this draw.
        n : int
            Size of the training sample.
        at : Mapping
            Values of the axes that `Source.redraws` names.
        """
        ...


class Source(Protocol):
    """A data-generating process that studies draw paths and samples from."""

    @property
    def dimension(self) -> int:
        """Number of input variables."""
        ...

    @property
    def test(self) -> str:
        """Layout of test points: "iid" as the training inputs, "shifted" from another distribution, or "grid"."""
        ...

    @property
    def test_points(self) -> int:
        """Number of test points of a sample."""
        ...

    @property
    def knows_f(self) -> bool:
        """Whether y and y_test of a sample are the values of the latent function."""
        ...

    @property
    def redraws(self) -> tuple[str, ...]:
        """Axes (of `REDRAWS`) that the data depend on besides n, and whose values `at` contains.

        Data are redrawn at each value of γ, θ or λ named here; with () all cells share them. A source with separate
        data for each replication names "path" or "draw", and `at` contains its number.
        """
        ...

    @property
    def largest_n(self) -> int | None:
        """Largest training sample available; None if there is no limit."""
        ...

    def path(self, streams: Streams) -> Path:
        """Draw one independent realisation of the data-generating process."""
        ...


@runtime_checkable
class LimitedSource(Protocol):
    """A source that has data only for some values of the axes."""

    @property
    def only(self) -> Mapping[str, Sequence[object]]:
        """Available values, for those of gamma, theta, lam, n, path and draw that are limited."""
        ...


@runtime_checkable
class SupportsWorld(Protocol):
    """A source that accepts the keys of `scenarios.World`, such as non-normal noise or shifted test inputs."""

    def in_world(self, world: Any) -> Source:
        """Return the same source under another noise and input distribution.

        Raises
        ------
        ValueError
            If the source does not support a key; the message is one line that begins with the key.
        """
        ...


@runtime_checkable
class SupportsNoiseLaw(Protocol):
    """A source that knows the distribution of its noise, and so the probability that y* falls into a region."""

    def noise_cdf(self, X: Array, z: Array) -> Array:
        """Return P(e ≤ z) of the noise e (of variance 1) at each point of X, which belongs to the last axis of z."""
        ...


@runtime_checkable
class SupportsDensityRatio(Protocol):
    """A source that knows how test inputs are distributed relative to training inputs (covariate shift)."""

    def density_ratio(self, X: Array) -> Array:
        """Return the density ratio of test over training inputs at each row of X, up to a common factor."""
        ...


@runtime_checkable
class SupportsNoiseSd(Protocol):
    """A source that knows the standard deviation of its noise."""

    @property
    def noise_sd(self) -> float | None:
        """Standard deviation of the noise relative to √γ; None if it differs between points or doesn't exist."""
        ...


@runtime_checkable
class SupportsPreparation(Protocol):
    """A source that needs expensive, shared arrays, computed once before the units and kept in the store."""

    def preparations(self, grid: Mapping[str, Sequence[object]]) -> Mapping[str, tuple[float, float]]:
        """Return the names of the arrays that the data of a grid need, each with its operations and peak bytes.

        Operations are those of a matrix product: n³/3 is a Cholesky factor.
        """
        ...

    def prepare(self, name: str) -> Array:
        """Compute one of these arrays, with one BLAS thread."""
        ...

    def given(self, find: Callable[[str], Array]) -> Source:
        """Return the same source with access to prepared arrays: `find` returns one by its name."""
        ...


class Scores(Protocol):
    """Results of regions at known test values: arrays of shape (targets, procedures, points, levels)."""

    @property
    def hits(self) -> Bools:
        """Whether the region contains y*."""
        ...

    @property
    def hits_f(self) -> Bools | None:
        """Whether the region contains f(x*); None if f was not given."""
        ...

    @property
    def lower(self) -> Array:
        """Lower end of the region's hull; NaN where the region is empty."""
        ...

    @property
    def upper(self) -> Array:
        """Upper end of the region's hull; NaN where the region is empty."""
        ...

    @property
    def length(self) -> Array:
        """Length of the region."""
        ...

    @property
    def count(self) -> npt.NDArray[np.int64]:
        """Number of connected components of the region."""
        ...


class RegionPieces(Protocol):
    """Closed intervals that regions consist of."""

    @property
    def place(self) -> tuple[npt.NDArray[np.intp], ...]:
        """Index of each piece's region: its target, procedure, point and level."""
        ...

    @property
    def lower(self) -> Array:
        """Lower end of each piece."""
        ...

    @property
    def upper(self) -> Array:
        """Upper end of each piece."""
        ...


@runtime_checkable
class PiecewiseScores(Protocol):
    """Scores of regions that may have several pieces. Their expected coverage needs all of these, not the hull."""

    @property
    def pieces(self) -> RegionPieces | None:
        """All pieces of the regions that have more than one; None if every region is an interval or empty."""
        ...


@runtime_checkable
class PredictiveScores(Protocol):
    """Scores of procedures of which some have predictive distributions of y*: arrays over (target, procedure, point).

    A family returns them if it was asked for distributions (`SupportsDistributions`). Procedures without a distribution
    have NaN in both.
    """

    @property
    def crps(self) -> Array | None:
        """CRPS of the distribution at y*; None if not requested."""
        ...

    @property
    def pit(self) -> Array | None:
        """Randomised PIT of y*, from 0 to 1; None if not requested."""
        ...


@runtime_checkable
class TimedScores(Protocol):
    """Scores of procedures that were computed one after the other, so that receipts can record the time of each."""

    @property
    def seconds(self) -> Mapping[str, float]:
        """Computing time of each procedure, by its name."""
        ...


class Factor(Protocol):
    """A factorised fit, ready to score targets."""

    @property
    def theta(self) -> float:
        """The θ in use: given, or found by a search; NaN for a family that has no use for θ."""
        ...


class Inputs(Protocol):
    """Training and test inputs, ready to be factorised for any θ and λ."""

    def factor(self, theta: float, lam: float) -> Factor:
        """Factorise for a given θ and λ; 0.0 for one that the family doesn't use. All targets can share the result."""
        ...

    def factor_ml(self, y: Array, lam: float, search: str) -> Factor:
        """Factorise for the θ that a search finds for the target `y`."""
        ...


@runtime_checkable
class SupportsSharedSearch(Protocol):
    """Inputs that search for the θ of several targets at once, which is faster than one by one."""

    def search_ml(self, Y: Array, lam: float, search: str) -> Sequence[Callable[[], Factor]]:
        """Search for the θ of each column of Y; return for each a function that factorises for that θ.

        Results are bitwise identical to those of `factor_ml` for each column.
        """
        ...


class Family(Protocol):
    """A family of procedures that share work. The harness uses procedures only through this protocol."""

    @property
    def procedures(self) -> Sequence[str]:
        """Names of the procedures."""
        ...

    @property
    def searches(self) -> Sequence[str]:
        """Names of the searches for θ."""
        ...

    @property
    def reference(self) -> str | None:
        """The procedure that `distance_lower` and `distance_upper` are measured from; None if there is none."""
        ...

    @property
    def version(self) -> int | str:
        """Version of the numerics: changed by anything that alters a bit of a result."""
        ...

    def inputs(self, X: Array, X_test: Array) -> Inputs:
        """Compute what all fits on these training and test inputs share."""
        ...

    def score(
        self,
        factors: Sequence[Factor],
        targets: Sequence[Target],
        procedures: Sequence[str],
        alpha: Sequence[float],
        streams: Sequence[Streams],
    ) -> Sequence[Scores]:
        """Score all procedures and levels for each factor with its target.

        Results are bitwise identical to scoring each target separately. A randomised procedure draws random numbers
        from its replication's streams, from a stream with a name that no other procedure uses.
        """
        ...

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """Return the exact coverage of a procedure for exchangeable training and test points; None if it has none."""
        ...

    def flops(self, n: int, points: int, targets: int, searched: bool) -> float | None:
        """Return the work of one factor and its scores, in operations of a matrix product; None if it is unknown.

        For scale: a Cholesky factor takes n³/3. The harness times a family that doesn't know its work.
        """
        ...

    def memory(self, n: int, points: int) -> float:
        """Return the bytes that one replication needs at its peak."""
        ...


@runtime_checkable
class LimitedFamily(Protocol):
    """A family whose procedures don't depend on θ, or on λ, or on either. Families without `axes` use both."""

    @property
    def axes(self) -> Sequence[str]:
        """Those of "theta" and "lam" that the procedures use.

        Results are computed once for all values of an axis that isn't named here, and stand at each of them.
        """
        ...


@runtime_checkable
class FindsLam(Protocol):
    """A family with searches that find λ together with θ, and so don't use the λ that they are given."""

    @property
    def finds_lam(self) -> Sequence[str]:
        """Names of these searches.

        Results are computed once for all values of λ, and stand at each of them.
        """
        ...


@runtime_checkable
class FindsScales(Protocol):
    """A family with searches that find the unit of each coordinate."""

    @property
    def finds_scales(self) -> Sequence[str]:
        """Names of these searches."""
        ...


@runtime_checkable
class FoundModel(Protocol):
    """A factor that knows its λ and, where they were searched for, the scale of each coordinate."""

    @property
    def lam(self) -> float:
        """The λ in use: given, or found by a search."""
        ...

    @property
    def scales(self) -> Array | None:
        """The unit of each coordinate; None for points as they are."""
        ...

    @property
    def on_bound(self) -> bool | None:
        """Whether a value that was searched for is at a bound of its range; None if nothing was."""
        ...


@runtime_checkable
class SupportsSearchCost(Protocol):
    """A family whose searches take different times."""

    def on_search(self, search: str) -> Family:
        """Return the same family, which estimates its work for one search."""
        ...


@runtime_checkable
class SupportsKernel(Protocol):
    """A family of kernel methods whose kernel the scenario may choose."""

    def on_kernel(
        self,
        dimension: int,
        kernel: str = ...,
        scales: Sequence[float] | None = ...,
        features: int | None = ...,
        mean: str = ...,
    ) -> Family:
        """Return the same family with another kernel, or another mean of y.

        Raises
        ------
        ValueError
            If a value is invalid; the message is one line that begins with the key.
        """
        ...


@runtime_checkable
class SupportsRanges(Protocol):
    """A family whose work depends on θ, λ and the ranges of the inputs, and not on n alone."""

    def on_ranges(self, ranges: Sequence[float], theta: float, lam: float) -> Family:
        """Return the same family, which estimates its work for one θ and λ and inputs in a box with these sides."""
        ...


@runtime_checkable
class SupportsTestGrid(Protocol):
    """A source whose test points may lie on a fixed grid."""

    def test_grid(self) -> Array:
        """Return the points of the grid. Draws no random numbers."""
        ...


@runtime_checkable
class SupportsBox(Protocol):
    """A source whose inputs lie in a known box, so that a store can keep coverage in bins of x."""

    @property
    def box(self) -> Sequence[tuple[float, float]]:
        """Range of each input variable."""
        ...


@runtime_checkable
class SupportsSmoothing(Protocol):
    """A family whose conformal p-values can be smoothed (ties broken at random)."""

    def smooth(self) -> Family:
        """Return the same family with smoothed p-values and the exact levels that belong to them."""
        ...


@runtime_checkable
class SupportsDistributions(Protocol):
    """A family of which some procedures have predictive distributions of y*."""

    def with_distributions(self) -> Family:
        """Return the same family, whose `score` returns `PredictiveScores`; all other results are bitwise the same."""
        ...


@runtime_checkable
class SupportsWeights(Protocol):
    """A family with weighted conformal procedures, which keep their level under covariate shift."""

    @property
    def weighted(self) -> Sequence[str]:
        """Names of those procedures that use weights; their level is at least 1 − α, not exact."""
        ...

    def weigh(self, ratio: Callable[[Array], Array] | None) -> Family:
        """Return the same family with weights: `ratio` of the rows of X, or estimated from the inputs if None."""
        ...


@runtime_checkable
class SupportsKnownNoise(Protocol):
    """A family with procedures that can use the standard deviation of the noise, `Target.noise_sd`."""

    def know_noise(self) -> Family:
        """Return the same family, with procedures that use it in place of an estimate."""
        ...


@runtime_checkable
class SupportsHoldout(Protocol):
    """A family with searches for θ with which conformal procedures keep an exact level."""

    def left(self, search: str, n: int) -> int | None:
        """Return for how many of n training points exact levels hold with a search; None if it breaks them.

        That is the number of points that the search doesn't hold out: all n for one that treats training and test
        inputs alike, and uses no targets.
        """
        ...


@runtime_checkable
class SupportsInputSearch(Protocol):
    """A family with searches for θ that depend on the inputs alone, so that one fit serves all targets."""

    @property
    def input_searches(self) -> Sequence[str]:
        """Names of these searches, some of `Family.searches`."""
        ...


@runtime_checkable
class SupportsPath(Protocol):
    """A family that draws random numbers before it sees data, such as random features: once for each path."""

    def on_path(self, streams: Streams) -> Family:
        """Return the same family with random numbers drawn from a path's streams."""
        ...


@dataclass(frozen=True, eq=False)
class Target:
    """Training and test values, one column for each γ, and the latent function at the test points if known."""

    Y: Array
    Y_test: Array
    f_test: Array | None
    noise_sd: Array | None = None
    """Standard deviation of the noise of each column, if the source knows it (`SupportsNoiseSd`)."""
