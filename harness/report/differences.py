"""Render paired differences: each procedure less a reference, within replications, where both have the same data."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

import numpy as np
import xarray as xr
from markupsafe import Markup

from harness.core.procedures import is_for_function
from harness.core.schema.cube import CUBE_DIMS
from harness.core.types import Values
from harness.report.html.templating import TEMPLATES
from harness.report.sections.columns import (
    find_main_alpha,
    format_fixed_axes,
    list_labels,
    list_texts,
    list_varying_axes,
)
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES
from harness.report.sections.tables import ACROSS, Cell, Head, Row, count_bytes, iter_settings, render_sheet
from harness.results.estimates import difference
from harness.results.measures import REFERENCE
from harness.results.rounding import DASH, format_interval

ROOM = 75_000
"""Bytes that the table of one measure may take."""
_PARTS = ("value", "low", "high")


def find_reference(facts: Facts) -> str:
    """Return the procedure that others are compared with: GPR-f, or else the first one for y*."""
    names = list_labels(facts, "procedure")
    usual = [name for name in names if not is_for_function(name)]
    return REFERENCE if REFERENCE in names else (usual or names)[0]


def render_differences(facts: Facts, command: str, versus: str | None = None) -> Markup:
    """Render the differences of coverage and width at the main α, or nothing if there is only one procedure.

    Parameters
    ----------
    facts : Facts
        Contents of the store.
    command : str
        Command that prints tables of the store.
    versus : str, optional
        Procedure that others are compared with. Default: GPR-f, or the first one for y*.

    Raises
    ------
    UserError
        If the store doesn't have that procedure.
    """
    if facts.verdicts.sizes["procedure"] < 2 and not versus:
        return Markup("")
    reference = versus or find_reference(facts)
    words = {facts.judged: facts.coverage, "width": "width"}
    tables = [_render_table(facts, measure, words[measure], reference) for measure in words]
    return TEMPLATES.render(
        "differences.html",
        reference=reference,
        tables=[one for one in tables if count_bytes(one) <= ROOM],
        is_short=any(count_bytes(one) > ROOM for one in tables),
        command=f"{command} --versus {quote(reference)} --measure {facts.judged}",
    )


def _render_table(facts: Facts, measure: str, word: str, reference: str) -> Markup:
    """Render the differences of a measure with n along the top."""
    alpha = find_main_alpha(facts)
    found = difference(facts.url, reference, measure, {"alpha": [facts.verdicts["alpha"].values[alpha]]})
    axes = list_varying_axes(facts, ACROSS)
    heads = [Head(AXES[axis], axis) for axis in axes] + [Head(f"n = {n}") for n in list_labels(facts, "n")]
    single = format_fixed_axes(facts, ACROSS)
    at = f"α = {list_labels(facts, 'alpha')[alpha]}{f', {single}' if single else ''}"
    caption = f"{word.capitalize()} less that of {reference}, at {at}."
    return render_sheet(caption, heads, list(_iter_rows(facts, found, axes, reference)))


def _iter_rows(facts: Facts, found: xr.Dataset, axes: list[str], reference: str) -> Iterator[Row]:
    parts = [np.asarray(found[part].transpose(*CUBE_DIMS).values[..., 0]) for part in _PARTS]
    texts, names = {axis: list_texts(facts, axis) for axis in ACROSS}, list_labels(facts, "procedure")
    for place in iter_settings(facts):
        if names[place[0]] == reference:
            continue
        first, *others = (texts[axis][place[ACROSS.index(axis)]] for axis in axes)
        numbers = (_format_difference(parts, (*place, i)) for i in range(facts.verdicts.sizes["n"]))
        yield Row(first, [*map(Cell, others), *map(Cell, numbers)])


def _format_difference(parts: list[Values], place: tuple[int, ...]) -> str:
    value, low, high = (float(part[place]) for part in parts)
    return DASH if np.isnan(value) else format_interval(value, low, high)
