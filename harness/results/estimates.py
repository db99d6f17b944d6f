"""Estimate a measure in every cell of a store, with clustered standard errors and confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from harness.core.errors import UserError
from harness.core.schema.axes import PIT_BINS
from harness.core.schema.cube import CUBE_DIMS
from harness.core.text import suggest_name
from harness.core.types import Bools, Values
from harness.cube.caching import SizedCache
from harness.parsing.selections import Selection
from harness.results.adjust import estimate_adjusted
from harness.results.mad import MAD, estimate_mad
from harness.results.measures import MEASURES, Measure, make_pit_share
from harness.results.replications import ReplicationReader, Slab, open_reader
from harness.statistics.intervals import LEVEL, Estimate
from harness.statistics.reduce import reduce_replications

PARTS = ("value", "se", "low", "high", "paths", "replications")
"""Variables of a dataset of estimates: the fields of `Estimate`."""
ADJUSTED = (*PARTS, "controls", "worth")
"""Variables of a dataset of adjusted estimates."""
_CACHED_BYTES = 64e6
"""Most bytes of estimates that are kept in memory. Every figure of a report selects from the same ones."""
_ESTIMATES: SizedCache[Estimate] = SizedCache(
    _CACHED_BYTES, lambda one: sum(int(part.nbytes) for part in vars(one).values())
)


def find_measure(name: str) -> Measure:
    """Return the measure of this name, or raise `UserError` if there is none."""
    if name not in MEASURES:
        known = [*MEASURES, MAD, "level", "verdict"]
        raise UserError(
            f"there is no measure {name!r}: it must be one of {', '.join(known)}{suggest_name(name, known)}"
        )
    return MEASURES[name]


def estimate(
    url: str,
    measure: str | None = None,
    where: Selection | None = None,
    level: float = LEVEL,
    adjust: bool = False,
) -> xr.Dataset:
    """Estimate a measure in every cell of a store, or in the selected ones.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    measure : str, optional
        A name in `harness.results.measures.MEASURES`, or "mad". Default: coverage, the expected one if the store has
        it.
    where : mapping or str, optional
        Values to select along some axes, such as ``{"n": [100, 400], "theta": ["ml"]}`` or "n=100,400,theta=ml".
    level : float
        Confidence level of the intervals.
    adjust : bool
        Whether to adjust means by the coverages of conformal procedures in the same replications, whose expectations
        are exact (`harness.results.adjust`). The standard errors are smaller then.

    Returns
    -------
    xarray.Dataset
        `value`, `se` (NaN with one path), `low`, `high`, `paths`, `replications`, over the axes of the cube. "mad" has
        no axis alpha. With `adjust` also `controls`, the number of procedures that a cell was adjusted by, and `worth`,
        how many times as many paths the plain estimate would need for the same error.
    """
    chosen = open_reader(url, where)
    measure = measure or chosen.judged
    if adjust:
        one = find_measure(measure)
        return make_dataset(
            chosen, f"{one.what}, adjusted", lambda slab: estimate_adjusted(chosen, slab, one, level), ADJUSTED
        )
    if measure == MAD:
        return make_dataset(chosen, MAD, lambda slab: estimate_mad(chosen, slab, level)).isel(alpha=0, drop=True)
    return estimate_cells(chosen, find_measure(measure), level)


def estimate_cells(chosen: ReplicationReader, one: Measure, level: float = LEVEL) -> xr.Dataset:
    """Estimate a measure in the selected cells of a store; `estimate` says what comes out."""

    def of(slab: Slab) -> Estimate:
        key = chosen.get_state(slab.n), slab, chosen.judged, one, level
        return _ESTIMATES.get(key, lambda: estimate_measure(one, *one.compute(chosen, slab), chosen, level))

    return make_dataset(chosen, one.what, of)


def estimate_pits(url: str, where: Selection | None = None, level: float = LEVEL) -> xr.Dataset:
    """Estimate the share of PITs in each bin, in every cell of a store or in the selected ones.

    The test points of a replication share its training sample, so their PITs are dependent: a test that pools them
    rejects true uniformity in most studies. Here the share of each bin has an interval between paths, as coverage does.
    Its level is 1 − (1 − level)/10, so that all ten of a histogram hold with probability `level` (Bonferroni).

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
    parts = [estimate_cells(chosen, make_pit_share(i), each).isel(alpha=0, drop=True) for i in range(PIT_BINS)]
    return xr.concat(parts, xr.Variable("bin", (np.arange(PIT_BINS) + 0.5) / PIT_BINS))


