"""Draw the coverage on each path, sorted: a level holds on average, and single samples spread around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from harness.core.procedures import Stroke, assign_strokes
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.core.types import Array, Bools, Values
from harness.figures.canvas import marks
from harness.figures.canvas.axes import STRETCHED, set_coverage_axis
from harness.figures.canvas.data import read_cell
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import PanelLayout, make_panel_layout
from harness.figures.canvas.style import FAINT, INK
from harness.figures.plots.pointwise import OVER
from harness.results.measures import MEASURES
from harness.results.replications import Where
from harness.statistics.clustered import clustered_error
from harness.statistics.intervals import LEVEL, Share

MOST_DOTS = 100
"""Number of paths above which dots would touch, and a line is drawn."""
_MIDDLE = "#ececec"


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw the sorted coverage of paths for the cells of a store that `where` selects."""
    shown = make_panel_layout(url, where, OVER, single=OVER[1:])
    points = None if shown.runs.judged == COVERAGE_EXPECTED else shown.runs.manifest.test_points
    found = [summarise_paths(*read_cell(shown.runs, panel.at, shown.runs.judged), points) for panel in shown.panels]
    marks.check_not_empty([each[0] for each in found], shown)
    looks = assign_strokes(shown.all_procedures)
    made = make_panel_grid(shown.panels, shown.rows, shown.columns, size=(2.4, 1.9))
    low = float(
        np.nanmin([*(np.nanmin(each[1]) for each in found if len(each[1])), 1 - max(shown.where["alpha"]) - 0.05])
    )
    for ax, panel, one in zip(made.axes, shown.panels, found, strict=True):
        _draw_panel(ax, one, looks[panel.at["procedure"]])
        _draw_levels(ax, shown, panel.at)
        set_coverage_axis(ax, low)
    label_axes(made, shown.panels, "share of paths with lower coverage", MEASURES[shown.runs.judged].what)
    has_interval = points is not None or shown.runs.manifest.extent.draws > 1
    notes = _make_notes(shown, made.axes[0].get_yscale() == "function")
    title = "Training-conditional coverage" if points is None else "Coverage on each path"
    handles = _make_handles(shown, has_interval)
    return finish(made, marks.make_title(shown, title), marks.make_subtitle(shown), handles, notes)


def summarise_paths(values: Values, ok: Bools, points: int | None) -> tuple[Array, Array, Array]:
    """Compute the mean coverage of each path with its interval, in ascending order.

    With several draws the interval is over draws; with one it is over test points, as if they were independent, or a
    point if coverage is expected: then test values add no noise.

    Parameters
    ----------
    values : array
        Coverage over path and draw.
    ok : array of bool
        Which replications have a result. Paths without any are dropped.
    points : int or None
        Number of test points of a replication; None for expected coverage.

    Returns
    -------
    centre, low, high : array
        Mean and interval of each path.
    """
    some = ok.any(axis=1)
    values, ok = values[some], ok[some]
    counts = ok.sum(axis=1)
    centre, se = clustered_error(
        np.where(ok, values, 0.0).T[:, None], ok.T[:, None]
    )  # the draws of a path take the place of paths
    alone = counts < 2
    if points is None:
        share = Share(centre, se, counts, counts, counts.astype(float), counts, is_counted=False)
        low, high = (np.where(alone, centre, end) for end in share.interval())
    else:
        se = np.where(alone, np.sqrt(centre * (1 - centre) / points), se)
        units = np.where(alone, points, counts)  # test points, or draws
        low, high = Share(centre, se, units, np.where(alone, 1, points), units.astype(float), units).interval()
    order = np.argsort(centre, kind="stable")
    return centre[order], low[order], high[order]


def _draw_panel(ax: Axes, one: tuple[Array, Array, Array], look: Stroke) -> None:
    centre, low, high = one
    if not len(centre):
        marks.mark_empty(ax)
        return
    rank = (np.arange(len(centre)) + 0.5) / len(centre)
    if len(centre) > 1:
        ends = np.quantile(centre, [0.05, 0.95], method="inverted_cdf")
        ax.axhspan(*ends, color=_MIDDLE, linewidth=0, zorder=0.5)
    if len(centre) > MOST_DOTS:
        ax.fill_between(rank, low, high, color=look.colour, alpha=0.25, linewidth=0, step="mid")
        ax.plot(rank, centre, color=look.colour, linewidth=1.6, drawstyle="steps-mid")
    else:
        ax.vlines(rank, low, high, color=look.colour, linewidth=0.8, alpha=0.6)
        ax.plot(
            rank,
            centre,
            color=look.colour,
            marker=look.marker,
            linestyle="none",
            markersize=4 if len(centre) < 50 else 3,
        )
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])


def _draw_levels(ax: Axes, shown: PanelLayout, at: Mapping[str, Any]) -> None:
    """Draw the nominal level, and the exact one if the procedure has one."""
    marks.draw_nominal_line(ax, at["alpha"])
    level = shown.runs.manifest.get_levels(at["theta"], at["procedure"]).get(at["n"], {}).get(at["alpha"])
    if level is not None:
        ax.axhline(level, color=INK, linewidth=1.2, linestyle="solid", zorder=1.4)


def _make_handles(shown: PanelLayout, has_interval: bool) -> list[Any]:
    levels = any(name in shown.runs.manifest.exact_levels for name in shown.procedures)
    exact = [Line2D([], [], color=INK, linewidth=1.2, label="exact level, on average")] if levels else []
    dots = Line2D(
        [], [], color=FAINT, marker="o", linestyle="none", label=f"a path{', with its interval' * has_interval}"
    )
    many = shown.runs.get_path_range()[1] > MOST_DOTS
    line = Line2D([], [], color=FAINT, linewidth=1.6, label=f"paths{', with their intervals' * has_interval}")
    nominal = Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label=marks.NOMINAL)
    return [line if many else dots, nominal, *exact, Patch(color=_MIDDLE, label="the middle 90 % of paths")]


def _make_notes(shown: PanelLayout, stretched: bool) -> Sequence[str]:
    extent = shown.runs.manifest.extent
    expected = shown.runs.judged == COVERAGE_EXPECTED
    points = "over its test points, as if they were independent: their noise is in the spread"
    over = "over its draws" if extent.draws > 1 else points
    first = f"Intervals: {100 * LEVEL:g} % for each path, {over}."
    if expected:
        text = "Expected coverage: the probability that y* is in the region, given the training sample."
        first = f"{text} {first}" if extent.draws > 1 else text
    alone = ["One path: the spread between paths is unknown."] if shown.runs.get_path_range()[1] == 1 else []
    return [first, *alone, *([STRETCHED] if stretched else []), *shown.notes]
