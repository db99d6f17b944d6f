"""Render the claims about widths."""

from __future__ import annotations

from harness.paper.page import judging
from harness.paper.page.claims import WidthClaim, judge_widths
from harness.paper.page.columns import render_table
from harness.paper.page.coverage_claims import render_missing, render_outcome, render_statement
from harness.paper.page.evidence import COMPARED, Evidence
from harness.paper.page.judging import WidthRatio
from harness.report.html.markup import Markup, tag
from harness.results.rounding import format_with_error

_ALPHA = 0.1
"""α of the tables; all α are judged."""


def render_width_claim(claim: WidthClaim, found: Evidence) -> Markup:
    """Render a claim, study by study."""
    some = found.list_ratios(claim)
    result = render_outcome(f"Conformal regions are {claim.words}", judge_widths(claim, some))
    tables = [_render_table(claim, one) for one in some]
    return tag(
        "div",
        *render_statement(claim.title, claim.says),
        result,
        *tables,
        render_missing(found, COMPARED),
        class_="claim",
    )


def _render_table(claim: WidthClaim, one: WidthRatio) -> Markup:
    caption = (
        f"{one.study.scenario}, θ = 100, α = {_ALPHA:g}: conformal width relative to GPR-f in the same replication, "
        "median over replications ± its error (all α are judged, with simultaneous intervals)."
    )
    heads = ("γ", "λ", "procedure", *(f"n = {n}" for n in one.sizes))
    rows = [
        ((f"{gamma:g}", f"{lam:g}", name), _render_cells(one, gamma, name))
        for gamma, lam in claim.lam.items()
        for name in judging.CONFORMAL
    ]
    return render_table(caption, heads, rows)


def _render_cells(one: WidthRatio, gamma: float, name: str) -> list[Markup]:
    here = one.values.sel(gamma=gamma, procedure=name, alpha=_ALPHA)
    texts = [
        format_with_error(float(value), float(error), 0.01)
        for value, error in zip(here["value"], here["se"], strict=True)
    ]
    return [tag("td", text) for text in texts]
