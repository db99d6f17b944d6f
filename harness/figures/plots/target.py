"""Draw coverage less its target, with the tolerance as a band: lines against n, or one lollipop for each procedure.

The target is the exact level of a procedure where it has one, and 1 − α otherwise. Intervals for f(x*) aren't meant to
cover y*, so they don't set the axis: where they are below it, an arrow says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from harness.core.procedures import Stroke, assign_strokes, format_procedure, is_for_function
from harness.core.types import Array
from harness.figures.canvas import marks
from harness.figures.canvas.axes import N_LABEL, compute_dodge_factors, set_size_axis
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import PanelLayout, make_panel_layout
from harness.figures.canvas.style import FAINT, INK
from harness.figures.plots.coverage import OVER
from harness.results.estimates import estimate
from harness.results.replications import Where
from harness.results.validity import verdicts

LABEL = "coverage − target"
BAND = "#e9efe4"
"""Colour of the tolerance."""
_PARTS = ("value", "low", "high")


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw coverage less its target against n for the cells of a store that `where` selects."""
    shown = make_panel_layout(url, where, OVER)
    found = compute_excess(url, shown)
    looks = assign_strokes(shown.all_procedures)
    made = make_panel_grid(shown.panels, shown.rows, shown.columns)
    ends = find_ends(found, -float(found["tolerance"].max()))
    beside = compute_dodge_factors(shown.procedures, shown.sizes)
    reach = 1.06 * max(beside.values())
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        here = found.sel(panel.at)
        _prepare_panel(ax, here)
        ax.axhspan(-float(here["tolerance"]), 0, color=BAND, linewidth=0, zorder=0.5)
        ax.axhline(0, color=INK, linewidth=0.9, linestyle=(0, (5, 2)), zorder=1.5)
        for name in shown.procedures:
            n, parts = np.array(shown.sizes) * beside[name], select_parts(here, name)
            draw_line(ax, n, parts, looks[name], ends)
        ax.set_ylim(*ends)
        set_size_axis(ax, shown.sizes, reach)
    label_axes(made, shown.panels, N_LABEL, LABEL)
    handles = [*marks.make_procedure_handles(looks, shown.procedures), *_make_handles()]
    notes = _make_notes(found, shown, ends, "below")
    return finish(made, marks.make_title(shown, "Coverage less its target"), marks.make_subtitle(shown), handles, notes)


def draw_lollipops(url: str, where: Where | None = None) -> Figure:
    """Draw coverage less its target, one line for each procedure, for the cells of a store that `where` selects."""
    shown = make_panel_layout(url, where, ("n", *OVER), single=("alpha", "theta", "lam"))
    found = compute_excess(url, shown)
    looks, ends = assign_strokes(shown.all_procedures), find_ends(found, -float(found["tolerance"].max()))
    size = (2.3, 0.35 + 0.19 * len(shown.procedures))
    made = make_panel_grid(shown.panels, shown.rows, shown.columns, size=size)
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        here = found.sel(panel.at)
        _prepare_panel(ax, here)
        ax.axvspan(-float(here["tolerance"]), 0, color=BAND, linewidth=0, zorder=0.5)
        ax.axvline(0, color=INK, linewidth=0.9, linestyle=(0, (5, 2)), zorder=1.5)
        for place, name in enumerate(shown.procedures):
            _draw_lollipop(ax, place, select_parts(here, name), looks[name], ends)
        ax.set_xlim(*ends)
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        ax.set_ylim(len(shown.procedures) - 0.4, -0.6)
        ax.set_yticks(range(len(shown.procedures)), [format_procedure(name) for name in shown.procedures])
        ax.grid(visible=False, axis="y")
    label_axes(made, shown.panels, LABEL, "")
    notes = _make_notes(found, shown, ends, "left of")
    title = marks.make_title(shown, "Coverage less its target, by procedure")
    return finish(made, title, marks.make_subtitle(shown), _make_handles(), notes)


