"""Summarise the verdicts in the first paragraph: which procedures hold their level, and which don't."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from harness.core.procedures import is_for_function
from harness.core.text import format_count
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import Facts
from harness.report.sections.verdict_cards import ProcedureVerdict, judge_procedures
from harness.statistics.verdicts import INVALID, UNDECIDED


def render_lead(facts: Facts) -> Markup:
    """Render the summary in a few sentences."""
    return TEMPLATES.render("lead.html", text=_describe_verdicts(facts))


def _describe_verdicts(facts: Facts) -> str:
    found = [one for one in judge_procedures(facts) if _is_relevant(one)]
    run = [one for one in found if one.cells]
    if not run:
        return "Nothing has been run yet, so there is nothing to judge."
    parts = [
        _describe_holding(run),
        _describe_shortfalls(run),
        _describe_undecided(run),
        _describe_narrowest(facts, run),
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
    return f"{_format_names(good)} {'hold' if len(good) > 1 else 'holds'} the level {where}."


def _describe_shortfalls(run: list[ProcedureVerdict]) -> str:
    bad = [one for one in run if one.counts[INVALID]]
    told = [f"{_format_name(one)} in {one.counts[INVALID]} of {format_count(one.cells, 'cell')}" for one in bad]
    return f"Coverage falls short for {'; '.join(told)}." if told else ""


def _describe_undecided(run: list[ProcedureVerdict]) -> str:
    unknown = [one for one in run if one.counts[UNDECIDED] == one.cells]
    return f"Nothing can be said yet of {_format_names(unknown)}." if unknown else ""


def _describe_narrowest(facts: Facts, run: list[ProcedureVerdict]) -> str:
    """Name the procedure that is narrowest most often, among those that hold their level."""
    good = [one.name for one in run if one.of == "y*" and not one.counts[INVALID] and one.counts[UNDECIDED] < one.cells]
    if len(good) < 2:
        return ""
    widths = facts.measures["width"]["value"].sel(procedure=good).values
    comparable = np.isfinite(widths).all(axis=0)
    if not comparable.any():
        return ""
    wins = np.bincount(widths[:, comparable].argmin(axis=0), minlength=len(good)) / comparable.sum()
    best = int(wins.argmax())
    share = f"in {100 * wins[best]:.0f} % of the cells"
    return f"Of those that hold, {good[best]} is the narrowest most often: {share}, by median width."
