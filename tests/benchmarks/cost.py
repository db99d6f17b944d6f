"""Measure the cost of an answer: `python -m tests.benchmarks.cost`, with joblib installed; some minutes on two cores.

The question is the coverage of all cells of the quickstart, each with a standard error of at most 0.002. The ways:

- until: `ckrr run quickstart --until se=0.002`, which stops at each n by itself, from expected coverage;
- adjusted: a run at each n with as many paths as suffice where expected coverage is adjusted by exact levels
  (`study.estimate(…, adjust=True)`), known in advance from a pilot;
- loop: joblib, one task a replication, the same numerics without expected coverage, all in memory, with as many paths
  at each n as suffice, known in advance from the pilot;
- loop, one number: the same with as many paths at every n as the worst one takes.

Each is a process of its own that imports before its clock starts, and all take turns. The best of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

import numpy as np

from ckrr import study
from harness.execution import clusters, driver, prepare
from harness.execution.progress import SilentProgress
from harness.scenario.load import load
from tests.benchmarks.by_hand import replication
from tests.benchmarks.common import scratch

TARGET, SIZES, WORKERS, BUDGET = 0.002, (25, 50, 100, 200), 2, 20_000
WAYS = {
    "until": "ckrr run quickstart --until se=0.002",
    "adjusted": "runs with known numbers of paths, adjusted by exact levels",
    "loop": "joblib with known numbers of paths",
    "loop, one number": "joblib with the paths of the worst n",
}
PROGRAM = "from tests.benchmarks import cost; cost.time_way({way!r}, {folder!r}, {paths!r})"


def count_paths(store: str, pilot: int) -> dict[str, dict[int, int]]:
    """Return the paths at each n that the loop and the adjusted way take, from the standard errors of a pilot."""
    found = {}
    for way, measure, adjusted in (("loop", "coverage", False), ("adjusted", "coverage_expected", True)):
        errors = study.estimate(store, measure, adjust=adjusted)["se"]
        largest = errors.max([dim for dim in errors.dims if dim != "n"])
        found[way] = {int(n): int(np.ceil(pilot * float(largest.sel(n=n) / TARGET) ** 2)) for n in errors.n}
    return found


def run_until(folder: Path, paths: Mapping[int, int]) -> int:
    """Run until every cell is precise enough, and return the replications."""
    clusters.warm_up(None, None)
    loaded = load("quickstart", ["grid.n=[25,50,100,200]"], f"se={TARGET}", BUDGET)
    outcome = driver.run_prepared(prepare.prepare(loaded, str(folder / "until.zarr")), SilentProgress())
    assert outcome.is_complete
    return outcome.replications


def run_adjusted(folder: Path, paths: Mapping[int, int]) -> int:
    """Run as many paths as each n needs, adjust, and return the replications."""
    clusters.warm_up(None, None)
    replications, worst = 0, 0.0
    for n, count in paths.items():
        store = str(folder / f"adjusted-{n}.zarr")
        settings = [f"replications.paths={count}", f"grid.n=[{n}]"]
        replications += driver.run_prepared(
            prepare.prepare(load("quickstart", settings), store), SilentProgress()
        ).replications
        worst = max(worst, float(study.estimate(store, "coverage_expected", adjust=True)["se"].max()))
    print(f"adjusted: the largest standard error is {worst:.4f}", file=sys.stderr)
    return replications


def run_loop(folder: Path, paths: Mapping[int, int]) -> int:
    """Run a plain loop, and return the replications."""
    from joblib import Parallel, delayed, parallel_config

    most, tasks = max(paths.values()), [(n, path) for n in reversed(SIZES) for path in range(paths[n])]
    with parallel_config("loky", inner_max_num_threads=1):
        found = Parallel(n_jobs=WORKERS)(delayed(replication)(most, SIZES, n, path) for n, path in tasks)
    worst = 0.0
    for size in SIZES:
        coverage = np.stack([one["coverage"] for one, (n, _) in zip(found, tasks, strict=True) if n == size])
        worst = max(worst, float((coverage.std(axis=0, ddof=1) / len(coverage) ** 0.5).max()))
    print(f"loop: the largest standard error is {worst:.4f}", file=sys.stderr)
    return len(tasks)


def time_way(way: str, folder: str, paths: Mapping[int, int]) -> None:
    """Print the seconds and the replications of a way; in a process of its own."""
    if way.startswith("loop"):
        import joblib  # noqa: F401
    run = {"until": run_until, "adjusted": run_adjusted}.get(way, run_loop)
    start = perf_counter()
    replications = run(Path(folder), paths)
    print(json.dumps([perf_counter() - start, replications]))


def measure(way: str, paths: Mapping[int, int]) -> list[float]:
    """Return the seconds and the replications of a way."""
    with scratch() as folder:
        program = PROGRAM.format(way=way, folder=str(folder), paths=dict(paths))
        done = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(turns: int, pilot: int) -> dict[str, tuple[float, float]]:
    """Return the least seconds of each way, and its replications, with paths from a pilot of so many."""
    with scratch() as folder:
        store = str(folder / "pilot.zarr")
        study.run("quickstart", store=store, settings=[f"replications.paths={pilot}", f"grid.n={list(SIZES)}"])
        paths = count_paths(store, pilot)
    paths["loop, one number"] = dict.fromkeys(SIZES, max(paths["loop"].values()))
    print("paths by the pilot:", paths, file=sys.stderr)
    rows = [{way: measure(way, paths.get(way, {})) for way in WAYS} for _ in range(turns)]
    found = {way: [row[way] for row in rows] for way in WAYS}
    return {way: (min(each)[0], min(each)[1]) for way, each in found.items()}


def main(turns: int, pilot: int) -> None:
    print(f"a standard error of {TARGET} in every cell of the quickstart, best of {turns}")
    found = compare(turns, pilot)
    base = found["until"][0]
    for way, (seconds, replications) in found.items():
        print(f"{way:16s} {seconds:6.1f} s  ×{seconds / base:5.2f}  {replications:7.0f} replications")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=2)
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
    parser.add_argument("--pilot", type=int, default=400)
    main(**vars(parser.parse_args()))
