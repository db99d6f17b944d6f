"""Sum up run times from receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from harness.backends.base import open_backend
from harness.core.text import format_duration
from harness.paper.reproduced import require_manifest
from harness.store import artifacts, receipts

_NAMES = {
    "prepare": "preparation (the paths of gp2)",
    "search": "likelihood search",
    "factor": "fits",
    "score": "regions",
    "measure": "measures",
    "data": "data",
}


def sum_seconds(urls: Iterable[str]) -> Mapping[str, float]:
    """Sum the core seconds of each kind of work, over all units and preparations of some stores."""
    total: Counter[str] = Counter()
    for url in urls:
        backend = open_backend(url)
        signed = list(receipts.list_receipts(backend, require_manifest(url).extent.grid.n).values())
        for content in receipts.read_all(backend, signed):
            total.update(content["seconds"])
        for name in artifacts.list_signed(backend):
            total["prepare"] += (artifacts.read_receipt(backend, name) or {})["seconds"]
    return {kind: round(total[kind], 1) for kind in _NAMES}


def format_timings(spent: Mapping[str, float]) -> str:
    """Format run times, the largest part first."""
    parts = sorted(spent.items(), key=lambda one: -one[1])
    each = ", ".join(f"{_NAMES[kind]} {format_duration(one)}" for kind, one in parts if one)
    return f"where the time went, in all runs, on one core: {each}"
