"""Define the variables of each replication, among them the measures.

A measure is one entry of `MEASURES`: its name, dimensions and description, how it is computed from what the regions did
at the test points (`harness.compute.measures.PointResults`), and how replications are reduced to the cube's number
(`harness.statistics.reduce`). The layout of a store, the cube and the tables are made from these entries. This module
imports no NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.core.schema.axes import CELL, OF_THETA, OF_Y, RESULT
from harness.core.types import Reduction, Status

COVERAGE_EXPECTED = "coverage_expected"
"""Name of the expected coverage, which a store has if its source knows the distribution of its noise."""
DISTRIBUTION = "distribution"
"""Entry of `keep` that adds what is computed from predictive distributions: `crps` and `pit`."""
DIFFERENCES = ("difference_lower", "difference_upper")
"""Names of the signed differences of ends, which a store has if its scenario lists them in `keep`."""
KEPT = ("pointwise", "bins", COVERAGE_EXPECTED, DISTRIBUTION, *DIFFERENCES, "lam_hat", "scale_hat")
"""What a store may keep besides the variables that all stores have."""
_LARGEST = {"uint8": 2**8 - 1, "uint16": 2**16 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}


def make_attributes(long_name: str, units: str, description: str, flags: Mapping[str, int]) -> dict[str, Any]:
    """Return the attributes of an array, as xarray's plots and the CF conventions expect them."""
    found: dict[str, Any] = {"long_name": long_name, "units": units, "description": description}
    if flags:
        found |= {"flag_values": list(flags.values()), "flag_meanings": " ".join(flags)}
    return found


@dataclass(frozen=True)
class Variable:
    """One array of the replications of a store."""

    name: str
    dims: tuple[str, ...]
    """Dimensions after path and draw."""
    dtype: str
    description: str
    """Sentence stored in the attributes of the array."""
    long_name: str = field(default="", kw_only=True)
    """Name in plots; that of a measure follows from its title."""
    units: str = field(default="1", kw_only=True)
    """Units: a pure number, or those of y."""
    flags: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    """Meaning of each value, for a variable of codes."""

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the array, as xarray's plots and the CF conventions expect them."""
        return make_attributes(self.plot_name, self.units, self.description, self.flags)

    @property
    def plot_name(self) -> str:
        """Name in plots: the attribute `long_name`."""
        return self.long_name

    @property
    def fill(self) -> float | int:
        """Fill value, which no result can have: NaN, or the largest integer of the data type."""
        return float("nan") if self.dtype.startswith("float") else _LARGEST[self.dtype]


@dataclass(frozen=True)
class Measure(Variable):
    """A variable that is computed for each replication and reduced over replications."""

    compute: Callable[[Any], Any]
    """Function of `PointResults`: one value for each target, procedure and α (and quantile), if it has these axes."""
    reduction: Reduction
    """How replications are reduced."""
    summary: str
    """Sentence stored with the reduced variable in the cube."""
    title: str
    """Name of the reduced measure in tables and figures."""
    error: str | None = None
    """Sentence stored with the standard error in the cube, if the cube has one."""
    is_optional: bool = False
    """Whether only some stores have it: those whose manifest lists its name among what they keep."""
    kept_with: str = ""
    """Entry of `keep` that an optional measure comes with, if that isn't its name."""

    def is_kept(self, keep: Sequence[str]) -> bool:
        """Return whether a store that keeps this has the measure."""
        return not self.is_optional or (self.kept_with or self.name) in keep

    @property
    def plot_name(self) -> str:
        """Name in plots of replications: the title, without what it says of the reduction."""
        return self.title.partition(":")[0].partition(";")[0]


def _make_difference(name: str) -> Measure:
    """Make the measure of the signed differences of the lower or the upper ends."""
    side = name.removeprefix("difference_")
    what = f"{side} end less that of the reference procedure"
    return Measure(
        name,
        RESULT,
        "float32",
        f"mean over the test points of the {what}; NaN where only one of them is finite",
        compute=lambda at: at.differences(getattr(at, side)),
        reduction="bounded_mean",
        summary=f"mean of the {what}, over replications where both are finite at all test points, or both infinite",
        title=f"mean of the {what}",
        error=f"Monte-Carlo standard error of the {what}, between paths: times the root of their number it is the "
        "standard deviation over paths",
        units=OF_Y,
        is_optional=True,
    )