def compute_excess(url: str, shown: PanelLayout) -> xr.Dataset:
    """Return coverage less its target, `value`, `low` and `high`, with `paths` and the `tolerance`, for all cells."""
    found = estimate(url, where=shown.where)
    marks.check_not_empty([found["value"].to_numpy()], shown)
    judged = verdicts(url, shown.where)
    excess = {part: found[part] - judged["target"] for part in _PARTS}
    return xr.Dataset({**excess, "paths": found["paths"], "tolerance": judged["tolerance"]})


def select_parts(found: xr.Dataset, name: str) -> dict[str, Array]:
    """Return the values of a procedure, with the ends of their intervals."""
    one = found.sel(procedure=name) if "procedure" in found.dims else found
    return {part: np.atleast_1d(marks.to_array(one[part])) for part in _PARTS}


def find_ends(found: xr.Dataset, least: float = 0.0) -> tuple[float, float]:
    """Return the ends of the axis, at most `least` and at least 0.

    Intervals for f(x*) don't count, unless there are no others.
    """
    names = [str(name) for name in np.atleast_1d(found["procedure"].to_numpy())]
    some = found.sel(procedure=[name for name in names if not is_for_function(name)] or names)
    low = min(float(np.fmin(some["low"], some["value"]).min()), least)
    high = max(float(np.fmax(some["high"], some["value"]).max()), 0.0)
    spare = 0.06 * (high - low)
    return low - spare, high + spare


def _prepare_panel(ax: Axes, here: xr.Dataset) -> None:
    if bool(here["value"].isnull().all()):
        marks.mark_empty(ax)


def draw_line(ax: Axes, n: Array, parts: Mapping[str, Array], look: Stroke, ends: tuple[float, float]) -> None:
    """Draw a line with bars, and an arrow where a value is below the axis."""
    style: dict[str, Any] = {"color": look.colour, "linestyle": look.line}
    ax.plot(n, parts["value"], marker=look.marker, markeredgecolor="white", markeredgewidth=0.4, **style)
    ax.vlines(n, parts["low"], parts["high"], color=look.colour, linewidth=1.0)
    under = parts["value"] < ends[0]
    ax.plot(n[under], np.full(under.sum(), _place_arrow(ends)), marker="v", color=look.colour, linestyle="none")


def _draw_lollipop(ax: Axes, place: int, parts: Mapping[str, Array], look: Stroke, ends: tuple[float, float]) -> None:
    """Draw a stick from the target, a mark with its interval, and an arrow where it is left of the axis."""
    (value,), (low,), (high,) = (parts[part] for part in _PARTS)
    ax.hlines(place, min(value, 0.0), max(value, 0.0), color=look.colour, linewidth=2.4, alpha=0.35)
    ax.hlines(place, low, high, color=look.colour, linewidth=1.2)
    ax.plot([value], [place], marker=look.marker, color=look.colour, markeredgecolor="white", markeredgewidth=0.4)
    if value < ends[0]:
        ax.plot([_place_arrow(ends)], [place], marker="<", color=look.colour)


def _place_arrow(ends: tuple[float, float]) -> float:
    return ends[0] + 0.03 * (ends[1] - ends[0])


def _make_handles() -> list[Any]:
    zero = Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label="target")
    return [zero, Patch(facecolor=BAND, edgecolor=FAINT, linewidth=0.4, label="tolerance")]


def _make_notes(found: xr.Dataset, shown: PanelLayout, ends: tuple[float, float], side: str) -> Sequence[str]:
    first = "The target is the exact level of a procedure that has one, 1 − α otherwise."
    return [first, *marks.make_error_notes(found, "Bars"), *explain_arrows(found, ends, side), *shown.notes]


def explain_arrows(found: xr.Dataset, ends: tuple[float, float], side: str) -> list[str]:
    """Say which procedures are beyond the axis in some cell."""
    beyond = [
        str(name)
        for name in found["procedure"].to_numpy()
        if bool((found["value"].sel(procedure=name) < ends[0]).any())
    ]
    whose = "Intervals for f(x*) aren't meant to cover y*. " if any(map(is_for_function, beyond)) else ""
    return [f"{whose}Arrows: {', '.join(beyond)} is {side} the axis there."] if beyond else []
