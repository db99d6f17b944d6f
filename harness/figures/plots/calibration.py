"""Draw error rates against α, both on log axes: a calibrated procedure lies on the diagonal at every level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.core.procedures import assign_strokes
from harness.figures.canvas import marks
from harness.figures.canvas.axes import Edges, set_log_ticks
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import make_panel_layout
from harness.figures.canvas.style import INK
from harness.figures.plots.paired import draw_on_edges
from harness.figures.plots.target import select_parts
from harness.results.estimates import estimate
from harness.results.replications import Where

_OVER = ("n", "gamma", "lam", "theta")
"""Axes with one panel per value."""
_SPREAD = 0.05
"""Logarithm by which the marks of neighbouring procedures stand apart, divided by the number of them."""


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw error rates against α for the cells of a store that `where` selects."""
    shown = make_panel_layout(url, where, _OVER, single=("theta", "lam"))
    found = estimate(url, "error", shown.where)
    marks.check_not_empty([found["value"].to_numpy()], shown)
    alphas, looks = np.array(shown.where["alpha"], dtype=float), assign_strokes(shown.all_procedures)
    edges = Edges(*(found[part].to_numpy() for part in ("value", "low", "high")), alphas)
    beside = _spread(shown.procedures)
    made = make_panel_grid(shown.panels, shown.rows, shown.columns)
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        ax.set(xscale="log", yscale="log")
        here = found.sel({axis: value for axis, value in panel.at.items() if axis not in ("alpha", "procedure")})
        if bool(here["value"].isnull().all()):
            marks.mark_empty(ax)
        ends = np.array([alphas.min() / 1.3, alphas.max() * 1.3])
        ax.plot(ends, ends, color=INK, linewidth=0.9, linestyle=(0, (5, 2)), zorder=1.5)
        for name in shown.procedures:
            draw_on_edges(ax, alphas * beside[name], select_parts(here, name), looks[name], edges)
        ax.set_xlim(*ends)
        set_log_ticks(ax.xaxis, *ends.tolist())
        edges.apply(ax, "y", labelled=panel.column == 0)
    label_axes(made, shown.panels, "α", "error rate")
    handles = [
        *marks.make_procedure_handles(looks, shown.procedures),
        Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label="error rate = α"),
    ]
    notes = [
        "Above the diagonal regions cover less than promised, below it more: conformal ones at small n by arithmetic.",
        *marks.make_error_notes(found, "Bars"),
        *shown.notes,
    ]
    return finish(
        made, marks.make_title(shown, "Calibration"), marks.make_subtitle(shown, skip=("alpha",)), handles, notes
    )


def _spread(names: Sequence[str]) -> dict[str, float]:
    """Return the factors on α that draw the marks of several procedures side by side."""
    middle = (len(names) - 1) / 2
    return {name: float(np.exp(_SPREAD * (place - middle))) for place, name in enumerate(names)}
