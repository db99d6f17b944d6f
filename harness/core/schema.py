"""Define the variables of a store: those of each replication, and those of the cube.

A measure is one entry of `MEASURES`: its name, dimensions and description, how it is computed from what the regions did
at the test points (`harness.compute.measures.PointResults`), and how replications are reduced to the cube's number
(`harness.statistics.reduce`). The layout of a store, the cube and the tables are made from these entries. This module
imports no NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.core.types import Reduction

QUANTILES = (0.05, 0.5, 0.95)
"""Quantiles of widths and lengths over the test points of a replication, by the method "inverted_cdf".

Interpolating methods are unsuitable, because infinite widths are common.
"""

COORDINATES = ("procedure", "gamma", "theta", "theta_value", "lam", "n", "alpha", "quantile")
"""Coordinate arrays: labels along the axes."""
USED_AXES = {"uses_theta": "theta", "uses_lam": "lam"}
"""Coordinates along `procedure` of the cube, which say whether results depend on an axis."""
CELL = ("procedure", "gamma", "theta", "lam")
"""Axes of the status. α is not among them: another α costs nothing, so that no rule excludes one."""
RESULT = (*CELL, "alpha")
"""Axes of a measure within a replication."""
COVERAGE_EXPECTED = "coverage_expected"
"""Name of the expected coverage, which a store has if its source knows the distribution of its noise."""
KEPT = ("pointwise", COVERAGE_EXPECTED)
"""What a store may keep besides the variables that all stores have."""
OF_Y = "units of y"
_LARGEST = {"uint8": 2**8 - 1, "uint16": 2**16 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}


@dataclass(frozen=True)
class Variable:
    """One array of the replications of a store."""

    name: str
    dims: tuple[str, ...]
    """Dimensions after path and draw."""
    dtype: str
    description: str
    """Sentence stored in the attributes of the array."""

    @property
    def fill(self) -> float | int:
        """Fill value, which no result can have: NaN, or the largest integer of the data type."""
        return float("nan") if self.dtype.startswith("float") else _LARGEST[self.dtype]


@dataclass(frozen=True)
class Measure(Variable):
    """A variable that is computed for each replication and reduced over replications."""

    compute: Callable[[Any], Any]
    """Function of `PointResults`: one value for each target, procedure and α (and quantile)."""
    reduction: Reduction
    """How replications are reduced."""
    summary: str
    """Sentence stored with the reduced variable in the cube."""
    title: str
    """Name of the reduced measure in tables and figures."""
    error: str | None = None
    """Sentence stored with the standard error in the cube, if the cube has one."""
    units: str = "1"
    """Units of the measure: a pure number, or those of y."""
    is_optional: bool = False
    """Whether only some stores have it: those whose manifest lists its name among what they keep."""


MEASURES = (
    Measure(
        "coverage",
        RESULT,
        "float64",
        "share of test points whose y* is in the region",
        compute=lambda at: at.mean(at.hits),
        reduction="share",
        summary="mean coverage of y*",
        title="coverage of y*",
        error="its Monte-Carlo standard error, between paths; NaN with one path",
    ),
    Measure(
        COVERAGE_EXPECTED,
        RESULT,
        "float64",
        "probability that y* is in the region, given the training sample; mean over test points",
        compute=lambda at: at.mean(at.probability()),
        reduction="probability",
        summary="mean probability that y* is in the region, given the training sample: coverage without test noise",
        title="expected coverage of y*",
        error="its Monte-Carlo standard error, between paths; NaN with one path",
        is_optional=True,
    ),
    Measure(
        "coverage_f",
        RESULT,
        "float64",
        "share of test points whose f(x*) is in the region; NaN where f is unknown",
        compute=lambda at: at.mean_hits_f(),
        reduction="share",
        summary="mean coverage of f(x*)",
        title="coverage of f(x*)",
        error="its Monte-Carlo standard error, between paths",
    ),
    Measure(
        "width",
        (*RESULT, "quantile"),
        "float32",
        "quantiles over the test points of the width of the hull",
        compute=lambda at: at.quantiles(at.width),
        reduction="median",
        summary="median over replications of the quantiles of the hull's width",
        error="its Monte-Carlo standard error: the length of the 95 % interval, divided by twice Student's t",
        title="width of the hull: median over test points and replications",
        units=OF_Y,
    ),
    Measure(
        "width_mean",
        RESULT,
        "float32",
        "mean over the test points of the width of the hull",
        compute=lambda at: at.mean(at.width),
        reduction="mean",
        summary="mean width of the hull; inf where any is unbounded",
        title="mean width of the hull; inf where any region is unbounded",
        units=OF_Y,
    ),
    Measure(
        "length",
        (*RESULT, "quantile"),
        "float32",
        "quantiles over the test points of the length of the region",
        compute=lambda at: at.quantiles(at.length),
        reduction="median",
        summary="median over replications of the quantiles of the region's length",
        title="length of the region: median over test points and replications",
        units=OF_Y,
    ),
    Measure(
        "length_mean",
        RESULT,
        "float32",
        "mean over the test points of the length of the region",
        compute=lambda at: at.mean(at.length),
        reduction="mean",
        summary="mean length of the region; inf where any is unbounded",
        title="mean length of the region; inf where any is unbounded",
        units=OF_Y,
    ),
    Measure(
        "interval_score",
        RESULT,
        "float32",
        "mean interval (Winkler) score of the hull at y*; inf where unbounded",
        compute=lambda at: at.mean(at.interval_scores()),
        reduction="bounded_mean",
        summary="mean interval (Winkler) score of the hull over replications whose regions are all bounded, none empty",
        title="mean interval (Winkler) score over replications whose regions are all bounded, none empty",
        units=OF_Y,
    ),
    Measure(
        "distance_lower",
        RESULT,
        "float32",
        "mean distance of the lower end from that of the reference procedure",
        compute=lambda at: at.distances(at.lower),
        reduction="mean",
        summary="mean distance of the lower end from that of the reference procedure",
        title="mean distance of the lower end from that of the reference procedure",
        units=OF_Y,
    ),
    Measure(
        "distance_upper",
        RESULT,
        "float32",
        "mean distance of the upper end from that of the reference procedure",
        compute=lambda at: at.distances(at.upper),
        reduction="mean",
        summary="mean distance of the upper end from that of the reference procedure",
        title="mean distance of the upper end from that of the reference procedure",
        units=OF_Y,
    ),
    Measure(
        "unbounded",
        RESULT,
        "float32",
        "share of test points with an unbounded region",
        compute=lambda at: at.mean(at.is_unbounded),
        reduction="share",
        summary="share of unbounded regions",
        title="share of unbounded regions",
    ),
    Measure(
        "empty",
        RESULT,
        "float32",
        "share of test points with an empty region",
        compute=lambda at: at.mean(at.is_empty),
        reduction="share",
        summary="share of empty regions",
        title="share of empty regions",
    ),
    Measure(
        "disconnected",
        RESULT,
        "float32",
        "share of test points with a region of several pieces",
        compute=lambda at: at.mean(at.count > 1),
        reduction="share",
        summary="share of regions of several pieces",
        title="share of regions of several pieces",
    ),
)
"""Measures that workers write for each path and draw, and that the cube and tables reduce."""

THETA_HAT = Variable(
    "theta_hat", ("gamma", "theta", "lam"), "float64", "the theta that was used: given, or found by the search"
)
"""Written by workers for each path and draw; it isn't reduced."""
STATUS = Variable(
    "status", CELL, "uint8", "0 ok, 1 excluded, 2 singular, 3 error, 4 NaN, 5 memory, 6 slow, 255 not run"
)
"""How each replication of each cell ended (`Status`). Written after all other variables of a unit."""

