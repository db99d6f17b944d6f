"""How many paths a standard error of coverage takes: `python -m tests.benchmarks.precision`.

For GPR-f in the quickstart and in the worlds with Student, skewed and heteroscedastic noise, at every n and α: the
paths that a standard error of 0.002 takes with plain coverage (hits), with expected coverage, with coverage adjusted by
the exact levels of conformal procedures, and with both. Then the share of 95 % intervals, each from some of the paths,
that contain the truth, which is the estimate from all paths by both. Last the price of expected coverage in time, in
turns on one thread. Fewer `--paths` take less time (4000 take ten minutes on two cores).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from ckrr import study
from harness.backends.base import open_backend
from harness.compute.unit import compute_unit
from harness.core.types import Array, Unit
from harness.results.adjust import read_controls
from harness.results.replications import ReplicationReader, Slab, open_reader
from harness.statistics.controls import adjust
from harness.statistics.intervals import Estimate
from harness.statistics.reduce import reduce_replications
from harness.store.manifest_io import load_manifest
from harness.worker.study import build_study

SCENARIOS = ("quickstart", "worlds/student", "worlds/skewed", "worlds/heteroscedastic")
PROCEDURE, TARGET, GROUP = "GPR-f", 0.002, 100
WAYS = ("plain", "expected", "adjusted", "both")
SETTINGS = {"quickstart": ["grid.gamma=[0.1]", "grid.lam=[0.1]"]}


@dataclass(frozen=True, eq=False)
class Cells:
    """Coverages of GPR-f at one n over path, draw and cell, and those of its controls."""

    n: int
    alpha: tuple[float, ...]
    hits: tuple[Array, ...]
    """Coverage, whether to include it, controls, whether to include them, and their levels."""
    expected: tuple[Array, ...]
    points: int

    def estimate(self, way: str, paths: slice = slice(None)) -> Estimate:
        """Estimate coverage at each α from some paths."""
        values, ok, controls, controls_ok, levels = self.expected if way in ("expected", "both") else self.hits
        reduction = "probability" if way in ("expected", "both") else "share"
        if way in ("plain", "expected"):
            return reduce_replications(values[paths], ok[paths], reduction, self.points)
        return adjust(
            values[paths], ok[paths], controls[paths], controls_ok[paths], levels, reduction, points=self.points
        )


def read_cells(store: str) -> Iterator[Cells]:
    """Yield the cells at each n."""
    runs = open_reader(store)
    grid = runs.manifest.extent.grid
    for n in grid.n:
        at = grid.procedure.index(PROCEDURE)
        slab = Slab(n, range(at, at + 1), range(len(grid.theta)))
        parts = (_read(runs, slab, name) for name in ("coverage", "coverage_expected"))
        yield Cells(n, grid.alpha, *parts, points=runs.manifest.test_points)


def _read(runs: ReplicationReader, slab: Slab, name: str) -> tuple[Array, ...]:
    values, ok = runs.read(slab, name), runs.is_ok(slab)[..., None]
    return values, np.broadcast_to(ok, values.shape), *read_controls(runs, slab, name)


def count_paths(cells: Cells) -> Mapping[str, Array]:
    """Return the paths that the target takes at each α, by way."""
    found = {}
    for way in WAYS:
        one = cells.estimate(way)
        found[way] = (one.se**2 * one.paths / TARGET**2).reshape(len(cells.alpha))
    return found


def measure_coverage(cells: Cells, paths: int) -> Mapping[str, Array]:
    """Return the share of groups of paths whose interval contains the truth, at each α, by way."""
    truth = cells.estimate("both").value
    groups = [slice(first, first + GROUP) for first in range(0, paths - GROUP + 1, GROUP)]
    found = {}
    for way in WAYS:
        ends = [cells.estimate(way, group) for group in groups]
        inside = [(one.low <= truth) & (truth <= one.high) for one in ends]
        found[way] = np.mean(inside, axis=0).reshape(len(cells.alpha))
    return found


def measure_price(store: str, n: int, turns: int = 7, replications: int = 20) -> float:
    """Return the median CPU time of a unit with expected coverage, relative to one without, in turns."""
    manifest = load_manifest(open_backend(store))
    assert manifest is not None
    made, ratios = build_study(store, manifest), []
    unit = Unit(n, 0, 0, range(replications), range(1))
    with threadpool_limits(1):
        for _ in range(turns):
            seconds = []
            for keep in ((), manifest.keep):
                start = process_time()
                compute_unit(replace(made, keep=keep), unit)
                seconds.append(process_time() - start)
            ratios.append(seconds[1] / seconds[0])
    return float(np.median(ratios))


def main() -> None:
    """Run the studies in a temporary directory and print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--paths", type=int, default=4000)
    options.add_argument("--scenarios", nargs="*", default=SCENARIOS)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="precision-") as folder:
        for name in asked.scenarios:
            store = str(Path(folder) / f"{name.replace('/', '-')}.zarr")
            study.run(name, store=store, settings=[f"replications.paths={asked.paths}", *SETTINGS.get(name, [])])
            print(f"\n{name}: {PROCEDURE}, {asked.paths} paths; paths for a standard error of {TARGET}")
            print(f"{'n':>4} {'α':>5}" + "".join(f"{way:>10}" for way in WAYS) + "   fewer by both")
            inside: dict[str, list[Array]] = {way: [] for way in WAYS}
            for cells in read_cells(store):
                needs = count_paths(cells)
                for k, alpha in enumerate(cells.alpha):
                    row = "".join(f"{needs[way][k]:10.0f}" for way in WAYS)
                    print(f"{cells.n:4} {alpha:5}{row}   ×{needs['plain'][k] / needs['both'][k]:.1f}", flush=True)
                for way, shares in measure_coverage(cells, asked.paths).items():
                    inside[way].append(shares)
            covers = ", ".join(f"{way} {np.mean(each):.3f} (least {np.min(each):.2f})" for way, each in inside.items())
            count = asked.paths // GROUP
            print(f"95 % intervals from {GROUP} paths contain the truth: {covers}; {count} intervals a cell")
            prices = ", ".join(f"n = {cells.n} ×{measure_price(store, cells.n):.2f}" for cells in read_cells(store))
            print(f"time of a unit with expected coverage, relative to one without: {prices}", flush=True)


if __name__ == "__main__":
    main()
