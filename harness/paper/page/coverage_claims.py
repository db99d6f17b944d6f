"""Render the claims about coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from markupsafe import Markup

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
from harness.paper.page.columns import TEMPLATES
from harness.paper.page.corrected import CorrectedStudy
from harness.paper.page.evidence import Evidence
from harness.paper.page.judging import ClaimPart
from harness.report.sections.verdict_cards import VerdictCounts, format_cell, list_counts
from harness.results.rounding import format_with_error

_PILLS = {
    AGREES: ("✓ as the paper says", "v"),
    UNREFUTED: ("✓ nothing against it", "v"),
    PARTLY: ("± in part", "c"),
    AGAINST: ("✗ not as the paper says", "i"),
    OPEN: ("? open", "u"),
}
"""Text and CSS class of each outcome."""


@dataclass(frozen=True)
class OutcomeLine:
    """Outcome of a claim in one line."""

    title: str
    text: str
    pill: str
    kind: str
    """CSS class of the pill."""


@dataclass(frozen=True)
class StudyRow:
    """Cells of one study: a row of a table."""

    study: str
    paths: int
    cells: int
    counts: VerdictCounts
    least: str
    most: str
    lowest: str


@dataclass(frozen=True)
class GroupResult:
    """Outcome of a group of cells, study by study."""

    title: str
    outcome: OutcomeLine
    rows: Sequence[StudyRow]
    missing: Sequence[str]
    """Commands of the studies that haven't been run."""


def render_coverage_claim(claim: Claim, found: Evidence) -> Markup:
    """Render a claim, group by group."""
    groups = [_judge_group(group, found) for group in claim.groups]
    return TEMPLATES.render("coverage_claim.html", claim=claim, groups=groups)


def make_outcome_line(title: str, result: ClaimOutcome) -> OutcomeLine:
    """Summarise the outcome of a claim in one line."""
    return OutcomeLine(title, result.text, *_PILLS[result.state])


def list_missing(found: Evidence, studies: Sequence[CorrectedStudy]) -> list[str]:
    """List the commands of the studies that haven't been run."""
    return [one.format_command(found.results) for one in studies if one not in found.stores]


def _judge_group(group: ClaimGroup, found: Evidence) -> GroupResult:
    some = found.list_parts(group)
    outcome = make_outcome_line(group.title, judge_group(group, some))
    return GroupResult(group.title, outcome, list(map(_make_row, some)), list_missing(found, group.studies))


def _make_row(one: ClaimPart) -> StudyRow:
    return StudyRow(
        study=one.study.scenario,
        paths=one.paths,
        cells=one.cells,
        counts=list_counts(one.counts),
        least=_format_points(one.least_shortfall) if not one.least_shortfall <= 0 else "none",
        most=_format_points(max(one.largest_shortfall, 0.0)),
        lowest=_format_lowest(one),
    )


def _format_points(share: float) -> str:
    return "–" if isnan(share) else f"{100 * share:.2f}"


def _format_lowest(one: ClaimPart) -> str:
    if one.worst is None:
        return "–"
    numbers = f"{format_with_error(one.worst.value, one.worst.se, 0.001)} for {one.worst.target:.4g}"
    return f"{one.worst.procedure}: {numbers}, at {format_cell(one.worst.cell)}"