POINTWISE = (
    Variable("hit", (*RESULT, "point"), "uint8", "whether y* is in the region"),
    Variable("point_width", (*RESULT, "point"), "float32", "width of the hull"),
)
"""Results at each test point, kept if the scenario has keep = ["pointwise"]."""


def list_measures(keep: Sequence[str]) -> tuple[Measure, ...]:
    """Return the measures that a store keeps."""
    return tuple(one for one in MEASURES if not one.is_optional or one.name in keep)


def list_variables(keep: Sequence[str]) -> tuple[Variable, ...]:
    """Return the variables of the replications in the order in which a unit writes them: status last."""
    return (*list_measures(keep), THETA_HAT, *(POINTWISE if "pointwise" in keep else ()), STATUS)


@dataclass(frozen=True)
class CubeVariable:
    """One array of the cube."""

    name: str
    dtype: str
    description: str
    title: str
    """Name in plots: the attribute `long_name`."""
    units: str = "1"
    quantile: bool = False
    """Whether the array has the axis `quantile` after those of the cube."""
    flags: Mapping[str, int] = field(default_factory=dict)
    """Meaning of each value, for a variable of codes: `flag_meanings` and `flag_values`."""
    is_optional: bool = False
    """Whether only some stores have it."""

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the array, as xarray's plots and the CF conventions expect them."""
        found: dict[str, Any] = {"long_name": self.title, "units": self.units, "description": self.description}
        if self.flags:
            found |= {"flag_values": list(self.flags.values()), "flag_meanings": " ".join(self.flags)}
        return found


