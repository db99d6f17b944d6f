"""Render the page of `ckrr paper --report`: tables, figures, claims."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.backends.address import find_local_folder
from harness.paper.page.claims import CLAIMS, WIDTHS
from harness.paper.page.corrected import find_stores
from harness.paper.page.coverage_claims import render_coverage_claim
from harness.paper.page.evidence import Evidence
from harness.paper.page.figures import make_figures_section
from harness.paper.page.tables import make_tables_section
from harness.paper.page.width_claims import render_width_claim
from harness.paper.summary import PaperReport
from harness.paper.text import format_match_count
from harness.report.html.choices import Section, join_parts
from harness.report.html.document import render_document, render_footer, render_links
from harness.report.html.markup import Markup, tag
from harness.report.sections.uncertainty import render_key
from harness.statistics.intervals import LEVEL

_TITLE = "Conformalized Kernel Ridge Regression, reproduced"
_LEAD = "Burnaev & Nazarov (2016), arXiv:1609.05959: its four tables and eight figures on the author's random numbers."
_READING = (
    "The paper has one path of each Gaussian process and 25 replications, too few to estimate errors. These are the "
    "studies of its text (γ the variance of the noise, gp in 2-d on [−1, 1]², widths of hulls, θ by a global search), "
    "smaller, with many independent paths. Coverage is compared with the exact finite-sample level where a procedure "
    f"has one, else with 1 − α. With probability at least {LEVEL:g} no verdict on coverage in this page is wrong: "
    "the intervals of all cells of all studies are simultaneous (Bonferroni). More paths decide more cells: "
)
_MORE = "ckrr run gp1 --set replications.paths=1000"


class PaperPage:
    """Report on the paper.

    Parameters
    ----------
    report : PaperReport
        Printed numbers and ours.
    figures : mapping
        URL of the store of each study that the figures need.
    results : str
        Folder of the stores of the corrected studies.
    quick : bool
        Whether the report was made with `--quick`.
    """

    def __init__(self, report: PaperReport, figures: Mapping[str, str], results: str, quick: bool) -> None:
        self.report, self.figures, self.quick = report, figures, quick
        self.found = Evidence(find_stores(results), results)

    def render(self) -> str:
        """Render the page as one HTML file without scripts."""
        sections = [
            make_tables_section(self.report),
            make_figures_section(self.figures, self.quick),
            self._make_claims_section(),
        ]
        top = tag(
            "header", tag("h1", _TITLE), tag("p", _LEAD, class_="soft"), self._render_lead(), render_links(sections)
        )
        command = f"ckrr paper --report{' --quick' if self.quick else ''}"
        return render_document(f"{_TITLE} – ckrr", top, sections, render_footer(command))

    def _render_lead(self) -> Markup:
        counted = format_match_count(self.report.numbers).capitalize()
        looked = " This is a first look (--quick): a part of the numbers, and figures up to n = 400." * self.quick
        return tag("p", f"{counted}.{looked}", class_="lead")

    def _make_claims_section(self) -> Section:
        parts = [
            *(render_coverage_claim(one, self.found) for one in CLAIMS),
            *(render_width_claim(one, self.found) for one in WIDTHS),
        ]
        body = join_parts([tag("p", _READING, tag("code", _MORE)), render_key(), *parts])
        return Section("claims", "Its claims, judged on many paths", body)


def get_default_file(results: str) -> Path:
    """Return the default file: beside local stores, otherwise in the current folder."""
    return find_local_folder(results) / "paper.html"
