"""Compare the procedures of one study in pairs, and rank those that are shown to keep their level.

A procedure is ranked if its intervals are for y*, its cell is judged valid or conservative, its region isn't the whole
line by arithmetic, and another such procedure is there. Widths are compared by the median, interval scores by the mean,
of the differences within a replication, where both procedures have the same data. A difference is *shown* if its
interval doesn't contain 0; otherwise the two are tied. The rank of a procedure is ::

    1 + (number of procedures shown to be smaller) + ½ (number of procedures tied with it)

That is the usual mean rank where ties are transitive, and it is defined where they aren't (a and b tied, b and c tied,
a shown to be smaller than c). Ranks of m procedures always add up to m(m + 1)/2.

Procedures are compared at the same α, also if their exact levels differ: a conformal procedure may have the level
1 − k/(n + 1) > 1 − α. `harness.results.widths` compares equal levels only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import xarray as xr

from harness.core.errors import UserError
from harness.core.labels import list_axis_values
from harness.core.procedures import is_for_function
from harness.core.types import Bools, Values
from harness.results.measures import MEASURES, Measure
from harness.results.replications import Slab
from harness.results.studies.selection import Study
from harness.results.validity import verdicts
from harness.statistics.comparisons import estimate_pair
from harness.statistics.intervals import Estimate
from harness.statistics.reduce import reduce_replications
from harness.statistics.verdicts import CONSERVATIVE, EMPTY, VALID

RANKED_BY = ("width", "interval_score")
"""Measures by which procedures can be ranked: smaller is better."""
FOR_FUNCTION, NO_RESULT, WHOLE_LINE = BY_DESIGN = (
    "its intervals are for f(x*), not y*",
    "no result",
    "the whole line by arithmetic",
)
"""Reasons not to compare a procedure at all, which don't depend on its results."""
ALONE = "the only one shown valid"
"""Reason not to rank a procedure that would be the first of one."""


@dataclass(frozen=True)
class Difference:
    """Paired difference between two procedures, with its simultaneous interval."""

    value: float
    se: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """−1 if it is shown to be below 0, 1 if above, 0 if neither."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True, eq=False)
class StudyComparison:
    """What came out of one study: verdicts, paired differences and ranks."""

    study: Study
    judged: xr.Dataset
    """Verdicts on the selected cells."""
    left_out: Mapping[str, str]
    """Procedures that aren't ranked, with the reason."""
    differences: Mapping[str, Difference]
    """Differences from the reference, valid or not; none if the reference takes no part here."""
    signs: Mapping[tuple[str, str], int]
    """For pairs of ranked procedures, −1 if the first is shown to be smaller, 1 if larger, 0 if they are tied."""
    ranks: Mapping[str, float] = field(init=False)
    """Ranks of the procedures that are ranked."""

    def __post_init__(self) -> None:
        names = [name for name in self.study.procedures if name not in self.left_out]
        object.__setattr__(self, "ranks", compute_ranks(names, self.signs))

    @property
    def smallest(self) -> str | None:
        """The procedure that is shown to be smaller than every other ranked one; None if there is none."""
        return next((name for name, rank in self.ranks.items() if rank == 1), None)

    @property
    def levels(self) -> dict[str, float]:
        """Level that the coverage of each ranked procedure is compared with."""
        return {name: get_cell(self.judged["target"], self.study, name) for name in self.ranks}

    def get_verdict(self, procedure: str) -> str:
        """Return the verdict on a procedure; "" if it has no result."""
        return str(get_cell(self.judged["verdict"], self.study, procedure))


def get_cell(array: xr.DataArray, study: Study, procedure: str) -> Any:
    """Return the value of an array at the cell of a procedure."""
    places = {"procedure": procedure, **study.cell}
    return array.sel({axis: places[str(axis)] for axis in array.dims}).item()


