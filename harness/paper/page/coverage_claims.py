"""The claims about coverage as markup."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from harness.paper.page.claims import AGAINST, AGREES, OPEN, PARTLY, UNREFUTED, Claim, Group, Outcome, outcome
from harness.paper.page.columns import sheet
from harness.paper.page.corrected import Corrected
from harness.paper.page.evidence import Found
from harness.paper.page.judging import Part
from harness.report.html.markup import Markup, items, joined, tag
from harness.report.sections.verdict_cards import bar, counts_text, place
from harness.results.rounding import shown

_PILLS = {
    AGREES: ("✓ as the paper says", "v"),
    UNREFUTED: ("✓ nothing against it", "v"),
    PARTLY: ("± in part", "c"),
    AGAINST: ("✗ not as the paper says", "i"),
    OPEN: ("? open", "u"),
}
_HEADS = ("study", "paths", "cells", "verdicts", "worst shortfall at least", "at most", "lowest cell against its level")


def covering(claim: Claim, found: Found) -> Markup:
    """A claim, group by group."""
    groups = [part for group in claim.groups for part in _group(group, found)]
    return tag("div", *said(claim.title, claim.says), *groups, class_="claim")


def said(title: str, says: str) -> list[Markup]:
    """What the paper claims."""
    return [tag("h3", title), tag("p", tag("b", "The paper: "), says)]


def judgement(title: str, result: Outcome) -> Markup:
    """What was found of it, in a line."""
    words, name = _PILLS[result.state]
    return tag("p", tag("b", title), ": ", result.text, ". ", tag("span", words, class_=f"pill {name}"))


def missing(found: Found, studies: Sequence[Corrected]) -> Markup:
    """A line for each study that wasn't run."""
    absent = [one.command(found.results) for one in studies if one not in found.stores]
    lines = [joined(["Not run yet: ", tag("code", command)]) for command in absent]
    return items(lines, class_="note") if lines else Markup("")


def _group(group: Group, found: Found) -> list[Markup]:
    some = found.parts(group)
    caption = f"{group.title}. Shortfalls are in points of %, from intervals that hold together."
    table = [sheet(caption, _HEADS, [([one.study.scenario], _cells(one)) for one in some])] if some else []
    return [judgement(group.title, outcome(group, some)), *table, missing(found, group.studies)]


def _cells(one: Part) -> list[Markup]:
    verdicts = tag("td", bar(one.counts), tag("span", counts_text(one.counts), class_="counts"), class_="verdicts")
    least = _points(one.shown) if not one.shown <= 0 else "none"
    numbers = [tag("td", text) for text in (str(one.paths), str(one.cells))]
    bounds = [tag("td", text) for text in (least, _points(max(one.possible, 0.0)))]
    return [*numbers, verdicts, *bounds, tag("td", _lowest(one), class_="said")]


def _points(share: float) -> str:
    return "–" if isnan(share) else f"{100 * share:.2f}"


def _lowest(one: Part) -> str:
    if one.worst is None:
        return "–"
    numbers = f"{shown(one.worst.value, one.worst.se, 0.001)} for {one.worst.target:.4g}"
    return f"{one.worst.procedure}: {numbers}, at {place(one.worst.cell)}"
