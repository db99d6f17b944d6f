"""Draw histograms of the PIT: all bins of a right predictive distribution have the same share."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.core.errors import UserError
from harness.core.procedures import assign_strokes
from harness.core.schema.axes import PIT_BINS
from harness.core.schema.measures import DISTRIBUTION
from harness.figures.canvas import marks
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import PanelLayout, make_panel_layout
from harness.figures.canvas.style import INK
from harness.figures.plots.target import select_parts
from harness.results.estimates import estimate_pits
from harness.results.replications import Where
from harness.statistics.intervals import LEVEL

_OVER = ("n", "gamma", "lam", "theta")
"""Axes with one panel per value."""
_SHARE = 0.5
"""Share of the width of a bin that marks take."""
_DASHED = (0, (5, 2))


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw the PIT histograms of the cells of a store that `where` selects."""
    shown = make_panel_layout(url, where, _OVER, single=("theta", "lam"))
    if DISTRIBUTION not in shown.runs.manifest.keep:
        raise UserError(f'pit needs PIT histograms: run a scenario with keep = ["{DISTRIBUTION}"]')
    found = estimate_pits(url, shown.where)
    names = [one for one in shown.procedures if bool(found["value"].sel(procedure=one).notnull().any())]
    if not names:
        raise UserError(f"{shown.runs.url}: none of {', '.join(shown.procedures)} has a PIT here, or nothing was run")
    looks = assign_strokes(shown.all_procedures)
    made = make_panel_grid(shown.panels, shown.rows, shown.columns)
    places = found["bin"].to_numpy()
    top = float(found["high"].fillna(found["value"]).max())
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        here = found.sel({axis: value for axis, value in panel.at.items() if axis not in ("alpha", "procedure")})
        if bool(here["value"].isnull().all()):
            marks.mark_empty(ax)
        ax.axhline(1 / PIT_BINS, color=INK, linewidth=0.9, linestyle=_DASHED, zorder=1.5)
        for i, name in enumerate(names):
            parts, look = select_parts(here, name), looks[name]
            x = places + _SHARE / PIT_BINS * ((i + 0.5) / len(names) - 0.5)
            ax.stairs(parts["value"], np.linspace(0, 1, PIT_BINS + 1), color=look.colour, alpha=0.35)
            ax.plot(x, parts["value"], color=look.colour, marker=look.marker, linestyle="none")
            ax.vlines(x, parts["low"], parts["high"], color=look.colour, linewidth=1.0)
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1.05 * max(top, 1.5 / PIT_BINS))
    label_axes(made, shown.panels, "PIT", "share of test points")
    uniform = Line2D([], [], color=INK, linewidth=0.9, linestyle=_DASHED, label="uniform")
    handles = [*marks.make_procedure_handles(looks, names, line=False), uniform]
    title, subtitle = marks.make_title(shown, "PIT histograms"), marks.make_subtitle(shown, skip=("alpha",))
    return finish(made, title, subtitle, handles, _make_notes(shown, names, int(found["paths"].max())))


def _make_notes(shown: PanelLayout, names: list[str], paths: int) -> list[str]:
    others = [name for name in shown.procedures if name not in names]
    return [
        "High at both ends: distributions are too narrow; high in the middle: too wide; sloped: shifted.",
        f"Bars: {100 * LEVEL:g} % Monte-Carlo intervals, between paths, for all bins of a histogram at once."
        if paths > 1
        else marks.ONE_PATH,
        *([f"Without a predictive distribution: {', '.join(others)}."] if others else []),
        *shown.notes,
    ]
