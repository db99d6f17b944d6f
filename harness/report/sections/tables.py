"""Render the tables: every cell with its numbers, to sort and to filter.

A row is a (procedure, γ, θ, λ, n) at one α. If everything would make the file too large, the main α keeps all its
columns, and the others show only coverage and width, with n along the top.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from harness.report.html.choices import Choices
from harness.report.html.templating import TEMPLATES
from harness.report.sections.columns import (
    ALWAYS,
    ASKED,
    ROW_AXES,
    WIDE,
    Column,
    describe_absences,
    find_main_alpha,
    format_fixed_axes,
    iter_cell_indices,
    list_labels,
    list_texts,
    list_varying_axes,
    make_columns,
    make_error_formatter,
)
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES
from harness.report.sections.verdict_cards import CLASSES, SYMBOLS
from harness.results.mad import MAD
from harness.results.replications import describe_condition

ROOM = 2_700_000
"""Bytes that all tables of cells together may take."""
ROOM_FOR_MAD = 400_000
"""Bytes that the table of MAD may take."""
_PRINTED = 1200
"""Number of rows up to which a table appears in print."""
_CELLS = "cells"
"""CSS class of full tables."""
ACROSS = ("procedure", "gamma", "theta", "lam")
"""Axes that identify a row of a table with n along the top."""


@dataclass(frozen=True)
class RenderedTables:
    """Tables, with the CSS rules for choosing among them."""

    markup: Markup
    style: str


@dataclass(frozen=True)
class TableOfAlpha:
    """Tables of one α, and the CSS classes by which it is chosen."""

    marks: str
    body: Markup


@dataclass(frozen=True)
class Head:
    """Heading of a column."""

    text: str
    axis: str = ""
    """Name for the filters; empty for columns that have none."""
    what: str = ""


class Cell(NamedTuple):
    """Cell of a table; a tuple, because there are many."""

    text: str
    kind: str = ""
    """CSS class."""


class Row(NamedTuple):
    """Row of a table."""

    head: str
    cells: Sequence[Cell]


def render_tables(facts: Facts, command: str) -> RenderedTables:
    """Render one table for each α; `command` prints what is left out."""
    alphas = list_labels(facts, "alpha")
    main = find_main_alpha(facts)
    chosen = Choices("sheets", {"α": alphas}, {"α": main})
    parts, full = _fit_tables(facts, sorted(range(len(alphas)), key=lambda i: i != main), command)
    columns = [make_columns(facts, i) for i in range(len(alphas))]
    told = {one.head: one for some in columns for one in some}
    marks = [f"{chosen.format_classes(α=i)} {_CELLS if i in full else ''}".strip() for i in range(len(alphas))]
    rules = [_make_column_rules(facts, columns[i], f".{marks[i].replace(' ', '.')}") for i in sorted(full)]
    markup = TEMPLATES.render(
        "tables.html",
        absences=" ".join(describe_absences(facts)),
        choices=chosen,
        has_more=any(one.shown == ASKED for i in full for one in columns[i]),
        tables=[TableOfAlpha(marks[i], parts[i]) for i in range(len(alphas))],
        legend=_format_legend(list(told.values())),
    )
    return RenderedTables(markup, chosen.make_style() + "".join(rules))


_SMALL = "screen and (max-width:40rem)"
"""Media query of telephones."""


def _make_column_rules(facts: Facts, columns: Sequence[Column], table: str) -> str:
    """Return CSS rules that hide columns of a table unless readers ask for all: on screens, and more on small ones.

    On small ones, long numbers of the others take two lines.
    """
    first = len(list_varying_axes(facts)) + 1
    places = {
        shown: [first + i for i, one in enumerate(columns) if one.shown == shown] for shown in (ASKED, WIDE, ALWAYS)
    }
    unless = f"#sheets:has(#all-columns:not(:checked)) {table} :is(td,th)"
    return (
        _make_rule("screen", unless, places[ASKED], "display:none")
        + _make_rule(_SMALL, unless, places[WIDE], "display:none")
        + _make_rule(_SMALL, f"{table} td:not([class])", places[ALWAYS], "white-space:normal;min-width:5.3rem")
    )


def _make_rule(media: str, cells: str, places: Sequence[int], style: str) -> str:
    """Return a CSS rule for the cells of some columns, counted from 1; empty if there is none."""
    chosen = ",".join(f"{cells}:nth-child({place})" for place in places)
    return f"@media {media}{{{chosen}{{{style}}}}}" if chosen else ""


def _fit_tables(facts: Facts, order: Sequence[int], command: str) -> tuple[dict[int, Markup], set[int]]:
    """Return full tables if all fit; otherwise short ones, and full ones for the first α as room allows.

    Returns
    -------
    tables : dict
        Table of every α.
    full : set
        The α whose table is full.
    """
    whole = {i: render_long_table(facts, i) for i in order}
    if sum(map(count_bytes, whole.values())) <= ROOM:
        return whole, set(whole)
    found = {i: _render_short(facts, i, command) for i in order}
    for i in reversed(order):
        if sum(map(count_bytes, found.values())) > ROOM:
            where = f"--where alpha={list_labels(facts, 'alpha')[i]}"
            found[i] = _render_left_out(
                "This table would make the file too large", f"{command} --measure {facts.judged} {where}"
            )
    for i in order:
        if sum(map(count_bytes, found.values())) - count_bytes(found[i]) + count_bytes(whole[i]) <= ROOM:
            found[i] = whole[i]
    return found, {i for i in order if found[i] is whole[i]}


def count_bytes(text: str) -> int:
    """Return the number of bytes that a text takes in the file."""
    return len(text.encode())


def _render_short(facts: Facts, alpha: int, command: str) -> Markup:
    """Render coverage and width only, with n along the top."""
    where = f"--where alpha={list_labels(facts, 'alpha')[alpha]}"
    return _render_left_out(
        "Only coverage and width are shown, to keep the file small",
        f"{command} --measure relative_width {where}",
        [render_wide_table(facts, facts.judged, alpha), render_wide_table(facts, "width", alpha)],
    )


def _render_left_out(what: str, command: str, tables: Sequence[Markup] = ()) -> Markup:
    """Render the command that prints what isn't shown, and the tables that are."""
    return TEMPLATES.render("left_out.html", what=what, command=command, tables=tables)


