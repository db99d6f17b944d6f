"""Define the variables of the cube: the reduced measures, their errors, and what follows from coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.core.schema.measures import COVERAGE_EXPECTED, MEASURES, Measure, make_attributes


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
    beside: tuple[str, ...] = ()
    """Variables that say how certain this one is: the attribute `ancillary_variables` of the CF conventions."""
    measure: Measure | None = None
    """The measure whose reduced values or errors it has."""

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the array, as xarray's plots and the CF conventions expect them."""
        found = make_attributes(self.title, self.units, self.description, self.flags)
        return found | ({"ancillary_variables": " ".join(self.beside)} if self.beside else {})


VERDICT_FLAGS = {"no_result": 0, "invalid": 1, "undecided": 2, "borderline": 3, "valid": 4, "conservative": 5}
"""Codes of verdicts in the cube; from "valid" on a cell is valid. `harness.statistics.verdicts` defines the words."""
_JUDGED = (
    CubeVariable(
        "level",
        "float64",
        "coverage that the procedure guarantees if training and test points are exchangeable; NaN where it "
        "guarantees none",
        "exact level",
    ),
    CubeVariable(
        "target",
        "float64",
        "coverage that verdicts compare with: the exact level where there is one, otherwise 1 - alpha",
        "target level",
    ),
    CubeVariable(
        "coverage_low",
        "float64",
        "lower end of the 95 % confidence interval of coverage (the expected one if the store has it)",
        "lower end of coverage",
    ),
    CubeVariable(
        "coverage_high",
        "float64",
        "upper end of the 95 % confidence interval of coverage (the expected one if the store has it)",
        "upper end of coverage",
    ),
    CubeVariable(
        "verdict",
        "uint8",
        "whether coverage is at least the target less min(0.02, alpha/5), with probability 0.95 (or as until says) "
        "that no verdict of the whole grid is wrong: 0 no result, 1 invalid, 2 undecided, 3 borderline, 4 valid, "
        "5 conservative; at least 4 means valid",
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
            measure=one,
        )
        found.append(replace(shared, beside=(f"{one.name}_se",) if one.error is not None else ()))
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
            "replication_count",
            "int64",
            "number of replications that the numbers of a cell are computed from: all that ran and did not fail",
            "number of replications",
        )
    )
    return tuple(found)


CUBE = _list_cube_variables()
"""Arrays that the root of a store may have, with the axes `CUBE_DIMS`. Written by the driver."""
CUBE_VERSION = 4
"""Version of the cube's variables, coordinates and attributes. Older stores get new ones at the next run."""
CUBE_DIMS = ("procedure", "gamma", "theta", "lam", "n", "alpha")


def list_cube_variables(keep: Sequence[str]) -> tuple[CubeVariable, ...]:
    """Return the arrays of the cube of a store, given what it keeps of each replication."""
    found = (one for one in CUBE if one.measure is None or one.measure.is_kept(keep))
    judged = COVERAGE_EXPECTED if COVERAGE_EXPECTED in keep else "coverage"
    around = tuple(one.name for one in _JUDGED)
    return tuple(replace(one, beside=(*one.beside, *around)) if one.name == judged else one for one in found)
