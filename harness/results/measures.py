"""The measures: what can be asked of a cube, each with a sentence and with what it is computed from.

A measure is a number of every replication (a function of the store's variables), and a way to sum replications up: the
mean of a share, the mean, or a quantile. Widths and scores are infinite where a region is unbounded, so they are summed
up by medians.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from harness.core.errors import UserError
from harness.core.schema import QUANTILES
from harness.core.types import Array, Bools, Values
from harness.results.replications import ReplicationReader, Slab
from harness.store.manifest import Manifest

Kind = Literal["share", "mean", "quantile"]
REFERENCE = "GPR-f"
"""The procedure that widths are relative to."""


@dataclass(frozen=True)
class Measure:
    """One measure."""

    name: str
    what: str
    kind: Kind
    compute: Callable[[ReplicationReader, Slab], tuple[Values, Bools]]
    """A value for every replication over path, draw, procedure, γ, θ, λ and α, and which of them count."""
    q: float = 0.5
    """Which quantile, where it is one."""


def _make_reader(variable: str) -> Callable[[ReplicationReader, Slab], tuple[Values, Bools]]:
    return lambda runs, slab: (runs.read(slab, variable), runs.is_ok(slab)[..., None])


def _compute_error(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
    return 1.0 - runs.read(slab, "coverage"), runs.is_ok(slab)[..., None]


def _make_quantile_reader(variable: str, q: float) -> Callable[[ReplicationReader, Slab], tuple[Values, Bools]]:
    place = QUANTILES.index(q)
    return lambda runs, slab: (runs.read(slab, variable)[..., place], runs.is_ok(slab)[..., None])


def _compute_failed(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
    failed = runs.has_failed(slab)
    levels = len(runs.manifest.extent.grid.alpha)
    return np.repeat(failed[..., None], levels, axis=-1).astype(float), (failed | runs.is_ok(slab))[..., None]


def _compute_relative_width(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
    """Of the same replication: both saw the same data."""
    if REFERENCE not in runs.manifest.extent.grid.procedure:
        raise UserError(f"relative_width needs {REFERENCE}, which isn't among the store's procedures")
    middle = QUANTILES.index(0.5)
    mine, other = runs.read(slab, "width")[..., middle], runs.read_reference(slab, "width", REFERENCE)[..., middle]
    ok = runs.is_ok(slab) & (runs.read_reference(slab, "status", REFERENCE) == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return mine / other, ok[..., None]


def has_normal_noise(manifest: Manifest) -> bool:
    """Whether somebody who knows f would give 2·z_{1−α/2}·sqrt(γ)."""
    return manifest.scenario["source"].get("noise") not in ("student", "skewed", "heteroscedastic")


def compute_oracle_width(runs: ReplicationReader) -> Array:
    """2·z_{1−α/2}·sqrt(γ), over γ, θ, λ and α: the shortest interval that somebody who knows f could give."""
    if not has_normal_noise(runs.manifest):
        raise UserError(
            f"oracle_width is for normal noise, and the store's is {runs.manifest.scenario['source']['noise']}"
        )
    grid = runs.manifest.extent.grid
    z = -np.asarray(ndtri(np.array(grid.alpha) / 2))
    return np.asarray(2 * np.sqrt(np.array(grid.gamma))[:, None, None, None] * z)


def _compute_oracle_ratio(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
    values = runs.read(slab, "width")[..., QUANTILES.index(0.5)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return values / compute_oracle_width(runs), runs.is_ok(slab)[..., None]


MEASURES = {
    one.name: one
    for one in (
        Measure("coverage", "coverage of y*", "share", _make_reader("coverage")),
        Measure("error", "error rate, 1 − coverage", "share", _compute_error),
        Measure("coverage_f", "coverage of f(x*)", "share", _make_reader("coverage_f")),
        Measure(
            "coverage_q05", "5 % quantile over replications of coverage", "quantile", _make_reader("coverage"), 0.05
        ),
        Measure("coverage_q50", "median over replications of coverage", "quantile", _make_reader("coverage"), 0.5),
        Measure(
            "coverage_q95", "95 % quantile over replications of coverage", "quantile", _make_reader("coverage"), 0.95
        ),
        Measure(
            "width",
            "width of the hull: median over test points and replications",
            "quantile",
            _make_quantile_reader("width", 0.5),
        ),
        Measure(
            "width_q05",
            "median over replications of the 5 % quantile over test points of the width",
            "quantile",
            _make_quantile_reader("width", 0.05),
        ),
        Measure(
            "width_q95",
            "median over replications of the 95 % quantile over test points of the width",
            "quantile",
            _make_quantile_reader("width", 0.95),
        ),
        Measure(
            "width_mean",
            "mean width of the hull; inf where any region is unbounded",
            "mean",
            _make_reader("width_mean"),
        ),
        Measure(
            "length",
            "length of the region: median over test points and replications",
            "quantile",
            _make_quantile_reader("length", 0.5),
        ),
        Measure(
            "length_mean", "mean length of the region; inf where any is unbounded", "mean", _make_reader("length_mean")
        ),
        Measure(
            "relative_width",
            f"width by that of {REFERENCE} in the same replication: median",
            "quantile",
            _compute_relative_width,
        ),
        Measure("oracle_width", "width by 2z·sqrt(γ), the oracle's: median", "quantile", _compute_oracle_ratio),
        Measure(
            "interval_score",
            "interval (Winkler) score: median over replications",
            "quantile",
            _make_reader("interval_score"),
        ),
        Measure(
            "distance_lower",
            f"distance of the lower end from that of the reference ({REFERENCE}): median",
            "quantile",
            _make_reader("distance_lower"),
        ),
        Measure(
            "distance_upper",
            f"distance of the upper end from that of the reference ({REFERENCE}): median",
            "quantile",
            _make_reader("distance_upper"),
        ),
        Measure("unbounded", "share of unbounded regions", "share", _make_reader("unbounded")),
        Measure("empty", "share of empty regions", "share", _make_reader("empty")),
        Measure("disconnected", "share of regions of several pieces", "share", _make_reader("disconnected")),
        Measure("failed", "share of replications that failed", "share", _compute_failed),
    )
}
"""By name; `mad` comes besides, see `mad.py`."""
