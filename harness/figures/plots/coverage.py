"""Draw coverage against n, with its Monte-Carlo interval, the nominal and the exact level."""

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
from harness.figures.canvas.axes import N_LABEL, STRETCHED, compute_dodge_factors, set_coverage_axis, set_size_axis
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import PanelLayout, make_panel_layout
from harness.figures.canvas.style import INK
from harness.results.estimates import estimate
from harness.results.measures import MEASURES
from harness.results.replications import Where

OVER = ("lam", "gamma", "theta", "alpha")
"""Axes with one panel per value."""
_LEVEL_LINES: tuple[Any, ...] = ("solid", (0, (1, 1)), (0, (3, 1, 1, 1)))
_LEVEL_WIDTH = 1.8

Groups = dict[tuple[str, ...], Any]
"""Line style of each exact level, by the procedures that share it."""


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw coverage against n for the cells of a store that `where` selects."""
    shown = make_panel_layout(url, where, OVER)
    found = estimate(url, where=shown.where)
    marks.check_not_empty([found["value"].to_numpy()], shown)
    looks = assign_strokes(shown.all_procedures)
    made = make_panel_grid(shown.panels, shown.rows, shown.columns)
    groups: Groups = {}
    reach = 1.06 * max(compute_dodge_factors(shown.procedures, shown.sizes).values())
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        _draw_panel(ax, found.sel(panel.at), shown, looks, panel.at["alpha"])
        _draw_levels(ax, shown, panel.at, reach, groups)
        set_size_axis(ax, shown.sizes, reach)
    low = find_lowest_coverage(found, shown)
    stretched = [set_coverage_axis(ax, low) for ax in made.axes]
    label_axes(made, shown.panels, N_LABEL, MEASURES[shown.runs.judged].what)
    notes = [
        *marks.make_error_notes(found, "Bands" if len(shown.sizes) > 1 else "Bars"),
        *_list_cautions(shown, groups),
    ]
    notes += [*([STRETCHED] if any(stretched) else []), *shown.notes]
    handles = [*marks.make_procedure_handles(looks, shown.procedures), *_make_handles(groups)]
    return finish(made, marks.make_title(shown, "Coverage against n"), marks.make_subtitle(shown), handles, notes)


def _draw_panel(ax: Axes, found: xr.Dataset, shown: PanelLayout, looks: Mapping[str, Stroke], alpha: float) -> None:
    if bool(found["value"].isnull().all()):
        marks.mark_empty(ax)
    beside = compute_dodge_factors(shown.procedures, shown.sizes)
    for name in shown.procedures:
        one = found.sel(procedure=name) if "procedure" in found.dims else found
        value, low, high = (np.atleast_1d(marks.to_array(one[part])) for part in ("value", "low", "high"))
        draw_curve(ax, np.array(shown.sizes) * beside[name], value, low, high, looks[name])
    marks.draw_nominal_line(ax, alpha)


def draw_curve(ax: Axes, n: Array, value: Array, low: Array, high: Array, look: Stroke) -> None:
    """Draw a line with a band; a point with a bar if there is only one n."""
    style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "linestyle": look.line}
    ax.plot(n, value, markeredgecolor="white", markeredgewidth=0.4, **style)
    if len(n) > 1:
        ax.fill_between(n, low, high, color=look.colour, alpha=0.14, linewidth=0)
    else:
        ax.vlines(n, low, high, color=look.colour, linewidth=1.4)


def _draw_levels(ax: Axes, shown: PanelLayout, at: Mapping[str, Any], reach: float, groups: Groups) -> None:
    """Draw exact levels as dashes at each n, once for procedures with equal levels.

    They aren't joined, because levels between two n don't lie on a line.
    """
    manifest, alpha = shown.runs.manifest, at["alpha"]
    rows: dict[tuple[float, ...], list[str]] = {}
    for name in shown.procedures:
        row = tuple(manifest.get_levels(at["theta"], name).get(n, {}).get(alpha, np.nan) for n in shown.sizes)
        if not np.isnan(row).all():
            rows.setdefault(row, []).append(name)
    n = np.array(shown.sizes, dtype=float)
    for row, names in rows.items():
        line = groups.setdefault(tuple(names), _LEVEL_LINES[len(groups) % len(_LEVEL_LINES)])
        ax.hlines(row, n / reach, n * reach, color=INK, linewidth=_LEVEL_WIDTH, linestyle=line, zorder=1.8)


def _make_handles(groups: Groups) -> list[Line2D]:
    nominal = Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label=marks.NOMINAL)
    exact = [
        Line2D([], [], color=INK, linewidth=_LEVEL_WIDTH, linestyle=line, label=_format_exact_label(names))
        for names, line in groups.items()
    ]
    return [nominal, *exact]


def _format_exact_label(names: Sequence[str]) -> str:
    """Break the list of procedures into lines of two names."""
    lines = [", ".join(names[i : i + 2]) for i in range(0, len(names), 2)]
    return "exact level of\n" + ",\n".join(lines)


def _list_cautions(shown: PanelLayout, groups: Groups) -> list[str]:
    """Explain why exact levels don't apply where points aren't exchangeable."""
    reasons = []
    if shown.runs.manifest.test != "iid":
        where = "lie on a grid" if shown.runs.manifest.test == "grid" else "come from a shifted distribution"
        reasons.append(f"test points {where}")
    searched = [each for each in shown.where["theta"] if not shown.runs.manifest.is_independent(each)]
    if searched:
        reasons.append(f"θ = {', '.join(searched)} is searched for on the training sample")
    if not groups or not reasons:
        return []
    return [f"Exact levels are for exchangeable points; here {' and '.join(reasons)}."]


def find_lowest_coverage(found: xr.Dataset, shown: PanelLayout) -> float:
    """Return the lowest coverage that the axis has to show."""
    nominal = 1 - max(shown.where["alpha"])
    return float(np.nanmin([float(found["low"].min()), float(found["value"].min()), nominal - 0.05]))
