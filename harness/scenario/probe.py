"""Draw one small sample of a source before any work starts."""

from __future__ import annotations

import traceback
from pathlib import Path
from time import perf_counter

import numpy as np

from harness.core.errors import UserError
from harness.core.protocols import Sample, Source
from harness.core.seeds import Seeds
from harness.core.text import format_error
from harness.core.types import Extent

_DRAWS, _TIMING_SECONDS = 8, 0.05
"""Samples that are drawn to see how long one takes, and seconds that this may take where one is quick: a busy machine
makes some of them slow, and units would be cut by that."""
_ATTEMPTS = 5
"""Samples that must all fail before a source counts as broken."""


def check_source(source: Source, seeds: Seeds, extent: Extent, where: str) -> float:
    """Draws one small sample, so that a broken source is told before work starts; how many seconds that takes.

    On a path that the study doesn't have: one that ends its process would end the driver here. (A source that has data
    of its own for each path is asked for its first.) It is broken if a few in a row fail: single failures are data.
    """
    first = {axis: getattr(extent.grid, axis)[0] for axis in ("gamma", "theta", "lam")} | {"path": 0, "draw": 0}
    at, n = {axis: first[axis] for axis in source.redraws}, min(extent.grid.n)
    errors: list[Exception] = []
    while len(errors) < _ATTEMPTS:
        path = extent.paths + len(errors)
        times: list[float] = []
        try:
            while len(times) < 2 or (
                len(times) < _DRAWS and sum(times) < _TIMING_SECONDS
            ):  # the first time things are loaded
                start = perf_counter()
                sample = source.path(seeds.make_path_streams(path)).draw(seeds.make_draw_streams(path, 0), n, at)
                times.append(perf_counter() - start)
        except Exception as error:
            errors.append(error)
            continue
        for wrong in _find_problems(sample, source, n):
            raise UserError(f"{where}: source drew {wrong}")
        return min(times)
    message = format_error(errors[0])
    last = traceback.extract_tb(errors[0].__traceback__)[-1]
    place = f"{Path(last.filename).name}, line {last.lineno}"
    raise UserError(f"{where}: source can't draw a sample of n = {n}: {message} ({place})") from errors[0]


def _find_problems(sample: Sample, source: Source, n: int) -> list[str]:
    """What is wrong with a sample, in words."""
    m, d = source.test_points, source.dimension
    expected = {"X": (n, d), "y": (n,), "noise": (n,), "X_test": (m, d), "y_test": (m,), "noise_test": (m,)}
    found = []
    for name, shape in expected.items():
        values = getattr(sample, name)
        if values is None and name.startswith("noise"):
            continue
        if np.shape(values) != shape:
            found.append(f"{name} of shape {np.shape(values)}, it must be {shape}")
        elif not np.isfinite(values).all():
            found.append(f"{name} with values that aren't finite")
    return found
