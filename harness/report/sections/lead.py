"""Summarise the study in the first paragraph: which procedures hold their level, and which are the narrowest."""

from __future__ import annotations

from markupsafe import Markup

from harness.core.procedures import is_for_function
from harness.core.text import format_count
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import Facts
from harness.report.sections.verdict_cards import ProcedureVerdict, judge_procedures
from harness.report.sections.widths import summarise_widths
from harness.statistics.verdicts import INVALID, UNDECIDED


def render_lead(facts: Facts) -> Markup:
    """Render the summary in a few sentences."""
    widths = summarise_widths(facts)
    return TEMPLATES.render("lead.html", texts=[_describe_verdicts(facts), widths.headline], note=widths.note)


def _describe_verdicts(facts: Facts) -> str:
    found = [one for one in judge_procedures(facts) if _is_relevant(one)]
    run = [one for one in found if one.cells]
    if not run:
        return "Nothing has been run yet, so there is nothing to judge."
    parts = [
        _describe_holding(run),
        _describe_shortfalls(run),
        _describe_undecided(run),
    ]
    return " ".join(part for part in parts if part)


def _is_relevant(one: ProcedureVerdict) -> bool:
    """Return whether this verdict counts here: intervals for f(x*) are judged on f(x*) only."""
    return one.of == "f(x*)" or not is_for_function(one.name)


def _format_name(one: ProcedureVerdict) -> str:
    return one.name if one.of == "y*" else f"{one.name} (of {one.of})"


def _format_names(some: list[ProcedureVerdict]) -> str:
    *most, last = [_format_name(one) for one in some]
    return f"{', '.join(most)} and {last}" if most else last


def _describe_holding(run: list[ProcedureVerdict]) -> str:
    good = [one for one in run if not one.counts[INVALID] and one.counts[UNDECIDED] < one.cells]
    if not good:
        return ""
    everywhere = all(not one.counts[UNDECIDED] for one in good)
    where = "in every cell" if everywhere else "in every cell that could be decided"
    return f"{_format_names(good)} {'hold' if len(good) > 1 else 'holds'} the level less the tolerance τ {where}."


def _describe_shortfalls(run: list[ProcedureVerdict]) -> str:
    bad = [one for one in run if one.counts[INVALID]]
    told = [f"{_format_name(one)} in {one.counts[INVALID]} of {format_count(one.cells, 'cell')}" for one in bad]
    return f"Coverage falls short for {'; '.join(told)}." if told else ""


def _describe_undecided(run: list[ProcedureVerdict]) -> str:
    unknown = [one for one in run if one.counts[UNDECIDED] == one.cells]
    return f"Nothing can be said yet of {_format_names(unknown)}." if unknown else ""
