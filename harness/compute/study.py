"""All that a worker needs to know to compute any unit of a study."""

from __future__ import annotations

from dataclasses import dataclass

from harness.core.protocols import Family, Source
from harness.core.seeds import Seeds
from harness.core.types import Extent


@dataclass(frozen=True)
class Study:
    """All that a worker needs to know to compute any unit."""

    extent: Extent
    source: Source
    family: Family
    seeds: Seeds
    keep: tuple[str, ...] = ()
    threads: int = 1
    """Of BLAS, whoever computes it: last digits depend on their number."""

    @property
    def scored_procedures(self) -> tuple[str, ...]:
        """The grid's procedures, and the reference that ends are measured from, last if it isn't among them."""
        names, reference = self.extent.grid.procedure, self.family.reference
        return names if reference is None or reference in names else (*names, reference)
