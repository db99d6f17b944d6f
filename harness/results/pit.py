"""Estimate histograms of the PIT, with intervals that hold for all bins of a histogram at once.

The test points of a replication share its training sample, so their PITs are dependent: a test that pools them rejects
true uniformity in most studies. Here the share of each bin has an error between paths, as coverage does. The level of
each interval is 1 − 0.05/10, so that all ten of a histogram hold with probability 0.95 (Bonferroni).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import xarray as xr

from harness.core.schema.axes import PIT_BINS
from harness.core.schema.measures import PIT
from harness.core.types import Bools, Values
from harness.parsing.selections import Selection
from harness.results.estimates import estimate_cells
from harness.results.measures import Measure
from harness.results.replications import ReplicationReader, Slab, open_reader
from harness.statistics.intervals import LEVEL


def estimate_pits(url: str, where: Selection | None = None, level: float = LEVEL) -> xr.Dataset:
    """Estimate the share of PITs in each bin, in every cell of a store or in the selected ones.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    where : mapping or str, optional
        Values to select along some axes.
    level : float
        Probability that the intervals of all bins of a histogram hold.

    Returns
    -------
    xarray.Dataset
        `value`, `se` (NaN with one path), `low`, `high`, `paths` and `replications` over the axes of the cube without
        alpha, and `bin`, whose coordinates are the middles of the bins; NaN for procedures without a distribution.

    Raises
    ------
    UserError
        If the store doesn't keep the PIT.
    """
    chosen, each = open_reader(url, where), 1 - (1 - level) / PIT_BINS
    parts = [estimate_cells(chosen, _make_share(i), each).isel(alpha=0, drop=True) for i in range(PIT_BINS)]
    found = xr.concat(parts, xr.Variable("bin", (np.arange(PIT_BINS) + 0.5) / PIT_BINS))
    return found.assign_attrs(description=PIT.description)


@lru_cache(maxsize=PIT_BINS)
def _make_share(place: int) -> Measure:
    """Make the measure of the share of PITs in one bin; the same object each time, under which estimates are kept."""

    def compute(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
        shares = runs.read(slab, PIT.name)[..., place]
        levels = len(runs.manifest.extent.grid.alpha)
        return np.repeat(shares[..., None], levels, axis=-1), runs.is_ok(slab)[..., None]

    return Measure(f"{PIT.name}_{place}", PIT.plot_name, "share", compute)
