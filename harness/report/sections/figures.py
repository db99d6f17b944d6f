"""Draw figures in advance for combinations of γ, θ, λ and α, as many as the file has room for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from markupsafe import Markup

from harness.core.errors import UserError
from harness.report.html.choices import Choices
from harness.report.html.templating import TEMPLATES, label_svg
from harness.report.sections.columns import find_main_alpha, list_labels
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES

CHOSEN = ("target", "width")
"""Figures drawn for every combination."""
FIRST = ("coverage", "relative", "tradeoff", "conditional")
"""Figures drawn for the first combination only."""
ONCE = ("nested", "failures", "seconds")
"""Figures drawn once, for the whole study."""
_AXES = ("gamma", "theta", "lam", "alpha")
SETTINGS = 16
"""Default of the maximal number of combinations: each takes one to two seconds and tens of kilobytes."""
ROOM = 1_200_000
"""Bytes that all figures together may take."""

_IMAGE_ID = re.compile(r'(<image [^>]*?) id="[^"]*"')
"""Matches the ids of images: Matplotlib gives equal images equal ids, and nothing refers to them."""


@dataclass(frozen=True)
class Drawing:
    """Figure with its caption, or the command that draws it."""

    marks: str
    """CSS classes by which it is chosen."""
    image: Markup | None = None
    caption: str = ""
    command: str = ""


@dataclass(frozen=True)
class RenderedFigures:
    """Figures, with the CSS rules for choosing among them."""

    markup: Markup
    style: str


def render_figures(facts: Facts, store: str, settings: int) -> RenderedFigures:
    """Render all figures for at most `settings` combinations; show the command where there is no room."""
    drawn = choose_values(facts, settings)
    texts = {axis: list_labels(facts, axis) for axis in _AXES}
    buttons = Choices(
        "drawings",
        {AXES[axis]: [texts[axis][i] for i in drawn[axis]] for axis in _AXES},
        {AXES[axis]: drawn[axis].index(get_first_index(facts, axis)) for axis in _AXES},
    )
    drawings = _draw_choices(facts, store, drawn, buttons)
    once = [_draw_figure(facts.url, name, {}, "") for name in ONCE if _is_wanted(facts, name)]
    omitted = [AXES[axis] for axis in _AXES if len(drawn[axis]) < facts.verdicts.sizes[axis]]
    markup = TEMPLATES.render(
        "figures.html",
        choices=buttons,
        chosen=drawings,
        once=[one for one in once if one],
        omitted=", ".join(omitted),
        command=f"ckrr figure {store} coverage --where {_format_example(facts)}",
    )
    return RenderedFigures(markup, buttons.make_style())


def _draw_choices(facts: Facts, store: str, drawn: Mapping[str, Sequence[int]], buttons: Choices) -> list[Drawing]:
    """Draw the figures of every combination while there is room."""
    texts = {axis: list_labels(facts, axis) for axis in _AXES}
    room = ROOM
    found: list[Drawing] = []
    for places in _sort_choices(facts, drawn):
        where = {axis: [texts[axis][drawn[axis][i]]] for axis, i in zip(_AXES, places, strict=True)}
        marks = buttons.format_classes(**{AXES[axis]: i for axis, i in zip(_AXES, places, strict=True)})
        for name in (*CHOSEN, *(FIRST if not found else ())):
            if room <= 0:
                found.append(Drawing(marks, command=_format_command(name, where, store)))
                continue
            one = _draw_figure(facts.url, name, where, marks)
            if one is not None:
                room -= len(one.image or "")
                found.append(one)
    return found


def _is_wanted(facts: Facts, name: str) -> bool:
    """Return whether to draw a figure; that of failures only if something failed or a region is unusual."""
    seen = [facts.measures[each]["value"] > 0 for each in ("failed", "unbounded", "empty", "disconnected")]
    return name != "failures" or any(bool(each.any()) for each in seen)


def choose_values(facts: Facts, settings: int, axes: Sequence[str] = _AXES) -> dict[str, list[int]]:
    """Choose the indices to show on each axis: all, or fewer on the longest axes, spread over the range.

    Parameters
    ----------
    facts : Facts
        Contents of the store.
    settings : int
        Maximal number of combinations of the chosen values.
    axes : sequence of str
        Axes to choose on.
    """
    counts = {axis: facts.verdicts.sizes[axis] for axis in axes}
    while prod(counts.values()) > settings and max(counts.values()) > 1:
        longest = max(axes, key=lambda axis: (counts[axis], axis == "alpha"))
        counts[longest] -= 1
    return {axis: _choose_indices(facts, axis, count) for axis, count in counts.items()}


def _choose_indices(facts: Facts, axis: str, count: int) -> list[int]:
    """Choose `count` indices spread over the axis, the one shown first among them."""
    size, first = facts.verdicts.sizes[axis], get_first_index(facts, axis)
    if count == 1:
        return [first]
    found = np.linspace(0, size - 1, count).round().astype(int).tolist()
    nearest = min(range(count), key=lambda i: abs(found[i] - first))
    found[nearest] = first
    return sorted(set(found))


def get_first_index(facts: Facts, axis: str) -> int:
    """Return the index that is shown when the page opens."""
    last = facts.verdicts.sizes[axis] - 1
    return find_main_alpha(facts) if axis == "alpha" else 0 if axis == "theta" else last


def _sort_choices(facts: Facts, drawn: Mapping[str, Sequence[int]]) -> list[tuple[int, ...]]:
    """List all combinations, the one shown first in front, so that it is drawn in any case."""
    start = tuple(drawn[axis].index(get_first_index(facts, axis)) for axis in _AXES)
    return sorted(product(*(range(len(drawn[axis])) for axis in _AXES)), key=lambda places: places != start)


def _draw_figure(url: str, name: str, where: Mapping[str, Sequence[str]], marks: str) -> Drawing | None:
    """Draw a figure with its caption; None if the store lacks what it needs."""
    from harness.figures import FIGURES

    drawn = render_svg(url, name, where)
    if drawn is None:
        return None
    said = ", ".join(f"{AXES[axis]} = {values[0]}" for axis, values in where.items())
    what = FIGURES[name].what.partition("; needs")[0]
    text = f"{what}{f'; {said}' if said else ''}"
    text = text[0].upper() + text[1:] + "."
    return Drawing(marks, label_svg(drawn, text), text)


def _format_command(name: str, where: Mapping[str, Sequence[str]], store: str) -> str:
    """Format the command that draws a figure."""
    return f"ckrr figure {store} {name} --where {','.join(f'{axis}={values[0]}' for axis, values in where.items())}"


def render_svg(url: str, name: str, where: Mapping[str, Sequence[str]]) -> str | None:
    """Draw a figure as SVG; None if the store lacks what it needs."""
    from harness.figures import draw, svg_text

    try:
        return _IMAGE_ID.sub(r"\1", svg_text(draw(url, name, where)))
    except UserError:  # the store lacks what the figure needs
        return None


def _format_example(facts: Facts) -> str:
    return ",".join(f"{axis}={list_labels(facts, axis)[-1]}" for axis in _AXES)
