"""Summarise the study in the first paragraph: which procedures hold their level, and which are the narrowest."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from harness.core.procedures import is_for_function
from harness.core.text import format_count
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import Facts
from harness.report.sections.verdict_cards import ProcedureVerdict, judge_procedures
from harness.report.sections.widths import summarise_widths
from harness.statistics.verdicts import BORDERLINE, INVALID, UNDECIDED


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
        _describe_broken_promises(facts),
        _describe_borderline(run),
        _describe_undecided(run),
    ]
    return " ".join(part for part in parts if part)


def _is_relevant(one: ProcedureVerdict) -> bool:
    """Return whether this verdict counts here: intervals for f(x*) are judged on f(x*) only."""
    return one.of == "f(x*)" or not is_for_function(one.name)


def _format_name(one: ProcedureVerdict) -> str:
    return one.name if one.of == "y*" else f"{one.name} (of {one.of})"


def _format_names(some: list[ProcedureVerdict]) -> str:
    return join_names([_format_name(one) for one in some])


def join_names(names: Sequence[str]) -> str:
    """Join names in words.

    Examples
    --------
    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _describe_holding(run: list[ProcedureVerdict]) -> str:
    good = [one for one in run if not one.counts[INVALID] and one.holding]
    if not good:
        return ""
    everywhere = all(one.holding == one.cells for one in good)
    is_near = any(one.counts[BORDERLINE] for one in good)
    some = "neither undecided nor borderline" if is_near else "decided"
    where = "in every cell" if everywhere else f"in every cell that {'is' if is_near else 'could be'} {some}"
    return f"{_format_names(good)} {'hold' if len(good) > 1 else 'holds'} the level less the tolerance τ {where}."


def _describe_shortfalls(run: list[ProcedureVerdict]) -> str:
    told = _list_counts(run, INVALID)
    return f"Coverage falls short for {told}." if told else ""


def _describe_broken_promises(facts: Facts) -> str:
    """Say how many shortfalls of procedures with an exact level are where its assumptions hold."""
    short = (facts.verdicts["verdict"] == INVALID) & facts.distinct & facts.verdicts["promised"]
    count, kept = int(short.sum()), int((short & facts.verdicts["exchangeable"]).sum())
    if not count:
        return ""
    cells = f"{format_count(count, 'cell')} of procedures with an exact level"
    why = "its assumptions don't hold (θ searched for on the training sample, test points on a grid or shifted)"
    if not kept:
        return f"The {cells} that fall short are all where {why}."
    return f"Of the {cells} that fall short, {kept} are where its assumptions hold; elsewhere {why}."


def _describe_borderline(run: list[ProcedureVerdict]) -> str:
    told = _list_counts(run, BORDERLINE)
    return f"Coverage is borderline, within τ/2 of the level less τ, for {told}." if told else ""


def _list_counts(run: list[ProcedureVerdict], verdict: str) -> str:
    """List the procedures that have a verdict in some cells, with the number of these."""
    some = [one for one in run if one.counts[verdict]]
    return "; ".join(
        f"{_format_name(one)} in {one.counts[verdict]} of {format_count(one.cells, 'cell')}" for one in some
    )


def _describe_undecided(run: list[ProcedureVerdict]) -> str:
    unknown = [one for one in run if one.counts[UNDECIDED] == one.cells]
    return f"Nothing can be said yet of {_format_names(unknown)}." if unknown else ""
