"""Everything we claim of speed and size, measured in one run: `python -m tests.benchmarks.proof`, half an hour.

Prints one table, nearly all of it as ratios of times that were taken in turns on this machine, each by its own
benchmark of this folder; what it was run with; and what was left out. `--only point --only growth` runs some parts.
`--write` puts the table, as Markdown, between the two lines of `docs/benchmarks.md` that say `<!-- proof -->`, and its
main rows between those of the README. It needs two quiet cores, and all peers: `pip install 'ckrr[bench]'`, in an
environment of its own, since torch is among them.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from harness.core.text import format_size as as_text
from harness.execution import driver
from harness.execution.progress import SilentProgress
from harness.planning.machine import count_cores
from tests.benchmarks import (
    baselines,
    cost,
    floor,
    growth,
    likelihood,
    loops,
    low_rank,
    million,
    peers,
    scaling,
    small_n,
)
from tests.benchmarks.common import on_disk, scratch

PACKAGES = (
    *("ckrr", "numpy", "scipy", "dask", "distributed", "zarr", "xarray"),
    *("gpyconform", "torch", "online-cp", "scikit-learn", "mapie", "crepes", "joblib", "xyzpy"),
)
MARK = "<!-- proof -->"
PAGE, README = Path("docs/benchmarks.md"), Path("README.md")


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n: int = 1600
    turns: int = 5
    peer_turns: int = 3
    samples: int = 40
    paths: int = 200
    largest: int = 3200
    replications: int = 1_000_000
    pilot: int = 400


QUICK = Size(300, 2, 1, 4, 8, 400, 1500, 40)
"""To see that it runs; its figures say nothing."""


@dataclass(frozen=True)
class Row:
    """A figure."""

    what: str
    figure: str
    note: str = ""
    is_main: bool = False
    """Whether it is one of those in the README."""


@dataclass(frozen=True)
class Missing:
    """What couldn't be measured, and why."""

    what: str
    why: str


Found = Iterator[Row | Missing]


def times(ratio: float) -> str:
    """A ratio, to two digits or so."""
    return f"×{ratio:,.0f}" if ratio >= 10 else f"×{ratio:.2g}"


def span(values: list[float]) -> str:
    """The ratios of several procedures."""
    low, high = times(min(values)), times(max(values))
    return low if low == high else f"{low} – {high}"


def point(size: Size) -> Found:
    """Per test point, against packages that compute the same or nearly."""
    bare = floor.worst(size.turns)
    note = "n = 1500, 2601 points; the worst of 12"
    yield Row("six procedures, four levels, by bare BLAS calls", times(bare), note, is_main=True)
    gives = {"gpyconform": "hulls, as ours here; O(n³) a point", "online-cp": "hulls of CRR alone; O(n³) a point"}
    for name, (peer, procedures) in peers.PEERS.items():
        if not peers.installed(name):
            yield Missing(name, "not installed")
            continue
        took = [
            peers.against(peer, peers.sample(size.n, peers.THETA, lam), procedure, size.peer_turns)
            for lam in (1e-1, 1e-6)
            for procedure in procedures
        ]
        kinds = f"{len(procedures)} procedures, λ = 0.1 and 1e-6, n = {size.n}; {gives[name]}"
        what = f"{name}, a test point and procedure, without its fit"
        yield Row(what, span([one.ratio for one in took]), kinds, name == "gpyconform")
        few = span([one.at_few for one in took])
        yield Row(f"{name}, fit and {peers.FEW} test points", few, "its best case", name == "gpyconform")
    if not peers.installed("scikit-learn"):
        yield Missing("scikit-learn", "not installed")
        return
    found = [peers.scikit_learn(peers.sample(size.n, peers.THETA, lam), size.turns)[0] for lam in (1e-1, 1e-6)]
    what = "scikit-learn's GPR, means and deviations alone, by all six of ours"
    yield Row(what, span(found), f"n = {size.n}", is_main=True)


def search(size: Size) -> Found:
    """θ by likelihood, in fits with a given θ."""
    for n in (50, 200, 400):
        costs = likelihood.measure_size(likelihood.ONE_D, n, size.turns)
        note = f"median of {len(costs.alone)} cases; {np.median(costs.shared):.1f} for each of two γ of one sample"
        what = f"θ by likelihood, n = {n}, in fits with a given θ"
        yield Row(what, f"{np.median(costs.alone):.1f}", note, n == 50)


