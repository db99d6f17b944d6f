"""Render the page of `ckrr paper --report`: tables, figures, claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from harness.backends.address import find_local_folder
from harness.paper.page.claims import CLAIMS, WIDTHS
from harness.paper.page.columns import TEMPLATES
from harness.paper.page.corrected import find_stores
from harness.paper.page.coverage_claims import render_coverage_claim
from harness.paper.page.evidence import Evidence
from harness.paper.page.figures import make_figures_section
from harness.paper.page.tables import make_tables_section
from harness.paper.page.width_claims import render_width_claim
from harness.paper.summary import PaperReport
from harness.paper.text import format_match_count
from harness.report.html.choices import Section
from harness.report.html.document import render_document, render_footer
from harness.report.sections.uncertainty import render_key
from harness.statistics.intervals import LEVEL

_TITLE = "Conformalized Kernel Ridge Regression, reproduced"


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
        command = f"ckrr paper --report{' --quick' if self.quick else ''}"
        return render_document(f"{_TITLE} – ckrr", self._render_header(sections), sections, render_footer(command))

    def _render_header(self, sections: Sequence[Section]) -> Markup:
        matches = format_match_count(self.report.numbers).capitalize()
        return TEMPLATES.render("paper_header.html", title=_TITLE, matches=matches, quick=self.quick, sections=sections)

    def _make_claims_section(self) -> Section:
        claims = [
            *(render_coverage_claim(one, self.found) for one in CLAIMS),
            *(render_width_claim(one, self.found) for one in WIDTHS),
        ]
        body = TEMPLATES.render(
            "claims.html", level=f"{LEVEL:g}", key=render_key(self.found.judged.values()), claims=claims
        )
        return Section("claims", "Its claims, judged on many paths", body)


def get_default_file(results: str) -> Path:
    """Return the default file: beside local stores, otherwise in the current folder."""
    return find_local_folder(results) / "paper.html"
