"""Everything that a worker needs to compute any unit of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.core.families import StudyFamily
from harness.core.protocols import Source, SupportsBox, SupportsNoiseLaw
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.core.seeds import Seeds
from harness.core.types import Array, Extent


@dataclass(frozen=True)
class Study:
    """Everything that a worker needs to compute any unit."""

    extent: Extent
    source: Source
    families: tuple[StudyFamily, ...]
    """Families of the procedures to compute. Rules of the extent exclude procedures of other families."""
    seeds: Seeds
    keep: tuple[str, ...] = ()
    threads: int = 1
    """Number of BLAS threads, the same on every machine, because the last digits depend on it."""

    owner: str | None = None
    """Name of the family whose θ is stored as `theta_hat`, which may be none of `families`. Default: see there."""

    @cached_property
    def noise_cdf(self) -> Callable[[Array, Array], Array] | None:
        """Distribution function of the noise, if the store keeps expected coverage; see `SupportsNoiseLaw`."""
        if COVERAGE_EXPECTED not in self.keep:
            return None
        assert isinstance(self.source, SupportsNoiseLaw), "the manifest says that the source knows its noise"
        return self.source.noise_cdf

    @cached_property
    def box(self) -> Sequence[tuple[float, float]] | None:
        """Box of the inputs, if the store keeps coverage in bins of x; see `SupportsBox`."""
        if "bins" not in self.keep:
            return None
        assert isinstance(self.source, SupportsBox), "the manifest says that the source knows the box of its inputs"
        return self.source.box

    @property
    def theta_owner(self) -> str | None:
        """Name of the family whose θ is stored as `theta_hat`: by default the first one that is given θ."""
        return self.owner or next((one.name for one in self.families if "theta" in one.given), None)
