"""Lay out a figure: panels side by side, a title above, a legend to the right, notes below, without overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend

from harness.figures.canvas.panels import Panel
from harness.figures.canvas.style import FAINT

Share = bool | Literal["none", "all", "row", "col"]
_LETTER = 0.56
"""Approximate width of a letter, relative to its font size."""
_LINE = 1.35
"""Line height, relative to the font size."""
_TITLE, _SMALL = 10.0, 7.5
"""Font sizes of the title and of notes, in points."""
_EDGE = 0.08
"""Margin around the figure and its legend, in inches."""


@dataclass
class PanelGrid:
    """Figure under construction, with its panels."""

    figure: Figure
    axes: list[Axes]
    """One for each panel, in the order of the panels."""


def make_panel_grid(
    panels: Sequence[Panel],
    rows: int,
    columns: int,
    size: tuple[float, float] = (2.5, 2.0),
    sharex: Share = True,
    sharey: Share = True,
) -> PanelGrid:
    """Create empty panels with their headings.

    Parameters
    ----------
    panels : sequence of Panel
        Panels with their places in the grid; places without a panel stay empty.
    rows, columns : int
        Shape of the grid.
    size : tuple of float
        Width and height of a panel in inches. A single panel is enlarged to at least 3.9 × 2.9.
    sharex, sharey : bool or str
        As in `Figure.subplots`.
    """
    if len(panels) == 1:
        size = (max(size[0], 3.9), max(size[1], 2.9))
    figure = Figure(figsize=(0.7 + columns * size[0], 0.5 + rows * size[1]), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=sharex, sharey=sharey, squeeze=False)
    axes = [grid[each.row, each.column] for each in panels]
    for spare in {*grid.ravel()} - {*axes}:
        spare.remove()
    for ax, panel in zip(axes, panels, strict=True):
        _add_headings(ax, panel)
    _show_labels(axes, panels)
    return PanelGrid(figure, axes)


def _add_headings(ax: Axes, panel: Panel) -> None:
    ax.set_title(panel.above)
    if panel.beside:
        text = panel.beside.replace(", ", "\n")
        ax.annotate(
            text, (1, 0.5), (5, 0), "axes fraction", "offset points", rotation=270, va="center", ha="left", fontsize=9
        )


def _show_labels(axes: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Show tick labels below the lowest panel of each column, also where the last row is short."""
    for column in {panel.column for panel in panels}:
        lowest = max(panel.row for panel in panels if panel.column == column)
        for ax, panel in zip(axes, panels, strict=True):
            if (panel.row, panel.column) == (lowest, column):
                ax.tick_params(labelbottom=True)


def label_axes(made: PanelGrid, panels: Sequence[Panel], x: str, y: str) -> None:
    """Label the x-axis of the lowest panel in each column and the y-axis of the first column."""
    for ax, panel in zip(made.axes, panels, strict=True):
        below = [each for each in panels if each.column == panel.column and each.row > panel.row]
        if not below:
            ax.set_xlabel(x)
        if panel.column == 0:
            ax.set_ylabel(y)


def finish(made: PanelGrid, title: str, subtitle: str, handles: Sequence[Any], notes: Sequence[str]) -> Figure:
    """Add title, legend and notes, and enlarge the figure by the space they take."""
    figure = made.figure
    width, height = figure.get_size_inches()
    legend = figure.legend(handles=list(handles), loc="upper left", handlelength=2.6, borderaxespad=0)
    across, along = _measure_legend(figure, legend) if handles else (0.0, 0.0)
    width += across
    head = [(line, _TITLE, "bold") for line in _wrap_lines(title, width, 1.1 * _TITLE)]
    head += [(line, _TITLE - 1, "normal") for line in _wrap_lines(subtitle, width, _TITLE - 1)]
    foot = [line for note in notes for line in _wrap_lines(note, width, _SMALL)]
    above, below = _LINE * sum(each[1] for each in head) / 72 + 2 * _EDGE, _LINE * _SMALL * len(foot) / 72 + _EDGE
    tall = max(height, along) + above + below
    figure.set_size_inches(width, tall)
    bottom, top, right = below / tall, 1 - above / tall, 1 - across / width
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0, bottom, right, top - bottom), w_pad=0.05, h_pad=0.05)
    legend.set_bbox_to_anchor((right, top), figure.transFigure)
    _add_text(figure, head, foot)
    return figure


def _measure_legend(figure: Figure, legend: Legend) -> tuple[float, float]:
    """Return the width and height of a legend with its margins, in inches."""
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    box = legend.get_window_extent(renderer)
    return box.width / figure.dpi + 2 * _EDGE, box.height / figure.dpi + 2 * _EDGE


def _wrap_lines(text: str, width: float, size: float) -> list[str]:
    return wrap(text, max(20, int((width - 2 * _EDGE) * 72 / (size * _LETTER)))) if text else []


def _add_text(figure: Figure, head: Sequence[tuple[str, float, str]], foot: Sequence[str]) -> None:
    width, tall = figure.get_size_inches()
    y = tall - _EDGE
    for line, size, weight in head:
        figure.text(_EDGE / width, y / tall, line, fontsize=size, fontweight=weight, va="top", ha="left")
        y -= _LINE * size / 72
    y = _EDGE / 2 + _LINE * _SMALL * len(foot) / 72
    for line in foot:
        figure.text(_EDGE / width, y / tall, line, fontsize=_SMALL, color=FAINT, va="top", ha="left")
        y -= _LINE * _SMALL / 72
