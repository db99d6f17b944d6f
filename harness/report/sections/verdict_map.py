"""Render the map of verdicts: one symbol for every cell, along n."""

from __future__ import annotations

from itertools import groupby, product

from harness.core.procedures import is_for_function
from harness.report.html.choices import Choices, join_parts
from harness.report.html.markup import Markup, tag
from harness.report.sections.columns import MARK, find_main_alpha, format_fixed_axes, list_labels, list_varying_axes
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES
from harness.report.sections.verdict_cards import CLASSES, SYMBOLS
from harness.results.validity import EMPTY

ROOM = 700_000
"""Bytes that the map may take."""
_SETTINGS = ("gamma", "theta", "lam")


def make_choices(facts: Facts) -> Choices:
    """Return the selector of α."""
    return Choices("map", {"α": list_labels(facts, "alpha")}, {"α": find_main_alpha(facts)})


def render_verdict_map(facts: Facts) -> Markup:
    """Render a table of symbols for each α, or a note if the file would become too large."""
    chosen = make_choices(facts)
    tables = [_render_box(facts, i, chosen.format_classes(α=i)) for i in range(facts.verdicts.sizes["alpha"])]
    if sum(len(table.encode()) for table in tables) > ROOM:
        return tag("p", "The map would make the file too large; the tables below have the verdicts.", class_="note")
    return tag("div", join_parts([chosen.render_buttons(), *tables]), id="map")


def _render_box(facts: Facts, alpha: int, marks: str) -> Markup:
    named = f"verdicts at α = {list_labels(facts, 'alpha')[alpha]}"
    return tag("div", _render_table(facts, alpha), class_=f"box {marks}", tabindex="0", role="region", aria_label=named)


def _render_table(facts: Facts, alpha: int) -> Markup:
    axes = [axis for axis in list_varying_axes(facts, _SETTINGS) if axis != "procedure"]
    names = list_labels(facts, "procedure")
    heads = [AXES[axis] for axis in axes] + [_format_procedure(facts, name) for name in names]
    head = tag("tr", *(tag("th", text, scope="col") for text in heads))
    body = tag("tbody", Markup("".join(_render_rows(facts, alpha, axes))))
    return tag("table", tag("caption", _format_caption(facts, alpha)), tag("thead", head), body, class_="map")


def _format_procedure(facts: Facts, name: str) -> str:
    """Format a procedure with its target if that isn't y*, and a mark if its level isn't exact here."""
    promised = bool(facts.verdicts["promised"].sel(procedure=name).any())
    return f"{name}{' (y*)' * is_for_function(name)}{MARK * (promised and facts.manifest.test != 'iid')}"


def _format_caption(facts: Facts, alpha: int) -> str:
    single = format_fixed_axes(facts, _SETTINGS)
    sizes = list_labels(facts, "n")
    signs = f"one sign for each n, from the left: {', '.join(sizes)}" if len(sizes) > 1 else f"n = {sizes[0]}"
    return f"Verdicts on y* at α = {list_labels(facts, 'alpha')[alpha]}{f', {single}' if single else ''}; {signs}."


def _render_rows(facts: Facts, alpha: int, axes: list[str]) -> list[str]:
    verdicts = facts.verdicts["verdict"].values[..., alpha]
    included = facts.included.values[..., alpha]
    texts = [list_labels(facts, axis) for axis in _SETTINGS]
    rows = []
    for place in product(*(range(len(one)) for one in texts)):
        named = {axis: texts[i][place[i]] for i, axis in enumerate(_SETTINGS)}
        heads = "".join(tag("th", _mark_searched(facts, axis, named[axis]), scope="row") for axis in axes)
        cells = (
            _render_signs(verdicts[(p, *place)].tolist(), included[(p, *place)].tolist()) for p in range(len(verdicts))
        )
        rows.append(f"<tr>{heads}{''.join(f'<td>{cell}' for cell in cells)}\n")
    return rows


def _mark_searched(facts: Facts, axis: str, text: str) -> str:
    """Mark a θ that is searched for, which breaks exchangeability."""
    if axis != "theta":
        return text
    judged = facts.verdicts.sel(theta=text)
    return text + MARK * bool((judged["promised"] & ~judged["exchangeable"]).any() and facts.manifest.test == "iid")


def _render_signs(verdicts: list[str], included: list[bool]) -> Markup:
    """Render symbols, one element for a run of equal verdicts."""
    told = [verdict if exists else None for verdict, exists in zip(verdicts, included, strict=True)]
    parts = []
    for verdict, run in groupby(told):
        sign, name = (" ", "e") if verdict is None else (SYMBOLS[verdict], CLASSES[verdict])
        count = len(list(run))
        parts.append(
            tag(
                "i",
                sign * count,
                class_=name,
                title=f"{count} × {verdict or ('no result' if verdict == EMPTY else 'left out')}",
            )
        )
    return Markup("".join(parts))