MEASURES = (
    Measure(
        "coverage",
        RESULT,
        "float64",
        "share of the test points of a replication whose observation y* lies in the prediction region",
        compute=lambda at: at.mean(at.hits),
        reduction="share",
        summary="mean over replications of the share of test points whose observation y* lies in the prediction region",
        title="coverage of y*",
        error="Monte-Carlo standard error of coverage, computed between paths; NaN with one path",
    ),
    Measure(
        COVERAGE_EXPECTED,
        RESULT,
        "float64",
        "probability that y* lies in the prediction region, given the training sample; mean over the test points",
        compute=lambda at: at.mean(at.probability),
        reduction="probability",
        summary="mean over replications of the probability that y* lies in the prediction region, given the training "
        "sample: coverage without the noise of test observations",
        title="expected coverage of y*",
        error="Monte-Carlo standard error of the expected coverage, computed between paths; NaN with one path",
        is_optional=True,
    ),
    Measure(
        "coverage_f",
        RESULT,
        "float64",
        "share of the test points whose noise-free value f(x*) lies in the region; NaN where f is unknown",
        compute=lambda at: at.mean_hits_f(),
        reduction="share",
        summary="mean over replications of the share of test points whose noise-free value f(x*) lies in the region",
        title="coverage of f(x*)",
        error="Monte-Carlo standard error of the coverage of f(x*), computed between paths; NaN with one path",
    ),
    Measure(
        "width",
        (*RESULT, "quantile"),
        "float32",
        "quantiles over the test points of the width of the region's hull; inf where it is unbounded",
        compute=lambda at: at.quantiles(at.width),
        reduction="median",
        summary="median over replications of the quantiles over test points of the width of the region's hull",
        error="Monte-Carlo standard error of the width: the length of its 95 % interval, divided by twice Student's t",
        title="width of the hull: median over test points and replications",
        units=OF_Y,
    ),
    Measure(
        "width_mean",
        RESULT,
        "float32",
        "mean over the test points of the width of the region's hull; inf where any is unbounded",
        compute=lambda at: at.mean(at.width),
        reduction="mean",
        summary="mean over replications and test points of the width of the region's hull; inf where any is unbounded",
        title="mean width of the hull; inf where any region is unbounded",
        units=OF_Y,
    ),
    Measure(
        "length",
        (*RESULT, "quantile"),
        "float32",
        "quantiles over the test points of the length of the region: that of its pieces together",
        compute=lambda at: at.quantiles(at.length),
        reduction="median",
        summary="median over replications of the quantiles over test points of the length of the region",
        title="length of the region: median over test points and replications",
        units=OF_Y,
    ),
    Measure(
        "length_mean",
        RESULT,
        "float32",
        "mean over the test points of the length of the region; inf where any is unbounded",
        compute=lambda at: at.mean(at.length),
        reduction="mean",
        summary="mean over replications and test points of the length of the region; inf where any is unbounded",
        title="mean length of the region; inf where any is unbounded",
        units=OF_Y,
    ),
    Measure(
        "interval_score",
        RESULT,
        "float32",
        "mean over the test points of the interval (Winkler) score of the region's hull at y*; inf if unbounded",
        compute=lambda at: at.mean(at.interval_scores()),
        reduction="bounded_mean",
        summary="mean interval (Winkler) score of the hull over replications whose regions are all bounded, none empty",
        title="mean interval (Winkler) score: over replications whose regions are all bounded, none empty",
        units=OF_Y,
    ),
    Measure(
        "crps",
        CELL,
        "float32",
        "mean over the test points of the CRPS of the predictive distribution at y*; NaN for procedures without one",
        compute=lambda at: at.mean_crps(),
        reduction="mean",
        summary="mean over replications and test points of the CRPS of the predictive distribution at y*, the same at "
        "every alpha; NaN for procedures without a distribution",
        title="CRPS: mean over test points and replications",
        error="Monte-Carlo standard error of the CRPS, computed between paths; NaN with one path",
        units=OF_Y,
        is_optional=True,
        kept_with=DISTRIBUTION,
    ),
    Measure(
        "distance_lower",
        RESULT,
        "float32",
        "mean over the test points of the distance of the lower end from that of the reference procedure",
        compute=lambda at: at.distances(at.lower),
        reduction="mean",
        summary="mean over replications of the distance of the lower end from that of the reference procedure",
        title="mean distance of the lower end from that of the reference procedure",
        units=OF_Y,
    ),
    Measure(
        "distance_upper",
        RESULT,
        "float32",
        "mean over the test points of the distance of the upper end from that of the reference procedure",
        compute=lambda at: at.distances(at.upper),
        reduction="mean",
        summary="mean over replications of the distance of the upper end from that of the reference procedure",
        title="mean distance of the upper end from that of the reference procedure",
        units=OF_Y,
    ),
    *(_make_difference(name) for name in DIFFERENCES),
    Measure(
        "unbounded",
        RESULT,
        "float32",
        "share of the test points with an unbounded region",
        compute=lambda at: at.mean(at.is_unbounded),
        reduction="share",
        summary="share of test points with an unbounded region, over all replications",
        title="share of unbounded regions",
    ),
    Measure(
        "empty",
        RESULT,
        "float32",
        "share of the test points with an empty region",
        compute=lambda at: at.mean(at.is_empty),
        reduction="share",
        summary="share of test points with an empty region, over all replications",
        title="share of empty regions",
    ),
    Measure(
        "disconnected",
        RESULT,
        "float32",
        "share of the test points with a region of several pieces",
        compute=lambda at: at.mean(at.count > 1),
        reduction="share",
        summary="share of test points with a region of several pieces, over all replications",
        title="share of regions of several pieces",
    ),
)
"""Measures that workers write for each path and draw, and that the cube and tables reduce."""
THETA_HAT = Variable(
    "theta_hat",
    ("gamma", "theta", "lam"),
    "float64",
    "theta of the kernel that was used: given, or found by the search",
    long_name="θ that was used",
    units=OF_THETA,
)
"""Written by workers for each path and draw; it isn't reduced."""
LAM_HAT = Variable(
    "lam_hat",
    ("gamma", "theta", "lam"),
    "float64",
    "ridge lambda that was used: given, or found by the search",
    long_name="λ that was used",
)
"""Kept by stores that had a search for λ when they were made."""
ON_BOUND = Variable(
    "on_bound",
    ("gamma", "theta", "lam"),
    "float32",
    "whether the search found a value at a bound of its range: 1 if so, 0 if not; NaN where nothing was searched for",
    long_name="whether a found value is at a bound",
)
"""Kept beside `lam_hat`."""
SCALE_HAT = Variable(
    "scale_hat",
    ("gamma", "theta", "lam", "coordinate"),
    "float64",
    "unit of each coordinate of x that was used: given, or found by the search",
    long_name="scale that was used",
    units="units of x",
)
"""Kept by stores that had a search for scales when they were made."""
FOUND = (THETA_HAT.name, LAM_HAT.name, ON_BOUND.name, SCALE_HAT.name)
"""Variables that say which model was used; there is one for all procedures of a family."""
STATUS_FLAGS = {one.name.lower(): int(one) for one in Status}
"""Codes of the status of a replication, by their words."""
STATUS = Variable(
    "status",
    CELL,
    "uint8",
    "how the replication of this cell ended: "
    "0 ok, 1 excluded, 2 singular, 3 error, 4 NaN, 5 memory, 6 slow, 255 not run",
    long_name="how the replication ended",
    flags=STATUS_FLAGS,
)
"""How each replication of each cell ended (`Status`). Written after all other variables of a unit."""
POINTWISE = (
    Variable(
        "hit",
        (*RESULT, "point"),
        "uint8",
        "whether y* lies in the prediction region of a test point: 1 if so, 0 if not, 255 not run",
        long_name="whether y* is in the region",
        flags={"miss": 0, "hit": 1, "not_run": 255},
    ),
    Variable(
        "point_width",
        (*RESULT, "point"),
        "float32",
        "width of the hull of the prediction region of a test point; inf where it is unbounded",
        long_name="width of the hull at a test point",
        units=OF_Y,
    ),
)
"""Results at each test point, kept if the scenario has keep = ["pointwise"]."""

