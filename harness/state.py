"""The state of a store, from its record and its receipts alone: no Zarr, no Dask, no results are read."""

from __future__ import annotations

from typing import Any

from harness.nouns import Mistake
from harness.place import place
from harness.receipts import listed
from harness.record import Record, load


def status(store: str) -> dict[str, Any]:
    """How far a store is: units done and in all, failures, the last run."""
    there = place(str(store))
    record = load(there)
    if record is None:
        raise Mistake(f"{store}: there is no store here; `ckrr run SCENARIO --store {store}` makes one")
    done = listed(there, record.extent.grid.n)
    sizes = [
        _size(record, n, {name for name, one in done.items() if name.startswith(f"n={n}/")}) for n in _sizes(record)
    ]
    finished, total = sum(one["done"] for one in sizes), sum(one["units"] for one in sizes)
    return {
        "scenario": record.scenario["name"],
        "store": there.url,
        "complete": finished == total,
        "share": finished / total,
        "sizes": sizes,
        "failed": sum(one.failed for one in done.values()),
        "last_run": dict(record.history[-1]) if record.history else {},
    }


def _sizes(record: Record) -> list[int]:
    return sorted(record.extent.grid.n)


def _size(record: Record, n: int, done: set[str]) -> dict[str, int]:
    units = record.units(n, record.extent)
    return {"n": n, "units": len(units), "done": sum(unit.name in done for unit in units)}
