"""Judge the paper's claims on the corrected studies.

**Coverage.** A claim is about some cells, which are judged by the harness's verdicts: each cell's coverage against its
exact level where there is one, else against 1 − α, with a tolerance. The intervals of all cells of all corrected
studies are simultaneous: each store has the level 1 − 0.05/S, S being the number of studies, and each of its cells an
equal share of the error (Bonferroni, see `harness/results/validity.py`). So with probability at least 0.95 no verdict
in the whole page is wrong. The same intervals give two bounds on the shortfall L − c of a claim's worst cell: it is at
least `least_shortfall`, and at most `largest_shortfall`.

**Widths.** The width of a conformal region relative to that of GPR-f in the same replication: medians, with intervals
that are simultaneous over all cells of a claim at the largest n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from harness.core.labels import is_number
from harness.core.schema.cube import CUBE_DIMS
from harness.core.types import Bools
from harness.paper.page.corrected import ALL, CorrectedStudy
from harness.paper.printed import ALPHA
from harness.report.sections.verdict_cards import WorstCell, find_worst
from harness.results.estimates import estimate
from harness.results.measures import REFERENCE
from harness.results.replications import Where
from harness.results.validity import verdicts
from harness.statistics.intervals import LEVEL
from harness.statistics.verdicts import BORDERLINE, CONSERVATIVE, EMPTY, INVALID, VALID, VERDICTS

CONFORMAL = ("RRCM", "RRCM-loo", "CRR", "CRR-loo")
"""Conformal procedures of the paper."""
TRUE_THETA = "100"
"""θ of the Gaussian processes."""
_EACH = 1 - (1 - LEVEL) / len(ALL)
"""Level of one study. It counts all studies, run or not, so that running more of them changes no verdict."""

Cells = Callable[[xr.Dataset], xr.DataArray]
"""Function that selects the cells of a study that a claim is about."""


@dataclass(frozen=True)
class ClaimPart:
    """Cells of a claim in one study."""

    study: CorrectedStudy
    paths: int
    counts: Mapping[str, int]
    """Number of cells with each verdict."""
    least_shortfall: float
    """Lower bound on the shortfall of the worst cell; at most 0 if none is shown to fall short."""
    largest_shortfall: float
    """Upper bound on the shortfall of every cell."""
    worst: WorstCell | None

    @property
    def cells(self) -> int:
        """Number of cells with a result."""
        return sum(self.counts[each] for each in VERDICTS)


def is_conformal(found: xr.Dataset) -> xr.DataArray:
    """Select the cells of conformal regions."""
    return found["procedure"].isin(CONFORMAL)


def is_bayesian(found: xr.Dataset) -> xr.DataArray:
    """Select the cells of Bayesian intervals for y* (those of GPR-p are for f)."""
    return found["procedure"] == REFERENCE


def is_fixed(found: xr.Dataset) -> xr.DataArray:
    """Select the cells whose θ isn't searched for on the training sample."""
    return xr.DataArray([is_number(text) for text in found["theta"].values.tolist()], coords={"theta": found["theta"]})


def is_right(found: xr.Dataset) -> xr.DataArray:
    """Select the cells with the true θ and λ = γ, the true noise of a process of unit variance."""
    return (found["theta"] == TRUE_THETA) & (found["gamma"] == found["lam"])


def judge_studies(stores: Mapping[CorrectedStudy, str]) -> dict[CorrectedStudy, xr.Dataset]:
    """Compute the verdicts of every study that has a store."""
    return {one: verdicts(url, level=_EACH) for one, url in stores.items()}


def list_parts(
    found: Mapping[CorrectedStudy, xr.Dataset], studies: Sequence[CorrectedStudy], cells: Cells
) -> list[ClaimPart]:
    """Return the selected cells of each study that has been run."""
    return [_make_part(one, found[one], cells(found[one])) for one in studies if one in found]


def _make_part(study: CorrectedStudy, found: xr.Dataset, cells: xr.DataArray) -> ClaimPart:
    inside: Bools = cells.broadcast_like(found["value"]).transpose(*CUBE_DIMS).to_numpy().astype(bool)
    known = found.transpose(*CUBE_DIMS, missing_dims="ignore")
    names = known["verdict"].to_numpy()[inside]
    target = found["target"].broadcast_like(found["value"]).transpose(*CUBE_DIMS)
    short = [(target - known[end]).to_numpy()[inside] for end in ("high", "low")]
    shown, possible = (float(np.nanmax(each)) if (~np.isnan(each)).any() else np.nan for each in short)
    kept = found.assign(value=found["value"].where(xr.DataArray(inside, dims=CUBE_DIMS)))
    counts = {each: int((names == each).sum()) for each in (*VERDICTS, EMPTY)}
    return ClaimPart(study, int(found["paths"].max()), counts, shown, possible, find_worst(kept))


@dataclass(frozen=True)
class WidthRatio:
    """Conformal widths relative to GPR-f in one study."""

    study: CorrectedStudy
    sizes: Sequence[int]
    values: xr.Dataset
    """`value` and `se` at all n, with `low` and `high`, which are simultaneous over all cells at the largest n."""

    @property
    def last(self) -> xr.Dataset:
        """Ratios at the largest n."""
        return self.values.isel(n=-1)


def list_ratios(
    stores: Mapping[CorrectedStudy, str], studies: Sequence[CorrectedStudy], gammas: Mapping[float, float]
) -> list[WidthRatio]:
    """Compute width ratios with the true θ, over procedure, γ, n and α.

    Parameters
    ----------
    stores : mapping
        URL of the store of each study that has been run.
    studies : sequence of CorrectedStudy
        Studies to compare; those without a store are left out.
    gammas : mapping
        λ for each γ.
    """
    present = [one for one in studies if one in stores]
    return [_compute_ratio(one, stores[one], gammas, len(studies)) for one in present]


def _compute_ratio(study: CorrectedStudy, url: str, gammas: Mapping[float, float], count: int) -> WidthRatio:
    axes = {"gamma": list(gammas), "lam": list(dict.fromkeys(gammas.values())), "alpha": list(ALPHA)}
    where: Where = {"procedure": list(CONFORMAL), "theta": [TRUE_THETA], **axes}
    cells = len(CONFORMAL) * len(gammas) * len(ALPHA) * count
    found = estimate(url, "relative_width", where, 1 - (1 - LEVEL) / cells).isel(theta=0, drop=True)
    each = [found.sel(gamma=[gamma], lam=lam, drop=True) for gamma, lam in gammas.items()]
    values = xr.concat(each, "gamma").sortby("n")
    return WidthRatio(study, values["n"].values.tolist(), values)


def make_studies(names: Sequence[str], test: str) -> list[CorrectedStudy]:
    """Return the corrected studies of some scenarios."""
    return [CorrectedStudy(name, test) for name in names]


@dataclass(frozen=True)
class CellCounts:
    """Number of cells with each kind of verdict, in all studies of a claim."""

    total: int
    holding: int
    """Valid or conservative."""
    borderline: int
    short: int


def count_cells(some: Sequence[ClaimPart]) -> CellCounts:
    """Count the cells of a claim by their verdicts."""
    holding, near, short = (
        sum(one.counts[each] for one in some for each in words)
        for words in ((VALID, CONSERVATIVE), (BORDERLINE,), (INVALID,))
    )
    return CellCounts(sum(one.cells for one in some), holding, near, short)
