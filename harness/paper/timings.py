"""Where the time went, from receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from harness.backends.base import place
from harness.core.text import duration
from harness.paper.reproduced import record_of
from harness.store import artifacts, receipts

_NAMES = {
    "prepare": "preparation (the paths of gp2)",
    "search": "likelihood search",
    "factor": "fits",
    "score": "regions",
    "measure": "measures",
    "data": "data",
}


def seconds(urls: Iterable[str]) -> Mapping[str, float]:
    """Seconds of one core for each kind of work, over all units and preparations of some stores."""
    total: Counter[str] = Counter()
    for url in urls:
        there = place(url)
        signed = list(receipts.listed(there, record_of(url).extent.grid.n).values())
        for content in receipts.read_all(there, signed):
            total.update(content["seconds"])
        for name in artifacts.signed(there):
            total["prepare"] += (artifacts.receipt(there, name) or {})["seconds"]
    return {kind: round(total[kind], 1) for kind in _NAMES}


def text(spent: Mapping[str, float]) -> str:
    """In words, the largest part first."""
    parts = sorted(spent.items(), key=lambda one: -one[1])
    each = ", ".join(f"{_NAMES[kind]} {duration(one)}" for kind, one in parts if one)
    return f"where the time went, in all runs, on one core: {each}"
