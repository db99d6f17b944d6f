"""Measure what slices of replications read: `python -m tests.benchmarks.slices`, a minute.

A study of 288 cells at one n gives real numbers. They are written with several chunkings, in units of several sizes:
plain (a unit is a chunk), or sharded, with inner chunks of one label along some axes. Then plain xarray reads one cell
over all paths, and everything. Printed are the requests and the bytes of the slice relative to those it needs (a value
a path), and seconds, best of three: on disk, and where a request takes 30 ms and 20 ns a byte, as in a bucket.

The last lines repeat 500 real paths, so that shards compress them too well: look at their times, not at their bytes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import xarray as xr
import zarr
from zarr.core.buffer import Buffer
from zarr.storage import LocalStore

from harness.execution import driver, prepare
from harness.execution.progress import SilentProgress
from harness.store import layout
from tests.benchmarks.common import scratch, study

LATENCY, PER_BYTE = 0.03, 2e-8
SPLITS = {
    "plain": (),
    "procedure θ λ": ("procedure", "theta", "lam"),
    "procedure γ θ λ": ("procedure", "gamma", "theta", "lam"),
}
"""Axes along which an inner chunk of a shard has one label."""


class CountingStore(LocalStore):
    """A local store that counts requests for chunks, and takes as long as a bucket if asked to."""

    requests, bytes, delay = 0, 0, False

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Buffer | None:
        found = await super().get(key, prototype, byte_range)
        if "/c." in key and found is not None:
            CountingStore.requests += 1
            CountingStore.bytes += len(found)
            if CountingStore.delay:
                await asyncio.sleep(LATENCY + PER_BYTE * len(found))
        return found


def write(folder: Path, values: xr.DataArray, block: int, split: tuple[str, ...]) -> float:
    """Write an array with one chunking, as workers would without our own writer; return the bytes of a unit."""
    unit = (block, *values.shape[1:])
    inner = tuple(1 if dim in split else size for dim, size in zip(values.dims, unit, strict=True))
    group = zarr.create_group(folder)
    array = group.create_array(
        "values",
        shape=values.shape,
        chunks=inner if split else unit,
        shards=unit if split else None,
        dtype=values.dtype,
        fill_value=np.nan,
        compressors=layout.make_compressors(),
        chunk_key_encoding={"name": "default", "separator": "."},
        dimension_names=values.dims,
    )
    array[:] = values.values
    files = [each for each in os.scandir(folder / "values") if each.name.startswith("c.")]
    return sum(each.stat().st_size for each in files) / len(files)


def time_best(call: Callable[[], object], turns: int = 3) -> float:
    """Return the seconds of the fastest of some calls."""
    times = []
    for _ in range(turns):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def measure(folder: Path, values: xr.DataArray) -> str:
    """Return what a slice of one cell over all paths takes, and what reading everything takes."""
    opened = xr.open_zarr(CountingStore(folder), consolidated=False, chunks=None)["values"]
    one = {dim: 0 for dim in values.dims if dim not in ("path", "draw")}
    CountingStore.requests = CountingStore.bytes = 0
    opened.isel(one).load()
    requests, read = CountingStore.requests, CountingStore.bytes
    slice_, whole = time_best(lambda: opened.isel(one).copy().load()), time_best(lambda: opened.copy().load(), 1)
    CountingStore.delay = True
    far, far_whole = time_best(lambda: opened.isel(one).copy().load()), time_best(lambda: opened.copy().load(), 1)
    CountingStore.delay = False
    needed = values.isel(one).nbytes
    return (
        f"{requests:4d} requests, ×{read / needed:6.1f} bytes; disk {1e3 * slice_:6.1f} ms, all {1e3 * whole:7.1f}; "
        f"bucket {1e3 * far:6.0f} ms, all {1e3 * far_whole:7.0f}"
    )


def main() -> None:
    """Print a line for each variable, size of units and chunking."""
    with scratch() as folder:
        store = str(folder / "study.zarr")
        driver.run_prepared(prepare.prepare(study(500, [25], theta=[10, 100, 1000]), store), SilentProgress())
        runs = xr.open_zarr(store, group="replications/n=25", chunks=None)
        for name in ("coverage", "width"):
            real = runs[name].load()
            for block, units in ((5, 100), (50, 40), (500, 10), (4000, 4)):
                values = xr.concat([real] * -(-block * units // 500), "path")[: block * units]
                for i, (label, split) in enumerate(SPLITS.items()):
                    target = folder / f"{name}-{block}-{i}.zarr"
                    stored = write(target, values, block, split) / 1e3
                    size = f"{block:4d} paths a unit ({values[:block].nbytes / 1e3:7.1f} kB, {stored:6.1f} stored)"
                    print(f"{name:8s} {size} {label:16s} {measure(target, values)}", flush=True)


if __name__ == "__main__":
    main()
