"""Widths against n: medians joined by lines, and bars from the 5 % to the 95 % quantile over test points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.core.types import Array
from harness.figures.canvas import marks
from harness.figures.canvas.axes import N_LABEL, Edges, side_by_side, sizes_on
from harness.figures.canvas.layout import axis_labels, finish, page
from harness.figures.canvas.panels import Panel, Sheet, sheet
from harness.figures.canvas.style import FAINT, Stroke, strokes
from harness.figures.plots.coverage import OVER
from harness.results.estimates import estimate
from harness.results.replications import Where

LABEL = "width of the region's hull"
_SHARE = 0.6
"""Bars need room beside each other."""


def draw(url: str, where: Where | None = None) -> Figure:
    """The figure."""
    shown = sheet(url, where, OVER)
    found = estimate(url, "width", shown.where)
    marks.check_some([found["value"].to_numpy()], shown)
    found["q05"], found["q95"] = (estimate(url, f"width_{q}", shown.where)["value"] for q in ("q05", "q95"))
    looks = strokes(shown.known)
    made = page(shown.panels, shown.rows, shown.columns, sharey="row")
    rows = {row: _edges(found, [each for each in shown.panels if each.row == row]) for row in range(shown.rows)}
    reach = max(side_by_side(shown.procedures, shown.sizes, _SHARE).values())
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        ax.set_yscale("log")
        _panel(ax, found.sel(panel.at), shown, looks, rows[panel.row])
        sizes_on(ax, shown.sizes, reach)
        rows[panel.row].put(ax, "y", labelled=panel.column == 0)
    axis_labels(made, shown.panels, N_LABEL, LABEL)
    handles = [*marks.procedure_handles(looks, shown.procedures), *_handles()]
    notes = [*_notes(found, any(each.has_infinity for each in rows.values())), *shown.notes]
    return finish(made, marks.title(shown, "Width against n"), marks.subtitle(shown), handles, notes)


def _panel(ax: Axes, found: xr.Dataset, shown: Sheet, looks: Mapping[str, Stroke], edges: Edges) -> None:
    if bool(found["value"].isnull().all()):
        marks.nothing_here(ax)
    beside = side_by_side(shown.procedures, shown.sizes, _SHARE)
    for name in shown.procedures:
        one = found.sel(procedure=name) if "procedure" in found.dims else found
        n = np.array(shown.sizes) * beside[name]
        parts = {part: np.atleast_1d(marks.plain(one[part])) for part in ("value", "q05", "q95", "low", "high")}
        _one(ax, n, parts, looks[name], edges)


def _one(ax: Axes, n: Array, parts: Mapping[str, Array], look: Stroke, edges: Edges) -> None:
    """A line through what is finite; a mark at the edge for what isn't."""
    style: dict[str, Any] = {"color": look.colour, "markeredgecolor": "white", "markeredgewidth": 0.4}
    ax.plot(n, edges.within(parts["value"]), linestyle=look.line, color=look.colour)
    ax.plot(n, edges.placed(parts["value"]), linestyle="none", marker=look.marker, **style, zorder=3)
    low, high = (edges.placed(parts[part]) for part in ("q05", "q95"))
    ax.vlines(n, low, high, color=look.colour, linewidth=0.9, alpha=0.8)
    ax.plot(n, low, "_", n, high, "_", color=look.colour, markersize=3.5, markeredgewidth=0.9)
    if len(n) > 1:
        ax.fill_between(
            n, edges.within(parts["low"]), edges.within(parts["high"]), color=look.colour, alpha=0.14, linewidth=0
        )


def _handles() -> list[Line2D]:
    return [
        Line2D([], [], color=FAINT, marker="|", markersize=11, linestyle="none", label="5 % to 95 % over\ntest points")
    ]


def _notes(found: xr.Dataset, infinite: bool) -> list[str]:
    marked = "Marks: median over replications of the median over test points; bars: of the 5 % and 95 % quantiles."
    at_the_edge = ["At ∞: this quantile is infinite, since so many regions are unbounded."] if infinite else []
    return [marked, *at_the_edge, *marks.error_notes(found, "Bands")]


def _edges(found: xr.Dataset, panels: Sequence[Panel]) -> Edges:
    """One scale for each line of panels."""
    return Edges(*(found[part].sel(panel.at).to_numpy() for part in ("value", "q05", "q95") for panel in panels))
