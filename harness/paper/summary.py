"""Collect everything that `ckrr paper` prints, as plain values and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.paper import timings
from harness.paper.printed import PrintedNumber
from harness.paper.reproduced import ComparedNumber, compare_numbers, require_manifest
from harness.paper.searches import ComparedSearch, compare_searches, describe_searches
from harness.paper.text import format_match_count, format_tables, list_differences


class PaperReport:
    """Printed numbers, with ours from the stores.

    Parameters
    ----------
    asked : mapping
        Printed numbers to compare, by study.
    stores : mapping
        URL of the store of each study.
    """

    def __init__(self, asked: Mapping[str, Sequence[PrintedNumber]], stores: Mapping[str, str]) -> None:
        self.numbers: list[ComparedNumber] = [
            one for name, some in asked.items() for one in compare_numbers(some, stores[name])
        ]
        self.searches: list[ComparedSearch] = [
            one for name, url in stores.items() for one in compare_searches(name, url, require_manifest(url))
        ]
        self.seconds = timings.sum_seconds(stores.values())

    def format_text(self) -> str:
        """Format the tables, the differences, the searches, the run time and the count of matches."""
        lines = [format_tables(self.numbers), "", *list_differences(self.numbers, self.searches)]
        lines += [describe_searches(self.searches)] if self.searches else []
        return "\n".join([*lines, timings.format_timings(self.seconds), format_match_count(self.numbers)])

    def collect_facts(self) -> dict[str, Any]:
        """Return the same as plain values."""
        return {
            "reproduced": sum(one.equal for one in self.numbers),
            "numbers": [
                {**asdict(one.printed), "ours": one.ours, "equal": one.equal, "points_off": one.points_off}
                for one in self.numbers
            ],
            "differences": list_differences(self.numbers, self.searches),
            "searches": len(self.searches),
            "searches_elsewhere": [asdict(one) for one in self.searches if not one.same],
            "seconds": dict(self.seconds),
        }
