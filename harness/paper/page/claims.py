"""The paper's claims: of which cells each is, and what the corrected studies say of it in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from harness.paper.page import judging
from harness.paper.page.corrected import GAUSSIAN, GRID, IID, NAMES, Corrected
from harness.paper.page.judging import Cells, Part, Ratio

AGREES, UNREFUTED, PARTLY, AGAINST, OPEN = "agrees", "unrefuted", "partly", "against", "open"
CLOSE = 0.1
"""Widths agree if their ratio is within so much of 1."""
_OTHERS = [name for name in NAMES if name not in GAUSSIAN]


@dataclass(frozen=True)
class Group:
    """Cells that are judged together."""

    title: str
    names: Sequence[str]
    test: str
    cells: Cells
    holds: bool = True
    """Whether the claim is that they hold their level, or that some don't."""

    @property
    def studies(self) -> list[Corrected]:
        """Those that it takes."""
        return [Corrected(name, self.test) for name in self.names]


@dataclass(frozen=True)
class Claim:
    """What the paper says, in our words."""

    title: str
    says: str
    groups: Sequence[Group]


@dataclass(frozen=True)
class Outcome:
    """What was found."""

    state: str
    """`AGREES`, `UNREFUTED` (some cells are undecided), `PARTLY`, `AGAINST` or `OPEN`."""
    text: str


def _conformal_fixed(found: xr.Dataset) -> xr.DataArray:
    return judging.is_conformal(found) & judging.is_fixed(found)


def _conformal_searched(found: xr.Dataset) -> xr.DataArray:
    return judging.is_conformal(found) & ~judging.is_fixed(found)


def _right(found: xr.Dataset) -> xr.DataArray:
    return judging.is_bayesian(found) & judging.is_right(found)


def _nearly_right(found: xr.Dataset) -> xr.DataArray:
    return judging.is_bayesian(found) & ~judging.is_fixed(found) & (found["gamma"] == found["lam"])


def _wrong(found: xr.Dataset) -> xr.DataArray:
    return judging.is_bayesian(found) & judging.is_fixed(found) & ~judging.is_right(found)


CLAIMS = (
    Claim(
        "Conformal regions hold their level, whatever θ and λ",
        "They show no departure from the level that was asked for, with a wrong kernel or ridge, on Gaussian processes "
        "and on other functions; in batch learning, too, for which the paper knows no proof.",
        (
            Group("Test points from the law of the train points, θ fixed: promised", NAMES, IID, _conformal_fixed),
            Group("From that law, θ the most likely on train points: not promised", NAMES, IID, _conformal_searched),
            Group("Test points on a grid, as in the paper, θ fixed: not promised", NAMES, GRID, _conformal_fixed),
            Group("On a grid, θ the most likely on train points: not promised", NAMES, GRID, _conformal_searched),
        ),
    ),
    Claim(
        "Bayesian intervals hold theirs when the model is right",
        "On Gaussian processes, with the kernel and the noise known, GPR-f is about valid.",
        (
            Group("θ = 100, which is the process's, and λ = γ", GAUSSIAN, GRID, _right),
            Group("θ the most likely on the train sample, and λ = γ", GAUSSIAN, GRID, _nearly_right),
        ),
    ),
    Claim(
        "Bayesian intervals don't hold theirs when the model is wrong",
        "GPR-f is sensitive to θ, and not consistently valid on functions that are no Gaussian process.",
        (
            Group("Gaussian processes, θ or λ another than the data's", GAUSSIAN, GRID, _wrong, holds=False),
            Group("Other functions, any θ and λ", _OTHERS, GRID, judging.is_bayesian, holds=False),
        ),
    ),
)


@dataclass(frozen=True)
class Widths:
    """A claim about conformal widths by Bayesian ones, on Gaussian processes, with the process's θ."""

    title: str
    says: str
    lam: Mapping[float, float]
    """For each γ the λ."""
    low: float
    high: float
    """It says that the ratio is between these."""
    words: str


WIDTHS = (
    Widths(
        "Their widths agree, as n grows, when the model is right",
        "Conformal regions are asymptotically efficient: as wide as Bayesian intervals where those are valid, and "
        "alike whatever the residuals.",
        {1e-6: 1e-6, 1e-1: 1e-1},
        1 - CLOSE,
        1 + CLOSE,
        f"within {100 * CLOSE:g} % of each other",
    ),
    Widths(
        "With little noise and a large λ Bayesian intervals are the wider ones",
        "Conformal regions take the noise from the scores, Bayesian intervals from λ.",
        {1e-6: 1e-1},
        0.0,
        1.0,
        "narrower than those of GPR-f",
    ),
)


def outcome(group: Group, some: Sequence[Part]) -> Outcome:
    """Of a group's cells."""
    total, decided, bad = judging.decided(some)
    if not decided:
        return Outcome(OPEN, "not run yet" if not total else f"none of {total} cells can be decided with these paths")
    if bad:
        return Outcome(
            AGAINST if group.holds else AGREES, f"{bad} of {total} cells {'falls' if bad == 1 else 'fall'} short"
        )
    if decided == total:
        return Outcome(AGREES if group.holds else AGAINST, f"the level is held in all {total} cells")
    text = f"none of {total} cells is shown to fall short, {decided} are shown to hold the level"
    return Outcome(UNREFUTED if group.holds else OPEN, text)


def widths_outcome(claim: Widths, some: Sequence[Ratio]) -> Outcome:
    """At the largest n, over γ, α and procedures; intervals hold together."""
    if not some:
        return Outcome(OPEN, "not run yet")
    low, high = (np.concatenate([one.last[end].to_numpy().ravel() for one in some]) for end in ("low", "high"))
    inside = int(((low >= claim.low) & (high <= claim.high)).sum())
    outside = int(((low > claim.high) | (high < claim.low)).sum())
    n = ", ".join(f"n = {one.sizes[-1]} ({one.study.scenario})" for one in some)
    text = f"{inside} of {len(low)} ratios are shown to be so at {n}, {outside} not to be, the others are open"
    return Outcome(_state(inside, outside, len(low)), text)


def _state(inside: int, outside: int, total: int) -> str:
    if inside and outside:
        return PARTLY
    return AGAINST if outside else AGREES if inside == total else UNREFUTED if inside else OPEN
