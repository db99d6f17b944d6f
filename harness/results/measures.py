"""Define the measures that tables and figures show: stored ones, and those derived from them.

A measure is a number for each replication, computed from the variables of the store, and a way to reduce replications.
Stored measures are reduced as their entries in `harness.core.schema` say, so that tables show the cube's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf

import numpy as np
from scipy.special import ndtri

from harness.core.errors import UserError
from harness.core.schema import measures as schema
from harness.core.schema.axes import PIT_BINS, QUANTILES
from harness.core.types import Array, Bools, Reduction, Values
from harness.results.replications import ReplicationReader, Slab
from harness.store.manifest import Manifest

REFERENCE = "GPR-f"
"""Procedure that relative widths refer to."""


@dataclass(frozen=True)
class Measure:
    """A measure: how its values are computed in each replication, and how they are reduced."""

    name: str
    what: str
    """Description, for captions of tables and figures."""
    reduction: Reduction
    compute: Callable[[ReplicationReader, Slab], tuple[Values, Bools]]
    """Function to the values over path, draw, procedure, γ, θ, λ and α, and a mask of the replications to include."""
    q: float = 0.5
    """The quantile over replications, if the reduction is "median"."""
    bounds: tuple[float, float] = (0.0, inf)
    """Least and largest possible value."""
    counts_replications: bool = False
    """Whether it is a share of replications, not of test points."""
    follows_judged: bool = False
    """Whether it is a share of the judged coverage, and so of probabilities where that is the expected one."""

    def get_reduction(self, runs: ReplicationReader) -> Reduction:
        """Return how it is reduced in a store."""
        return "probability" if self.follows_judged and runs.judged == schema.COVERAGE_EXPECTED else self.reduction


def _make_reader(variable: str) -> Callable[[ReplicationReader, Slab], tuple[Values, Bools]]:
    return lambda runs, slab: (runs.read(slab, variable), runs.is_ok(slab)[..., None])


def _read_judged(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
    return runs.read(slab, runs.judged), runs.is_ok(slab)[..., None]


def _compute_error(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
    values, ok = _read_judged(runs, slab)
    return 1.0 - values, ok


def _make_quantile_reader(variable: str, q: float) -> Callable[[ReplicationReader, Slab], tuple[Values, Bools]]:
    place = QUANTILES.index(q)
    return lambda runs, slab: (runs.read(slab, variable)[..., place], runs.is_ok(slab)[..., None])


def _compute_failed(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
    failed = runs.has_failed(slab)
    levels = len(runs.manifest.extent.grid.alpha)
    return np.repeat(failed[..., None], levels, axis=-1).astype(float), (failed | runs.is_ok(slab))[..., None]


def _compute_unscored(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
    return np.isinf(runs.read(slab, "interval_score")).astype(float), runs.is_ok(slab)[..., None]


def make_relative_width(reference: str) -> Measure:
    """Make the measure of widths divided by those of `reference` in the same replication, which has the same data."""

    def compute(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
        if reference not in runs.manifest.extent.grid.procedure:
            raise UserError(f"relative_width needs {reference}, which isn't among the store's procedures")
        middle = QUANTILES.index(0.5)
        mine, other = runs.read(slab, "width")[..., middle], runs.read_reference(slab, "width", reference)[..., middle]
        ok = runs.is_ok(slab) & (runs.read_reference(slab, "status", reference) == 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return mine / other, ok[..., None]

    what = f"width relative to {reference} in the same replication: median"
    return Measure("relative_width", what, "median", compute)


def has_oracle(manifest: Manifest) -> bool:
    """Return whether f is known and the noise normal, so that the width of the oracle is 2·z_{1−α/2}·sqrt(γ)."""
    return not manifest.is_resampled and _has_normal_noise(manifest)


def _has_normal_noise(manifest: Manifest) -> bool:
    return manifest.scenario["source"].get("noise") not in ("student", "skewed", "heteroscedastic")


def compute_oracle_width(runs: ReplicationReader) -> Array:
    """Compute the width of the oracle, 2·z_{1−α/2}·sqrt(γ): the shortest interval of level 1 − α if f is known.

    Returns
    -------
    array
        Widths over γ, θ, λ and α; the axes θ and λ have length 1.

    Raises
    ------
    UserError
        If f isn't known, or the noise isn't normal.
    """
    if runs.manifest.is_resampled:
        raise UserError(f"oracle_width needs to know f, and the data of {runs.url} are a table: use relative_width")
    if not _has_normal_noise(runs.manifest):
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


def _make_cell_reader(variable: str) -> Callable[[ReplicationReader, Slab], tuple[Values, Bools]]:
    """Make the reader of a variable that doesn't depend on α: its values stand at each."""

    def compute(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
        levels = len(runs.manifest.extent.grid.alpha)
        return np.repeat(runs.read(slab, variable)[..., None], levels, axis=-1), runs.is_ok(slab)[..., None]

    return compute


@lru_cache(maxsize=PIT_BINS)
def make_pit_share(place: int) -> Measure:
    """Make the measure of the share of PITs in one bin; the same object each time, under which estimates are kept."""

    def compute(runs: ReplicationReader, slab: Slab) -> tuple[Values, Bools]:
        levels = len(runs.manifest.extent.grid.alpha)
        shares = runs.read(slab, schema.PIT.name)[..., place]
        return np.repeat(shares[..., None], levels, axis=-1), runs.is_ok(slab)[..., None]

    return Measure(f"pit_{place}", schema.PIT.plot_name, "share", compute)


def _from_schema(one: schema.Measure) -> Measure:
    """Make the measure of a stored variable; if quantiles over test points are stored, the measure is their median."""
    if "alpha" not in one.dims:
        return Measure(one.name, one.title, one.reduction, _make_cell_reader(one.name))
    reader = _make_quantile_reader(one.name, 0.5) if "quantile" in one.dims else _make_reader(one.name)
    return Measure(one.name, one.title, one.reduction, reader)


IF_COUNTED = " (if counted, with the noise of its test points)"
"""End of the descriptions of quantiles of coverage, which doesn't concern expected coverage."""


def _list_spreads() -> list[Measure]:
    """Make the measures of the spread of coverage over replications, and of widths over test points."""
    words = {0.05: "5 % quantile", 0.5: "median", 0.95: "95 % quantile"}
    found = [
        Measure(
            f"coverage_q{q * 100:02.0f}",
            f"{text} over replications of coverage{IF_COUNTED}",
            "median",
            _read_judged,
            q,
            (0.0, 1.0),
        )
        for q, text in words.items()
    ]
    for q in (0.05, 0.95):
        what = f"median over replications of the {words[q]} over test points of the width"
        found.append(Measure(f"width_q{q * 100:02.0f}", what, "median", _make_quantile_reader("width", q)))
    return found


_DERIVED = (
    Measure("error", "error rate, 1 − coverage", "share", _compute_error, follows_judged=True),
    *_list_spreads(),
    make_relative_width(REFERENCE),
    Measure("oracle_width", "width relative to 2z·sqrt(γ), the oracle's: median", "median", _compute_oracle_ratio),
    Measure(
        "unscored",
        "share of replications that interval_score leaves out, because a region is unbounded or empty",
        "share",
        _compute_unscored,
        counts_replications=True,
    ),
    Measure("failed", "share of replications that failed", "share", _compute_failed, counts_replications=True),
)
MEASURES = {one.name: one for one in (*map(_from_schema, schema.MEASURES), *_DERIVED)}
"""Measures by name. MAD isn't among them, because it isn't defined for one replication: see `harness.results.mad`."""
