"""Render the tables: every cell with its numbers, to sort and to filter.

A row is a (procedure, γ, θ, λ, n) at one α. If everything would make the file too large, the main α keeps all its
columns, and the others show only coverage and width, with n along the top.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product

import numpy as np

from harness.report.html.choices import Choices, join_parts
from harness.report.html.markup import Markup, tag
from harness.report.sections.columns import (
    ROW_AXES,
    Column,
    describe_absences,
    find_main_alpha,
    format_fixed_axes,
    iter_cell_indices,
    list_labels,
    list_varying_axes,
    make_columns,
    make_error_formatter,
)
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES
from harness.report.sections.verdict_cards import CLASSES, SYMBOLS
from harness.results.mad import MAD

ROOM = 2_700_000
"""Bytes that all tables of cells together may take."""
ROOM_FOR_MAD = 400_000
"""Bytes that the table of MAD may take."""
_PRINTED = 1200
"""Number of rows up to which a table appears in print."""
_ACROSS = ("procedure", "gamma", "theta", "lam")
"""Axes that identify a row of a table with n along the top."""


@dataclass(frozen=True)
class RenderedTables:
    """Tables, with the CSS rules for choosing among them."""

    markup: Markup
    style: str


def render_tables(facts: Facts, command: str) -> RenderedTables:
    """Render one table for each α; `command` prints what is left out."""
    alphas = list_labels(facts, "alpha")
    main = find_main_alpha(facts)
    chosen = Choices("sheets", {"α": alphas}, {"α": main})
    parts = _fit_tables(facts, sorted(range(len(alphas)), key=lambda i: i != main), command)
    bodies = [tag("div", parts[i], class_=chosen.format_classes(α=i)) for i in range(len(alphas))]
    box = tag("div", join_parts([chosen.render_buttons(), *bodies]), id="sheets", class_="data")
    told = {one.head: one for i in range(len(alphas)) for one in make_columns(facts, i)}
    return RenderedTables(
        join_parts([tag("p", " ".join(describe_absences(facts))), box, _render_legend(list(told.values()))]),
        chosen.make_style(),
    )


def _fit_tables(facts: Facts, order: Sequence[int], command: str) -> dict[int, Markup]:
    """Return full tables if all fit; otherwise short ones, and full ones for the first α as room allows."""
    whole = {i: render_long_table(facts, i) for i in order}
    if sum(map(_count_bytes, whole.values())) <= ROOM:
        return whole
    found = {i: _render_short(facts, i, command) for i in order}
    for i in reversed(order):
        if sum(map(_count_bytes, found.values())) > ROOM:
            where = f"--where alpha={list_labels(facts, 'alpha')[i]}"
            found[i] = _render_left_out(
                "This table would make the file too large", f"{command} --measure coverage {where}"
            )
    for i in order:
        if sum(map(_count_bytes, found.values())) - _count_bytes(found[i]) + _count_bytes(whole[i]) <= ROOM:
            found[i] = whole[i]
    return found


def _count_bytes(text: str) -> int:
    return len(text.encode())


def _render_short(facts: Facts, alpha: int, command: str) -> Markup:
    """Render coverage and width only, with n along the top."""
    where = f"--where alpha={list_labels(facts, 'alpha')[alpha]}"
    note = _render_left_out(
        "Only coverage and width are shown, to keep the file small", f"{command} --measure relative_width {where}"
    )
    return join_parts([note, render_wide_table(facts, "coverage", alpha), render_wide_table(facts, "width", alpha)])


def _render_left_out(what: str, command: str) -> Markup:
    return tag("p", f"{what}; for more: ", tag("code", command), class_="note")


def render_long_table(facts: Facts, alpha: int) -> Markup:
    """Render every cell as a row with all its measures."""
    axes, told = list_varying_axes(facts), make_columns(facts, alpha)
    rows = list(_render_long_rows(facts, alpha, axes, told))
    single = format_fixed_axes(facts)
    caption = f"Cells at α = {list_labels(facts, 'alpha')[alpha]}{f', {single}' if single else ''}."
    heads = [_render_head(AXES[axis], axis) for axis in axes]
    heads += [_render_head(one.head, "verdict" if one.head == "verdict" else "", one.what) for one in told]
    return _render_box(caption, heads, rows)


def _render_legend(told: Sequence[Column]) -> Markup:
    """Explain the columns in words, for readers who can't hover over the headings."""
    said = "; ".join(f"{one.head}: {one.what}" for one in told if one.head != "verdict")
    return tag("details", tag("summary", "What the columns are"), tag("p", said, "; ±: Monte-Carlo standard error."))


