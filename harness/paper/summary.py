"""Everything that `ckrr paper` tells, as plain values and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.paper import timings
from harness.paper.printed import Printed
from harness.paper.reproduced import Number, numbers, record_of
from harness.paper.searches import Search, diagnosis, searches
from harness.paper.text import count_text, differences, tables_text


class Report:
    """The printed numbers that were asked for, with ours from the stores."""

    def __init__(self, asked: Mapping[str, Sequence[Printed]], stores: Mapping[str, str]) -> None:
        self.numbers: list[Number] = [one for name, some in asked.items() for one in numbers(some, stores[name])]
        self.searches: list[Search] = [
            one for name, url in stores.items() for one in searches(name, url, record_of(url))
        ]
        self.seconds = timings.seconds(stores.values())

    def text(self) -> str:
        """The tables, then what differs, then the count."""
        lines = [tables_text(self.numbers), "", *differences(self.numbers, self.searches)]
        lines += [diagnosis(self.searches)] if self.searches else []
        return "\n".join([*lines, timings.text(self.seconds), count_text(self.numbers)])

    def facts(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "reproduced": sum(one.equal for one in self.numbers),
            "numbers": [
                {**asdict(one.printed), "ours": one.ours, "equal": one.equal, "points_off": one.points_off}
                for one in self.numbers
            ],
            "differences": differences(self.numbers, self.searches),
            "searches": len(self.searches),
            "searches_elsewhere": [asdict(one) for one in self.searches if not one.same],
            "seconds": dict(self.seconds),
        }
