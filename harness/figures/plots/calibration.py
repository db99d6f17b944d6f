"""Draw error rates relative to α at every level: a calibrated procedure has the ratio 1.

The values of α stand side by side as they come, so that marks of several procedures can be told apart without a
position that would be read as another α.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.core.procedures import assign_strokes
from harness.figures.canvas import labels, marks
from harness.figures.canvas.axes import Edges
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import make_panel_layout
from harness.figures.canvas.style import INK
from harness.figures.plots.paired import draw_on_edges
from harness.figures.plots.target import select_parts
from harness.results.estimates import estimate
from harness.results.replications import Where

_OVER = ("n", "gamma", "lam", "theta")
"""Axes with one panel per value."""
_SHARE = 0.6
"""Share of the distance between two values of α that marks take."""


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw error rates against α for the cells of a store that `where` selects."""
    shown = make_panel_layout(url, where, _OVER, single=("theta", "lam"))
    found = estimate(url, "error", shown.where)
    marks.check_not_empty([found["value"].to_numpy()], shown)
    for part in ("value", "low", "high"):
        found[part] = found[part] / found["alpha"]
    looks, places = assign_strokes(shown.all_procedures), np.arange(float(len(shown.where["alpha"])))
    edges = Edges(*(found[part].to_numpy() for part in ("value", "low", "high")), np.ones(1))
    made = make_panel_grid(shown.panels, shown.rows, shown.columns)
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        ax.set_yscale("log")
        here = found.sel({axis: value for axis, value in panel.at.items() if axis not in ("alpha", "procedure")})
        if bool(here["value"].isnull().all()):
            marks.mark_empty(ax)
        ax.axhline(1, color=INK, linewidth=0.9, linestyle=(0, (5, 2)), zorder=1.5)
        for name, beside in _spread(shown.procedures).items():
            draw_on_edges(ax, places + beside, select_parts(here, name), looks[name], edges)
        ax.set_xlim(-0.5, len(places) - 0.5)
        ax.set_xticks(places, [labels.format_with_powers(alpha) for alpha in shown.where["alpha"]])
        ax.grid(visible=False, axis="x")
        edges.apply(ax, "y", labelled=panel.column == 0)
    label_axes(made, shown.panels, "α", "error rate / α")
    handles = [
        *marks.make_procedure_handles(looks, shown.procedures),
        Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label="error rate = α"),
    ]
    notes = [
        "Above 1 regions cover less than 1 − α, below it more: conformal ones at small n by arithmetic.",
        *marks.make_error_notes(found, "Bars"),
        *shown.notes,
    ]
    return finish(
        made, marks.make_title(shown, "Calibration"), marks.make_subtitle(shown, skip=("alpha",)), handles, notes
    )


def _spread(names: Sequence[str]) -> dict[str, float]:
    """Return how far beside an α the marks of each procedure stand, in distances between two α."""
    return {name: _SHARE * ((place + 0.5) / len(names) - 0.5) for place, name in enumerate(names)}
