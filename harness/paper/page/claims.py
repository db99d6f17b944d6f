"""Define the paper's claims, the cells each one is about, and how the corrected studies decide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from harness.paper.page import judging
from harness.paper.page.corrected import GAUSSIAN, GRID, IID, NAMES, CorrectedStudy
from harness.paper.page.judging import Cells, ClaimPart, WidthRatio

AGREES, UNREFUTED, PARTLY, AGAINST, OPEN = "agrees", "unrefuted", "partly", "against", "open"
"""Outcomes of a claim."""
CLOSE = 0.1
"""Widths agree if their ratio differs from 1 by at most this."""
_OTHERS = [name for name in NAMES if name not in GAUSSIAN]


@dataclass(frozen=True)
class ClaimGroup:
    """Cells that are judged together."""

    title: str
    names: Sequence[str]
    """Scenarios of the corrected studies."""
    test: str
    """Layout of test points: `GRID` or `IID`."""
    cells: Cells
    holds: bool = True
    """Whether the claim is that all cells hold their level, or that some don't."""

    @property
    def studies(self) -> list[CorrectedStudy]:
        """Corrected studies that the group needs."""
        return [CorrectedStudy(name, self.test) for name in self.names]


@dataclass(frozen=True)
class Claim:
    """Claim of the paper about coverage, in our words."""

    title: str
    says: str
    groups: Sequence[ClaimGroup]


@dataclass(frozen=True)
class ClaimOutcome:
    """Outcome of a claim, with the counts behind it in words."""

    state: str
    """`AGREES`, `UNREFUTED` (some cells are undecided), `PARTLY`, `AGAINST` or `OPEN`."""
    text: str


def _is_conformal_fixed(found: xr.Dataset) -> xr.DataArray:
    return judging.is_conformal(found) & judging.is_fixed(found)


def _is_conformal_searched(found: xr.Dataset) -> xr.DataArray:
    return judging.is_conformal(found) & ~judging.is_fixed(found)


def _is_bayesian_right(found: xr.Dataset) -> xr.DataArray:
    return judging.is_bayesian(found) & judging.is_right(found)


def _is_bayesian_nearly_right(found: xr.Dataset) -> xr.DataArray:
    return judging.is_bayesian(found) & ~judging.is_fixed(found) & (found["gamma"] == found["lam"])


def _is_bayesian_wrong(found: xr.Dataset) -> xr.DataArray:
    return judging.is_bayesian(found) & judging.is_fixed(found) & ~judging.is_right(found)


CLAIMS = (
    Claim(
        "Conformal regions hold their level, whatever θ and λ",
        "They show no departure from the nominal level, with a wrong kernel or ridge, on Gaussian processes and on "
        "other functions; also in batch learning, for which the paper has no proof.",
        (
            ClaimGroup(
                "Test points from the training distribution, θ fixed: promised", NAMES, IID, _is_conformal_fixed
            ),
            ClaimGroup(
                "From that distribution, θ by maximum likelihood: not promised", NAMES, IID, _is_conformal_searched
            ),
            ClaimGroup(
                "Test points on a grid, as in the paper, θ fixed: not promised", NAMES, GRID, _is_conformal_fixed
            ),
            ClaimGroup("On a grid, θ by maximum likelihood: not promised", NAMES, GRID, _is_conformal_searched),
        ),
    ),
    Claim(
        "Bayesian intervals hold their level when the model is right",
        "On Gaussian processes, with the kernel and the noise known, GPR-f is approximately valid.",
        (
            ClaimGroup("θ = 100, the true value, and λ = γ", GAUSSIAN, GRID, _is_bayesian_right),
            ClaimGroup("θ by maximum likelihood, and λ = γ", GAUSSIAN, GRID, _is_bayesian_nearly_right),
        ),
    ),
    Claim(
        "Bayesian intervals don't hold their level when the model is wrong",
        "GPR-f is sensitive to θ, and not consistently valid on functions that aren't Gaussian processes.",
        (
            ClaimGroup("Gaussian processes, θ or λ wrong", GAUSSIAN, GRID, _is_bayesian_wrong, holds=False),
            ClaimGroup("Other functions, any θ and λ", _OTHERS, GRID, judging.is_bayesian, holds=False),
        ),
    ),
)


@dataclass(frozen=True)
class WidthClaim:
    """Claim about conformal widths relative to GPR-f, on Gaussian processes with the true θ."""

    title: str
    says: str
    lam: Mapping[float, float]
    """λ for each γ."""
    low: float
    high: float
    """The claim is that the ratio lies between `low` and `high`."""
    words: str
    """The range in words."""


WIDTHS = (
    WidthClaim(
        "Their widths agree, as n grows, when the model is right",
        "Conformal regions are asymptotically efficient: as wide as Bayesian intervals where those are valid, and "
        "the same for all kinds of residuals.",
        {1e-6: 1e-6, 1e-1: 1e-1},
        1 - CLOSE,
        1 + CLOSE,
        f"within {100 * CLOSE:g} % of each other",
    ),
    WidthClaim(
        "With little noise and a large λ, Bayesian intervals are wider",
        "Conformal regions estimate the noise from the scores, Bayesian intervals take it from λ.",
        {1e-6: 1e-1},
        0.0,
        1.0,
        "narrower than those of GPR-f",
    ),
)


def judge_group(group: ClaimGroup, some: Sequence[ClaimPart]) -> ClaimOutcome:
    """Judge a claim about coverage on the cells of one group."""
    cells = judging.count_cells(some)
    near = f", {cells.borderline} {'is' if cells.borderline == 1 else 'are'} borderline" if cells.borderline else ""
    if cells.short:
        text = f"{cells.short} of {cells.total} cells {'falls' if cells.short == 1 else 'fall'} short{near}"
        return ClaimOutcome(AGAINST if group.holds else AGREES, text)
    if not cells.holding + cells.borderline:
        none = f"none of {cells.total} cells can be decided with these paths"
        return ClaimOutcome(OPEN, none if cells.total else "not run yet")
    if cells.holding == cells.total:
        text = f"the level less the tolerance is held in all {cells.total} cells"
        return ClaimOutcome(AGREES if group.holds else AGAINST, text)
    held = f"{cells.holding} are shown to hold the level less the tolerance"
    text = f"none of {cells.total} cells is shown to fall short, {held}{near}"
    return ClaimOutcome(UNREFUTED if group.holds and cells.holding else OPEN, text)


def judge_widths(claim: WidthClaim, some: Sequence[WidthRatio]) -> ClaimOutcome:
    """Judge a claim about widths at the largest n, over γ, α and procedures, with simultaneous intervals."""
    if not some:
        return ClaimOutcome(OPEN, "not run yet")
    low, high = (np.concatenate([one.last[end].to_numpy().ravel() for one in some]) for end in ("low", "high"))
    inside = int(((low >= claim.low) & (high <= claim.high)).sum())
    outside = int(((low > claim.high) | (high < claim.low)).sum())
    n = ", ".join(f"n = {one.sizes[-1]} ({one.study.scenario})" for one in some)
    text = f"{inside} of {len(low)} ratios are shown to lie in this range at {n}, {outside} outside, others undecided"
    return ClaimOutcome(_get_state(inside, outside, len(low)), text)


def _get_state(inside: int, outside: int, total: int) -> str:
    if inside and outside:
        return PARTLY
    return AGAINST if outside else AGREES if inside == total else UNREFUTED if inside else OPEN
