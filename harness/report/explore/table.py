"""Make columns of the cells in the page: labels as codes, texts as tables show them, and ends of intervals.

The columns are JSON: null is a missing number, and "inf" an infinite one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isinf, isnan, log10
from shlex import quote
from typing import Any

import numpy as np
import xarray as xr

from harness.core.procedures import assign_strokes, is_for_function
from harness.core.schema.cube import CUBE_DIMS
from harness.core.types import Values
from harness.report.explore.selection import CellChoice
from harness.report.explore.spread import SHARES, Spread
from harness.report.sections.columns import list_labels, make_error_formatter
from harness.report.sections.facts import Facts
from harness.report.sections.figures import get_first_index
from harness.report.sections.glossary import AXES
from harness.statistics.verdicts import EMPTY, VERDICTS

_HIDDEN = ("coverage_q05", "coverage_q95", "width_q05", "width_q95")
"""Measures that aren't offered: the distribution over replications has them, or they are half of a pair."""
_SHARES = ("unscored", "unbounded", "empty", "disconnected", "failed")
"""Measures that aren't offered if they are zero everywhere."""
_SHORT = {
    "relative_width": "width relative to GPR-f",
    "oracle_width": "width relative to the oracle",
    "interval_score": "interval score",
    "unscored": "share not scored",
    "failed": "share that failed",
}
"""Names of measures whose description is too long for a button."""
_DECIMALS = 4
"""Decimals of levels, and of shares without an interval."""
_FIGURES = 3
"""Significant digits of quantiles of widths."""


def make_table(facts: Facts, chosen: CellChoice, spread: Spread, shown: str) -> dict[str, Any]:
    """Make everything that the scripts need, ready for JSON.

    Parameters
    ----------
    facts : Facts
        Contents of the store.
    chosen : CellChoice
        Cells in the page.
    spread : Spread
        Quantiles over replications, of all cells.
    shown : str
        Name of the store in commands.
    """
    cells = np.flatnonzero(chosen.has_result)
    return {
        "store": quote(shown),
        "axes": [_make_axis(facts, chosen, axis) for axis in CUBE_DIMS],
        "cells": None if cells.size == chosen.has_result.size else cells.tolist(),
        "strokes": _list_strokes(facts),
        "measures": [_make_measure(facts, chosen, name) for name in _list_measures(facts)],
        "verdicts": _make_verdicts(facts, chosen),
        "target": _round_evenly(_take(facts, chosen, facts.verdicts["target"]), _DECIMALS),
        "replications": chosen.take(facts.measures[facts.judged]["replications"].to_numpy()).astype(int).tolist(),
        "spread": _make_spread(facts, chosen, spread),
    }


def _make_axis(facts: Facts, chosen: CellChoice, axis: str) -> dict[str, Any]:
    labels = list_labels(facts, axis)
    places = list(chosen.places[axis])
    first = 0 if axis == "procedure" else places.index(get_first_index(facts, axis))
    values = [labels[i] for i in places]
    words = {"words": [quote(each) for each in values]} if axis == "theta" else {}  # a search has any name
    return {"name": axis, "letter": AXES[axis], "values": values, "first": first, **words}


def _list_strokes(facts: Facts) -> list[dict[str, Any]]:
    """List how each procedure is drawn, as in the figures, and whether its target is f(x*)."""
    names = list_labels(facts, "procedure")
    return [
        {
            "colour": one.colour,
            "marker": one.marker,
            "dash": [] if isinstance(one.line, str) else list(one.line[1]),
            "function": is_for_function(name),
        }
        for name, one in assign_strokes(names).items()
    ]


def _list_measures(facts: Facts) -> list[str]:
    return [
        name
        for name, found in facts.measures.items()
        if name not in _HIDDEN and bool((found["value"] > 0 if name in _SHARES else found["value"].notnull()).any())
    ]


