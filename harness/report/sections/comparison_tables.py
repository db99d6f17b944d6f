"""Render what a comparison over studies found: tables of procedures × studies, ranks and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from harness.core.procedures import format_procedure, is_for_function
from harness.report.html.templating import TEMPLATES
from harness.report.sections.tables import Cell, Head, Row, render_sheet
from harness.report.sections.uncertainty import render_key
from harness.report.sections.verdict_cards import CLASSES, SYMBOLS
from harness.results.measures import make_relative_width
from harness.results.rounding import DASH
from harness.results.studies import notes
from harness.results.studies.benchmark import Benchmark
from harness.results.studies.comparison import StudyComparison
from harness.results.studies.tables import (
    COVERAGE,
    DEFAULT,
    DIFFERENCE,
    OVERALL,
    RANK,
    RELATIVE_WIDTH,
    Place,
    collect_cells,
)
from harness.results.tables import Cell as Entry

_ARROWS = {-1: " ↓", 0: "", 1: " ↑"}
"""Marks of differences that are shown to be below or above 0."""
_WON = {-1: CLASSES["valid"], 0: "", 1: CLASSES["invalid"]}
"""CSS classes of differences between ranked procedures."""
Entries = Mapping[Place, Entry]
"""Entries of the tables by study, procedure and measure."""


def collect_entries(made: Benchmark, design: str | None) -> Entries:
    """Estimate everything that the tables show."""
    return collect_cells(made, DEFAULT, is_judged=True, design=design)


def render_coverage(made: Benchmark, entries: Entries) -> Markup:
    """Render coverage with its verdicts."""

    def make_cell(one: StudyComparison, procedure: str) -> Cell:
        entry = entries.get((one.study.name, procedure, COVERAGE))
        if entry is None:
            return Cell(DASH)
        if is_for_function(procedure):
            return Cell(str(entry))
        verdict = one.get_verdict(procedure)
        return Cell(f"{entry} {SYMBOLS[verdict]}", CLASSES[verdict])

    caption = f"Coverage of y* ± Monte-Carlo standard error{_format_level(made)}, with the verdict on it."
    return _render_section(
        [_render_table(made, caption, make_cell)],
        key=render_key(one.judged for one in made.comparisons),
        texts=[f"{_to_sentence(notes.describe_verdicts(made))} Coverages aren't averaged over studies."],
        told=[*notes.describe_coverage(made), *notes.describe_functions(made)],
    )


def render_sizes(made: Benchmark, entries: Entries) -> Markup:
    """Render relative widths and interval scores."""
    captions = {
        RELATIVE_WIDTH: make_relative_width(made.reference).what,
        "interval_score": "interval (Winkler) score in units of y, smaller is better: mean over bounded regions",
    }
    tables = [
        _render_table(made, f"{_to_sentence(what)[:-1]}{_format_level(made)}.", _make_reader(entries, name))
        for name, what in captions.items()
    ]
    return _render_section(tables, told=notes.describe_levels(made))


def render_ranks(made: Benchmark, entries: Entries, command: str) -> Markup:
    """Render ranks with their means; procedures that aren't ranked have their verdict instead.

    `command` prints ranks by interval score.
    """

    def make_cell(one: StudyComparison, procedure: str) -> Cell:
        entry = entries.get((one.study.name, procedure, RANK))
        reason = one.left_out.get(procedure, "") if procedure in one.study.procedures else ""
        if entry is None and reason in CLASSES and reason:
            return Cell(f"{SYMBOLS[reason]} {reason}", CLASSES[reason])
        return Cell(DASH if entry is None else str(entry))

    caption = f"Ranks by {made.by.replace('_', ' ')}{_format_level(made)}."
    return _render_section(
        [_render_table(made, caption, make_cell, "mean rank", _make_overall(entries, RANK))],
        texts=[_to_sentence(notes.describe_ranks(made).removeprefix("rank: "))],
        told=[*notes.describe_left_out(made), f"ranks by interval score: {command}"],
    )


def render_differences(made: Benchmark, entries: Entries) -> Markup:
    """Render paired differences from the reference, with the number of studies in which each is better or worse."""

    def make_cell(one: StudyComparison, procedure: str) -> Cell:
        entry = entries.get((one.study.name, procedure, DIFFERENCE))
        if entry is None or procedure == made.reference:
            return Cell(DASH if entry is None else str(entry))
        sign = one.differences[procedure].sign
        is_ranked = {procedure, made.reference} <= one.ranks.keys()
        return Cell(f"{entry}{_ARROWS[sign]}", _WON[sign] if is_ranked else "")

    caption = (
        f"Paired differences of {made.by.replace('_', ' ')} from {made.reference}{_format_level(made)}, in units of y; "
        "↓ shown to be smaller, ↑ larger; coloured where both are ranked."
    )
    overall = _make_overall(entries, DIFFERENCE)
    return _render_section(
        [_render_table(made, caption, make_cell, "wins/ties/losses", overall)],
        texts=[_to_sentence(notes.describe_differences(made).removeprefix("difference: "))],
        told=notes.describe_looks(made),
    )


def _render_section(
    tables: Sequence[Markup], key: Markup | str = "", texts: Sequence[str] = (), told: Sequence[str] = ()
) -> Markup:
    return TEMPLATES.render("comparison.html", key=key, texts=texts, tables=tables, notes=[f"{text}." for text in told])


def _render_table(
    made: Benchmark,
    caption: str,
    make_cell: Callable[[StudyComparison, str], Cell],
    overall: str = "",
    summarise: Callable[[str], Cell] | None = None,
) -> Markup:
    """Render procedures × studies, and a last column if `summarise` is given."""
    heads = [Head("procedure"), *(Head(study.name) for study in made.studies), *([Head(overall)] if summarise else [])]
    rows = []
    for name in made.procedures:
        cells = [make_cell(one, name) for one in made.comparisons]
        rows.append(Row(format_procedure(name), [*cells, *([summarise(name)] if summarise else [])]))
    return render_sheet(caption, heads, rows)


def _make_reader(entries: Entries, measure: str) -> Callable[[StudyComparison, str], Cell]:
    return lambda one, procedure: Cell(str(entries.get((one.study.name, procedure, measure), DASH)))


def _make_overall(entries: Entries, measure: str) -> Callable[[str], Cell]:
    return lambda procedure: Cell(str(entries.get((OVERALL, procedure, measure), DASH)).removeprefix("mean "))


def _format_level(made: Benchmark) -> str:
    return f" at α = {made.studies[0].cell['alpha']:g}"


def _to_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