def large(size: Size) -> Found:
    """A sample whose kernel matrix would take 80 GB."""
    found, n = low_rank.measure_large_apart(), low_rank.LARGE
    note = "on [0, 1]², θ = 10, 200 test points, six procedures, one core; the kernel matrix would take 80 GB"
    yield Row(f"n = {n:,}, fit and score", f"{found.fit + found.score:.0f} s", note, is_main=True)
    yield Row("    memory of the process", as_text(found.memory), "at its peak")


def width(size: Size) -> Found:
    """MAPIE, crepes and our own baselines, by RRCM-loo."""
    known = baselines.available()
    if "MAPIE-split" not in known.procedures:
        yield Missing("MAPIE and crepes", "not both installed")
    for n in (50, 200):
        for name, one in baselines.compared(known, n, size.turns, size.samples).items():
            if name != baselines.OURS:
                told = f"{one.width:.2f} of its width; covers {one.coverage:.3f}"
                promised = "" if one.level is None else f" (exactly {one.level:.3f} promised)"
                is_main = name in ("MAPIE-split", "MAPIE-jackknife+") and n == 50
                yield Row(f"{name}, time relative to RRCM-loo, n = {n}", times(one.cost), told + promised, is_main)


def loop(size: Size) -> Found:
    """The quickstart against loops that people write, with the same numerics."""
    ways = ["ours", *(way for way in loops.WAYS if way != "ours" and peers.installed(way.split(",")[0]))]
    for missing in {way.split(",")[0] for way in loops.WAYS if way not in ways}:
        yield Missing(missing, "not installed")
    found, checks = loops.compared(size.paths, (25, 50, 100, 200), min(size.peer_turns, 2), ways)
    base = min(found["ours"])[0]
    for way in ways[1:]:
        note = f"{checks[way]}; {4 * size.paths} replications, {loops.WORKERS} processes; {loops.GIVES[way]}"
        yield Row(f"quickstart, {way}, time relative to ours", times(min(found[way])[0] / base), note, way == "joblib")


def answer(size: Size) -> Found:
    """What a precise answer costs, beside a loop that knows in advance how many paths it takes."""
    if not peers.installed("joblib"):
        yield Missing("joblib", "not installed")
        return
    found = cost.compare(min(size.peer_turns, 2), size.pilot)
    base, ours = found["until"]
    what = f"a standard error of {cost.TARGET} in every cell of the quickstart"
    yield Row(f"{what}: --until", f"{base:.0f} s", f"{ours:,.0f} replications, 2 processes")
    for way, how in cost.WAYS.items():
        if way != "until":
            seconds, replications = found[way]
            note = (
                f"{replications:,.0f} replications; --until, which finds the numbers of paths itself, takes {ours:,.0f}"
            )
            yield Row(f"{what}: {how}", times(seconds / base), note, way != "adjusted")