VERDICT_FLAGS = {"no_result": 0, "invalid": 1, "undecided": 2, "borderline": 3, "valid": 4, "conservative": 5}
"""Codes of verdicts in the cube; from "valid" on a cell is valid. `harness.statistics.verdicts` defines the words."""

_JUDGED = (
    CubeVariable(
        "level",
        "float64",
        "the coverage that is promised for exchangeable train and test points; NaN where none is",
        "exact level",
    ),
    CubeVariable("target", "float64", "what coverage is compared with: the exact level, or 1 - alpha", "target level"),
    CubeVariable(
        "coverage_low",
        "float64",
        "lower end of the 95 % confidence interval of coverage (the expected one if the store has it)",
        "lower end of coverage",
    ),
    CubeVariable("coverage_high", "float64", "its upper end", "upper end of coverage"),
    CubeVariable(
        "verdict",
        "uint8",
        "whether coverage is at least the target less min(0.02, alpha/5); no verdict of the grid is wrong with "
        "probability 0.95 (or as until says); at least 4 means valid",
        "verdict on coverage",
        flags=VERDICT_FLAGS,
    ),
)
"""What follows from coverage: see `harness.statistics.verdicts`."""


def _list_cube_variables() -> tuple[CubeVariable, ...]:
    found: list[CubeVariable] = []
    for one in MEASURES:
        shared = CubeVariable(
            one.name,
            "float64",
            one.summary,
            one.title,
            units=one.units,
            quantile="quantile" in one.dims,
            is_optional=one.is_optional,
        )
        found.append(shared)
        if one.error is not None:
            title = f"standard error of {one.title.partition(':')[0]}"
            found.append(replace(shared, name=f"{one.name}_se", description=one.error, title=title))
        if one.name == "coverage":
            found += _JUDGED
    found.append(
        CubeVariable("failed", "float64", "share of replications that failed", "share of replications that failed")
    )
    found.append(
        CubeVariable(
            "replication_count", "int64", "number of replications that all of this is from", "number of replications"
        )
    )
    return tuple(found)


CUBE = _list_cube_variables()
"""Arrays that the root of a store may have, with the axes `CUBE_DIMS`. Written by the driver."""
CUBE_VERSION = 3
"""Version of the cube's variables, coordinates and attributes. Older stores get new ones at the next run."""
CUBE_DIMS = ("procedure", "gamma", "theta", "lam", "n", "alpha")


def list_cube_variables(keep: Sequence[str]) -> tuple[CubeVariable, ...]:
    """Return the arrays of the cube of a store, given what it keeps of each replication."""
    return tuple(one for one in CUBE if not one.is_optional or one.name.removesuffix("_se") in keep)
