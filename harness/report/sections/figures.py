"""Figures for a choice of γ, θ, λ and α, drawn beforehand: as many as the file has room for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from math import prod

import numpy as np

from harness.core.errors import UserError
from harness.report.html.choices import Choices, join_parts
from harness.report.html.markup import Markup, tag
from harness.report.sections.columns import find_main_alpha, list_labels
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES

CHOSEN = ("coverage", "width")
"""Drawn for every choice."""
FIRST = ("tradeoff",)
"""Drawn for the choice at the start."""
ONCE = ("failures", "seconds")
"""Drawn once, of everything."""
_AXES = ("gamma", "theta", "lam", "alpha")
SETTINGS = 12
"""Choices that are drawn at most unless told: each takes a second or two, and some tens of kilobytes."""
ROOM = 1_200_000
"""Bytes that all figures may take."""

_IMAGE_ID = re.compile(r'(<image [^>]*?) id="[^"]*"')
"""Matplotlib gives two images that look the same one id; nothing refers to it."""


@dataclass(frozen=True)
class RenderedFigures:
    """The figures, and the choice among them."""

    markup: Markup
    style: str


def render_figures(facts: Facts, store: str, settings: int) -> RenderedFigures:
    """Every figure that there is room for, of at most so many choices."""
    drawn = choose_values(facts, settings)
    texts = {axis: list_labels(facts, axis) for axis in _AXES}
    buttons = Choices(
        "drawings",
        {AXES[axis]: [texts[axis][i] for i in drawn[axis]] for axis in _AXES},
        {AXES[axis]: drawn[axis].index(_get_first_index(facts, axis)) for axis in _AXES},
    )
    room = ROOM
    parts: list[Markup] = []
    for places in _sort_choices(facts, drawn):
        where = {axis: [texts[axis][drawn[axis][i]]] for axis, i in zip(_AXES, places, strict=True)}
        marks = buttons.format_classes(**{AXES[axis]: i for axis, i in zip(_AXES, places, strict=True)})
        for name in (*CHOSEN, *(FIRST if not parts else ())):
            one = _render_figure(facts.url, name, where, marks) if room > 0 else None
            room -= len(one or "")
            parts.append(one or _render_placeholder(name, where, marks, store))
    once = [_render_figure(facts.url, name, {}, "") for name in ONCE if _is_wanted(facts, name)]
    box = tag("div", join_parts([buttons.render_buttons(), *parts]), id="drawings", class_="figures")
    note = _render_note(facts, drawn, store)
    return RenderedFigures(join_parts([box, *(one for one in once if one), note]), buttons.make_style())


def _is_wanted(facts: Facts, name: str) -> bool:
    """A figure of failures only where something failed, or has no bounds."""
    seen = [facts.measures[each]["value"] > 0 for each in ("failed", "unbounded", "empty", "disconnected")]
    return name != "failures" or any(bool(each.any()) for each in seen)


def choose_values(facts: Facts, settings: int) -> dict[str, list[int]]:
    """Which values of each axis are drawn: all, or fewer of the longest axes, spread over their ranges."""
    counts = {axis: facts.verdicts.sizes[axis] for axis in _AXES}
    while prod(counts.values()) > settings:
        longest = max(_AXES, key=lambda axis: (counts[axis], axis == "alpha"))
        counts[longest] -= 1
    return {axis: _choose_indices(facts, axis, count) for axis, count in counts.items()}


def _choose_indices(facts: Facts, axis: str, count: int) -> list[int]:
    """So many places, the first choice among them."""
    size, first = facts.verdicts.sizes[axis], _get_first_index(facts, axis)
    if count == 1:
        return [first]
    found = np.linspace(0, size - 1, count).round().astype(int).tolist()
    nearest = min(range(count), key=lambda i: abs(found[i] - first))
    found[nearest] = first
    return sorted(set(found))


def _get_first_index(facts: Facts, axis: str) -> int:
    """What is shown at the start."""
    last = facts.verdicts.sizes[axis] - 1
    return find_main_alpha(facts) if axis == "alpha" else 0 if axis == "theta" else last


def _sort_choices(facts: Facts, drawn: Mapping[str, Sequence[int]]) -> list[tuple[int, ...]]:
    """All choices, the one at the start first, so that it is there whatever the room."""
    start = tuple(drawn[axis].index(_get_first_index(facts, axis)) for axis in _AXES)
    return sorted(product(*(range(len(drawn[axis])) for axis in _AXES)), key=lambda places: places != start)


def _render_figure(url: str, name: str, where: Mapping[str, Sequence[str]], marks: str) -> Markup | None:
    """A figure with its sentence; None where it can't be drawn of this store."""
    from harness.figures import FIGURES

    drawn = render_svg(url, name, where)
    if drawn is None:
        return None
    said = ", ".join(f"{AXES[axis]} = {values[0]}" for axis, values in where.items())
    text = f"{FIGURES[name].what}{f'; {said}' if said else ''}"
    text = text[0].upper() + text[1:] + "."
    image = Markup(
        drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(text)}" ', 1)
    )  # Matplotlib escapes texts
    return tag("figure", image, tag("figcaption", text), **({"class_": marks} if marks else {}))


def _render_placeholder(name: str, where: Mapping[str, Sequence[str]], marks: str, store: str) -> Markup:
    """In place of a figure that there is no room for."""
    chosen = ",".join(f"{axis}={values[0]}" for axis, values in where.items())
    return tag(
        "p", "Not drawn here: ", tag("code", f"ckrr figure {store} {name} --where {chosen}"), class_=f"note {marks}"
    )


def render_svg(url: str, name: str, where: Mapping[str, Sequence[str]]) -> str | None:
    """The one place that asks for a drawing."""
    from harness.figures import draw, svg_text

    try:
        return _IMAGE_ID.sub(r"\1", svg_text(draw(url, name, where)))
    except UserError:  # not of this store: it lacks what the figure needs
        return None


def _render_note(facts: Facts, drawn: Mapping[str, Sequence[int]], store: str) -> Markup:
    """What isn't here, and how to get it."""
    some = [AXES[axis] for axis in _AXES if len(drawn[axis]) < facts.verdicts.sizes[axis]]
    command = tag("code", f"ckrr figure {store} coverage --where {_format_example(facts)}")
    if not some:
        return tag("p", "Other slices: ", command, class_="note")
    return tag("p", f"Drawn here are some values of {', '.join(some)}; others: ", command, class_="note")


def _format_example(facts: Facts) -> str:
    return ",".join(f"{axis}={list_labels(facts, axis)[-1]}" for axis in _AXES)
