"""The tables: every cell with its numbers, to sort and to filter.

A row is a (procedure, γ, θ, λ, n) at one α. If the whole would be too long for the file, the α that matters most keeps
all its columns, and the others have coverage and width alone, in rows of n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product

import numpy as np

from harness.report.html.choices import Choices, together
from harness.report.html.markup import Markup, tag
from harness.report.sections.columns import (
    ROW_AXES,
    Column,
    columns,
    fixed,
    labels,
    main_alpha,
    noughts,
    places,
    varying,
    with_error,
)
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES
from harness.report.sections.verdict_cards import CLASSES, SYMBOLS
from harness.results.mad import MAD

ROOM = 2_700_000
"""Bytes that the tables of cells may take, all together."""
ROOM_FOR_MAD = 400_000
_PRINTED = 1200
"""Rows up to which a table is printed."""
_ACROSS = ("procedure", "gamma", "theta", "lam")
"""The rows of a table with n along the top."""


@dataclass(frozen=True)
class Sheets:
    """The tables, and the choice among them."""

    markup: Markup
    style: str


def sheets(facts: Facts, command: str) -> Sheets:
    """For each α a table; `command` prints what is left out."""
    alphas = labels(facts, "alpha")
    main = main_alpha(facts)
    chosen = Choices("sheets", {"α": alphas}, {"α": main})
    parts = _fitting(facts, sorted(range(len(alphas)), key=lambda i: i != main), command)
    bodies = [tag("div", parts[i], class_=chosen.marks(α=i)) for i in range(len(alphas))]
    box = tag("div", together([chosen.buttons(), *bodies]), id="sheets", class_="data")
    told = {one.head: one for i in range(len(alphas)) for one in columns(facts, i)}
    return Sheets(together([tag("p", " ".join(noughts(facts))), box, _legend(list(told.values()))]), chosen.style())


def _fitting(facts: Facts, order: Sequence[int], command: str) -> dict[int, Markup]:
    """Whole tables if all fit; otherwise every α has the short form, and the first ones the whole as room allows."""
    whole = {i: long_table(facts, i) for i in order}
    if sum(map(_bytes, whole.values())) <= ROOM:
        return whole
    found = {i: _short(facts, i, command) for i in order}
    for i in reversed(order):
        if sum(map(_bytes, found.values())) > ROOM:
            where = f"--where alpha={labels(facts, 'alpha')[i]}"
            found[i] = _left_out("This table would make the file too long", f"{command} --measure coverage {where}")
    for i in order:
        if sum(map(_bytes, found.values())) - _bytes(found[i]) + _bytes(whole[i]) <= ROOM:
            found[i] = whole[i]
    return found


def _bytes(text: str) -> int:
    return len(text.encode())


def _short(facts: Facts, alpha: int, command: str) -> Markup:
    """Coverage and width alone, with n along the top."""
    where = f"--where alpha={labels(facts, 'alpha')[alpha]}"
    note = _left_out(
        "Only coverage and width are here, for the file's sake", f"{command} --measure relative_width {where}"
    )
    return together([note, wide_table(facts, "coverage", alpha), wide_table(facts, "width", alpha)])


def _left_out(what: str, command: str) -> Markup:
    return tag("p", f"{what}; for more: ", tag("code", command), class_="note")


def long_table(facts: Facts, alpha: int) -> Markup:
    """Every cell in a row, with all that is known of it."""
    axes, told = varying(facts), columns(facts, alpha)
    rows = list(_long_rows(facts, alpha, axes, told))
    single = fixed(facts)
    caption = f"Cells at α = {labels(facts, 'alpha')[alpha]}{f', {single}' if single else ''}."
    heads = [_head(AXES[axis], axis) for axis in axes]
    heads += [_head(one.head, "verdict" if one.head == "verdict" else "", one.what) for one in told]
    return _boxed(caption, heads, rows)


def _legend(told: Sequence[Column]) -> Markup:
    """The columns in words, for readers who can't point at them."""
    said = "; ".join(f"{one.head}: {one.what}" for one in told if one.head != "verdict")
    return tag("details", tag("summary", "What the columns are"), tag("p", said, "; ±: Monte-Carlo standard error."))


