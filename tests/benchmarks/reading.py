"""Measure commands that read a store of 20,000 units: `python -m tests.benchmarks.reading`.

The store's own writer makes it in two minutes: the quickstart scenario with one path a unit (as planned for a very slow
machine), with coverages from a binomial distribution and widths from a log-normal one, and its cube. `--against FOLDER`
is another working tree, such as that of an earlier commit: both take turns on the same store. Printed are the median
seconds of wall and of CPU and, of one more run each, the largest memory (on Linux) and the chunks that were read. The
outputs must be equal but for the time in the report's footer. `--store` keeps the store there for another time.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from subprocess import DEVNULL, PIPE, run
from time import perf_counter

import numpy as np

from harness.cube.refresh import refresh
from harness.execution import lifecycle, prepare
from harness.scenario.load import load
from harness.store import arrays
from tests.benchmarks import common
from tests.benchmarks.replications import make_block

UNITS, COMMANDS = 20_000, ("table", "table --measure width", "table --measure verdict", "status", "report")
COUNTING = """
import re, runpy, sys
opened, chunk = [0], re.compile(r"/replications/.*/c[./][^/]*$")
def count(event, told):
    opened[0] += event == "open" and isinstance(told[0], str) and chunk.search(told[0]) is not None
sys.addaudithook(count)
try:
    runpy.run_module("harness.cli", run_name="__main__", alter_sys=True)
finally:
    with open("/proc/self/status") as told:  # getrusage would tell the largest memory of the parent
        print(opened[0], re.search(r"VmHWM:\\s+(\\d+)", told.read())[1], file=sys.stderr)
"""
"""A program that runs a command, and prints how many chunks of replications it opened and its largest memory in kB."""


def fabricate(url: str, units: int) -> None:
    """Write the store as a run would."""
    sizes = [25, 50, 100, 200]
    loaded = load("quickstart", [f"replications.paths={units // len(sizes)}", f"grid.n={sizes}"])
    prepared = prepare.prepare(loaded, url, workers=2, speed=2e4)
    manifest, rng, start = lifecycle.begin_run(prepared), np.random.default_rng(1), perf_counter()
    for unit in prepared.plan.units:
        block = make_block(manifest, unit, rng)
        for name in ("width", "width_mean", "length", "length_mean", "interval_score"):
            block.values[name][:] = np.exp(0.1 * rng.standard_normal(block.values[name].shape))
        block.values["coverage_expected"][:] = rng.beta(90, 10, size=block.values["coverage"].shape)
        arrays.write_unit(url, manifest, replace(block, seconds={"compute": 0.5}))
    written = perf_counter()
    refresh(url, manifest, sizes)
    took = f"written in {written - start:.0f} s, reduced to the cube in {perf_counter() - written:.1f} s"
    print(f"{len(prepared.plan.units)} units, {common.on_disk(Path(url))[0]} files, {took}", flush=True)


def measure(tree: Path, words: Sequence[str]) -> tuple[tuple[float, float], str]:
    """Return the seconds of wall and of CPU that a command takes in a working tree; its output."""
    before, start = getrusage(RUSAGE_CHILDREN), perf_counter()
    told = run([sys.executable, "-m", "harness.cli", *words], cwd=tree, check=True, stdout=PIPE, text=True).stdout
    seconds, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    return (seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), told


def count_chunks(tree: Path, words: Sequence[str]) -> tuple[int, float]:
    """Return how many chunks of replications a command opens in a working tree, and its largest memory in megabytes."""
    command = [sys.executable, "-c", COUNTING, *words]
    told = run(command, cwd=tree, check=True, stdout=DEVNULL, stderr=PIPE, text=True).stderr.split()
    return int(told[-2]), int(told[-1]) / 1e3


def read_page(path: Path) -> str:
    """Return a report without the time at which it was written."""
    return re.sub(r"Written [-\d]+ [:\d]+ UTC", "", path.read_text())


def compare(command: str, url: str, pages: Sequence[Path], trees: Sequence[Path], turns: int) -> None:
    """Print what a command takes in each working tree, and check that it prints the same."""
    name, *options = command.split()
    words = [[name, url, *options, *(["-o", str(page)] if name == "report" else [])] for page in pages]
    each = [[measure(*one) for one in zip(trees, words, strict=True)] for _ in range(turns)]
    found = np.median([[figures for figures, _ in turn] for turn in each], axis=0)
    for tree, one, (wall, cpu) in zip(trees, words, found, strict=True):
        chunks, memory = count_chunks(tree, one)
        print(f"{command:24s} {wall:6.2f} s {cpu:6.2f} s CPU {memory:5.0f} MB {chunks:8d} chunks  {tree}", flush=True)
    told = {read_page(page) for page in pages} if name == "report" else {text for turn in each for _, text in turn}
    print(f"{command:24s} {'the same output' if len(told) == 1 else 'THE OUTPUTS DIFFER'}", flush=True)


def main(units: int, turns: int, against: Path | None, store: Path | None, commands: Sequence[str]) -> None:
    trees = [Path.cwd(), *([against] if against else [])]
    with ExitStack() as stack:
        folder = stack.enter_context(common.scratch()) if store is None else store.parent
        url = str(folder / "store.zarr" if store is None else store)
        if not Path(url).exists():
            fabricate(url, units)
        for command in commands:
            pages = [folder / f"reading-{place}.html" for place in range(len(trees))]
            compare(command, url, pages, trees, turns)
        for page in pages:
            page.unlink(missing_ok=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=UNITS)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--commands", nargs="+", default=COMMANDS)
    given = parser.parse_args()
    main(given.units, given.turns, given.against, given.store, given.commands)