def render_long_table(facts: Facts, alpha: int) -> Markup:
    """Render every cell as a row with all its measures."""
    axes, told = list_varying_axes(facts), make_columns(facts, alpha)
    rows = list(_iter_long_rows(facts, alpha, axes, told))
    single = format_fixed_axes(facts)
    at = f"α = {list_labels(facts, 'alpha')[alpha]}{f', {single}' if single else ''}"
    caption = f"Cells at {at}{_format_condition(facts)}."
    heads = [Head(AXES[axis], axis) for axis in axes]
    heads += [Head(one.head, "verdict" if one.head == "verdict" else "", one.what) for one in told]
    return render_sheet(caption, heads, rows)


def _format_legend(told: Sequence[Column]) -> str:
    """Explain the columns in words, for readers who can't hover over the headings."""
    return "; ".join(f"{one.head}: {one.what}" for one in told if one.head != "verdict")


def _iter_long_rows(facts: Facts, alpha: int, axes: Sequence[str], told: Sequence[Column]) -> Iterator[Row]:
    texts = {axis: list_texts(facts, axis) for axis in axes}
    where = [(axis, ROW_AXES.index(axis)) for axis in axes]
    for place in iter_cell_indices(facts, alpha):
        first, *others = (texts[axis][place[i]] for axis, i in where)
        yield Row(first, [*map(Cell, others), *(_make_cell(one, place) for one in told)])


def _make_cell(column: Column, place: tuple[int, ...]) -> Cell:
    text = column.text(place)
    return Cell(f"{SYMBOLS[text]} {text}", CLASSES[text]) if column.head == "verdict" else Cell(text)


def render_wide_table(facts: Facts, measure: str, alpha: int) -> Markup:
    """Render one measure with n along the top; coverage shows the symbols of its verdicts."""
    found = facts.mad if measure == MAD else facts.measures[measure]
    text = make_error_formatter(
        found.expand_dims(alpha=1, axis=-1) if measure == MAD else found, 0 if measure == MAD else alpha
    )
    verdicts = facts.verdicts["verdict"].values[..., alpha] if measure == facts.judged else None
    axes = list_varying_axes(facts, ACROSS)
    texts = {axis: list_texts(facts, axis) for axis in axes}
    rows = []
    for place in iter_settings(facts):
        first, *others = (texts[axis][place[ACROSS.index(axis)]] for axis in axes)
        cells = list(map(Cell, others))
        for i in range(facts.verdicts.sizes["n"]):
            told = text((*place, i))
            cells.append(Cell(told) if verdicts is None else _make_coverage_cell(told, verdicts[(*place, i)]))
        rows.append(Row(first, cells))
    heads = [Head(AXES[axis], axis) for axis in axes] + [Head(f"n = {n}") for n in list_labels(facts, "n")]
    return render_sheet(_format_wide_caption(facts, measure, alpha), heads, rows)


def _make_coverage_cell(text: str, verdict: str) -> Cell:
    return Cell(f"{text} {SYMBOLS[verdict]}", CLASSES[verdict])


def iter_settings(facts: Facts) -> Iterator[tuple[int, ...]]:
    """Yield the indices along `ACROSS`, procedures of one setting in turn, without excluded settings."""
    included = np.asarray(facts.included.values.any(axis=(-1, -2)))
    p, *others = included.shape
    for setting in product(*map(range, others), range(p)):
        place = (setting[-1], *setting[:-1])
        if included[place]:
            yield place


def _format_wide_caption(facts: Facts, measure: str, alpha: int) -> str:
    what = {
        MAD: "MAD: the largest |error rate − α| over α",
        "width": "Median width",
        facts.judged: f"{facts.coverage.capitalize()} of y*",
    }[measure]
    at = "" if measure == MAD else f" at α = {list_labels(facts, 'alpha')[alpha]}"
    single = format_fixed_axes(facts, ACROSS)
    return f"{what}{at}{f', {single}' if single else ''}{_format_condition(facts)}."


def _format_condition(facts: Facts) -> str:
    condition = describe_condition(facts.manifest)
    return f"; {condition}" if condition else ""


def render_sheet(caption: str, heads: Sequence[Head], rows: Sequence[Row]) -> Markup:
    """Render a table in a scrollable box; long ones aren't printed."""
    return TEMPLATES.render("sheet.html", caption=caption, heads=heads, rows=rows, long=len(rows) > _PRINTED)


def render_mad_table(facts: Facts, command: str) -> Markup:
    """Render the paper's measure over all α, or nothing if there is only one."""
    if facts.verdicts.sizes["alpha"] < 2 or not np.isfinite(facts.mad["value"].values).any():
        return Markup("")
    table = render_wide_table(facts, MAD, 0)
    if count_bytes(table) <= ROOM_FOR_MAD:
        return table
    return _render_left_out("The table of MAD would make the file too large", f"{command} --measure mad")