def _head(text: str, axis: str, what: str = "") -> Markup:
    marks: dict[str, str] = {"data_axis": axis} if axis else {}
    return tag("th", text, scope="col", **marks, **({"title": what} if what else {}))


def _long_rows(facts: Facts, alpha: int, axes: Sequence[str], told: Sequence[Column]) -> Iterator[str]:
    texts = {axis: labels(facts, axis) for axis in axes}
    where = [(axis, ROW_AXES.index(axis)) for axis in axes]
    for place in places(facts, alpha):
        first, *others = (escape(texts[axis][place[i]]) for axis, i in where)
        cells = "".join(f"<td>{text}" for text in others)
        yield f"<tr><th scope=row>{first}{cells}{''.join(_cell(one, place) for one in told)}\n"


def _cell(column: Column, place: tuple[int, ...]) -> str:
    text = column.text(place)
    if column.head == "verdict":
        return f"<td class={CLASSES[text]}>{SYMBOLS[text]} {text}"
    return f"<td>{text}"


def wide_table(facts: Facts, measure: str, alpha: int) -> Markup:
    """One measure, with n along the top; coverage has the signs of its verdicts."""
    found = facts.mad if measure == MAD else facts.judged if measure == "coverage" else facts.measures[measure]
    text = with_error(found.expand_dims(alpha=1, axis=-1) if measure == MAD else found, 0 if measure == MAD else alpha)
    verdicts = facts.judged["verdict"].values[..., alpha] if measure == "coverage" else None
    axes = varying(facts, _ACROSS)
    texts = {axis: labels(facts, axis) for axis in axes}
    rows = []
    for place in _settings(facts):
        first, *others = (escape(texts[axis][place[_ACROSS.index(axis)]]) for axis in axes)
        cells = []
        for i in range(facts.judged.sizes["n"]):
            told = text((*place, i))
            cells.append(f"<td>{told}" if verdicts is None else _judged(told, verdicts[(*place, i)]))
        rows.append(f"<tr><th scope=row>{first}{''.join(f'<td>{each}' for each in others)}{''.join(cells)}\n")
    heads = [_head(AXES[axis], axis) for axis in axes] + [_head(f"n = {n}", "") for n in labels(facts, "n")]
    return _boxed(_wide_caption(facts, measure, alpha), heads, rows)


def _judged(text: str, verdict: str) -> str:
    return f"<td class={CLASSES[verdict]}>{text} {SYMBOLS[verdict]}"


def _settings(facts: Facts) -> Iterator[tuple[int, ...]]:
    """Procedures in turn, without settings of which nothing is there."""
    there = np.asarray(facts.included.values.any(axis=(-1, -2)))
    p, *others = there.shape
    for setting in product(*map(range, others), range(p)):
        place = (setting[-1], *setting[:-1])
        if there[place]:
            yield place


def _wide_caption(facts: Facts, measure: str, alpha: int) -> str:
    what = {MAD: "MAD: the largest |error rate − α| over α", "width": "Median width", "coverage": "Coverage of y*"}[
        measure
    ]
    at = "" if measure == MAD else f" at α = {labels(facts, 'alpha')[alpha]}"
    single = fixed(facts, _ACROSS)
    return f"{what}{at}{f', {single}' if single else ''}."


def _boxed(caption: str, heads: Sequence[Markup], rows: Sequence[str]) -> Markup:
    """A table that scrolls in its box."""
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
    return together([box, note if long else ""])


def mad_table(facts: Facts, command: str) -> Markup:
    """The paper's measure, for all α at once."""
    if facts.judged.sizes["alpha"] < 2 or not np.isfinite(facts.mad["value"].values).any():
        return Markup("")
    table = wide_table(facts, MAD, 0)
    if _bytes(table) > ROOM_FOR_MAD:
        table = _left_out("The table of MAD would make the file too long", f"{command} --measure mad")
    return together([tag("h3", "All α at once"), tag("div", table, class_="data")])
