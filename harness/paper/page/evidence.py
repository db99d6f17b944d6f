"""All that the claims are judged on: verdicts are computed once."""

from __future__ import annotations

from collections.abc import Mapping

from harness.paper.page import judging
from harness.paper.page.claims import CLAIMS, WIDTHS, Group, Outcome, Widths, outcome, widths_outcome
from harness.paper.page.corrected import GAUSSIAN, GRID, Corrected
from harness.paper.page.judging import Part, Ratio

COMPARED = [Corrected(name, GRID) for name in GAUSSIAN]
"""The studies whose widths are compared."""


class Found:
    """What the stores have."""

    def __init__(self, stores: Mapping[Corrected, str], results: str) -> None:
        self.stores, self.results = stores, results
        self._judged = judging.judged(stores)

    def parts(self, group: Group) -> list[Part]:
        """Of the studies that were run."""
        return judging.parts(self._judged, group.studies, group.cells)

    def ratios(self, claim: Widths) -> list[Ratio]:
        """Of the Gaussian studies that were run."""
        return judging.ratios(self.stores, COMPARED, claim.lam)

    def facts(self) -> list[dict[str, str]]:
        """What was found of each claim, as plain values."""
        covered = [(one.title, each.title, outcome(each, self.parts(each))) for one in CLAIMS for each in one.groups]
        wide = [(one.title, one.words, widths_outcome(one, self.ratios(one))) for one in WIDTHS]
        return [_fact(*each) for each in [*covered, *wide]]


def _fact(claim: str, of: str, found: Outcome) -> dict[str, str]:
    return {"claim": claim, "of": of, "state": found.state, "found": found.text}
