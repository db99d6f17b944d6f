"""Draw widths against n: medians joined by lines, bars from the 5 % to the 95 % quantile over test points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.core.procedures import Stroke, assign_strokes
from harness.core.types import Array
from harness.figures.canvas import marks
from harness.figures.canvas.axes import N_LABEL, Edges, compute_dodge_factors, set_size_axis
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import Panel, PanelLayout, make_panel_layout
from harness.figures.canvas.style import FAINT
from harness.figures.plots.coverage import OVER
from harness.results.estimates import estimate
from harness.results.replications import Where

LABEL = "width of the region's hull"
_SHARE = 0.6
"""Share of the gap between two n that marks take: more than the default, for the bars."""


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw widths against n for the cells of a store that `where` selects."""
    shown = make_panel_layout(url, where, OVER)
    found = estimate(url, "width", shown.where)
    marks.check_not_empty([found["value"].to_numpy()], shown)
    found["q05"], found["q95"] = (estimate(url, f"width_{q}", shown.where)["value"] for q in ("q05", "q95"))
    looks = assign_strokes(shown.all_procedures)
    made = make_panel_grid(shown.panels, shown.rows, shown.columns, sharey="row")
    rows = {row: _make_edges(found, [each for each in shown.panels if each.row == row]) for row in range(shown.rows)}
    reach = max(compute_dodge_factors(shown.procedures, shown.sizes, _SHARE).values())
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        ax.set_yscale("log")
        _draw_panel(ax, found.sel(panel.at), shown, looks, rows[panel.row])
        set_size_axis(ax, shown.sizes, reach)
        rows[panel.row].apply(ax, "y", labelled=panel.column == 0)
    label_axes(made, shown.panels, N_LABEL, LABEL)
    handles = [*marks.make_procedure_handles(looks, shown.procedures), *_make_handles()]
    notes = [*_make_notes(found, any(each.has_infinity for each in rows.values())), *shown.notes]
    return finish(made, marks.make_title(shown, "Width against n"), marks.make_subtitle(shown), handles, notes)


def _draw_panel(ax: Axes, found: xr.Dataset, shown: PanelLayout, looks: Mapping[str, Stroke], edges: Edges) -> None:
    if bool(found["value"].isnull().all()):
        marks.mark_empty(ax)
    beside = compute_dodge_factors(shown.procedures, shown.sizes, _SHARE)
    for name in shown.procedures:
        one = found.sel(procedure=name) if "procedure" in found.dims else found
        n = np.array(shown.sizes) * beside[name]
        parts = {part: np.atleast_1d(marks.to_array(one[part])) for part in ("value", "q05", "q95", "low", "high")}
        _draw_procedure(ax, n, parts, looks[name], edges)


def _draw_procedure(ax: Axes, n: Array, parts: Mapping[str, Array], look: Stroke, edges: Edges) -> None:
    """Draw a line through finite medians, marks and bars; infinite values go into the strip."""
    style: dict[str, Any] = {"color": look.colour, "markeredgecolor": "white", "markeredgewidth": 0.4}
    ax.plot(n, edges.mask_edges(parts["value"]), linestyle=look.line, color=look.colour)
    ax.plot(n, edges.place_values(parts["value"]), linestyle="none", marker=look.marker, **style, zorder=3)
    low, high = (edges.place_values(parts[part]) for part in ("q05", "q95"))
    ax.vlines(n, low, high, color=look.colour, linewidth=0.9, alpha=0.8)
    ax.plot(n, low, "_", n, high, "_", color=look.colour, markersize=3.5, markeredgewidth=0.9)
    if len(n) > 1:
        ax.fill_between(
            n,
            edges.mask_edges(parts["low"]),
            edges.mask_edges(parts["high"]),
            color=look.colour,
            alpha=0.14,
            linewidth=0,
        )


def _make_handles() -> list[Line2D]:
    return [
        Line2D([], [], color=FAINT, marker="|", markersize=11, linestyle="none", label="5 % to 95 % over\ntest points")
    ]


def _make_notes(found: xr.Dataset, infinite: bool) -> list[str]:
    marked = "Marks: median over replications of the median over test points; bars: of the 5 % and 95 % quantiles."
    at_the_edge = ["At ∞: this quantile is infinite, since so many regions are unbounded."] if infinite else []
    return [marked, *at_the_edge, *marks.make_error_notes(found, "Bands")]


def _make_edges(found: xr.Dataset, panels: Sequence[Panel]) -> Edges:
    """Return one scale for all panels of a row."""
    return Edges(*(found[part].sel(panel.at).to_numpy() for part in ("value", "q05", "q95") for panel in panels))
