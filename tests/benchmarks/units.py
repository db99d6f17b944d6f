"""Replications a second that a worker computes: `python -m tests.benchmarks.units --against FOLDER`.

Units of the quickstart at n = 25, 50, 100 and 200, with all that a unit does but reading and writing, on one thread and
with the environment that local workers have. FOLDER is another working tree, such as that of an earlier commit: both
take turns, each in a fresh process, and the ratio of a turn is that of two neighbours. Printed are the medians, and the
least and largest ratio. `--search` is the same with θ by likelihood.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

SIZES, TURNS, PATHS = (25, 50, 100, 200), 7, 64
ENVIRONMENT = """
import json
import dask, distributed
found = dict(dask.config.get("distributed.nanny.pre-spawn-environ"))
try:
    from cluster.runtime.children import MALLOC as more
except ImportError:
    more = {}
print(json.dumps({name: str(value) for name, value in {**found, **more}.items()}))
"""
PROGRAM = """
import json, sys
from time import process_time
from threadpoolctl import threadpool_limits
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.types import Unit
from harness.scenario.load import load
sizes, paths, theta = json.loads(sys.argv[1])
loaded = load("quickstart", [f"grid.n={sizes}", f"replications.paths={3 * paths}", f"grid.theta={theta}"])
study = Study(loaded.extent, loaded.built.source, loaded.families, loaded.seeds, loaded.keep)
rates = []
with threadpool_limits(1):
    for n in sizes:
        taken = []
        for block in range(3):
            start = process_time()
            compute_unit(study, Unit(n, block, 0, range(paths * block, paths * (block + 1)), range(1)))
            taken.append(process_time() - start)
        rates.append(paths / min(taken[1:]))
print(json.dumps(rates))
"""


def run_in(tree: Path, program: str, *words: str, **environment: str) -> list[float] | dict[str, str]:
    """Run a program with a working tree as its current folder, and return what it prints as JSON."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE, text=True
    )
    found: list[float] | dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(against: Path | None, turns: int, sizes: Sequence[int], search: bool) -> None:
    trees = [Path.cwd(), *([against] if against else [])]
    asked = json.dumps([list(sizes), PATHS, ["ml"] if search else [100]])
    settings = [run_in(tree, ENVIRONMENT) for tree in trees]
    found = np.array(
        [
            [run_in(tree, PROGRAM, asked, **dict(some)) for tree, some in zip(trees, settings, strict=True)]
            for _ in range(turns)
        ]
    )
    print("replications a second, median of", turns, "turns" + (", θ by likelihood" if search else ""))
    for place, n in enumerate(sizes):
        rates = found[:, :, place]
        line = f"n = {n:4d}  {np.median(rates[:, 0]):7.0f}"
        if against:
            ratio = rates[:, 0] / rates[:, 1]
            line += (
                f"  {np.median(rates[:, 1]):7.0f}  ratio {np.median(ratio):5.2f}  ({min(ratio):.2f} – {max(ratio):.2f})"
            )
        print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--search", action="store_true")
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
    main(**vars(parser.parse_args()))
