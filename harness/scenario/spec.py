"""Define the format of a scenario file as pydantic models, validated completely before anything runs.

Every list and every product of counts has a limit, because a plan enumerates cells and units, and a file may ask for
any number of them.
"""

from __future__ import annotations

from collections import Counter
from math import inf, prod
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from harness.core.families import MODEL_AXES, NO_VALUE
from harness.core.text import shorten_repr
from harness.core.types import Extent, Grid, Theta
from harness.scenario.entries import parse_entries
from harness.scenario.errors import COMPLETE_MESSAGE, HINT, UNKNOWN_NAME, ScenarioError, suggest_family

LARGEST_SEED = 2**63 - 1
LARGEST_POWER = 10
"""Largest power of the density ratio that `weights` may be."""
MOST_VALUES, MOST_RULES, MOST_SCALES = 256, 1000, 10_000
"""Limits: values on an axis, rules of `exclude`, entries of `scales`."""
MOST_CELLS, MOST_REPLICATIONS = 10**7, 10**9
"""Limits: cells of a grid over all its axes, and paths × draws."""


def _refuse_bool(value: object) -> object:
    """Reject booleans, which Python would accept as the numbers 0 and 1."""
    if isinstance(value, bool):
        raise PydanticCustomError("boolean", "must be a number")
    return value


def _check_distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    twice = sorted({shorten_repr(value) for value, times in Counter(values).items() if times > 1})
    if twice:
        raise PydanticCustomError("twice", "must not have a value twice: {values}", {"values": ", ".join(twice)})
    return values


def _check_name(name: str, what: str, info: ValidationInfo, before: str = "") -> str:
    """Return a name if it is among the families', which the validation context lists under `what`; else raise."""
    context = info.context or {}
    known = list(context.get(what, [name]))
    if name not in known:
        names = context.get("families", ["krr"])
        whose = (
            "" if names == ["krr"] else f", which family = {shorten_repr(names[0] if len(names) == 1 else names)} has"
        )
        some = f"one of {', '.join(known)}" if known else "nothing else"
        text = f"must be {before}{some}{whose}"
        told = {"text": text, "name": name, "known": known, HINT: suggest_family(name) if what == "procedures" else ""}
        raise PydanticCustomError(UNKNOWN_NAME, "{text}", told)
    return name


def _check_procedure(name: str, info: ValidationInfo) -> str:
    return _check_name(name, "procedures", info)


