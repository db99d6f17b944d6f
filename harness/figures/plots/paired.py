"""Draw procedures relative to a reference, within replications, where both have the same data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.core.errors import UserError
from harness.core.procedures import Stroke, assign_strokes, format_procedure, is_for_function
from harness.core.types import Array
from harness.figures.canvas import marks
from harness.figures.canvas.axes import N_LABEL, Edges, compute_dodge_factors, set_size_axis
from harness.figures.canvas.layout import PanelGrid, finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import PanelLayout, make_panel_layout
from harness.figures.canvas.style import INK
from harness.figures.plots.coverage import OVER
from harness.figures.plots.target import draw_line, explain_arrows, find_ends, select_parts
from harness.results.estimates import difference, estimate_cells
from harness.results.measures import MEASURES, make_relative_width
from harness.results.replications import ReplicationReader, Where, open_reader


def draw_relative(url: str, where: Where | None = None, versus: str | None = None) -> Figure:
    """Draw widths relative to those of a reference, for the cells of a store that `where` selects."""
    shown, reference, others = _choose(url, where, versus)
    found = estimate_cells(open_reader(url, {**shown.where, "procedure": others}), make_relative_width(reference))
    marks.check_not_empty([found["value"].to_numpy()], shown)
    edges = Edges(*(found[part].to_numpy() for part in ("value", "low", "high")), np.ones(1))
    made = _draw_panels(shown, found, others, edges)
    label_axes(made, shown.panels, N_LABEL, f"width relative to {reference}")
    notes = [f"Median over replications of the ratio of median widths to {reference} in the same replication."]
    if not found["value"].where(found["value"] > 0).notnull().all():
        notes.append(f"At 0 {reference} alone is unbounded; where both are, there is no ratio.")
    return _finish(shown, made, found, others, reference, "Width relative to a reference", notes)


def draw_difference(url: str, where: Where | None = None, versus: str | None = None) -> Figure:
    """Draw differences of coverage from a reference, for the cells of a store that `where` selects."""
    shown, reference, others = _choose(url, where, versus)
    found = difference(url, reference, where={**shown.where, "procedure": others})
    marks.check_not_empty([found["value"].to_numpy()], shown)
    ends = find_ends(found)
    made = _draw_panels(shown, found, others, None, ends)
    label_axes(made, shown.panels, N_LABEL, f"coverage − that of {reference}")
    first = f"{MEASURES[shown.runs.judged].what.capitalize()}, less that of {reference} in the same replication: mean."
    notes = [first, *explain_arrows(found, ends, "below")]
    return _finish(shown, made, found, others, reference, "Paired differences of coverage", notes)


def choose_reference(runs: ReplicationReader, versus: str | None) -> str:
    """Return the procedure to compare with: the one asked for, RRCM-loo, or the first whose intervals are for y*.

    Raises
    ------
    UserError
        If the store doesn't have it.
    """
    names = runs.manifest.extent.grid.procedure
    if versus is not None and versus not in names:
        raise UserError(f"procedure {versus!r} isn't in the store: it has {', '.join(names)}")
    usual = [name for name in names if not is_for_function(name)] or list(names)
    return versus or ("RRCM-loo" if "RRCM-loo" in usual else usual[0])


def _choose(url: str, where: Where | None, versus: str | None) -> tuple[PanelLayout, str, list[str]]:
    """Return the panels, the reference, and the procedures to compare with it."""
    shown = make_panel_layout(url, where, OVER)
    reference = choose_reference(shown.runs, versus)
    others = [name for name in shown.procedures if name != reference]
    if not others:
        raise UserError(f"{url}: there is no other procedure to compare with {reference}")
    return shown, reference, others


def _draw_panels(
    shown: PanelLayout, found: xr.Dataset, others: list[str], edges: Edges | None, ends: tuple[float, float] = (0, 0)
) -> PanelGrid:
    """Draw one line for each procedure in each panel: on a log axis with `edges`, or between two ends."""
    looks = assign_strokes(shown.all_procedures)
    made = make_panel_grid(shown.panels, shown.rows, shown.columns)
    beside = compute_dodge_factors(others, shown.sizes)
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        here = found.sel({axis: value for axis, value in panel.at.items() if axis != "procedure"})
        if bool(here["value"].isnull().all()):
            marks.mark_empty(ax)
        ax.set_yscale("linear" if edges is None else "log")
        ax.axhline(0 if edges is None else 1, color=INK, linewidth=0.9, linestyle=(0, (5, 2)), zorder=1.5)
        for name in others:
            n, parts = np.array(shown.sizes) * beside[name], select_parts(here, name)
            if edges is None:
                draw_line(ax, n, parts, looks[name], ends)
            else:
                draw_on_edges(ax, n, parts, looks[name], edges)
        set_size_axis(ax, shown.sizes, 1.06 * max(beside.values()))
        if edges is None:
            ax.set_ylim(*ends)
        else:
            edges.apply(ax, "y", labelled=panel.column == 0)
    return made


def draw_on_edges(ax: Axes, x: Array, parts: Mapping[str, Array], look: Stroke, edges: Edges) -> None:
    """Draw a line with bars on a log axis; values of 0 and infinity go into its strips."""
    ax.plot(x, edges.mask_edges(parts["value"]), color=look.colour, linestyle=look.line)
    style = {"color": look.colour, "marker": look.marker, "markeredgecolor": "white", "markeredgewidth": 0.4}
    ax.plot(x, edges.place_values(parts["value"]), linestyle="none", **style)  # type: ignore[arg-type]
    low, high = (edges.place_values(parts[part]) for part in ("low", "high"))
    ax.vlines(x, low, high, color=look.colour, linewidth=1.0)


def _finish(
    shown: PanelLayout,
    made: PanelGrid,
    found: xr.Dataset,
    others: list[str],
    reference: str,
    title: str,
    notes: list[str],
) -> Figure:
    looks = assign_strokes(shown.all_procedures)
    line = Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label=format_procedure(reference))
    handles = [*marks.make_procedure_handles(looks, others), line]
    notes = [*notes, *marks.make_error_notes(found, "Bars"), *shown.notes]
    return finish(made, marks.make_title(shown, title), marks.make_subtitle(shown), handles, notes)
