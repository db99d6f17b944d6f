"""Draw conditional coverage, at each test point or in bins of x: a line in one dimension, a map in two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.core.procedures import assign_strokes, is_for_function
from harness.core.schema.axes import BINS
from harness.core.schema.measures import BY_BINS, COVERAGE_EXPECTED
from harness.core.types import Array, Bools
from harness.figures.canvas import marks
from harness.figures.canvas.axes import STRETCHED, set_coverage_axis
from harness.figures.canvas.data import check_kept, find_bin_centres, find_test_points, read_cell
from harness.figures.canvas.layout import PanelGrid, finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import PanelLayout, make_panel_layout, open_with_sizes
from harness.figures.canvas.style import INK
from harness.results.replications import Where
from harness.statistics.intervals import LEVEL, Estimate, estimate_share

EstimatePanel = Callable[[PanelLayout, int], Estimate]
"""Estimates coverage at each point or in each bin, for the panel of this number."""
OVER = ("procedure", "lam", "gamma", "theta", "n", "alpha")
"""Axes with one panel per value."""
_MAP = "cividis"
"""Colour map of increasing lightness, readable in grey and with colour blindness."""


@dataclass(frozen=True)
class PointLayout:
    """Where test points are drawn."""

    x: Array
    label: str
    grid: tuple[Array, Array] | None = None
    """Both coordinates of each point, for a map."""
    note: str = ""

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the axis of x, with a little room."""
        low, high = float(self.x.min()), float(self.x.max())
        room = 0.01 * (high - low) or 0.5
        return low - room, high + room


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw coverage at each test point for the cells of a store that `where` selects."""
    chosen, _ = open_with_sizes(url, where)
    check_kept(chosen.manifest)
    layout = _make_layout(find_test_points(chosen.manifest), chosen.manifest.test_points)
    return _draw(url, where, layout, _estimate_points, "Coverage at each test point")


def draw_bins(url: str, where: Where | None = None) -> Figure:
    """Draw coverage in bins of x for the cells of a store that `where` selects."""
    chosen, _ = open_with_sizes(url, where)
    layout = _make_layout(find_bin_centres(chosen.manifest), BINS)
    return _draw(url, where, layout, _estimate_bins, "Coverage given x, in bins", unit="bin")


def _draw(
    url: str, where: Where | None, layout: PointLayout, estimate: EstimatePanel, title: str, unit: str = "point"
) -> Figure:
    shown = make_panel_layout(url, where, OVER, single=OVER[1:])
    found = [estimate(shown, place) for place in range(len(shown.panels))]
    marks.check_not_empty([each.value for each in found], shown)
    made = _draw_maps(shown, found, layout) if layout.grid else _draw_lines(shown, found, layout)
    handles = [] if layout.grid else _make_handles()
    notes = [
        *_make_error_notes(found, layout, unit),
        *([layout.note] if layout.note else []),
        *_make_scale_notes(made),
        *_make_function_notes(shown),
        *shown.notes,
    ]
    return finish(made, marks.make_title(shown, title), marks.make_subtitle(shown), handles, notes)


def _estimate_points(shown: PanelLayout, place: int) -> Estimate:
    """Estimate coverage at each test point, over paths and draws."""
    values, ok = read_cell(shown.runs, shown.panels[place].at, "hit")
    return estimate_share(values.astype(float), np.broadcast_to(ok[..., None], values.shape), 1)


def _estimate_bins(shown: PanelLayout, place: int) -> Estimate:
    """Estimate coverage in each bin, over the paths and draws that have test points there."""
    values, ok = read_cell(shown.runs, shown.panels[place].at, BY_BINS.name)
    points = max(1, round(shown.runs.manifest.test_points / BINS))
    is_counted = shown.runs.judged != COVERAGE_EXPECTED
    return estimate_share(values.astype(float), ok[..., None] & np.isfinite(values), points, is_counted=is_counted)


def _make_layout(points: Array | None, count: int) -> PointLayout:
    index = np.arange(1, count + 1, dtype=float)
    if points is None:
        return PointLayout(
            index, "number of the test point", note="A custom source's code isn't run here: points are numbered."
        )
    if points.shape[1] == 1:
        return PointLayout(points[:, 0], "x")
    if points.shape[1] == 2:
        return PointLayout(index, "x₁", (points[:, 0], points[:, 1]))
    return PointLayout(index, "number of the test point", note=f"{points.shape[1]} dimensions: points are numbered.")


def _draw_lines(shown: PanelLayout, found: Sequence[Estimate], layout: PointLayout) -> PanelGrid:
    looks = assign_strokes(shown.all_procedures)
    made = make_panel_grid(shown.panels, shown.rows, shown.columns, size=(2.5, 1.7))
    order = np.argsort(layout.x, kind="stable")
    parts = [np.concatenate([each.value, each.low]) for each in found]
    low = float(np.nanmin([np.nanmin(np.concatenate(parts)), 1 - max(shown.where["alpha"]) - 0.05]))
    for ax, panel, one in zip(made.axes, shown.panels, found, strict=True):
        colour = looks[panel.at["procedure"]].colour
        ax.fill_between(layout.x[order], one.low[order], one.high[order], color=colour, alpha=0.22, linewidth=0)
        ax.plot(layout.x[order], one.value[order], color=colour, linewidth=1.2)
        alone = _find_isolated(one.value[order])
        ax.plot(layout.x[order][alone], one.value[order][alone], ".", color=colour, markersize=4)
        marks.draw_nominal_line(ax, panel.at["alpha"])
        ax.set_xlim(*layout.ends)
        set_coverage_axis(ax, low)
        if np.isnan(one.value).all():
            marks.mark_empty(ax)
    label_axes(made, shown.panels, layout.label, "coverage of y*")
    return made


def _find_isolated(value: Array) -> Bools:
    """Return which points of a line have no neighbour, so that no line is drawn there."""
    known = np.concatenate([[False], np.isfinite(value), [False]])
    return np.asarray(known[1:-1] & ~known[:-2] & ~known[2:])


def _draw_maps(shown: PanelLayout, found: Sequence[Estimate], layout: PointLayout) -> PanelGrid:
    assert layout.grid is not None
    made = make_panel_grid(shown.panels, shown.rows, shown.columns, size=(2.1, 2.0))
    together = np.concatenate([each.value for each in found])
    norm = Normalize(float(np.nanmin(together)), 1.0)
    for ax, one in zip(made.axes, found, strict=True):
        _draw_map(ax, *layout.grid, one.value, norm)
    label_axes(made, shown.panels, layout.label, "x₂")
    bar = made.figure.colorbar(
        ScalarMappable(norm, _MAP), ax=made.axes, label="coverage of y*", shrink=0.9, aspect=30, pad=0.02
    )
    for alpha in shown.where["alpha"]:
        bar.ax.axhline(1 - alpha, color=INK, linewidth=1.5)
        bar.ax.annotate(
            f"{1 - alpha:g}",
            (0, 1 - alpha),
            (-3, 0),
            ("axes fraction", "data"),
            "offset points",
            va="center",
            ha="right",
            size=8,
        )
    return made


def _draw_map(ax: Axes, x: Array, y: Array, value: Array, norm: Normalize) -> None:
    """Draw the points of a regular grid as squares around them."""
    xs, ys = np.unique(x), np.unique(y)
    squares = np.full((len(ys), len(xs)), np.nan)
    squares[np.searchsorted(ys, y), np.searchsorted(xs, x)] = value
    half = ((xs[1] - xs[0]) / 2, (ys[1] - ys[0]) / 2)
    extent = (xs[0] - half[0], xs[-1] + half[0], ys[0] - half[1], ys[-1] + half[1])
    ax.imshow(squares, origin="lower", extent=extent, norm=norm, cmap=_MAP, interpolation="nearest", aspect="auto")
    ax.grid(visible=False)
    if np.isnan(value).all():
        marks.mark_empty(ax)


def _make_error_notes(found: Sequence[Estimate], layout: PointLayout, unit: str) -> list[str]:
    if max(int(np.max(each.paths)) for each in found) <= 1:
        return [marks.ONE_PATH if unit == "point" else "No bin has test points of two paths: no Monte-Carlo error."]
    if layout.grid is None:
        return [f"Bands: {100 * LEVEL:g} % Monte-Carlo interval, between paths, for each {unit} separately."]
    halves = np.concatenate([(each.high - each.low) / 2 for each in found])
    return [
        f"Monte-Carlo error: half of the {unit}s have a {100 * LEVEL:g} % interval within ±{np.nanmedian(halves):.2g}, "
        f"all within ±{np.nanmax(halves):.2g}."
    ]


def _make_scale_notes(made: PanelGrid) -> list[str]:
    return [STRETCHED] if made.axes[0].get_yscale() == "function" else []


def _make_function_notes(shown: PanelLayout) -> list[str]:
    """Say which procedures aren't meant for y*."""
    names = [name for name in shown.where["procedure"] if is_for_function(name)]
    return [f"Intervals for f(x*) aren't meant to cover y*: {', '.join(names)}."] if names else []


def _make_handles() -> list[Line2D]:
    return [Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label=marks.NOMINAL)]
