"""What it costs to plan a million replications: `python -m tests.benchmarks.planning`.

n = 25, 50 and 100, a third of a million each. Three machines: this one, with a small grid and with a large one, and one
so slow that every replication is a unit, which no real one is. "peak" is the process's largest memory above what it has
after imports.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from resource import RUSAGE_SELF, getrusage
from time import perf_counter
from typing import Any

from harness.execution import prepare
from tests.benchmarks.common import study

SMALL: dict[str, Any] = {
    "gamma": 0.1,
    "theta": 100,
    "lam": 0.1,
    "alpha": [0.05, 0.1],
    "procedure": ["GPR-f", "RRCM-loo"],
}
LARGE = {"gamma": [1e-6, 1e-2, 1e-1], "theta": [10, 100, 1000, "ml"], "lam": [1e-6, 1e-2, 1e-1]}
WAYS: dict[str, tuple[dict[str, Any], float | None]] = {
    "small grid": (SMALL, None),
    "large grid": (LARGE, None),
    "one a unit": (LARGE, 1e4),
}


def one(way: str, replications: int) -> None:
    """Plans in this process, whose memory then tells."""
    grid, speed = WAYS[way]
    loaded = study(replications // 3, [25, 50, 100], **grid)
    prepare.prepare(study(2, [25], **grid), "nowhere.zarr", 2, speed)  # imports, and the probe's first turn
    before, start = getrusage(RUSAGE_SELF).ru_maxrss, perf_counter()
    plan = prepare.prepare(loaded, "nowhere.zarr", 2, speed).plan
    seconds, units = perf_counter() - start, len(plan.units)
    peak = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
    count = sum(len(unit) for unit in plan.units)
    print(f"{way}   {count:12d}   {units:7d}   {seconds:7.3f}   {peak:8.1f}   {plan.duration / 3600:9.1f}")


def main(replications: int) -> None:
    print("             replications     units         s    peak MB   planned h")
    for way in WAYS:
        command = [sys.executable, "-m", "tests.benchmarks.planning", "--one", way]
        subprocess.run([*command, "--replications", str(replications)], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1_000_000)
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    if given.one:
        one(given.one, given.replications)
    else:
        main(given.replications)
