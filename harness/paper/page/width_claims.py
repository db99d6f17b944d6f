"""Render the claims about widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from harness.paper.page import judging
from harness.paper.page.claims import WidthClaim, judge_widths
from harness.paper.page.columns import TEMPLATES
from harness.paper.page.coverage_claims import list_missing, make_outcome_line
from harness.paper.page.evidence import COMPARED, Evidence
from harness.paper.page.judging import WidthRatio
from harness.results.rounding import format_with_error

_ALPHA = 0.1
"""α of the tables; all α are judged."""


@dataclass(frozen=True)
class WidthRow:
    """Ratios of one procedure along n."""

    heads: Sequence[str]
    cells: Sequence[str]


@dataclass(frozen=True)
class WidthTable:
    """Ratios of one study."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[WidthRow]


def render_width_claim(claim: WidthClaim, found: Evidence) -> Markup:
    """Render a claim, study by study."""
    some = found.list_ratios(claim)
    return TEMPLATES.render(
        "width_claim.html",
        claim=claim,
        found=make_outcome_line(f"Conformal regions are {claim.words}", judge_widths(claim, some)),
        tables=[_make_table(claim, one) for one in some],
        not_run=list_missing(found, COMPARED),
    )


def _make_table(claim: WidthClaim, one: WidthRatio) -> WidthTable:
    caption = (
        f"{one.study.scenario}, θ = 100, α = {_ALPHA:g}: conformal width relative to GPR-f in the same replication, "
        "median over replications ± its error (all α are judged, with simultaneous intervals)."
    )
    heads = ("γ", "λ", "procedure", *(f"n = {n}" for n in one.sizes))
    rows = [
        WidthRow((f"{gamma:g}", f"{lam:g}", name), _format_ratios(one, gamma, name))
        for gamma, lam in claim.lam.items()
        for name in judging.CONFORMAL
    ]
    return WidthTable(caption, heads, rows)


def _format_ratios(one: WidthRatio, gamma: float, name: str) -> list[str]:
    here = one.values.sel(gamma=gamma, procedure=name, alpha=_ALPHA)
    return [
        format_with_error(float(value), float(error), 0.01)
        for value, error in zip(here["value"], here["se"], strict=True)
    ]
