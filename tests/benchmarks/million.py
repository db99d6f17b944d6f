"""A million replications: `python -m tests.benchmarks.million`, three to four minutes on two cores.

n = 25, 50 and 100, a third each, with the smallest grid that says something: two procedures and levels, 20 test points.
Prints speed, files, bytes, who had how much memory when (it should be flat), and what reading a slice costs.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import xarray as xr
from zarr.storage import LocalStore, WrapperStore

from harness.core.text import format_duration, format_size as as_text
from harness.core.types import Unit
from harness.cube.refresh import refresh
from harness.execution import driver, prepare
from harness.execution.progress import ProgressCounter, SilentProgress
from harness.planning.plan import Plan
from harness.store.manifest_io import load_manifest
from tests.benchmarks.common import on_disk, resident, scratch, study
from tests.benchmarks.planning import SMALL

SIZES, DRAWS, MILLION, MOMENTS = (25, 50, 100), 10, 1_000_000, 10


class Watch(SilentProgress):
    """Progress that looks at memory now and then."""

    def start(self, plan: Plan, wanted: Sequence[Unit] | None = None) -> None:
        self._tally, self._next, self._start = ProgressCounter(plan, wanted), 0.0, perf_counter()
        print("  done        s   driver MB   largest worker MB")

    def advance(self, unit: Unit, failed: int, seconds: float) -> None:
        self._tally.add(unit, failed, seconds)
        share = self._tally.count / self._tally.replications
        if share >= self._next:
            driving, working = resident()
            print(f"{share:6.1%}  {perf_counter() - self._start:7.1f}  {driving:10.0f}  {working:18.0f}", flush=True)
            self._next = share + 1 / MOMENTS

    def note(self, text: str) -> None:
        print(text)

    def finish(self) -> None:
        driving, _ = resident()
        print(f"   end  {perf_counter() - self._start:7.1f}  {driving:10.0f}")


class Counting(WrapperStore[LocalStore]):
    """Counts what is read: keys that were there, and bytes."""

    def __init__(self, store: LocalStore) -> None:
        super().__init__(store)
        self.keys: set[str] = set()
        self.bytes = 0

    async def get(self, key: str, *arguments: Any, **settings: Any) -> Any:
        found = await super().get(key, *arguments, **settings)
        if found is not None:
            self.keys.add(key)
            self.bytes += len(found)
        return found


def reading(where: Path) -> None:
    """Slices through xarray alone, from a store just opened."""
    print("\nreading                                          s   files      bytes")
    cell = {"gamma": 0.1, "lam": 0.1, "theta": "100"}

    def told(what: str, start: float, counting: Counting) -> None:
        seconds = perf_counter() - start
        print(f"{what:42s}  {seconds:6.3f}  {len(counting.keys):6d}  {as_text(counting.bytes):>9s}")

    xr.open_zarr(where, chunks=None)  # imports
    for what, chosen in (("cube: coverage of a cell", {**cell, "n": 100, "alpha": 0.1}), ("cube: all of coverage", {})):
        counting, start = Counting(LocalStore(where, read_only=True)), perf_counter()
        xr.open_zarr(counting, chunks=None)["coverage"].sel(chosen).load()
        told(what, start, counting)
    counting, start = Counting(LocalStore(where, read_only=True)), perf_counter()
    tree = xr.open_datatree(counting, engine="zarr")  # type: ignore[arg-type]
    told("replications: open_datatree", start, counting)
    tree["replications/n=100"]["coverage"].sel(procedure="RRCM-loo").load()
    told("    and coverage of a procedure at n = 100", start, counting)
    counting, start = Counting(LocalStore(where, read_only=True)), perf_counter()
    xr.open_datatree(counting, engine="zarr")["replications/n=100"]["coverage"].isel(path=slice(10)).load()  # type: ignore[arg-type]
    told("replications: coverage of 10 paths", start, counting)


def prepared_at(where: Path, replications: int, workers: int) -> prepare.Prepared:
    """The study, ready to be run into a store."""
    loaded = study(-(-replications // (len(SIZES) * DRAWS)), SIZES, DRAWS, test_points=20, **SMALL)
    return prepare.prepare(loaded, str(where), workers)


def main(replications: int, workers: int) -> None:
    with scratch() as folder:
        where = folder / "million.zarr"
        prepared = prepared_at(where, replications, workers)
        plan = prepared.plan
        count = sum(len(unit) for unit in plan.units)
        print(
            f"{count} replications in {len(plan.units)} units on {workers} workers; "
            f"{format_duration(plan.duration)} planned"
        )
        for size in plan.sizes:
            rows, columns = size.block
            print(f"  n = {size.n}: {len(size.todo)} units of {rows} × {columns}, {size.seconds:.1f} s planned")
        outcome = driver.run_prepared(prepared, Watch())
        files, size_ = on_disk(where)
        speed = count / outcome.seconds
        print(f"\n{outcome.seconds:.1f} s, {speed:.0f} replications/s, efficiency {outcome.efficiency:.3f}")
        print(f"{files} files ({plan.files} planned), {as_text(size_)} ({as_text(plan.bytes)} planned, uncompressed)")
        start = perf_counter()
        record = load_manifest(prepared.backend)
        assert record is not None
        refresh(str(where), record, SIZES)
        again = perf_counter() - start
        print(f"the cube anew: {again:.2f} s, {again / count * 1e6:.1f} µs a replication")
        reading(where)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=MILLION)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    main(given.replications, given.workers)
