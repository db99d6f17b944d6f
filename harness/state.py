"""The state of a store, from its record and its receipts alone: no Zarr, no Dask, no results are read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from harness.nouns import Mistake
from harness.packaged import scenario_files
from harness.place import place
from harness.receipts import listed
from harness.record import Record, load


def default_store(name: str) -> str:
    """Where the results of a scenario of this name go unless told otherwise."""
    return str(Path("results") / f"{name}.zarr")


def store_of(reference: str) -> str:
    """A store by its own name, or by its scenario: the path of a file, or the name of a packaged one."""
    path = Path(reference)
    if path.is_file():
        return _existing(default_store(_name_in(path)), reference)
    if "://" in reference or path.is_dir():
        return _existing(reference, f"SCENARIO --store {reference}")
    known = scenario_files()
    if reference in known:
        return _existing(default_store(_name_in(known[reference])), reference)
    raise Mistake(
        f"{reference}: there is neither a store nor a scenario here, and no packaged scenario of that name "
        f"(`ckrr list` has them); `ckrr run SCENARIO --store {reference}` makes a store"
    )


def _existing(store: str, run: str) -> str:
    there = place(store)
    if load(there) is None:
        raise Mistake(f"{store}: there is no store here; `ckrr run {run}` makes one")
    return there.url if "://" in store else store


def _name_in(path: Path) -> str:
    """What a scenario calls itself. Nothing else of it is looked at, and nothing that it names is run."""
    try:
        return str(tomllib.loads(path.read_text(encoding="utf-8"))["name"])
    except (OSError, ValueError, KeyError):
        raise Mistake(f"{path} is no scenario: `ckrr plan {path}` says what is wrong with it") from None


def status(store: str) -> dict[str, Any]:
    """How far a store is: units done and in all, failures, the last run. A scenario means its default store."""
    there = place(store_of(str(store)))
    record = load(there)
    assert record is not None
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
