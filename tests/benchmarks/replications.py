"""Reduce a million replications without loading them: `python -m tests.benchmarks.replications`, a minute.

A store of 10^6 replications at n = 25 (100 000 paths with ten draws, 192 cells) is fabricated: the store's own writer
gets a draw of coverages and of nothing else, which compresses well. Then `study.open_replications` reduces coverage to
its mean and its standard error between paths, in a process of its own, and the same is done by loading all of it.
Printed are seconds, the number of tasks, and the largest memory of the process above what it has after imports.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import replace
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import dask
import dask.array
import numpy as np
import xarray as xr

from ckrr import study
from harness.core.schema.measures import list_variables
from harness.core.text import format_size
from harness.core.types import Block, Unit
from harness.execution import lifecycle, prepare
from harness.store import arrays
from harness.store.layout import get_shape
from harness.store.manifest import Manifest
from tests.benchmarks import common

MILLION, DRAWS, N, POINTS = 1_000_000, 10, 25, 20


def fabricate(url: str, replications: int) -> None:
    """Write a store as a run would, with coverages from a binomial distribution, and zeros for all else."""
    loaded = common.study(replications // DRAWS, [N], DRAWS, POINTS)
    prepared = prepare.prepare(loaded, url, workers=2)
    manifest, start = lifecycle.begin_run(prepared), perf_counter()
    rng = np.random.default_rng(1)
    for unit in prepared.plan.units:
        arrays.write_unit(prepared.backend.url, manifest, make_block(manifest, unit, rng))
    rows, columns = manifest.groups[N].block
    print(
        f"{replications} replications in {len(prepared.plan.units)} units of {rows} × {columns}, "
        f"made in {perf_counter() - start:.0f} s"
    )


def make_block(manifest: Manifest, unit: Unit, rng: np.random.Generator) -> Block:
    """A unit's results: coverage varies between paths and draws."""
    counts = (len(unit.paths), len(unit.draws))
    values = {
        one.name: np.zeros((*counts, *get_shape(one, manifest)[2:]), one.dtype) for one in list_variables(manifest.keep)
    }
    level = rng.beta(45, 5, size=(counts[0], 1, *values["coverage"].shape[2:]))
    values["coverage"][:] = rng.binomial(POINTS, level, size=values["coverage"].shape) / POINTS
    return Block(replace(unit, signed=False), values, (), {"compute": 0.0})


def reduce(runs: xr.Dataset) -> xr.Dataset:
    """The mean over replications, and its standard error between paths."""
    paths = runs["coverage"].mean("draw")
    return xr.Dataset({"mean": paths.mean("path"), "se": paths.std("path", ddof=1) / runs.sizes["path"] ** 0.5})


def measure(url: str, way: str) -> None:
    """Reduce in this process, whose memory then tells."""
    reduce(xr.Dataset({"coverage": (("path", "draw"), np.ones((4, 2)))}).chunk()).load()  # imports
    before, start = getrusage(RUSAGE_SELF).ru_maxrss, perf_counter()
    runs = study.open_replications(url)[f"n={N}"].to_dataset()[["coverage"]]
    opened = perf_counter() - start
    found = reduce(runs.load() if way == "loaded" else runs)
    tasks = len(dask.optimize(found)[0].__dask_graph__() or ())
    found = found.load()
    seconds, peak = perf_counter() - start, 1024 * (getrusage(RUSAGE_SELF).ru_maxrss - before)
    chunks = {axis: sizes[0] for axis, sizes in runs.chunks.items() if axis in ("path", "draw")}
    worst = float(abs(found["mean"] - 0.9).max()), float(found["se"].max())
    print(
        f"{way:8s} {seconds:6.1f} s ({opened:.2f} s to open), {tasks:5d} tasks, peak {format_size(peak):>7s} of "
        f"{format_size(runs['coverage'].nbytes)}; chunks {chunks}; |mean − 0.9| ≤ {worst[0]:.5f}, se ≤ {worst[1]:.6f}"
    )


def main(replications: int) -> None:
    with common.scratch() as folder:
        url = str(folder / "replications.zarr")
        fabricate(url, replications)
        files, size = common.on_disk(folder)
        print(f"{files} files, {format_size(size)} on disk")
        for way in ("lazily", "loaded"):
            words = [sys.executable, "-m", "tests.benchmarks.replications", "--measure", url, way]
            subprocess.run(words, check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=MILLION)
    parser.add_argument("--measure", nargs=2, metavar=("URL", "WAY"), help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.measure:
        measure(*told.measure)
    else:
        main(told.replications)
