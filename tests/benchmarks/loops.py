"""Against loops that people write: `pip install joblib xyzpy`, then `python -m tests.benchmarks.loops`.

The quickstart, in the same bits, on two processes with one BLAS thread each:

- ours: what `ckrr run` does, with the start of its processes and the cube at the end;
- joblib: one task a replication, all results in memory, an xarray Dataset to Zarr at the end;
- joblib, units: the same over our units, so with our batches of factors. What is left is what the harness costs;
- xyzpy: `Harvester.harvest_combos(num_workers=2)`, to Zarr at the end;
- xyzpy, crop: `Harvester.cultivate`, as many batches as we have units: each goes to disk, so that it can go on.

All ways take turns, and the best of each counts; the worst is told, because machines are noisy. Each is a process of
its own that does the imports before its clock starts. "cpu" is of all its processes, "peak" the largest memory of the
driving process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]
import xarray as xr

from harness.core.types import Values
from harness.execution import clusters, driver, prepare
from harness.execution.progress import SilentProgress
from harness.store.layout import get_group_name
from tests.benchmarks.by_hand import VARIABLES, coordinates, for_xyzpy, replication, unit_values
from tests.benchmarks.common import quickstart, scratch
from tests.benchmarks.growth import peak

WORKERS = 2

GIVES = {
    "ours": "goes on after a kill, status from anywhere, grows, failures are data, memory flat",
    "joblib": "nothing on disk before the end, an exception ends all, all results in memory",
    "joblib, units": "the same",
    "xyzpy": "as joblib; adds what is missing to a finished file, rewriting all of it",
    "xyzpy, crop": "goes on batch by batch, counts batches; all results in memory to gather them",
}


def ours(folder: Path, paths: int, sizes: tuple[int, ...]) -> None:
    clusters.warm_up(None, None)
    prepared = prepare.prepare(quickstart(paths, sizes), str(folder / "ours"))
    assert prepared.machine.workers <= WORKERS, f"pin this to {WORKERS} cores: taskset -c 0,1"
    driver.run_prepared(prepared, SilentProgress())


def with_joblib(folder: Path, paths: int, sizes: tuple[int, ...]) -> None:
    from joblib import Parallel, delayed, parallel_config

    with parallel_config("loky", inner_max_num_threads=1):
        found = Parallel(n_jobs=WORKERS)(delayed(replication)(paths, sizes, *at) for at in product(sizes, range(paths)))
    blocks = {v.name: np.stack([one[v.name] for one in found]) for v in VARIABLES}
    save(
        folder / "joblib",
        sizes,
        {name: all_.reshape(len(sizes), paths, *all_.shape[1:]) for name, all_ in blocks.items()},
    )


def with_joblib_units(folder: Path, paths: int, sizes: tuple[int, ...]) -> None:
    from joblib import Parallel, delayed, parallel_config

    units = prepare.prepare(quickstart(paths, sizes), str(folder / "none"), WORKERS).plan.units
    with parallel_config("loky", inner_max_num_threads=1):
        found = Parallel(n_jobs=WORKERS)(delayed(unit_values)(paths, sizes, unit) for unit in units)
    by_place = dict(zip(((unit.n, unit.paths.start) for unit in units), found, strict=True))
    order = {n: sorted(place for place in by_place if place[0] == n) for n in sizes}
    values = {
        v.name: np.stack([np.concatenate([by_place[at][v.name][:, 0] for at in order[n]]) for n in sizes])
        for v in VARIABLES
    }
    save(folder / "joblib, units", sizes, values)


def save(where: Path, sizes: tuple[int, ...], values: Mapping[str, Values]) -> None:
    arrays = {v.name: (("n", "path", *v.dims), values[v.name]) for v in VARIABLES}
    xr.Dataset(arrays, {"n": list(sizes), **coordinates(sizes)}).to_zarr(where)


def harvester(folder: Path, name: str, paths: int, sizes: tuple[int, ...]) -> Any:
    import xyzpy

    names = [v.name for v in VARIABLES]
    runner = xyzpy.Runner(
        for_xyzpy,
        names,
        var_dims={v.name: v.dims for v in VARIABLES},
        var_coords=coordinates(sizes),
        resources={"paths": paths, "sizes": sizes},
    )
    return xyzpy.Harvester(runner, str(folder / f"{name}.zarr"), engine="zarr")


def with_xyzpy(folder: Path, paths: int, sizes: tuple[int, ...]) -> None:
    combos = {"n": list(sizes), "path": list(range(paths))}
    harvester(folder, "xyzpy", paths, sizes).harvest_combos(combos, num_workers=WORKERS, verbosity=0)


def with_crop(folder: Path, paths: int, sizes: tuple[int, ...]) -> None:
    combos = {"n": list(sizes), "path": list(range(paths))}
    batches = len(prepare.prepare(quickstart(paths, sizes), str(folder / "none"), WORKERS).plan.units)
    its = harvester(folder, "xyzpy, crop", paths, sizes)
    settings = {"on_existing": "raise", "on_error": "raise", "verbosity": 0}
    its.cultivate(combos, parent_dir=str(folder), num_batches=batches, num_workers=WORKERS, **settings)


WAYS: dict[str, Callable[[Path, int, tuple[int, ...]], None]] = {
    "ours": ours,
    "joblib": with_joblib,
    "joblib, units": with_joblib_units,
    "xyzpy": with_xyzpy,
    "xyzpy, crop": with_crop,
}


def timed(way: str, folder: Path, paths: int, sizes: tuple[int, ...]) -> None:
    """In a process of its own."""
    from importlib import import_module

    if way != "ours":
        import_module(way.split(",")[0])
    warnings.simplefilter("ignore")  # of xarray, about strings in Zarr
    start = perf_counter()
    WAYS[way](folder, paths, sizes)
    seconds = perf_counter() - start
    if way != "ours":
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)  # only then is their CPU time known
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    alive = [child.cpu_times() for child in psutil.Process().children(recursive=True)]  # the fork server, for its own
    cpu = sum(one.ru_utime + one.ru_stime for one in used)
    cpu += sum(one.user + one.system + one.children_user + one.children_system for one in alive)
    print(json.dumps([seconds, cpu, peak() / 1e6]))


def same(folder: Path, way: str, sizes: Sequence[int]) -> str:
    """Whether every result is ours, in every bit."""
    where = folder / (f"{way}.zarr" if way.startswith("xyzpy") else way)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = xr.open_zarr(where, chunks=None)
    ours = {n: xr.open_zarr(folder / "ours", group=get_group_name(n), chunks=None) for n in sizes}
    for n, variable in product(sizes, VARIABLES):
        mine = ours[n][variable.name][:, 0]
        other = theirs[variable.name].sel(n=n).transpose(*mine.dims)
        if not np.array_equal(mine.to_numpy(), other.to_numpy(), equal_nan=True):
            return f"{variable.name} differs at n = {n}"
    return "same bits"


def measured(way: str, folder: Path, paths: int, sizes: tuple[int, ...]) -> list[float]:
    """Seconds, of wall and of CPU, and megabytes of the driving process."""
    command = [sys.executable, "-m", "tests.benchmarks.loops", "--one", way, "--folder", str(folder)]
    command += ["--paths", str(paths), "--n", *map(str, sizes)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compared(
    paths: int, sizes: tuple[int, ...], turns: int, ways: Sequence[str] = tuple(WAYS)
) -> tuple[dict[str, list[list[float]]], dict[str, str]]:
    """What was measured of each way in every turn; and whether its results are ours, in every bit."""
    found: dict[str, list[list[float]]] = {way: [] for way in ways}
    checks = {"ours": ""}
    for _ in range(turns):
        with scratch() as folder:
            for way in ways:
                found[way].append(measured(way, folder, paths, sizes))
            checks |= {way: same(folder, way, sizes) for way in ways if way != "ours"}
    return found, checks


def main(paths: int, sizes: tuple[int, ...], turns: int) -> None:
    print(f"{paths * len(sizes)} replications, n = {sizes}, {WORKERS} processes, best of {turns}")
    found, checks = compared(paths, sizes, turns)
    print("                   s   ratio   worst s    cpu s   peak MB")
    base = min(found["ours"])[0]
    for way, each in found.items():
        seconds, cpu, memory = np.min(each, axis=0)
        print(
            f"{way:13s}  {seconds:5.1f}  {seconds / base:6.2f}  {max(each)[0]:8.1f}  {cpu:7.1f}  {memory:8.0f}"
            f"   {checks[way]}"
        )
    print("\n" + "\n".join(f"{way:13s}  {what}" for way, what in GIVES.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--n", type=int, nargs="+", default=[25, 50, 100, 200])
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
    if given.one:
        timed(given.one, given.folder, given.paths, tuple(given.n))
    else:
        main(given.paths, tuple(given.n), given.turns)
