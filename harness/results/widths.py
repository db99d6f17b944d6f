"""Compare the widths of procedures in every setting of a store: which one is shown to be the narrowest?

`harness.statistics.comparisons` says how. Eligible are procedures for y* whose cell is judged valid or conservative. A
region of level 1 is the whole line, so there is nothing to compare. Only procedures of equal level are compared, since
a lower level makes narrower regions. But one that is wider than an eligible procedure of another level isn't called the
narrowest of a setting: that would be misread. Levels count as equal if they differ by at most a
tenth of the tolerance τ of verdicts, 0.002 at α = 0.1: exact levels such as 0.9005 and 0.9010 are hardly ever the same
number, and verdicts can't tell them apart.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from harness.core.labels import list_axis_values
from harness.core.procedures import is_for_function
from harness.core.schema.cube import CUBE_DIMS
from harness.core.types import Bools, Values
from harness.results.estimates import estimate_cells
from harness.results.measures import MEASURES
from harness.results.replications import ReplicationReader, Slab, open_reader
from harness.statistics.comparisons import (
    PairedComparison,
    compare_procedures,
    compute_simultaneous_level,
    count_pairs,
)
from harness.statistics.intervals import LEVEL
from harness.statistics.verdicts import CONSERVATIVE, VALID

SLACK = 0.1
"""Levels count as equal if they differ by at most this share of the tolerance τ."""


def compare_widths(url: str, judged: xr.Dataset, level: float = LEVEL) -> xr.Dataset:
    """Compare median widths in pairs, within replications.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    judged : xarray.Dataset
        Verdicts on all cells: `harness.results.validity.verdicts`.
    level : float
        Probability that no difference shown is wrong.

    Returns
    -------
    xarray.Dataset
        Over the axes of the cube: `compared`, the number of procedures that each cell is compared with; `narrowest`,
        whether its width is shown to be smaller than theirs; `tied`, the number of procedures that it is narrower than
        all others together with, 0 if there is no such group. Both only where no eligible procedure of another level
        has a smaller width. The attributes have the number of `pairs` that the intervals allow for, and `level`.
    """
    chosen = open_reader(url)
    levels, eligible = _find_levels(judged), judged["verdict"].isin((VALID, CONSERVATIVE))
    slack = SLACK * judged["tolerance"]
    pairs = count_pairs(levels.to_numpy(), slack.to_numpy())
    each = compute_simultaneous_level(pairs, level)
    made = {slab: _compare_slab(chosen, slab, levels, eligible, slack, each) for slab in _list_slabs(chosen)}
    found = xr.Dataset(
        {
            "compared": chosen.make_array({slab: one.compared for slab, one in made.items()}, 0),
            "narrowest": chosen.make_array({slab: one.is_smallest for slab, one in made.items()}, False),
            "tied": chosen.make_array({slab: one.tied for slab, one in made.items()}, 0),
        },
        attrs={"pairs": pairs, "level": level},
    )
    widths = estimate_cells(chosen, MEASURES["width"])["value"].where(eligible & levels.notnull())
    is_least = (widths == widths.min("procedure")).transpose(*found["tied"].dims)
    found["narrowest"] &= is_least
    found["tied"] = found["tied"].where((is_least & (found["tied"] > 0)).any("procedure"), 0)
    return found


def _find_levels(judged: xr.Dataset) -> xr.DataArray:
    """Return the levels over the axes of the cube; NaN where a procedure takes no part."""
    target = judged["target"].broadcast_like(judged["value"]).transpose(*CUBE_DIMS)
    names = judged["procedure"].to_numpy()
    for_response = xr.DataArray([not is_for_function(name) for name in names], dims="procedure")
    return target.where(for_response & (judged["replications"] > 0) & (target < 1))


def _list_slabs(chosen: ReplicationReader) -> list[Slab]:
    """Return slabs of all procedures. Only two of these are read at a time."""
    everything = range(len(chosen.manifest.extent.grid.procedure))
    return list(dict.fromkeys(Slab(slab.n, everything, slab.thetas) for slab in chosen.iter_slabs()))


def _compare_slab(
    chosen: ReplicationReader,
    slab: Slab,
    levels: xr.DataArray,
    eligible: xr.DataArray,
    slack: xr.DataArray,
    level: float,
) -> PairedComparison:
    def read(place: int) -> tuple[Values, Bools]:
        values, ok = MEASURES["width"].compute(chosen, Slab(slab.n, range(place, place + 1), slab.thetas))
        return values[:, :, 0], ok[:, :, 0]

    slacks = slack.sel(alpha=list(list_axis_values(chosen.manifest.extent.grid, "alpha"))).to_numpy()
    return compare_procedures(read, _take(chosen, slab, levels), _take(chosen, slab, eligible), level, slacks)


def _take(chosen: ReplicationReader, slab: Slab, array: xr.DataArray) -> Values:
    """Return the values of a slab over procedure, γ, θ, λ and α, in the order of the store."""
    grid = chosen.manifest.extent.grid
    places = {axis: list(list_axis_values(grid, axis)) for axis in CUBE_DIMS if axis != "n"}
    places["theta"] = [places["theta"][place] for place in slab.thetas]
    return np.asarray(array.sel({**places, "n": slab.n}).to_numpy())
