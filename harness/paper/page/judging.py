"""What the corrected studies say about the paper's claims.

**Coverage.** A claim is of some cells, which are judged by the harness's verdicts: each cell's coverage against its
exact level where there is one, else against 1 − α, with a tolerance. The intervals of all cells of all corrected
studies hold together: each store has its own 1 − 0.05/S, S being the number of studies, and in it each cell its share
(Bonferroni, see `harness/results/verdicts.py`). So with probability at least 0.95 no verdict in the whole page is
wrong. From the same intervals come two bounds on the shortfall L − c of a claim's worst cell: it is at least `shown`,
and at most `possible`.

**Widths.** The width of a conformal region by that of GPR-f in the same replication, medians with intervals that hold
together over all cells of a claim at the largest n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from harness.core.labels import is_number
from harness.core.schema import CUBE_DIMS
from harness.core.types import Bools
from harness.paper.page.corrected import ALL, CorrectedStudy
from harness.paper.printed import ALPHA
from harness.report.sections.verdict_cards import WorstCell, find_worst
from harness.results.estimates import estimate
from harness.results.measures import REFERENCE
from harness.results.replications import Where
from harness.results.validity import EMPTY, INVALID, UNDECIDED, VERDICTS, verdicts
from harness.statistics.intervals import LEVEL

CONFORMAL = ("RRCM", "RRCM-loo", "CRR", "CRR-loo")
TRUE_THETA = "100"
"""Of the Gaussian processes."""
_EACH = 1 - (1 - LEVEL) / len(ALL)
"""The level of one study: whatever of them is run, so that more of them change no verdict."""

Cells = Callable[[xr.Dataset], xr.DataArray]
"""Which cells of a study a claim is of."""


@dataclass(frozen=True)
class ClaimPart:
    """A claim's cells of one study."""

    study: CorrectedStudy
    paths: int
    counts: Mapping[str, int]
    """Of each verdict."""
    least_shortfall: float
    """So much the worst cell falls short of its level at least; at most 0 if none is shown to."""
    largest_shortfall: float
    """No cell falls short by more."""
    worst: WorstCell | None

    @property
    def cells(self) -> int:
        """Those with a result."""
        return sum(self.counts[each] for each in VERDICTS)


def is_conformal(found: xr.Dataset) -> xr.DataArray:
    """Cells of conformal regions."""
    return found["procedure"].isin(CONFORMAL)


def is_bayesian(found: xr.Dataset) -> xr.DataArray:
    """Those of intervals for y* (GPR-p's are for f)."""
    return found["procedure"] == REFERENCE


def is_fixed(found: xr.Dataset) -> xr.DataArray:
    """Where θ isn't searched for on the train sample."""
    return xr.DataArray([is_number(text) for text in found["theta"].values.tolist()], coords={"theta": found["theta"]})


def is_right(found: xr.Dataset) -> xr.DataArray:
    """On a Gaussian process: its own θ, and as much noise as there is (unit variance, so λ = γ)."""
    return (found["theta"] == TRUE_THETA) & (found["gamma"] == found["lam"])


def judge_studies(stores: Mapping[CorrectedStudy, str]) -> dict[CorrectedStudy, xr.Dataset]:
    """Verdicts of every study that has a store."""
    return {one: verdicts(url, level=_EACH) for one, url in stores.items()}


def list_parts(
    found: Mapping[CorrectedStudy, xr.Dataset], studies: Sequence[CorrectedStudy], cells: Cells
) -> list[ClaimPart]:
    """A claim's cells of each study that was run."""
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
    """Conformal widths by Bayesian ones, of one study, at the n where they are compared."""

    study: CorrectedStudy
    sizes: Sequence[int]
    values: xr.Dataset
    """`value` and `se` at all n, with `low` and `high`, which hold together over all cells at the largest n."""

    @property
    def last(self) -> xr.Dataset:
        """At the largest n."""
        return self.values.isel(n=-1)


def list_ratios(
    stores: Mapping[CorrectedStudy, str], studies: Sequence[CorrectedStudy], gammas: Mapping[float, float]
) -> list[WidthRatio]:
    """Over procedure, γ (with its λ), n and α, θ being that of the process."""
    backend = [one for one in studies if one in stores]
    return [_compute_ratio(one, stores[one], gammas, len(studies)) for one in backend]


def _compute_ratio(study: CorrectedStudy, url: str, gammas: Mapping[float, float], count: int) -> WidthRatio:
    axes = {"gamma": list(gammas), "lam": list(dict.fromkeys(gammas.values())), "alpha": list(ALPHA)}
    where: Where = {"procedure": list(CONFORMAL), "theta": [TRUE_THETA], **axes}
    cells = len(CONFORMAL) * len(gammas) * len(ALPHA) * count
    found = estimate(url, "relative_width", where, 1 - (1 - LEVEL) / cells).isel(theta=0, drop=True)
    each = [found.sel(gamma=[gamma], lam=lam, drop=True) for gamma, lam in gammas.items()]
    values = xr.concat(each, "gamma").sortby("n")
    return WidthRatio(study, values["n"].values.tolist(), values)


def make_studies(names: Sequence[str], test: str) -> list[CorrectedStudy]:
    """By their names."""
    return [CorrectedStudy(name, test) for name in names]


def count_decided(some: Sequence[ClaimPart]) -> tuple[int, int, int]:
    """How many cells there are, are decided, and fall short."""
    total = sum(one.cells for one in some)
    return total, total - sum(one.counts[UNDECIDED] for one in some), sum(one.counts[INVALID] for one in some)
