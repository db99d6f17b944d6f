"""Assemble the report of a study from its sections."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote

from markupsafe import Markup

from harness.monitor.text import list_unrequested
from harness.report.differences import render_differences
from harness.report.explore.section import make_explore_section
from harness.report.html.choices import Section
from harness.report.html.document import LARGEST, render_document, render_footer
from harness.report.html.templating import TEMPLATES
from harness.report.sections.design import render_design, summarise_design
from harness.report.sections.facts import Facts, gather_facts
from harness.report.sections.figures import SETTINGS, render_figures
from harness.report.sections.lead import render_lead
from harness.report.sections.provenance import render_failures, render_provenance
from harness.report.sections.tables import render_mad_table, render_tables
from harness.report.sections.uncertainty import (
    describe_resampling,
    describe_reserves,
    describe_violations,
    render_key,
    render_level,
    render_uncertainty,
)
from harness.report.sections.verdict_cards import render_cards
from harness.report.sections.verdict_map import make_choices, render_verdict_map
from harness.results.replications import format_damage
from harness.store.heartbeat import Driver

_REST = 100_000
"""Bytes of a page besides its sections: header, style and scripts."""


@dataclass(frozen=True)
class Progress:
    """State of a study that isn't complete, or of which a run is active."""

    done: str
    """How much is done, in words."""
    driver: Driver | None


def render_page(
    url: str, shown: str, settings: int = SETTINGS, design: str | None = None, versus: str | None = None
) -> str:
    """Render the report of a store.

    Parameters
    ----------
    url : str
        Store.
    shown : str
        Name of the store in the commands that the report shows.
    settings : int
        Maximal number of combinations of γ, θ, λ and α to draw figures for; 0 for a report without figures.
    design : {"fixed", "anytime"}, optional
        Design of the verdicts. Default: as the study needs it.
    versus : str, optional
        Procedure that others are compared with. Default: GPR-f, or the first one for y*.
    """
    facts = gather_facts(url, design)
    verdicts, numbers, *others = [
        _make_verdicts_section(facts),
        _make_numbers_section(facts, quote(shown), versus),
        *([_make_figures_section(facts, quote(shown), settings)] if settings else []),
        Section("asked", "Study design", render_design(facts)),
        Section("sure", "Uncertainty", render_uncertainty(facts)),
        Section("made", "Provenance", render_provenance(facts)),
    ]
    room = LARGEST - _REST - sum(len(one.body.encode()) for one in (verdicts, numbers, *others))
    explore = make_explore_section(facts, shown, room)
    sections = [verdicts, numbers, *([explore] if explore else []), *others]
    title = f"{facts.manifest.scenario.get('name', 'study')} – ckrr report"
    return render_document(
        title,
        _render_header(facts, sections),
        sections,
        render_footer(_format_command(quote(shown), design, versus)),
        script=True,
    )


def _format_command(shown: str, design: str | None, versus: str | None) -> str:
    versus_option = f" --versus {quote(versus)}" if versus else ""
    return f"ckrr report {shown}{versus_option}{f' --design {design}' if design else ''}"


def _render_header(facts: Facts, sections: list[Section]) -> Markup:
    scenario = facts.manifest.scenario
    more = [f"{text[0].upper()}{text[1:]}." for text in list_unrequested(facts.state)]
    return TEMPLATES.render(
        "header.html",
        name=str(scenario.get("name", "study")),
        description=str(scenario.get("description", "")).strip(),
        design=summarise_design(facts),
        progress=_find_progress(facts),
        damage=format_damage(facts.damaged) if facts.damaged else "",
        lead=render_lead(facts),
        caveats=[*describe_resampling(facts), *describe_violations(facts), *describe_reserves(facts), *more],
        sections=sections,
    )


def _find_progress(facts: Facts) -> Progress | None:
    """Return None if the study is complete and no run is active."""
    share = facts.state["share_of_everything"]
    if share == 1 and facts.driver is None:
        return None
    done = "complete" if share == 1 else f"unfinished: {100 * share:.0f} % of its units are done"
    return Progress(done, facts.driver)


def _make_verdicts_section(facts: Facts) -> Section:
    body = TEMPLATES.render(
        "verdicts.html",
        key=render_key(facts.all_verdicts),
        level=render_level(facts),
        cards=render_cards(facts),
        map=render_verdict_map(facts),
        failures=render_failures(facts),
    )
    return Section("verdicts", "Verdicts", body, make_choices(facts).make_style())


def _make_numbers_section(facts: Facts, shown: str, versus: str | None) -> Section:
    made = render_tables(facts, f"ckrr table {shown}")
    mad = render_mad_table(facts, f"ckrr table {shown}")
    differences = render_differences(facts, f"ckrr table {shown}", versus)
    body = TEMPLATES.render("numbers.html", tables=made.markup, differences=differences, mad=mad)
    return Section("numbers", "Numbers", body, made.style)


def _make_figures_section(facts: Facts, shown: str, settings: int) -> Section:
    made = render_figures(facts, shown, settings)
    return Section("figures", "Figures", made.markup, made.style)
