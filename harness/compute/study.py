"""Everything that a worker needs to compute any unit of a study."""

from __future__ import annotations

from dataclasses import dataclass

from harness.core.protocols import Family, Source
from harness.core.seeds import Seeds
from harness.core.types import Extent


@dataclass(frozen=True)
class Study:
    """Everything that a worker needs to compute any unit."""

    extent: Extent
    source: Source
    family: Family
    seeds: Seeds
    keep: tuple[str, ...] = ()
    threads: int = 1
    """Number of BLAS threads, the same on every machine, because the last digits depend on it."""

    @property
    def scored_procedures(self) -> tuple[str, ...]:
        """Procedures of the grid, followed by the reference for distances if it isn't among them."""
        names, reference = self.extent.grid.procedure, self.family.reference
        return names if reference is None or reference in names else (*names, reference)
