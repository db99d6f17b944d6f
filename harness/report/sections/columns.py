"""Turn cells into table rows: choose the axes that vary, and format the measures of a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite, isnan

import numpy as np
import xarray as xr

from harness.core.labels import format_label
from harness.core.procedures import format_procedure
from harness.core.schema.cube import CUBE_DIMS
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.core.types import Values
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES
from harness.results.rounding import DASH, format_estimate

ROW_AXES = ("procedure", "gamma", "theta", "lam", "n")
"""Axes that identify a row of a table, at one α."""
_ORDER = (1, 2, 3, 4, 0)
"""Permutation of `ROW_AXES` that puts the procedures of one setting next to each other."""
MARK = "†"
"""Marks levels whose conditions don't hold."""

CellIndex = tuple[int, ...]
"""Indices along `ROW_AXES`."""


ALWAYS, WIDE, ASKED = "always", "wide", "asked"
"""When a column is shown on a screen: on every one, on those wider than a telephone's, or if readers ask for it."""


@dataclass(frozen=True)
class Column:
    """Column of a table."""

    head: str
    what: str
    text: Callable[[CellIndex], str]
    """Formats the value of a cell."""
    shown: str = ASKED


def find_main_alpha(facts: Facts) -> int:
    """Return the index of the α that is shown first: the one nearest to 0.1."""
    return int(np.abs(facts.verdicts["alpha"].values - 0.1).argmin())


def list_labels(facts: Facts, axis: str) -> list[str]:
    """Return the values of an axis as text, in the order of the results."""
    return [format_label(value) for value in facts.verdicts[axis].values.tolist()]


def list_texts(facts: Facts, axis: str) -> list[str]:
    """Return the values of an axis as text for readers: procedures with their meaning."""
    labels = list_labels(facts, axis)
    return [format_procedure(name) for name in labels] if axis == "procedure" else labels


def list_varying_axes(facts: Facts, axes: tuple[str, ...] = ROW_AXES) -> list[str]:
    """Return the axes with more than one value, and the procedure in any case."""
    return [axis for axis in axes if axis == "procedure" or facts.verdicts.sizes[axis] > 1]


def format_fixed_axes(facts: Facts, axes: tuple[str, ...] = ROW_AXES) -> str:
    """Format the axes with a single value, for a caption."""
    told = [
        f"{AXES[axis]} = {list_texts(facts, axis)[0]}" for axis in axes if axis not in list_varying_axes(facts, axes)
    ]
    return ", ".join(told)


def iter_cell_indices(facts: Facts, alpha: int) -> Iterator[CellIndex]:
    """Yield the indices of every cell that the scenario doesn't exclude."""
    included = facts.included.values[..., alpha]
    turned = included.transpose(_ORDER)
    for place in np.argwhere(turned).tolist():
        yield (place[4], *place[:4])


def select_alpha(array: xr.DataArray, like: xr.DataArray, alpha: int) -> Values:
    """Broadcast an array against `like`, and return its values at one α over `ROW_AXES`."""
    whole = array.broadcast_like(like).transpose(*CUBE_DIMS)
    return np.asarray(whole.values[..., alpha])


def make_columns(facts: Facts, alpha: int) -> list[Column]:
    """Create the columns of a table, without those that have no value anywhere."""
    found = [
        _make_verdict_column(facts, alpha),
        _make_coverage_column(facts, alpha),
        *_make_adjusted_column(facts, alpha),
        _make_level_column(facts, alpha),
    ]
    is_expected = facts.judged == COVERAGE_EXPECTED
    some = [(head, what, measure, parts) for head, what, measure, parts in _MEASURED if measure in facts.measures]
    for head, what, measure, parts in some:
        if _has_values(facts.measures[measure], alpha, measure in _SHARES):
            text = (
                _make_range_formatter(facts, parts, alpha)
                if parts
                else make_error_formatter(facts.measures[measure], alpha)
            )
            about = _WHAT_IF_EXPECTED.get(measure, what) if is_expected else what
            found.append(Column(head, about, text, _SHOWN.get(measure, ASKED)))
    return found


def _make_coverage_column(facts: Facts, alpha: int) -> Column:
    what = {
        "coverage": "share of test points with y* in the region",
        COVERAGE_EXPECTED: "probability that y* is in the region, given the training sample: mean over test points",
    }[facts.judged]
    return Column(facts.coverage, what, make_error_formatter(facts.measures[facts.judged], alpha), ALWAYS)


