"""The state of a store, from its record and its receipts alone: no Zarr, no Dask, no results are read."""

from __future__ import annotations

from typing import Any

from harness.backends.base import Place, place
from harness.store.heartbeat import heard
from harness.store.locate import read_scenario, scenario_file, store_of
from harness.store.manifest import DRIVER, Record
from harness.store.manifest_io import load
from harness.store.receipts import counted
from harness.store.requests import count, is_everything, is_other, latest, reach
from harness.submit import submission
from harness.submit.locate import handed_over
from harness.submit.submission import Submission


def status(store: str) -> dict[str, Any]:
    """How far a store is: units done and in all, failures, the last run. A scenario means its default store."""
    there, file = place(store_of(str(store), begun=False)), scenario_file(str(store))
    record, one = load(there), submission.read(there)
    edited = record is not None and file is not None and is_other(read_scenario(file), record)
    facts = {**(_far(there, record) if record else _nothing(one)), "edited": edited, **_at_work(there, one)}
    more = record is not None and one is not None and _is_more(one, record)
    lost = record is not None and record.root_is_lost
    facts |= {"root_is_lost": lost}
    return {"store": there.url, **facts, "more_to_come": more, "complete": facts["complete"] and not more}


def _is_more(one: Submission, record: Record) -> bool:
    """Whether something else was handed over, of which the store knows when its driver has begun."""
    begun = record.history and record.history[-1]["start"] >= one.submitted
    return one.ended is None and not begun and is_other(one.scenario, record)


def _nothing(one: Submission | None) -> dict[str, Any]:
    """Of a study that was handed over, and whose driver hasn't made the store yet."""
    return {
        "scenario": "" if one is None else one.scenario.get("name", ""),
        "complete": False,
        "settled": False,
        "share": 0.0,
        "share_of_everything": 0.0,
        "sizes": [],
        "failed": 0,
        "last_run": {},
    }


def _far(there: Place, record: Record) -> dict[str, Any]:
    """How much is done of what the latest run asked for, and of all that the store is meant to hold."""
    asked, all_sizes = latest(record), record.extent.grid.n
    found = counted(there, {n: reach(record, n, asked) for n in all_sizes})
    sizes = [{"n": n, "units": count(record, n, asked), "done": found[n][0]} for n in sorted(asked.grid.n)]
    finished, total = sum(one["done"] for one in sizes), sum(one["units"] for one in sizes)
    share = finished / total
    return {
        "scenario": record.scenario["name"],
        "complete": finished == total,
        "settled": record.is_settled,
        "share": share,
        "share_of_everything": share if is_everything(record, asked) else _share_of_everything(there, record),
        "sizes": sizes,
        "failed": sum(failed for _, failed in found.values()),
        "last_run": dict(record.history[-1]) if record.history else {},
    }


def _share_of_everything(there: Place, record: Record) -> float:
    """Tables and reports show all that there is, also what the latest run didn't ask for."""
    extent = record.extent
    found = counted(there, {n: reach(record, n, extent) for n in extent.grid.n})
    return sum(done for done, _ in found.values()) / sum(count(record, n, extent) for n in extent.grid.n)


def _at_work(there: Place, one: Submission | None) -> dict[str, Any]:
    """The driver that is at work or was the last to be heard of, how far it says it is, and what was handed over."""
    found = heard(there.get(DRIVER))
    told = None if one is None else handed_over(one, there.url)
    alive = found is not None and found.alive
    return {
        "at_work": alive or (told is not None and told["waits"] is not None),
        "driver": None
        if found is None
        else {"name": str(found), "alive": alive, "silent": round(found.silent, 1), **found.progress},
        "submission": told,
    }