def exponents(size: Size) -> Found:
    """How time grows."""
    sizes = [n for n in growth.SIZES if n <= size.largest]
    took = [growth.measured_apart(n, size.peer_turns)[0] for n in sizes]
    half = f"{sizes[len(sizes) // 2]} ≤ n ≤ {sizes[-1]}"
    yield Row("time in n", f"n^{growth.exponent(took, sizes):.2f}", f"{half}, 200 points")
    seconds = scaling.seconds_for_points(scaling.POINTS, size.peer_turns)
    yield Row(
        "time in test points", f"m^{growth.exponent(seconds, scaling.POINTS):.2f}", "1000 to 8000 of them, n = 400"
    )
    paths = [size.paths * each // max(scaling.PATHS) for each in scaling.PATHS]
    runs = [scaling.studied(each, 1).seconds for each in paths]
    ends = f"{3 * paths[len(paths) // 2]} to {3 * paths[-1]} of them, one worker"
    yield Row("time in replications", f"r^{growth.exponent(runs, paths):.2f}", ends)


def workers(size: Size) -> Found:
    """What more of them bring."""
    base = None
    for count in (1, 2, 4):
        one = scaling.studied(size.paths, count)
        base = base or one
        note = f"{one.rate / base.rate:.2f} times as fast as one, on {count_cores()} cores"
        yield Row(
            f"efficiency on {count} worker{'s' * (count > 1)}: computing by what workers had",
            f"{one.efficiency:.3f}",
            note,
        )


def disk(size: Size) -> Found:
    """What very many replications take."""
    with scratch() as folder:
        prepared = million.prepared_at(folder / "million.zarr", size.replications, 2)
        count = sum(len(unit) for unit in prepared.plan.units)
        outcome = driver.run_prepared(prepared, SilentProgress())
        files, bytes_ = on_disk(folder / "million.zarr")
    what = f"{count:,} replications, two workers"
    note = f"{count / outcome.seconds:,.0f} a second; two procedures and levels, 20 test points, n = 25, 50, 100"
    yield Row(what, f"{outcome.seconds:.0f} s", note, is_main=True)
    yield Row("    on disk", as_text(bytes_), f"in {files:,} files, with the cube and all metadata")


def small(size: Size) -> Found:
    """Small samples on one core, without the harness."""
    for n in (25, 50, 100):
        rates = [1 / small_n.seconds_each(n, 201, lam, 3 * size.turns)[1] for lam in (1e-6, 1e-1)]
        low, high = min(rates), max(rates)
        yield Row(
            f"replications a second, n = {n}, one core", f"{low:,.0f} – {high:,.0f}", "six procedures, 201 points"
        )


PARTS: dict[str, Callable[[Size], Found]] = {
    "point": point,
    "search": search,
    "large": large,
    "width": width,
    "loop": loop,
    "answer": answer,
    "growth": exponents,
    "workers": workers,
    "disk": disk,
    "small": small,
}


def measured(names: list[str], size: Size) -> tuple[list[Row], list[Missing]]:
    """All parts, told as they come; one that breaks is left out."""
    rows: list[Row] = []
    missing = [Missing(f"the part {name}", "not asked for") for name in PARTS if name not in names]
    for name in names:
        start = perf_counter()
        try:
            with threadpool_limits(1):
                for one in PARTS[name](size):
                    (rows if isinstance(one, Row) else missing).append(one)  # type: ignore[attr-defined]
                    print(_line(one), flush=True)
        except Exception as error:
            traceback.print_exc()
            missing.append(Missing(f"the rest of {name}", f"{type(error).__name__}: {error}"))
        print(f"({name}: {perf_counter() - start:.0f} s)", file=sys.stderr)
    return rows, missing


def _line(one: Row | Missing) -> str:
    if isinstance(one, Missing):
        return f"left out: {one.what} ({one.why})"
    return f"{one.what:66s} {one.figure:>16s}   {one.note}"


def conditions() -> str:
    """What it was run with."""
    versions = ", ".join(f"{name} {peers.installed(name)}" for name in PACKAGES if peers.installed(name))
    day = datetime.now(UTC).date().isoformat()
    machine = f"{_processor()}, {count_cores()} cores, one BLAS thread a process"
    return f"{day}, {machine}, Python {platform.python_version()}, {versions}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def markdown(rows: list[Row]) -> str:
    """A table."""
    head = ["| what | figure | |", "|---|---|---|"]
    return "\n".join([*head, *(f"| {one.what.strip()} | {one.figure} | {one.note} |" for one in rows)])


def describe_run(missing: list[Missing]) -> str:
    """What it was run with, and what isn't in the table."""
    left = "; ".join(f"{one.what} ({one.why})" for one in missing) or "nothing"
    return f"Run with {conditions()}. Left out: {left}."


def written(text: str, table: str) -> str:
    """A document with the table between its two marks.

    Examples
    --------
    >>> written(f"a\\n{MARK}\\nold\\n{MARK}\\nz\\n", "new").split()
    ['a', '<!--', 'proof', '-->', 'new', '<!--', 'proof', '-->', 'z']
    """
    before, _, after = text.split(MARK)
    return f"{before}{MARK}\n{table}\n{MARK}{after}"


def main(only: list[str], quick: bool, write: bool, turns: int | None) -> None:
    size = QUICK if quick else Size()
    rows, missing = measured(only or list(PARTS), size if turns is None else replace(size, turns=turns))
    whole = f"{markdown(rows)}\n\n{describe_run(missing)}"
    print(f"\n{whole}")
    if write:
        PAGE.write_text(written(PAGE.read_text(), whole))
        README.write_text(written(README.read_text(), markdown([one for one in rows if one.is_main])))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=PARTS, default=[], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="to see that it runs: the figures say nothing")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE} and {README}")
    parser.add_argument("--turns", type=int)
    given = parser.parse_args()
    if given.write and (given.only or given.quick):
        parser.error("--write takes all parts, at full size")
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    main(**vars(given))
