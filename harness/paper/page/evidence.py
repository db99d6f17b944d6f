"""Collect the results on which claims are judged; verdicts are computed once."""

from __future__ import annotations

from collections.abc import Mapping

from harness.paper.page import judging
from harness.paper.page.claims import CLAIMS, WIDTHS, ClaimGroup, ClaimOutcome, WidthClaim, judge_group, judge_widths
from harness.paper.page.corrected import GAUSSIAN, GRID, CorrectedStudy
from harness.paper.page.judging import ClaimPart, WidthRatio

COMPARED = [CorrectedStudy(name, GRID) for name in GAUSSIAN]
"""Studies whose widths are compared."""


class Evidence:
    """Results of the corrected studies that have been run.

    Parameters
    ----------
    stores : mapping
        URL of the store of each study.
    results : str
        Folder of the stores, for the commands that are shown.
    """

    def __init__(self, stores: Mapping[CorrectedStudy, str], results: str) -> None:
        self.stores, self.results = stores, results
        self.judged = judging.judge_studies(stores)

    def list_parts(self, group: ClaimGroup) -> list[ClaimPart]:
        """Return the cells of a group, one part for each study that has been run."""
        return judging.list_parts(self.judged, group.studies, group.cells)

    def list_ratios(self, claim: WidthClaim) -> list[WidthRatio]:
        """Return the width ratios of the Gaussian studies that have been run."""
        return judging.list_ratios(self.stores, COMPARED, claim.lam)

    def collect_facts(self) -> list[dict[str, str]]:
        """Return the outcome of each claim as plain values."""
        covered = [
            (one.title, each.title, judge_group(each, self.list_parts(each))) for one in CLAIMS for each in one.groups
        ]
        wide = [(one.title, one.words, judge_widths(one, self.list_ratios(one))) for one in WIDTHS]
        return [_make_fact(*each) for each in [*covered, *wide]]


def _make_fact(claim: str, of: str, found: ClaimOutcome) -> dict[str, str]:
    return {"claim": claim, "of": of, "state": found.state, "found": found.text}