def _refuse_percent(value: object) -> object:
    """Reject percentages: 5 is meant as 0.05, and 95, the coverage that belongs to it, too."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 1 < value < 100:
        share = min(value, 100 - value) / 100
        raise PydanticCustomError("percent", "must be < 1", {HINT: f" (did you mean {share:.6g}?)"})
    return value


def _parse_theta(value: object, info: ValidationInfo) -> Theta:
    """Parse a number or the name of a search, in one validator so that a mistake is reported once."""
    if isinstance(value, str):
        return _check_name(value, "searches", info, before="a number > 0 or ")
    if not isinstance(value, int | float) or isinstance(value, bool):
        value = -1.0
    if 0 < value < inf or _is_placeholder("theta", value, info):
        return float(value)
    raise PydanticCustomError("theta", "must be a finite number > 0 or the name of a search")


def _check_lam(value: float, info: ValidationInfo) -> float:
    if value > 0 or _is_placeholder("lam", value, info) or (value == NO_VALUE and _needs_no_lam(info, info.data)):
        return value
    raise PydanticCustomError("lam", "must be > 0")


def _is_placeholder(axis: str, value: float, info: ValidationInfo) -> bool:
    """Return whether a value stands for no value, on an axis that no family of the study uses."""
    return value == NO_VALUE and axis not in (info.context or {}).get("axes", MODEL_AXES)


def _parse_weights(value: object) -> float | str:
    """Parse the key `weights` in one validator, so that a mistake is reported once."""
    if isinstance(value, str) and value in ("exact", "estimated"):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_POWER:
        return float(value)
    text = 'must be "exact", "estimated", or the power of the density ratio, from −{most} to {most}'
    raise PydanticCustomError("weights", text, {"most": LARGEST_POWER})


def _needs_no_lam(info: ValidationInfo, grid: dict[str, Any]) -> bool:
    """Return whether every θ of a grid is a search that finds λ."""
    thetas = grid.get("theta") or ()
    found = (info.context or {}).get("finds_lam", ())
    return bool(thetas) and all(theta in found for theta in (thetas if isinstance(thetas, list | tuple) else [thetas]))


Number = Annotated[float, BeforeValidator(_refuse_bool), Field(allow_inf_nan=False)]
Positive = Annotated[Number, Field(gt=0)]
NotNegative = Annotated[Number, Field(ge=0)]
Level = Annotated[Number, Field(gt=0, lt=1)]
Alpha = Annotated[Level, BeforeValidator(_refuse_percent)]
Whole = Annotated[int, BeforeValidator(_refuse_bool), Field(strict=True)]
Procedure = Annotated[str, AfterValidator(_check_procedure)]
Lam = Annotated[Number, AfterValidator(_check_lam)]
ThetaValue = Annotated[float | str, PlainValidator(_parse_theta)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class GridPart(_Part):
    """[grid]: values of each axis; all combinations are studied."""

    gamma: Annotated[
        tuple[NotNegative, ...], Field(min_length=1, max_length=MOST_VALUES), AfterValidator(_check_distinct)
    ] = (0.0,)
    """Variance of the noise that is added; `load.check` lets only tables and data sets leave it out."""
    n: Annotated[
        tuple[Annotated[Whole, Field(ge=2, le=1_000_000)], ...],
        Field(min_length=1, max_length=MOST_VALUES),
        AfterValidator(_check_distinct),
    ]
    theta: Annotated[
        tuple[ThetaValue, ...], Field(min_length=1, max_length=MOST_VALUES), AfterValidator(_check_distinct)
    ]
    lam: Annotated[tuple[Lam, ...], Field(min_length=1, max_length=MOST_VALUES), AfterValidator(_check_distinct)]
    alpha: Annotated[
        tuple[Alpha, ...], Field(min_length=1, max_length=MOST_VALUES), AfterValidator(_check_distinct)
    ] = (
        0.01,
        0.05,
        0.1,
        0.25,
    )
    procedure: Annotated[
        tuple[Procedure, ...], Field(min_length=1, max_length=MOST_VALUES), AfterValidator(_check_distinct)
    ]

    @model_validator(mode="before")
    @classmethod
    def _wrap_single_values(cls, plain: Any, info: ValidationInfo) -> Any:
        """Allow a single value without brackets, and no value on an axis that nothing in the study uses."""
        if not isinstance(plain, dict):
            return plain
        used = (info.context or {}).get("axes", MODEL_AXES)
        unused = {axis: [NO_VALUE] for axis in MODEL_AXES if axis not in used}
        unused |= {"lam": [NO_VALUE]} if _needs_no_lam(info, plain) else {}
        return unused | {key: value if isinstance(value, list | tuple) else [value] for key, value in plain.items()}

    @model_validator(mode="after")
    def _check_cells(self) -> GridPart:
        """Raise an error if the grid has too many cells."""
        axes = {name: len(getattr(self, name)) for name in type(self).model_fields}
        if prod(axes.values()) > MOST_CELLS:
            product = " × ".join(f"{count} {name}" for name, count in axes.items())
            text = "must have at most {most} cells, got {cells}: {product}"
            context = {"most": MOST_CELLS, "cells": prod(axes.values()), "product": product}
            raise PydanticCustomError(COMPLETE_MESSAGE, text, context)
        return self


class Until(_Part):
    """until: add paths until every cell is decided, or until every number is precise enough."""

    verdict: Level | None = None
    """Probability that no verdict of the whole grid is wrong, however often somebody looks."""
    se: Annotated[Positive, Field(lt=1)] | None = None
    """Standard error of coverage that no cell may exceed."""
    width: Annotated[Positive, Field(lt=1)] | None = None
    """Half the length of the interval of the median width, relative to that width."""
    conservative: Annotated[bool, Field(strict=True)] = False
    """Whether to go on until it is decided, too, which valid cells are conservative."""
    exact: Annotated[bool, Field(strict=True)] = False
    """Whether verdicts hold for every distribution: by betting, which takes four to five times as many paths."""

    @model_validator(mode="after")
    def _check_targets(self) -> Until:
        """Raise an error if there is nothing to reach, or an option that has nothing to change."""
        if self.verdict is None and self.se is None and self.width is None:
            text = "must have verdict, se or width, as in until = {example}"
            raise PydanticCustomError(COMPLETE_MESSAGE, text, {"example": "{ verdict = 0.95 }"})
        if self.verdict is None and (self.conservative or self.exact):
            raise PydanticCustomError(COMPLETE_MESSAGE, "must have verdict where it has conservative or exact")
        return self


class Budget(_Part):
    """budget: where to stop at the latest."""

    paths: Annotated[Whole, Field(ge=1, le=MOST_REPLICATIONS)]
    """Largest number of paths at any n."""
    hours: Positive | None = None
    """Largest duration of one run; the next run goes on."""


class Replications(_Part):
    """[replications]: number of replications, and their time limit."""

    paths: Annotated[Whole, Field(ge=1, le=MOST_REPLICATIONS)] | None = None
    """Number of independent realisations of the data-generating process; left out if `until` decides."""
    until: Until | None = None
    """What to reach by adding paths."""
    budget: Budget | None = None
    """Where to stop at the latest, with `until`."""
    draws: Annotated[Whole, Field(ge=1, le=MOST_REPLICATIONS)] = 1
    """Number of training samples on each path."""
    seconds: Positive | None = None
    """Time limit of each step of a replication (data, one fit, regions); a step that takes longer is a failure."""

    @model_validator(mode="after")
    def _check_replications(self) -> Replications:
        """Raise an error if paths are given twice or not at all, or paths × draws is too large."""
        if self.until is None and self.budget is not None:
            raise PydanticCustomError(COMPLETE_MESSAGE, "must have until where it has a budget (or --until verdict)")
        if (self.paths is None) == (self.until is None):
            got = "neither" if self.paths is None else "both"
            text = "must have paths, or until and budget in their place, got {got}"
            raise PydanticCustomError(COMPLETE_MESSAGE, text, {"got": got})
        if self.until is not None and self.budget is None:
            text = "must have budget where it has until, as in budget = {example}"
            raise PydanticCustomError(COMPLETE_MESSAGE, text, {"example": "{ paths = 4000 } (or --budget 4000)"})
        if self.most_paths * self.draws > MOST_REPLICATIONS:
            text = "must have paths × draws of at most {most}, got {paths} × {draws}"
            context = {"most": MOST_REPLICATIONS, "paths": self.most_paths, "draws": self.draws}
            raise PydanticCustomError(COMPLETE_MESSAGE, text, context)
        return self

    @property
    def most_paths(self) -> int:
        """Number of paths, or the largest number that the budget allows."""
        if self.paths is not None:
            return self.paths
        assert self.budget is not None
        return self.budget.paths


def _wrap_in_list(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


One = TypeVar("One")
Values = Annotated[tuple[One, ...], Field(max_length=MOST_VALUES), BeforeValidator(_wrap_in_list)]


class Rule(_Part):
    """[[exclude]]: a rule that leaves out the cells with these values on all of the named axes."""

    n: Values[Whole] | None = None
    gamma: Values[Number] | None = None
    theta: Values[ThetaValue] | None = None
    lam: Values[Number] | None = None
    procedure: Values[Procedure] | None = None

    def get_axes(self) -> dict[str, tuple[object, ...]]:
        """Return the named axes with their values."""
        return {axis: values for axis, values in self if values is not None}


def _check_families(value: Any) -> Any:
    """Return the families as they are written; `harness.scenario.entries` reports mistakes in them."""
    try:
        parse_entries(value)
    except ScenarioError:
        return "krr"
    return value


class Scenario(_Part):
    """A study: source, family, grid, replications and exclusions."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
    description: str = ""
    seed: Annotated[Whole, Field(ge=0, le=LARGEST_SEED)]
    family: Annotated[Any, AfterValidator(_check_families)] = "krr"
    """Family of procedures, or a list of families: see `harness.scenario.families`."""
    kernel: str = "gaussian"
    """Kernel of the family krr: gaussian, laplacian, matern32, matern52, one with the suffix -rff, or linear."""
    scales: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MOST_SCALES)] | None = None
    """Length scale of each coordinate: the kernel sees inputs divided by it."""
    features: Annotated[Whole, Field(ge=1, le=100_000)] | None = None
    """Number of random features, for a kernel with the suffix -rff."""
    mean: str = "zero"
    """Mean of y in families of kernel methods: zero, or constant for an unknown one that each fit estimates."""
    smoothed: Annotated[bool, Field(strict=True)] = False
    """Whether p-values are smoothed, so that conformal regions have coverage exactly 1 − α at every n."""
    weights: Annotated[float | str, PlainValidator(_parse_weights)] = "exact"
    """Weights of weighted procedures: see `harness.families.weights`."""
    sigma: Literal["estimated", "known"] = "estimated"
    """Whether GPR-f and GPR-p estimate σ², or know the standard deviation of the noise, which the source says."""
    keep: Annotated[
        tuple[Literal["pointwise", "bins", "distribution", "difference_lower", "difference_upper"], ...],
        Field(max_length=MOST_VALUES),
        AfterValidator(_check_distinct),
    ] = ()
    expected_coverage: Annotated[bool, Field(strict=True)] | None = None
    """Whether to store the probability that y* is in the region. Default: as the store has it; in a new one, if the
    source knows f and the distribution of its noise."""
    source: dict[str, Any]
    grid: GridPart
    replications: Replications
    exclude: Annotated[tuple[Rule, ...], Field(max_length=MOST_RULES)] = ()

    @model_validator(mode="after")
    def _check_rules(self) -> Scenario:
        for i, rule in enumerate(self.exclude):
            if not rule.get_axes():
                raise PydanticCustomError(
                    "rule", "exclude[{i}] names no axis, so it would leave out everything", {"i": i}
                )
            for axis, values in rule.get_axes().items():
                strange = [value for value in values if value not in getattr(self.grid, axis)]
                if strange:
                    text = "exclude[{i}].{axis} has {value}, which isn't in grid.{axis}"
                    raise PydanticCustomError("rule", text, {"i": i, "axis": axis, "value": shorten_repr(strange[0])})
        return self

    def make_extent(self) -> Extent:
        """Return the grid, paths, draws and exclusions that the scenario asks for."""
        grid = self.grid
        theta: tuple[Theta, ...] = grid.theta
        return Extent(
            Grid(grid.procedure, grid.gamma, theta, grid.lam, grid.n, grid.alpha),
            self.replications.most_paths,
            self.replications.draws,
            tuple(rule.get_axes() for rule in self.exclude),
        )
