"""Assemble the report of a study from its sections."""

from __future__ import annotations

from harness.report.html.choices import Section, join_parts
from harness.report.html.document import render_document, render_footer, render_links
from harness.report.html.markup import Markup, join_markup, tag
from harness.report.sections.design import render_design, summarise_design
from harness.report.sections.facts import Facts, gather_facts
from harness.report.sections.figures import SETTINGS, render_figures
from harness.report.sections.lead import render_lead
from harness.report.sections.provenance import render_failures, render_provenance
from harness.report.sections.tables import render_mad_table, render_tables
from harness.report.sections.uncertainty import describe_violations, render_key, render_level, render_uncertainty
from harness.report.sections.verdict_cards import render_cards
from harness.report.sections.verdict_map import make_choices, render_verdict_map
from harness.results.replications import format_damage


def render_page(url: str, shown: str, settings: int = SETTINGS) -> str:
    """Render the report of a store.

    Parameters
    ----------
    url : str
        Store.
    shown : str
        Name of the store in the commands that the report shows.
    settings : int
        Maximal number of combinations of γ, θ, λ and α to draw figures for; 0 for a report without figures.
    """
    facts = gather_facts(url)
    sections = [
        _make_verdicts_section(facts),
        _make_numbers_section(facts, shown),
        *([_make_figures_section(facts, shown, settings)] if settings else []),
        Section("asked", "Study design", render_design(facts)),
        Section("sure", "Uncertainty", render_uncertainty(facts)),
        Section("made", "Provenance", render_provenance(facts)),
    ]
    title = f"{facts.manifest.scenario.get('name', 'study')} – ckrr report"
    return render_document(
        title, _render_header(facts, sections), sections, render_footer(f"ckrr report {shown}"), script=True
    )


def _render_header(facts: Facts, sections: list[Section]) -> Markup:
    scenario = facts.manifest.scenario
    said = str(scenario.get("description", "")).strip()
    return tag(
        "header",
        tag("h1", str(scenario.get("name", "study"))),
        tag("p", said, class_="soft") if said else Markup(""),
        tag("p", summarise_design(facts), class_="soft"),
        _render_progress_banner(facts),
        _render_damage_banner(facts),
        render_lead(facts),
        _render_caveats(facts),
        render_links(sections),
    )


def _render_progress_banner(facts: Facts) -> Markup:
    """Render a banner if the study isn't complete or a run is active."""
    share = facts.state["share_of_everything"]
    if share == 1 and facts.driver is None:
        return Markup("")
    done = "complete" if share == 1 else f"unfinished: {100 * share:.0f} % of its units are done"
    rest = join_markup(["No run is active; ", tag("code", "ckrr run"), " resumes it."])
    work = f"A run is active ({facts.driver})." if facts.driver else rest
    now = "The numbers below are from the results at the time of this report, and may change."
    return tag(
        "div", tag("p", tag("b", f"This study is {done}.")), tag("p", work, " ", now), class_="banner", role="note"
    )


def _render_damage_banner(facts: Facts) -> Markup:
    """Render a banner if results have been lost since they were written."""
    text = format_damage(facts.damaged)
    return tag("div", tag("p", text), class_="banner", role="note") if facts.damaged else Markup("")


def _render_caveats(facts: Facts) -> Markup:
    """Render a banner about broken exchangeability."""
    said = describe_violations(facts)
    return tag("div", *(tag("p", text) for text in said), class_="banner caveat", role="note") if said else Markup("")


def _make_verdicts_section(facts: Facts) -> Section:
    body = join_parts(
        [
            render_key(),
            render_level(facts),
            render_cards(facts),
            tag("h3", "Where"),
            render_verdict_map(facts),
            render_failures(facts),
        ]
    )
    return Section("verdicts", "Verdicts", body, make_choices(facts).make_style())


def _make_numbers_section(facts: Facts, shown: str) -> Section:
    made = render_tables(facts, f"ckrr table {shown}")
    body = join_parts([made.markup, render_mad_table(facts, f"ckrr table {shown}")])
    return Section("numbers", "Numbers", body, made.style)


def _make_figures_section(facts: Facts, shown: str, settings: int) -> Section:
    made = render_figures(facts, shown, settings)
    return Section("figures", "Figures", made.markup, made.style)