def _render_head(text: str, axis: str, what: str = "") -> Markup:
    marks: dict[str, str] = {"data_axis": axis} if axis else {}
    return tag("th", text, scope="col", **marks, **({"title": what} if what else {}))


def _render_long_rows(facts: Facts, alpha: int, axes: Sequence[str], told: Sequence[Column]) -> Iterator[str]:
    texts = {axis: list_labels(facts, axis) for axis in axes}
    where = [(axis, ROW_AXES.index(axis)) for axis in axes]
    for place in iter_cell_indices(facts, alpha):
        first, *others = (escape(texts[axis][place[i]]) for axis, i in where)
        cells = "".join(f"<td>{text}" for text in others)
        yield f"<tr><th scope=row>{first}{cells}{''.join(_render_cell(one, place) for one in told)}\n"


def _render_cell(column: Column, place: tuple[int, ...]) -> str:
    text = column.text(place)
    if column.head == "verdict":
        return f"<td class={CLASSES[text]}>{SYMBOLS[text]} {text}"
    return f"<td>{text}"


def render_wide_table(facts: Facts, measure: str, alpha: int) -> Markup:
    """Render one measure with n along the top; coverage shows the symbols of its verdicts."""
    found = facts.mad if measure == MAD else facts.verdicts if measure == "coverage" else facts.measures[measure]
    text = make_error_formatter(
        found.expand_dims(alpha=1, axis=-1) if measure == MAD else found, 0 if measure == MAD else alpha
    )
    verdicts = facts.verdicts["verdict"].values[..., alpha] if measure == "coverage" else None
    axes = list_varying_axes(facts, _ACROSS)
    texts = {axis: list_labels(facts, axis) for axis in axes}
    rows = []
    for place in _iter_settings(facts):
        first, *others = (escape(texts[axis][place[_ACROSS.index(axis)]]) for axis in axes)
        cells = []
        for i in range(facts.verdicts.sizes["n"]):
            told = text((*place, i))
            cells.append(f"<td>{told}" if verdicts is None else _render_verdict_cell(told, verdicts[(*place, i)]))
        rows.append(f"<tr><th scope=row>{first}{''.join(f'<td>{each}' for each in others)}{''.join(cells)}\n")
    heads = [_render_head(AXES[axis], axis) for axis in axes] + [
        _render_head(f"n = {n}", "") for n in list_labels(facts, "n")
    ]
    return _render_box(_format_wide_caption(facts, measure, alpha), heads, rows)


def _render_verdict_cell(text: str, verdict: str) -> str:
    return f"<td class={CLASSES[verdict]}>{text} {SYMBOLS[verdict]}"


def _iter_settings(facts: Facts) -> Iterator[tuple[int, ...]]:
    """Yield the indices along `_ACROSS`, procedures of one setting in turn, without excluded settings."""
    included = np.asarray(facts.included.values.any(axis=(-1, -2)))
    p, *others = included.shape
    for setting in product(*map(range, others), range(p)):
        place = (setting[-1], *setting[:-1])
        if included[place]:
            yield place


def _format_wide_caption(facts: Facts, measure: str, alpha: int) -> str:
    what = {MAD: "MAD: the largest |error rate − α| over α", "width": "Median width", "coverage": "Coverage of y*"}[
        measure
    ]
    at = "" if measure == MAD else f" at α = {list_labels(facts, 'alpha')[alpha]}"
    single = format_fixed_axes(facts, _ACROSS)
    return f"{what}{at}{f', {single}' if single else ''}."


def _render_box(caption: str, heads: Sequence[Markup], rows: Sequence[str]) -> Markup:
    """Render a table in a scrollable box; long ones aren't printed."""
    long = len(rows) > _PRINTED
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads)),
        tag("tbody", Markup("".join(rows))),
        class_="sheet",
    )
    box = tag("div", table, class_=f"box{' long' * long}", tabindex="0", role="region", aria_label=caption)
    note = tag("p", f"{caption} Its {len(rows)} rows aren't printed: see the file on a screen.", class_="on-paper")
    return join_parts([box, note if long else ""])


def render_mad_table(facts: Facts, command: str) -> Markup:
    """Render the paper's measure over all α, if there are several."""
    if facts.verdicts.sizes["alpha"] < 2 or not np.isfinite(facts.mad["value"].values).any():
        return Markup("")
    table = render_wide_table(facts, MAD, 0)
    if _count_bytes(table) > ROOM_FOR_MAD:
        table = _render_left_out("The table of MAD would make the file too large", f"{command} --measure mad")
    return join_parts([tag("h3", "All α at once"), tag("div", table, class_="data")])