def difference(
    url: str, versus: str, measure: str | None = None, where: Selection | None = None, level: float = LEVEL
) -> xr.Dataset:
    """Estimate the paired differences between a measure of each procedure and that of the procedure `versus`.

    Differences are taken within each replication, where all procedures have the same data.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    versus : str
        The procedure to compare with.
    measure : str, optional
        A name in `harness.results.measures.MEASURES`. Default: coverage, the expected one if the store has it.
    where : mapping or str, optional
        Values to select along some axes.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    xarray.Dataset
        As from `estimate`.
    """
    chosen = open_reader(url, where)
    measure = measure or chosen.judged
    if measure not in MEASURES and measure in (MAD, "level", "verdict"):
        raise UserError(f"{measure} is defined per cell, not per replication: it has no paired difference")
    one = find_measure(measure)
    if versus not in chosen.manifest.extent.grid.procedure:
        names = ", ".join(chosen.manifest.extent.grid.procedure)
        raise UserError(f"procedure {versus!r} isn't in the store: it has {names}")
    at = chosen.manifest.extent.grid.procedure.index(versus)

    def of(slab: Slab) -> Estimate:
        values, ok = one.compute(chosen, slab)
        others, counts = one.compute(chosen, Slab(slab.n, range(at, at + 1), slab.thetas))
        with np.errstate(invalid="ignore"):
            apart = values - others
        both = ok & counts
        known = both & ~np.isnan(apart)  # inf − inf, where both are unbounded, says nothing
        is_share = one.reduction in ("share", "probability")  # a difference of these is neither
        return reduce_replications(apart, known, "mean" if is_share else one.reduction, level=level)

    return make_dataset(chosen, f"{one.what}, less that of {versus}, paired", of)


def estimate_measure(
    measure: Measure, values: Values, ok: Bools, chosen: ReplicationReader, level: float = LEVEL
) -> Estimate:
    """Reduce the values of a measure over replications to estimates, as its entry says."""
    points = 1 if measure.counts_replications else chosen.manifest.test_points
    return reduce_replications(values, ok, measure.get_reduction(chosen), points, measure.q, level, measure.bounds)


def make_dataset(
    chosen: ReplicationReader, what: str, of: Callable[[Slab], Estimate], names: Sequence[str] = PARTS
) -> xr.Dataset:
    """Estimate slab by slab with `of`, and combine the estimates to a dataset with the description `what`."""
    made: dict[Slab, Estimate] = {slab: of(slab) for slab in chosen.iter_slabs()}
    parts = {
        part: chosen.arrange(
            {slab: _broadcast(getattr(one, part), one) for slab, one in made.items()}, _FILLS.get(part, np.nan)
        )
        for part in names
    }
    variables = {part: (CUBE_DIMS, values) for part, values in parts.items()}
    return xr.Dataset(variables, chosen.coords, {"description": what})


_FILLS = dict.fromkeys(("paths", "replications", "controls", "code", "decided_at"), 0) | dict.fromkeys(
    ("contradicted", "anytime", "added_later"), False
)
"""Values of cells without a result, for variables that can't be NaN."""


def _broadcast(values: Values, one: Estimate) -> Values:
    """Repeat counts along α, where they are equal."""
    return np.broadcast_to(values, one.value.shape)