def _make_measure(facts: Facts, chosen: CellChoice, name: str) -> dict[str, Any]:
    found = facts.measures[name]
    what = str(found.attrs["description"])
    value, low, high = (chosen.take(found[part].to_numpy()) for part in ("value", "low", "high"))
    decimals = _count_decimals(low, high)
    return {
        "name": name,
        "label": _SHORT.get(name, what.partition(":")[0]),
        "what": what,
        "covers": {facts.judged: "y*", "coverage_f": "f(x*)"}.get(name),
        "text": "|".join(_format_cells(found, chosen)),
        "value": _round_each(value, decimals),
        "low": _round_each(low, decimals),
        "high": _round_each(high, decimals),
    }


def _format_cells(found: xr.Dataset, chosen: CellChoice) -> list[str]:
    """Format a measure of every cell as the tables of the report do."""
    formats = {alpha: make_error_formatter(found, alpha) for alpha in chosen.places["alpha"]}
    return [formats[alpha](tuple(place)) for *place, alpha in chosen.indices]


def _make_verdicts(facts: Facts, chosen: CellChoice) -> dict[str, Any]:
    words = [EMPTY, *VERDICTS]
    of_function = facts.function_verdicts
    found = {"words": words, "y*": _encode(facts.verdicts["verdict"], chosen, words)}
    if of_function is not None:
        names = facts.verdicts["procedure"].values
        whole = of_function["verdict"].reindex(procedure=names, fill_value=EMPTY)
        found["f(x*)"] = _encode(whole, chosen, words)
    return found


def _encode(verdicts: xr.DataArray, chosen: CellChoice, words: Sequence[str]) -> list[int]:
    codes = {word: code for code, word in enumerate(words)}
    return [codes[word] for word in chosen.take(verdicts.transpose(*CUBE_DIMS).to_numpy()).tolist()]


def _take(facts: Facts, chosen: CellChoice, array: xr.DataArray) -> Values:
    return chosen.take(array.broadcast_like(facts.verdicts["value"]).transpose(*CUBE_DIMS).to_numpy())


def _make_spread(facts: Facts, chosen: CellChoice, spread: Spread) -> dict[str, Any]:
    """Make columns of quantiles: those of a cell follow each other."""
    coverage, width = (
        np.stack([chosen.take(one) for one in part], axis=-1).ravel() for part in (spread.coverage, spread.width)
    )
    return {
        "shares": list(SHARES),
        "judged": facts.coverage,
        "coverage": _round_evenly(coverage, _count_quantile_decimals(facts)),
        "width": _round_figures(width),
        "path": chosen.take(spread.path).astype(int).tolist(),
        "draw": chosen.take(spread.draw).astype(int).tolist(),
    }


def _count_quantile_decimals(facts: Facts) -> int:
    """Return the decimals of quantiles of coverage: three, or more if there is an α below 0.01."""
    return max(3, 1 - floor(log10(facts.verdicts["alpha"].values.min())))


def _count_decimals(low: Values, high: Values) -> Values:
    """Return the decimals that two significant digits of half an interval have; where it has none, those of 1e-4."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = 1 - np.floor(np.log10((high - low) / 2))
    return np.asarray(np.where(np.isfinite(found), np.clip(found, 0, 12), _DECIMALS), dtype=int)


def _round_each(values: Values, decimals: Values) -> list[Any]:
    """Round each number to its own decimals."""
    rounded = np.empty(values.shape)
    for count in np.unique(decimals):
        rounded[decimals == count] = np.round(values[decimals == count], count)
    return _make_json(rounded)


def _round_evenly(values: Values, decimals: int) -> list[Any]:
    return _make_json(np.round(values, decimals))


def _round_figures(values: Values) -> list[Any]:
    """Round numbers to `_FIGURES` significant digits."""
    values = np.asarray(values, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = _FIGURES - 1 - np.floor(np.log10(np.abs(values)))
    return _round_each(values, np.asarray(np.where(np.isfinite(found), found, 0), dtype=int))


def _make_json(values: Values) -> list[Any]:
    """Return numbers as JSON has them: whole ones without a point, null for NaN, and "inf"."""
    return [_make_json_number(one) for one in np.asarray(values, dtype=float).tolist()]


def _make_json_number(one: float) -> int | float | str | None:
    if isnan(one):
        return None
    if isinf(one):
        return "inf" if one > 0 else "-inf"
    return int(one) if one.is_integer() else one
