"""Render the claims about coverage."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from harness.paper.page.claims import (
    AGAINST,
    AGREES,
    OPEN,
    PARTLY,
    UNREFUTED,
    Claim,
    ClaimGroup,
    ClaimOutcome,
    judge_group,
)
from harness.paper.page.columns import render_table
from harness.paper.page.corrected import CorrectedStudy
from harness.paper.page.evidence import Evidence
from harness.paper.page.judging import ClaimPart
from harness.report.html.markup import Markup, join_markup, render_list, tag
from harness.report.sections.verdict_cards import format_cell, render_bar, render_counts
from harness.results.rounding import format_with_error

_PILLS = {
    AGREES: ("✓ as the paper says", "v"),
    UNREFUTED: ("✓ nothing against it", "v"),
    PARTLY: ("± in part", "c"),
    AGAINST: ("✗ not as the paper says", "i"),
    OPEN: ("? open", "u"),
}
"""Text and CSS class of each outcome."""
_HEADS = ("study", "paths", "cells", "verdicts", "worst shortfall at least", "at most", "lowest cell against its level")


def render_coverage_claim(claim: Claim, found: Evidence) -> Markup:
    """Render a claim, group by group."""
    groups = [part for group in claim.groups for part in _render_group(group, found)]
    return tag("div", *render_statement(claim.title, claim.says), *groups, class_="claim")


def render_statement(title: str, says: str) -> list[Markup]:
    """Render the title of a claim and what the paper says."""
    return [tag("h3", title), tag("p", tag("b", "The paper: "), says)]


def render_outcome(title: str, result: ClaimOutcome) -> Markup:
    """Render the outcome of a claim in one line."""
    words, name = _PILLS[result.state]
    return tag("p", tag("b", title), ": ", result.text, ". ", tag("span", words, class_=f"pill {name}"))


def render_missing(found: Evidence, studies: Sequence[CorrectedStudy]) -> Markup:
    """List the commands of the studies that haven't been run."""
    absent = [one.format_command(found.results) for one in studies if one not in found.stores]
    lines = [join_markup(["Not run yet: ", tag("code", command)]) for command in absent]
    return render_list(lines, class_="note") if lines else Markup("")


def _render_group(group: ClaimGroup, found: Evidence) -> list[Markup]:
    some = found.list_parts(group)
    caption = f"{group.title}. Shortfalls are in percentage points, from simultaneous intervals."
    table = (
        [render_table(caption, _HEADS, [([one.study.scenario], _render_cells(one)) for one in some])] if some else []
    )
    return [render_outcome(group.title, judge_group(group, some)), *table, render_missing(found, group.studies)]


def _render_cells(one: ClaimPart) -> list[Markup]:
    verdicts = tag(
        "td", render_bar(one.counts), tag("span", render_counts(one.counts), class_="counts"), class_="verdicts"
    )
    least = _format_points(one.least_shortfall) if not one.least_shortfall <= 0 else "none"
    numbers = [tag("td", text) for text in (str(one.paths), str(one.cells))]
    bounds = [tag("td", text) for text in (least, _format_points(max(one.largest_shortfall, 0.0)))]
    return [*numbers, verdicts, *bounds, tag("td", _format_lowest(one), class_="said")]


def _format_points(share: float) -> str:
    return "–" if isnan(share) else f"{100 * share:.2f}"


def _format_lowest(one: ClaimPart) -> str:
    if one.worst is None:
        return "–"
    numbers = f"{format_with_error(one.worst.value, one.worst.se, 0.001)} for {one.worst.target:.4g}"
    return f"{one.worst.procedure}: {numbers}, at {format_cell(one.worst.cell)}"
