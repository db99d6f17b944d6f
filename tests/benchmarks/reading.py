"""Measure `ckrr table` and `ckrr report` of a store with 20,000 units: `python -m tests.benchmarks.reading`.

The store's own writer makes it in a minute (`tests.benchmarks.replications`): 20 000 paths at four n, 192 cells, with
coverages from a binomial distribution. `--against FOLDER` is another working tree, such as that of an earlier commit:
both take turns on the same store, and the median ratio of seconds, of wall and of CPU, is printed. The outputs must be
equal but for the time in the report's footer.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter

import numpy as np

from harness.execution import lifecycle, prepare
from harness.store import arrays
from tests.benchmarks import common
from tests.benchmarks.replications import make_block

SIZES, PATHS, MACHINES = (25, 50, 100, 200), 20_000, 1000
"""n, paths, and the workers to plan for: with many of them units are small, and there are many."""


def fabricate(url: str, paths: int) -> None:
    """Write the store as a run would."""
    prepared = prepare.prepare(common.study(paths, SIZES), url, MACHINES)
    manifest, rng = lifecycle.begin_run(prepared), np.random.default_rng(1)
    for unit in prepared.plan.units:
        arrays.write_unit(url, manifest, replace(make_block(manifest, unit, rng), seconds={"compute": 0.5}))
    print(f"{len(prepared.plan.units)} units, {common.on_disk(Path(url))[0]} files", flush=True)


def measure(tree: Path, words: Sequence[str]) -> tuple[float, float]:
    """Return the seconds of wall and of CPU that a command takes in a working tree."""
    before, start = getrusage(RUSAGE_CHILDREN), perf_counter()
    subprocess.run([sys.executable, "-m", "harness.cli", *words], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    seconds, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read_page(path: Path) -> str:
    """Return a report without the time at which it was written."""
    return re.sub(r"Written [-\d]+ [:\d]+ UTC", "", path.read_text())


def main(paths: int, turns: int, against: Path | None) -> None:
    trees = [Path.cwd(), *([against] if against else [])]
    with common.scratch() as folder:
        url, pages = str(folder / "store.zarr"), [folder / f"{place}.html" for place in range(len(trees))]
        fabricate(url, paths)
        for command in ("table", "report"):
            words = [[command, url, *(["-o", str(page)] if command == "report" else [])] for page in pages]
            found = np.array([[measure(*one) for one in zip(trees, words, strict=True)] for _ in range(turns)])
            for tree, (seconds, cpu) in zip(trees, np.median(found, axis=0), strict=True):
                print(f"{command:6s} {seconds:6.1f} s, {cpu:6.1f} s of CPU   {tree}", flush=True)
            if against:
                wall, cpu = np.median(found[:, 1] / found[:, 0], axis=0)
                print(f"{command:6s} {against} takes {wall:.2f} × the seconds, {cpu:.2f} × those of CPU")
        assert len(set(map(read_page, pages))) == 1, "the reports differ"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=PATHS)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    main(given.paths, given.turns, given.against)
