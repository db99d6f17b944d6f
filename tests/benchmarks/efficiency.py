"""What the harness costs besides computing: `python -m tests.benchmarks.efficiency`, five to six minutes on two cores.

A study of two to three minutes runs on local workers. Efficiency is the sum of the units' pure computing over what the
workers had, from the first unit's start to the last one's end; what is lost is writing, and waiting. Then units that do
next to nothing show what one costs the driver, in whose process the client and the scheduler are.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from cluster import local
from harness.core.types import Limits, Unit
from harness.cube.refresh import refresh
from harness.execution import prepare
from harness.execution.on_dask import executor
from harness.execution.tasks import Result
from harness.planning.plan import sort_sizes
from harness.scenario.load import check
from harness.store import receipts
from harness.store.manifest_io import load_manifest
from tests.benchmarks.common import on_disk, recorded, scratch, study

TOY = {
    "name": "toy",
    "seed": 5,
    "family": "tests.harness.toy:FAMILY",
    "source": {"function": "tests.harness.toy:Toy", "test_points": 2},
    "grid": {"gamma": 1.0, "n": 10, "theta": 1, "lam": 1, "alpha": 0.1, "procedure": "exact"},
}
SLOW = 1e4
"""Operations a second of a machine so slow that a unit is one replication."""


def whole_study(folder: Path, paths: int, n: Sequence[int], workers: int) -> None:
    prepared = prepare.prepare(study(paths, n), str(folder / "study.zarr"), workers)
    plan = prepared.plan
    outcome, results = recorded(prepared)
    spans = np.array([(one["began"], one["ended"], one["compute"]) for one in results])
    had = workers * (spans[:, 1].max() - spans[:, 0].min())
    busy, pure = (spans[:, 1] - spans[:, 0]).sum(), spans[:, 2].sum()
    print(f"{paths * len(n)} replications in {outcome.units} units, {outcome.seconds:.1f} s on {workers} workers,")
    print(
        f"of which {had / workers:.1f} s from the first unit's start to the last one's end; {plan.duration:.1f} planned"
    )
    print(f"efficiency {outcome.efficiency:.3f} (to be ≥ 0.95)")
    print(f"lost: writing {(busy - pure) / had:.1%}, between units and at the end {(had - busy) / had:.1%}")
    print(f"writing {(busy - pure) / len(spans) * 1e3:.0f} ms a unit\n")
    seconds_by_n(prepared)
    files, size = on_disk(folder / "study.zarr")
    count = sum(len(unit) for unit in plan.units)
    print(f"\nfiles {files}, planned {plan.files}")
    print(f"bytes a replication {size / count:.0f}, planned {plan.bytes / count:.0f}")
    print("(planned: before compression, without metadata and the cube)\n")


def seconds_by_n(prepared: prepare.Prepared) -> None:
    there, sizes = prepared.backend, sort_sizes(prepared.plan)
    found = receipts.list_receipts(there, [size.n for size in sizes])
    print("    n  units  block   planned s  actual s  ratio   data  factor  search  score  measure  other   (shares)")
    for size in sizes:
        each = [receipts.read(there, one)["seconds"] for one in found.values() if one.unit.startswith(f"n={size.n}/")]
        total = {
            key: sum(one.get(key, 0.0) for one in each) for key in ("data", "factor", "search", "score", "measure")
        }
        actual, planned = sum(one["compute"] for one in each), size.seconds * len(size.todo)
        shares = [value / actual for value in total.values()]
        print(
            f"{size.n:5d}  {len(each):5d}  {size.block[0]:3d}×{size.block[1]:d}  {planned:9.2f}  {actual:9.2f}"
            f"  {actual / planned:5.2f}  " + "  ".join(f"{share:5.1%}" for share in [*shares, 1 - sum(shares)])
        )


def nothing_at(url: str, fingerprint: str, generation: int, unit: Unit, care: Limits) -> Result:
    """In the place of `harness.worker.task.work`."""
    return {"unit": unit}


def cost_of_units(folder: Path, count: int, workers: int) -> None:
    loaded = check({**TOY, "replications": {"paths": count}}, "toy", Path.cwd())
    prepared = prepare.prepare(loaded, str(folder / "toy.zarr"), workers, speed=SLOW)
    units = prepared.plan.units
    jobs = [(unit, Limits()) for unit in units]
    with local(workers, prepared.machine.memory) as client:
        list(executor.run_dask(client, nothing_at, ("warm", "up", 0), jobs[:200]))
        wall, cpu = perf_counter(), process_time()
        list(executor.run_dask(client, nothing_at, ("url", "none", 0), jobs))
        wall, cpu = perf_counter() - wall, process_time() - cpu
        print(f"{len(units)} units that do nothing: {wall / len(units) * 1e3:.2f} ms of wall each,")
        print(f"    {cpu / len(units) * 1e3:.2f} ms of the driver's CPU (client and scheduler)")
        wall, cpu = perf_counter(), process_time()
        outcome, results = recorded(prepared, client)
        wall, cpu = perf_counter() - wall, process_time() - cpu
    pure = np.mean([one["compute"] for one in results]) * 1e3
    writing = np.mean([one["ended"] - one["began"] for one in results]) * 1e3 - pure
    print(f"{outcome.units} units of one toy replication, to the store: {wall / len(units) * 1e3:.1f} ms of wall each,")
    print(f"    on a worker {pure:.1f} ms computing, {writing:.1f} ms writing;")
    print(f"    {cpu / len(units) * 1e3:.2f} ms of the driver's CPU, the cube's refreshes among them")
    record, start = load_manifest(prepared.backend), perf_counter()
    assert record is not None
    refresh(outcome.url, record, record.extent.grid.n)
    print(f"    the cube anew: {(perf_counter() - start) / len(units) * 1e3:.1f} ms a unit")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=300)
    parser.add_argument("--n", type=int, nargs="+", default=[50, 100, 200, 400])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--units", type=int, default=2000, help="that do next to nothing")
    given = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with scratch() as folder:
        whole_study(folder, given.paths, given.n, given.workers)
        cost_of_units(folder, given.units, given.workers)
