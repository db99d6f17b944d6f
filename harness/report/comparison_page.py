"""Assemble the report of several studies from its sections."""

from __future__ import annotations

from collections.abc import Sequence

from harness.parsing.selections import Selection, parse_where
from harness.report.html.choices import Section
from harness.report.html.document import render_document, render_footer
from harness.report.html.templating import TEMPLATES
from harness.report.sections.comparison_lead import render_comparison_lead, render_studies
from harness.report.sections.comparison_tables import (
    collect_entries,
    render_coverage,
    render_differences,
    render_ranks,
    render_sizes,
)
from harness.report.sections.lead import join_names
from harness.results.studies import notes
from harness.results.studies.benchmark import Benchmark, make_benchmark


def render_comparison(
    stores: Sequence[str],
    shown: Sequence[str],
    where: Selection | None = None,
    versus: str | None = None,
    design: str | None = None,
) -> str:
    """Render the report of several studies.

    Parameters
    ----------
    stores : sequence of str
        Stores.
    shown : sequence of str
        Names of the stores in the commands that the report shows.
    where, versus, design
        As for `harness.results.studies.benchmark.make_benchmark`.
    """
    stores_and_options = _format_options(shown, where, versus, design)
    made = make_benchmark(stores, where, versus, design=design)
    entries = collect_entries(made, design)
    sections = [
        Section("coverage", "Coverage", render_coverage(made, entries)),
        Section("sizes", "Width and score", render_sizes(made, entries)),
        Section(
            "ranks",
            "Ranks",
            render_ranks(made, entries, f"ckrr table {stores_and_options} --measure interval_score,rank"),
        ),
        Section("differences", "Paired differences", render_differences(made, entries)),
        Section("studies", "Studies", render_studies(made, shown)),
    ]
    names = [study.name for study in made.studies]
    header = TEMPLATES.render(
        "header.html",
        name=f"Comparison of {len(names)} studies",
        description=join_names(names),
        design=f"One cell of each procedure and study, at α = {made.studies[0].cell['alpha']:g}; see Studies",
        progress=None,
        damage="",
        lead=render_comparison_lead(made),
        caveats=[f"{text}." for text in _list_caveats(made)],
        sections=sections,
    )
    footer = render_footer(f"ckrr report {stores_and_options}")
    return render_document(f"{join_names(names)} – ckrr report", header, sections, footer, script=True)


def _list_caveats(made: Benchmark) -> list[str]:
    return [*notes.describe_conditions(made), *notes.describe_unused(made), *notes.describe_studies(made)]


def _format_options(shown: Sequence[str], where: Selection | None, versus: str | None, design: str | None) -> str:
    """Return the stores and options of a command."""
    selected = ",".join(f"{axis}={','.join(map(str, values))}" for axis, values in parse_where(where).items())
    options = {"--where": selected, "--versus": versus, "--design": design}
    return " ".join([*shown, *(f"{option} {value}" for option, value in options.items() if value)])