_MEASURED: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("of f(x*)", "share of test points with f(x*) in the region", "coverage_f", ()),
    (
        "coverage 5–95 %",
        "coverage of single replications: 5 % and 95 % quantiles; it is counted, so it varies by the noise of its test "
        "points, too, not only from one training sample to another",
        "coverage_q05",
        ("coverage_q05", "coverage_q95"),
    ),
    ("width", "width of the hull: median over test points and replications", "width", ()),
    (
        "width 5–95 %",
        "width over test points: 5 % and 95 % quantiles, medians over replications",
        "width_q05",
        ("width_q05", "width_q95"),
    ),
    ("to GPR-f", "width relative to GPR-f in the same replication: median", "relative_width", ()),
    ("to oracle", "width relative to 2z·√γ, the shortest interval if f were known: median", "oracle_width", ()),
    (
        "score",
        "interval (Winkler) score, smaller is better: mean over replications whose regions are all bounded, none "
        "empty, which flatters procedures that are unbounded where they do badly: read it with the share not scored",
        "interval_score",
        (),
    ),
    ("not scored", "share of replications left out of the score: a region is unbounded or empty", "unscored", ()),
    ("CRPS", "CRPS of the predictive distribution at y*, smaller is better: mean, the same at every α", "crps", ()),
    ("unbounded", "share of unbounded regions", "unbounded", ()),
    ("empty", "share of empty regions", "empty", ()),
    ("in pieces", "share of regions of several pieces", "disconnected", ()),
    ("failed", "share of replications that failed", "failed", ()),
)
"""Heading, description, measure, and for ranges the two measures that are their ends."""
_SHOWN = {"width": ALWAYS, "relative_width": WIDE}
"""Main columns; others are shown if readers ask for them."""
_WHAT_IF_EXPECTED = {"coverage_q05": "expected coverage of single replications: 5 % and 95 % quantiles"}
"""Descriptions that differ where coverage is the expected one."""
_SHARES = ("unscored", "unbounded", "empty", "disconnected", "failed")
"""Measures whose column is omitted if it is zero everywhere."""


def describe_absences(facts: Facts) -> list[str]:
    """List the problems that never occurred."""
    said = {"unbounded": "unbounded", "empty": "empty", "disconnected": "in pieces"}
    none = [word for name, word in said.items() if not (facts.measures[name]["value"] > 0).any()]
    told = [f"No region was {' or '.join(none)}."] if none else []
    return told if (facts.measures["failed"]["value"] > 0).any() else [*told, "No replication failed."]


def _has_values(found: xr.Dataset, alpha: int, share: bool) -> bool:
    values = found["value"].values[..., alpha]
    if share:
        return bool((values > 0).any())
    return bool((~np.isnan(values)).any()) and not bool(np.isinf(values[~np.isnan(values)]).all())


def make_error_formatter(found: xr.Dataset, alpha: int) -> Callable[[CellIndex], str]:
    """Return a function that formats a measure of a cell as `ckrr table` does: with its error, or its interval."""
    parts = [found[part].values[..., alpha].tolist() for part in ("value", "se", "low", "high")]

    def format_place(place: CellIndex) -> str:
        value, error, low, high = (_get_nested(part, place) for part in parts)
        return format_estimate(value, _drop_rounding_error(error, value), low, high, 0.001)

    return format_place


def _drop_rounding_error(error: float, value: float) -> float:
    """Return 0 for errors that are only rounding."""
    return 0.0 if error < 1e-9 * abs(value) else error


def _get_nested(nested: list, place: CellIndex) -> float:  # type: ignore[type-arg]
    for i in place:
        nested = nested[i]
    return nested  # type: ignore[return-value]


def _make_range_formatter(facts: Facts, names: tuple[str, ...], alpha: int) -> Callable[[CellIndex], str]:
    low, high = (facts.measures[name]["value"].values[..., alpha] for name in names)
    return lambda place: f"{_format_short(low[place])}–{_format_short(high[place])}" if not isnan(low[place]) else DASH


def _format_short(value: float) -> str:
    return f"{value:.3g}" if isfinite(value) else "inf"


def _make_verdict_column(facts: Facts, alpha: int) -> Column:
    values = facts.verdicts["verdict"].values[..., alpha]
    return Column("verdict", "see above", lambda place: str(values[place]), ALWAYS)


def _make_adjusted_column(facts: Facts, alpha: int) -> list[Column]:
    """Return no column if no cell at this α is adjusted."""
    if facts.adjusted is None or not _has_values(facts.adjusted, alpha, share=False):
        return []
    what = "another estimate of the same, adjusted by conformal coverages: see Uncertainty; it may exceed 1 a little"
    return [Column("adjusted", what, make_error_formatter(facts.adjusted, alpha))]


def _make_level_column(facts: Facts, alpha: int) -> Column:
    judged = facts.verdicts
    target = select_alpha(judged["target"], judged["value"], alpha)
    unsure = select_alpha(judged["promised"] & ~judged["exchangeable"], judged["value"], alpha)
    what = "what coverage is compared with: the exact level where there is one, else 1 − α"
    return Column("level", what, lambda place: f"{target[place]:.4g}{MARK * bool(unsure[place])}", WIDE)
