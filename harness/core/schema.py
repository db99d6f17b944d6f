"""The variables of the store: what is kept of each replication, and of each cell.

All dimensions, types, fills and sentences stand here, once; the store is made from these tables.
"""

from __future__ import annotations

from dataclasses import dataclass

QUANTILES = (0.05, 0.5, 0.95)
"""Of widths and lengths over the test points of a replication; of type inverted_cdf, because inf is common."""

COORDINATES = ("procedure", "gamma", "theta", "theta_value", "lam", "n", "alpha", "quantile")
"""Labels along the axes, arrays of their own."""
CELL = ("procedure", "gamma", "theta", "lam")
"""The axes that a status is for: α costs nothing, so no rule leaves one out."""
RESULT = (*CELL, "alpha")
_LARGEST = {"uint8": 2**8 - 1, "uint16": 2**16 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}


@dataclass(frozen=True)
class Variable:
    """One array of the store."""

    name: str
    dims: tuple[str, ...]
    """Besides path and draw."""
    dtype: str
    description: str
    """The sentence that stands in its attributes."""

    @property
    def fill(self) -> float | int:
        """What no result can be."""
        return float("nan") if self.dtype.startswith("float") else _LARGEST[self.dtype]


REPLICATION = (
    Variable("coverage", RESULT, "float64", "share of test points whose y* is in the region"),
    Variable(
        "coverage_f", RESULT, "float64", "share of test points whose f(x*) is in the region; NaN where f is unknown"
    ),
    Variable("width", (*RESULT, "quantile"), "float32", "quantiles over the test points of the width of the hull"),
    Variable("width_mean", RESULT, "float32", "mean over the test points of the width of the hull"),
    Variable("length", (*RESULT, "quantile"), "float32", "quantiles over the test points of the length of the region"),
    Variable("length_mean", RESULT, "float32", "mean over the test points of the length of the region"),
    Variable(
        "interval_score", RESULT, "float32", "mean interval (Winkler) score of the hull at y*; inf where unbounded"
    ),
    Variable(
        "distance_lower", RESULT, "float32", "mean distance of the lower end from that of the reference procedure"
    ),
    Variable(
        "distance_upper", RESULT, "float32", "mean distance of the upper end from that of the reference procedure"
    ),
    Variable("unbounded", RESULT, "float32", "share of test points with an unbounded region"),
    Variable("empty", RESULT, "float32", "share of test points with an empty region"),
    Variable("disconnected", RESULT, "float32", "share of test points with a region of several pieces"),
    Variable(
        "theta_hat", ("gamma", "theta", "lam"), "float64", "the theta that was used: given, or found by the search"
    ),
)
"""Written by workers, one value for each path and draw."""

STATUS = Variable(
    "status", CELL, "uint8", "0 ok, 1 excluded, 2 singular, 3 error, 4 NaN, 5 memory, 6 slow, 255 not run"
)
"""Written last."""

POINTWISE = (
    Variable("hit", (*RESULT, "point"), "uint8", "whether y* is in the region"),
    Variable("point_width", (*RESULT, "point"), "float32", "width of the hull"),
)
"""Kept where the scenario says keep = ["pointwise"]."""


def list_variables(keep: tuple[str, ...]) -> tuple[Variable, ...]:
    """In the order in which a unit writes them: status last."""
    return (*REPLICATION, *(POINTWISE if "pointwise" in keep else ()), STATUS)


@dataclass(frozen=True)
class CubeVariable:
    """One array of the cube."""

    name: str
    dtype: str
    description: str
    quantile: bool = False
    """Whether it has the quantile axis besides those of the cube."""


CUBE = (
    CubeVariable("coverage", "float64", "mean coverage of y*"),
    CubeVariable("coverage_se", "float64", "its Monte-Carlo standard error, between paths; NaN with one path"),
    CubeVariable(
        "level", "float64", "the coverage that is promised for exchangeable train and test points; NaN where none is"
    ),
    CubeVariable("coverage_f", "float64", "mean coverage of f(x*)"),
    CubeVariable("coverage_f_se", "float64", "its Monte-Carlo standard error, between paths"),
    CubeVariable("width", "float64", "median over replications of the quantiles of the hull's width", quantile=True),
    CubeVariable("width_mean", "float64", "mean width of the hull; inf where any is unbounded"),
    CubeVariable(
        "length", "float64", "median over replications of the quantiles of the region's length", quantile=True
    ),
    CubeVariable("length_mean", "float64", "mean length of the region; inf where any is unbounded"),
    CubeVariable("interval_score", "float64", "mean interval (Winkler) score of the hull; inf where any is unbounded"),
    CubeVariable("distance_lower", "float64", "mean distance of the lower end from that of the reference procedure"),
    CubeVariable("distance_upper", "float64", "mean distance of the upper end from that of the reference procedure"),
    CubeVariable("unbounded", "float64", "share of unbounded regions"),
    CubeVariable("empty", "float64", "share of empty regions"),
    CubeVariable("disconnected", "float64", "share of regions of several pieces"),
    CubeVariable("failed", "float64", "share of replications that failed"),
    CubeVariable("replication_count", "int64", "number of replications that all of this is from"),
)
"""The root of the store, over procedure, gamma, theta, lam, n and alpha; written by the driver."""


CUBE_DIMS = ("procedure", "gamma", "theta", "lam", "n", "alpha")