PIT = Variable(
    "pit",
    (*CELL, "pit_bin"),
    "float32",
    "share of the test points whose randomised PIT lies in each of 10 bins of equal width, from 0 to 1; NaN for "
    "procedures without a predictive distribution",
    long_name="share of PITs in each bin",
)
"""Histogram of the PIT of y*, kept if the scenario has keep = ["distribution"]."""

BY_BINS = Variable(
    "coverage_by_x",
    (*RESULT, "bin"),
    "float32",
    "coverage of the test points in each bin of x (the expected one if the store has it); NaN in a bin without any. "
    "Bins are equal parts of `box`, an attribute of the root: 36 along x, or 6 x 6 with the first variable fastest",
    long_name="coverage in a bin of x",
)
"""Conditional coverage, kept if the scenario has keep = ["bins"]."""


def list_measures(keep: Sequence[str]) -> tuple[Measure, ...]:
    """Return the measures that a store keeps."""
    return tuple(one for one in MEASURES if one.is_kept(keep))


def list_variables(keep: Sequence[str]) -> tuple[Variable, ...]:
    """Return the variables of the replications in the order in which a unit writes them: status last."""
    found = (THETA_HAT, *((LAM_HAT, ON_BOUND) if LAM_HAT.name in keep else ()))
    found += (SCALE_HAT,) if SCALE_HAT.name in keep else ()
    others = (*(POINTWISE if "pointwise" in keep else ()), *((BY_BINS,) if "bins" in keep else ()))
    return (*list_measures(keep), *found, *others, *((PIT,) if DISTRIBUTION in keep else ()), STATUS)
