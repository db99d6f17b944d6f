"""Check that a source can draw a sample, and time it, before any work starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, sqrt
from time import perf_counter

import numpy as np

from harness.core.errors import UserError
from harness.core.protocols import Sample, Source, SupportsNoiseLaw
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.core.seeds import Seeds
from harness.core.text import format_error
from harness.core.types import Extent
from harness.scenario.code import locate_error

_DRAWS, _TIMING_SECONDS = 8, 0.05
"""Maximum number of samples to time, and seconds after which timing stops. The fastest counts: on a busy machine some
samples are slow, and the block size depends on this time."""
_FALSE_ALARM = 1e-9
"""Probability that a right distribution of the noise is taken for a wrong one."""
_ATTEMPTS = 5
"""Number of samples that must all fail before a source counts as broken."""


@dataclass(frozen=True)
class Drawing:
    """What a sample of the smallest n tells about a source."""

    seconds: float
    """Seconds to draw it."""
    ranges: tuple[float, ...]
    """Range of each coordinate of its training and test inputs."""


def check_source(source: Source, seeds: Seeds, extent: Extent, where: str, keep: Sequence[str] = ()) -> Drawing:
    """Draw a sample of the smallest n; raise UserError if the source is broken.

    Parameters
    ----------
    source : Source
        The source to check.
    seeds : Seeds
        Random streams of the study.
    extent : Extent
        What the scenario asks for.
    where : str
        Name of the scenario file, for error messages.
    keep : sequence of str
        Optional variables of the study. With expected coverage, the noise must have the distribution that the source
        says it has.

    Notes
    -----
    The sample is drawn on a path outside the study, because a replication that ends its process would end the driver
    here. (A source with separate data for each path is given its first path.) A source counts as broken only if
    several samples in a row fail: single failures are results, and are stored.
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
            ):  # the first draw also loads modules and data
                start = perf_counter()
                sample = source.path(seeds.make_path_streams(path)).draw(seeds.make_draw_streams(path, 0), n, at)
                times.append(perf_counter() - start)
        except Exception as error:
            errors.append(error)
            continue
        for wrong in _find_problems(sample, source, n):
            raise UserError(f"{where}: source drew {wrong}")
        if COVERAGE_EXPECTED in keep and isinstance(source, SupportsNoiseLaw):
            for wrong in _find_law_problems(sample, source):
                raise UserError(f"{where}: {wrong}: mend noise_cdf, or set expected_coverage = false")
        return Drawing(min(times), tuple(np.ptp(np.concatenate([sample.X, sample.X_test]), axis=0).tolist()))
    message, place = format_error(errors[0]), locate_error(errors[0])
    somewhere = f" ({place})" if place else ""
    raise UserError(f"{where}: source can't draw a sample of n = {n}: {message}{somewhere}") from errors[0]


def _find_problems(sample: Sample, source: Source, n: int) -> list[str]:
    """Describe what is wrong with the shapes and values of a sample."""
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


def _find_law_problems(sample: Sample, source: SupportsNoiseLaw) -> Iterator[str]:
    """Describe how the noise at the test points differs from the distribution that the source says it has.

    P(e ≤ e_i) of noise e_i is uniform. The largest distance of m such values from that is below
    √(log(2/p)/2m) with probability 1 − p (Dvoretzky, Kiefer & Wolfowitz; Massart 1990).
    """
    noise = sample.noise_test
    if noise is None:
        return
    found = np.asarray(source.noise_cdf(sample.X_test, noise))
    if found.shape != noise.shape:
        yield f"noise_cdf of {len(noise)} points returned an array of shape {found.shape}, it must be {noise.shape}"
        return
    m, ordered = len(noise), np.sort(found)
    if not ((ordered >= 0) & (ordered <= 1)).all():
        yield "noise_cdf returned values that aren't probabilities"
        return
    apart = max(np.max(np.arange(1, m + 1) / m - ordered), np.max(ordered - np.arange(m) / m))
    if apart > sqrt(log(2 / _FALSE_ALARM) / (2 * m)):
        yield f"the noise of {m} test points doesn't have the distribution that noise_cdf says"
