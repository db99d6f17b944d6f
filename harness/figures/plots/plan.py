"""Draw the plan of a run as a graph: preparations → units at each n → cube."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle

from harness.core.text import format_count, format_duration
from harness.figures.canvas.layout import PanelGrid, finish
from harness.figures.canvas.style import FAINT, INK, figure_style

_DONE, _LEFT = "#0072b2", "#cfe2ee"
_ROW, _HEIGHT = 0.72, 0.52
"""Distance between two boxes of a column, and height of a box, in inches."""
_WIDTHS, _GAP = (1.9, 3.3, 1.5), 0.7
"""Widths of the boxes of each column, and distance between columns, in inches."""
_MOST_BOXES = 40
"""Largest number of boxes in a column; the last one stands for all others."""
Box = tuple[str, str, tuple[int, int] | None]
"""Two lines of text, and how many units are done of how many (None for no bar)."""


def draw(facts: Mapping[str, Any]) -> Figure:
    """Draw a plan.

    Parameters
    ----------
    facts : mapping
        The plan, as `ckrr plan --json` prints it.
    """
    columns: list[list[Box]] = [_list_preparations(facts), _list_sizes(facts), [("cube", "reads all units", None)]]
    used = [(boxes, width) for boxes, width in zip(columns, _WIDTHS, strict=True) if boxes]
    height = _ROW * max(len(boxes) for boxes, _ in used)
    width = sum(wide for _, wide in used) + _GAP * (len(used) - 1)
    with figure_style():
        figure = Figure(figsize=(width + 0.2, height), layout="constrained")
        ax = figure.subplots()
        ax.set(xlim=(-0.05, width + 0.05), ylim=(0, height), aspect="equal")
        ax.axis("off")
        left, before = 0.0, list[float]()
        for boxes, wide in used:
            places = [height / 2 + _ROW * ((len(boxes) - 1) / 2 - i) for i in range(len(boxes))]
            if before:
                _draw_arrows(ax, left - _GAP, before, places)
            for box, y in zip(boxes, places, strict=True):
                _draw_box(ax, left, y, wide, box)
            left, before = left + wide + _GAP, places
        handles = [Patch(color=_DONE, label="units done"), Patch(color=_LEFT, label="units left")]
        return finish(PanelGrid(figure, [ax]), f"Plan: {facts['scenario']}", _describe(facts), handles, _note(facts))


def _list_preparations(facts: Mapping[str, Any]) -> list[Box]:
    boxes: list[Box] = [
        (one["name"], f"prepare: about {format_duration(one['seconds'])}", None) for one in facts["preparations"]
    ]
    return _fold(boxes, "preparations")


def _list_sizes(facts: Mapping[str, Any]) -> list[Box]:
    boxes: list[Box] = []
    for one in facts["sizes"]:
        done = one["units"] - one["units_left"]
        head = f"n = {one['n']}: {done} of {format_count(one['units'], 'unit')} done, {one['units_left']} left"
        block = f"{format_count(one['paths_per_unit'], 'path')} × {format_count(one['draws_per_unit'], 'draw')}"
        boxes.append((head, f"a unit: {block}, about {one['seconds_per_unit']:.3g} s", (done, one["units"])))
    return _fold(boxes, "values of n")


def _fold(boxes: list[Box], what: str) -> list[Box]:
    """Replace the boxes that are too many by one that counts them."""
    if len(boxes) <= _MOST_BOXES:
        return boxes
    rest = len(boxes) - _MOST_BOXES + 1
    return [*boxes[: -rest or None], (f"{rest} more {what}", "", None)]


def _describe(facts: Mapping[str, Any]) -> str:
    if not (facts["replications_left"] or facts["preparations"]):
        return f"{format_count(facts['replications'], 'replication')}: complete, nothing to do"
    whole = format_count(facts["replications"], "replication")
    cost = f"about {format_duration(facts['seconds'])} on {format_count(facts['workers'], 'worker')}"
    return f"{facts['replications_left']} of {whole} left: {cost}"


def _note(facts: Mapping[str, Any]) -> list[str]:
    until = ["The study adds paths until it is decided: these are the units of its whole budget."]
    return [*until * (facts["until"] is not None), "Units that are done have a receipt in the store, and are left out."]


def _draw_box(ax: Axes, left: float, y: float, width: float, box: Box) -> None:
    head, below, share = box
    bottom = y - _HEIGHT / 2
    shape = FancyBboxPatch(
        (left, bottom), width, _HEIGHT, "round,pad=0,rounding_size=0.06", fc="white", ec=FAINT, linewidth=0.8
    )
    ax.add_patch(shape)
    letters = int(width * 15)
    ax.text(left + 0.09, y + 0.11, shorten(head, letters, placeholder="…"), fontsize=8.5, color=INK, va="center")
    ax.text(left + 0.09, y - 0.06, shorten(below, letters, placeholder="…"), fontsize=7.5, color=FAINT, va="center")
    if share is not None:
        done, units = share
        inner, start = width - 0.18, left + 0.09
        ax.add_patch(Rectangle((start, bottom + 0.05), inner, 0.05, color=_LEFT, linewidth=0))
        ax.add_patch(Rectangle((start, bottom + 0.05), inner * done / units, 0.05, color=_DONE, linewidth=0))


def _draw_arrows(ax: Axes, left: float, sources: Sequence[float], targets: Sequence[float]) -> None:
    """Connect all boxes of a column with all of the next one, through a common vertical line."""
    middle, right = left + _GAP / 2, left + _GAP
    ends = [*sources, *targets]
    ax.plot([middle, middle], [min(ends), max(ends)], color=FAINT, linewidth=0.8)
    for y in sources:
        ax.plot([left, middle], [y, y], color=FAINT, linewidth=0.8)
    arrow = {"arrowstyle": "-|>", "color": FAINT, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
    for y in targets:
        ax.annotate("", (right, y), (middle, y), arrowprops=arrow)
