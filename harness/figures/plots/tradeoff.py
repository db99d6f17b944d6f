"""Draw coverage against width: one curve per procedure, along n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.core.procedures import Stroke, assign_strokes
from harness.core.types import Array
from harness.figures.canvas import marks
from harness.figures.canvas.axes import STRETCHED, Edges, set_coverage_axis
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import PanelLayout, make_panel_layout
from harness.figures.canvas.style import INK
from harness.figures.plots.coverage import OVER, find_lowest_coverage
from harness.figures.plots.width import LABEL
from harness.results.estimates import estimate
from harness.results.measures import MEASURES
from harness.results.replications import Where

_LEAST, _MOST = 3.5, 7.5
"""Mark sizes at the smallest and the largest n, in points."""


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw coverage against width for the cells of a store that `where` selects."""
    shown = make_panel_layout(url, where, OVER)
    coverage, width = (estimate(url, measure, shown.where) for measure in (None, "width"))
    marks.check_not_empty([coverage["value"].to_numpy()], shown)
    looks = assign_strokes(shown.all_procedures)
    made = make_panel_grid(shown.panels, shown.rows, shown.columns, size=(2.8, 2.3), sharex=False)
    low = find_lowest_coverage(coverage, shown)
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        ax.set_xscale("log")
        here = width.sel(panel.at)
        edges = Edges(*(here[part].to_numpy() for part in ("value", "low", "high")))
        _draw_panel(ax, coverage.sel(panel.at), here, shown, looks, edges)
        marks.draw_nominal_line(ax, panel.at["alpha"])
        stretched = set_coverage_axis(ax, low)
        edges.apply(ax, "x")
    label_axes(made, shown.panels, f"median {LABEL}", MEASURES[shown.runs.judged].what)
    handles = [*marks.make_procedure_handles(looks, shown.procedures), *_make_handles(shown)]
    notes = [
        _make_reading_note(shown),
        *marks.make_error_notes(coverage, "Bars"),
        *([STRETCHED] if stretched else []),
        *shown.notes,
    ]
    return finish(made, marks.make_title(shown, "Coverage against width"), marks.make_subtitle(shown), handles, notes)


def _make_reading_note(shown: PanelLayout) -> str:
    grows = f"Marks grow with n ({', '.join(map(str, shown.sizes))}). " if len(shown.sizes) > 1 else ""
    return f"{grows}On the line, coverage is nominal; of two procedures there, the left one is better."


def _draw_panel(
    ax: Axes, coverage: xr.Dataset, width: xr.Dataset, shown: PanelLayout, looks: Mapping[str, Stroke], edges: Edges
) -> None:
    if bool(coverage["value"].isnull().all()):
        marks.mark_empty(ax)
    for beside, name in zip(np.linspace(-0.5, 0.5, len(shown.procedures) + 2)[1:-1], shown.procedures, strict=True):
        y, x = ({part: _select_part(one, name, part) for part in ("value", "low", "high")} for one in (coverage, width))
        _draw_curve(ax, x, y, looks[name], edges, float(beside))


def _select_part(found: xr.Dataset, name: str, part: str) -> Array:
    one = found[part].sel(procedure=name) if "procedure" in found.dims else found[part]
    return np.atleast_1d(marks.to_array(one))


def _draw_curve(
    ax: Axes, x: Mapping[str, Array], y: Mapping[str, Array], look: Stroke, edges: Edges, beside: float
) -> None:
    """Draw marks that grow with n, joined where widths are finite, with bars in both directions."""
    at = edges.place_values(x["value"], beside)
    ax.plot(edges.mask_edges(x["value"]), y["value"], color=look.colour, linestyle=look.line, linewidth=1.0)
    ax.vlines(at, y["low"], y["high"], color=look.colour, linewidth=0.9, alpha=0.8)
    left, right = (edges.place_values(x[end], beside) for end in ("low", "high"))
    ax.hlines(y["value"], left, right, color=look.colour, linewidth=0.9, alpha=0.8)
    sizes = np.linspace(_LEAST, _MOST, len(at)) if len(at) > 1 else np.array([5.5])
    ax.scatter(
        at, y["value"], s=sizes**2, color=look.colour, marker=look.marker, edgecolor="white", linewidth=0.4, zorder=3
    )


def _make_handles(shown: PanelLayout) -> list[Any]:
    nominal = Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label=marks.NOMINAL)
    if len(shown.sizes) == 1:
        return [nominal]
    ends = ((shown.sizes[0], _LEAST), (shown.sizes[-1], _MOST))
    grey: dict[str, Any] = {"color": INK, "marker": "o", "linestyle": "none"}
    return [nominal, *(Line2D([], [], markersize=size, label=f"n = {n}", **grey) for n, size in ends)]