def compute_ranks(names: Sequence[str], signs: Mapping[tuple[str, str], int]) -> dict[str, float]:
    """Return ranks from pairwise comparisons; tied procedures share theirs.

    Examples
    --------
    >>> compute_ranks(["a", "b", "c"], {("a", "b"): 0, ("a", "c"): -1, ("b", "c"): 0})
    {'a': 1.5, 'b': 2.0, 'c': 2.5}
    """
    ranks = dict.fromkeys(names, 1.0)
    for (one, other), sign in signs.items():
        ranks[one] += (1 + sign) / 2
        ranks[other] += (1 - sign) / 2
    return ranks


def judge_study(study: Study, design: str | None = None) -> xr.Dataset:
    """Return verdicts on the selected cells of a study."""
    return verdicts(study.url, study.reader.where, design=design)


def explain_exclusion(study: Study, judged: xr.Dataset, procedure: str) -> str:
    """Say why a procedure isn't ranked; "" if it is."""
    if is_for_function(procedure):
        return FOR_FUNCTION
    word = get_cell(judged["verdict"], study, procedure)
    if word == EMPTY:
        return NO_RESULT
    if get_cell(judged["target"], study, procedure) >= 1:
        return WHOLE_LINE
    return "" if word in (VALID, CONSERVATIVE) else str(word)


def count_pairs(study: Study, judged: xr.Dataset) -> int:
    """Return the number of pairs that might be compared, whatever their verdicts turn out to be.

    Which procedures are ranked depends on the same replications, so a count of those would not keep the promise.
    """
    return comb(sum(explain_exclusion(study, judged, name) not in BY_DESIGN for name in study.procedures), 2)


def compare_study(study: Study, judged: xr.Dataset, reference: str, by: str, level: float) -> StudyComparison:
    """Compare the procedures of a study in pairs.

    Parameters
    ----------
    study : Study
        Study with its selected cells.
    judged : xarray.Dataset
        Verdicts on these.
    reference : str
        Procedure that the differences are from.
    by : {"width", "interval_score"}
        What is compared.
    level : float
        Confidence level of each interval.
    """
    if by not in RANKED_BY:
        raise UserError(f"procedures are ranked by {' or '.join(RANKED_BY)}, not by {by}")
    reasons = {name: explain_exclusion(study, judged, name) for name in study.procedures}
    left_out = {name: reason for name, reason in reasons.items() if reason}
    runs = {name: read_cell(study, MEASURES[by], name) for name in study.procedures if reasons[name] not in BY_DESIGN}

    def compare(one: str, other: str) -> Difference:
        return _to_difference(_estimate_difference(*runs[one], *runs[other], MEASURES[by], level))

    ranked = [name for name in study.procedures if name not in left_out]
    if len(ranked) == 1:
        left_out[ranked.pop()] = ALONE
    signs = {(one, other): compare(one, other).sign for one, other in combinations(ranked, 2)}
    differences = {name: compare(name, reference) for name in runs if reference in runs}
    return StudyComparison(study, judged, left_out, differences, signs)


def read_cell(study: Study, measure: Measure, procedure: str) -> tuple[Values, Bools]:
    """Return the replications of a measure in the cell of a procedure, over path and draw, with their mask."""
    grid = study.manifest.extent.grid
    places = {axis: list(list_axis_values(grid, axis)).index(value) for axis, value in study.cell.items()}
    at, theta = grid.procedure.index(procedure), places["theta"]
    slab = Slab(study.cell["n"], range(at, at + 1), range(theta, theta + 1))
    values, ok = measure.compute(study.reader, slab)
    here = (slice(None), slice(None), 0, places["gamma"], 0, places["lam"])
    return values[(*here, places["alpha"])], ok[(*here, 0)]


def _estimate_difference(
    values: Values, ok: Bools, others: Values, others_ok: Bools, measure: Measure, level: float
) -> Estimate:
    """Estimate a paired difference as the measure is reduced; scores of unbounded regions are left out."""
    if measure.reduction == "median":
        return estimate_pair(values, ok, others, others_ok, level)
    with np.errstate(invalid="ignore"):
        return reduce_replications(values - others, ok & others_ok, measure.reduction, level=level)


def _to_difference(found: Estimate) -> Difference:
    return Difference(*(float(part) for part in (found.value, found.se, found.low, found.high)))
