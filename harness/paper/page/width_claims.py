"""The claims about widths as markup."""

from __future__ import annotations

from harness.paper.page import judging
from harness.paper.page.claims import Widths, widths_outcome
from harness.paper.page.columns import sheet
from harness.paper.page.coverage_claims import judgement, missing, said
from harness.paper.page.evidence import COMPARED, Found
from harness.paper.page.judging import Ratio
from harness.report.html.markup import Markup, tag
from harness.results.rounding import shown

_ALPHA = 0.1
"""Shown in the tables; all α are judged."""


def widths(claim: Widths, found: Found) -> Markup:
    """A claim, study by study."""
    some = found.ratios(claim)
    result = judgement(f"Conformal regions are {claim.words}", widths_outcome(claim, some))
    tables = [_table(claim, one) for one in some]
    return tag("div", *said(claim.title, claim.says), result, *tables, missing(found, COMPARED), class_="claim")


def _table(claim: Widths, one: Ratio) -> Markup:
    caption = (
        f"{one.study.scenario}, θ = 100, α = {_ALPHA:g}: conformal width by that of GPR-f in the same replication, "
        "median over replications ± its error (judged are all α, with intervals that hold together)."
    )
    heads = ("γ", "λ", "procedure", *(f"n = {n}" for n in one.sizes))
    rows = [
        ((f"{gamma:g}", f"{lam:g}", name), _cells(one, gamma, name))
        for gamma, lam in claim.lam.items()
        for name in judging.CONFORMAL
    ]
    return sheet(caption, heads, rows)


def _cells(one: Ratio, gamma: float, name: str) -> list[Markup]:
    here = one.values.sel(gamma=gamma, procedure=name, alpha=_ALPHA)
    texts = [shown(float(value), float(error), 0.01) for value, error in zip(here["value"], here["se"], strict=True)]
    return [tag("td", text) for text in texts]
