"""The page: all sections, with style and script inside, in one file that needs nothing else."""

from __future__ import annotations

from harness.report.html.choices import Section, together
from harness.report.html.document import document, links, written
from harness.report.html.markup import Markup, joined, tag
from harness.report.sections.design import asked, in_a_line
from harness.report.sections.facts import Facts, gathered
from harness.report.sections.figures import SETTINGS, pictures
from harness.report.sections.lead import lead
from harness.report.sections.provenance import failures, made
from harness.report.sections.tables import mad_table, sheets
from harness.report.sections.uncertainty import broken, key, level, sure
from harness.report.sections.verdict_cards import cards
from harness.report.sections.verdict_map import choices, verdict_map
from harness.results.replications import damage_text


def page(url: str, shown: str, settings: int = SETTINGS) -> str:
    """The report of a store, which the reader knows by the name `shown`; figures of so many settings."""
    facts = gathered(url)
    sections = [
        _verdicts(facts),
        _numbers(facts, shown),
        *([_figures(facts, shown, settings)] if settings else []),
        Section("asked", "What was asked", asked(facts)),
        Section("sure", "How sure it is", sure(facts)),
        Section("made", "How it was made", made(facts)),
    ]
    title = f"{facts.record.scenario.get('name', 'study')} – ckrr report"
    return document(title, _top(facts, sections), sections, written(f"ckrr report {shown}"), script=True)


def _top(facts: Facts, sections: list[Section]) -> Markup:
    scenario = facts.record.scenario
    said = str(scenario.get("description", "")).strip()
    return tag(
        "header",
        tag("h1", str(scenario.get("name", "study"))),
        tag("p", said, class_="soft") if said else Markup(""),
        tag("p", in_a_line(facts), class_="soft"),
        _unfinished(facts),
        _damaged(facts),
        lead(facts),
        _caveats(facts),
        links(sections),
    )


def _unfinished(facts: Facts) -> Markup:
    """A study that isn't complete says so before anything else."""
    share = facts.state["share_of_everything"]
    if share == 1 and facts.driver is None:
        return Markup("")
    done = "complete" if share == 1 else f"unfinished: {100 * share:.0f} % of its units are done"
    rest = joined(["No run is at work on it; ", tag("code", "ckrr run"), " goes on."])
    work = f"A run is at work on it now ({facts.driver})." if facts.driver else rest
    now = "All below is from what was there when this report was written, so it may change."
    return tag(
        "div", tag("p", tag("b", f"This study is {done}.")), tag("p", work, " ", now), class_="banner", role="note"
    )


def _damaged(facts: Facts) -> Markup:
    """Say that numbers were lost since they were written."""
    text = damage_text(facts.damaged)
    return tag("div", tag("p", text), class_="banner", role="note") if facts.damaged else Markup("")


def _caveats(facts: Facts) -> Markup:
    """What is measured where exchangeability is broken."""
    said = broken(facts)
    return tag("div", *(tag("p", text) for text in said), class_="banner caveat", role="note") if said else Markup("")


def _verdicts(facts: Facts) -> Section:
    body = together([key(), level(facts), cards(facts), tag("h3", "Where"), verdict_map(facts), failures(facts)])
    return Section("verdicts", "Verdicts", body, choices(facts).style())


def _numbers(facts: Facts, shown: str) -> Section:
    made = sheets(facts, f"ckrr table {shown}")
    body = together([made.markup, mad_table(facts, f"ckrr table {shown}")])
    return Section("numbers", "Numbers", body, made.style)


def _figures(facts: Facts, shown: str, settings: int) -> Section:
    made = pictures(facts, shown, settings)
    return Section("figures", "Figures", made.markup, made.style)
