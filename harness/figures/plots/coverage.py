"""Coverage against n, with its interval, the nominal and the exact level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.core.types import Array
from harness.figures.canvas import marks
from harness.figures.canvas.axes import N_LABEL, STRETCHED, coverage_on, side_by_side, sizes_on
from harness.figures.canvas.layout import axis_labels, finish, page
from harness.figures.canvas.panels import Sheet, sheet
from harness.figures.canvas.style import INK, Stroke, strokes
from harness.results.estimates import estimate
from harness.results.replications import Where

OVER = ("lam", "gamma", "theta", "alpha")
_LEVEL_LINES: tuple[Any, ...] = ("solid", (0, (1, 1)), (0, (3, 1, 1, 1)))
_LEVEL_WIDTH = 1.8

Groups = dict[tuple[str, ...], Any]
"""Procedures that share an exact level, with the line style of it."""


def draw(url: str, where: Where | None = None) -> Figure:
    """The figure."""
    shown = sheet(url, where, OVER)
    found = estimate(url, "coverage", shown.where)
    marks.check_some([found["value"].to_numpy()], shown)
    looks = strokes(shown.known)
    made = page(shown.panels, shown.rows, shown.columns)
    groups: Groups = {}
    reach = 1.06 * max(side_by_side(shown.procedures, shown.sizes).values())
    for ax, panel in zip(made.axes, shown.panels, strict=True):
        _panel(ax, found.sel(panel.at), shown, looks, panel.at["alpha"])
        _levels(ax, shown, panel.at, reach, groups)
        sizes_on(ax, shown.sizes, reach)
    low = lowest(found, shown)
    stretched = [coverage_on(ax, low) for ax in made.axes]
    axis_labels(made, shown.panels, N_LABEL, "coverage of y*")
    notes = [*marks.error_notes(found, "Bands" if len(shown.sizes) > 1 else "Bars"), *_cautions(shown, groups)]
    notes += [*([STRETCHED] if any(stretched) else []), *shown.notes]
    handles = [*marks.procedure_handles(looks, shown.procedures), *_handles(groups)]
    return finish(made, marks.title(shown, "Coverage against n"), marks.subtitle(shown), handles, notes)


def _panel(ax: Axes, found: xr.Dataset, shown: Sheet, looks: Mapping[str, Stroke], alpha: float) -> None:
    if bool(found["value"].isnull().all()):
        marks.nothing_here(ax)
    beside = side_by_side(shown.procedures, shown.sizes)
    for name in shown.procedures:
        one = found.sel(procedure=name) if "procedure" in found.dims else found
        value, low, high = (np.atleast_1d(marks.plain(one[part])) for part in ("value", "low", "high"))
        curve(ax, np.array(shown.sizes) * beside[name], value, low, high, looks[name])
    marks.nominal_line(ax, alpha)


def curve(ax: Axes, n: Array, value: Array, low: Array, high: Array, look: Stroke) -> None:
    """A line with a band; with one n a point with a bar."""
    style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "linestyle": look.line}
    ax.plot(n, value, markeredgecolor="white", markeredgewidth=0.4, **style)
    if len(n) > 1:
        ax.fill_between(n, low, high, color=look.colour, alpha=0.14, linewidth=0)
    else:
        ax.vlines(n, low, high, color=look.colour, linewidth=1.4)


def _levels(ax: Axes, shown: Sheet, at: Mapping[str, Any], reach: float, groups: Groups) -> None:
    """Exact levels as dashes at each n: between two n they lie on no line. Procedures of equal levels share them."""
    levels, alpha = shown.runs.record.levels_for(at["theta"]), at["alpha"]
    rows: dict[tuple[float, ...], list[str]] = {}
    for name in shown.procedures:
        row = tuple(levels.get(name, {}).get(n, {}).get(alpha, np.nan) for n in shown.sizes)
        if not np.isnan(row).all():
            rows.setdefault(row, []).append(name)
    n = np.array(shown.sizes, dtype=float)
    for row, names in rows.items():
        line = groups.setdefault(tuple(names), _LEVEL_LINES[len(groups) % len(_LEVEL_LINES)])
        ax.hlines(row, n / reach, n * reach, color=INK, linewidth=_LEVEL_WIDTH, linestyle=line, zorder=1.8)


def _handles(groups: Groups) -> list[Line2D]:
    nominal = Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label=marks.NOMINAL)
    exact = [
        Line2D([], [], color=INK, linewidth=_LEVEL_WIDTH, linestyle=line, label=_exact(names))
        for names, line in groups.items()
    ]
    return [nominal, *exact]


def _exact(names: Sequence[str]) -> str:
    """Four names a line would be long."""
    lines = [", ".join(names[i : i + 2]) for i in range(0, len(names), 2)]
    return "exact level of\n" + ",\n".join(lines)


def _cautions(shown: Sheet, groups: Groups) -> list[str]:
    """Exact levels are for exchangeable points."""
    reasons = []
    if shown.runs.record.test != "iid":
        where = "lie on a grid" if shown.runs.record.test == "grid" else "come from a shifted law"
        reasons.append(f"test points {where}")
    searched = [each for each in shown.where["theta"] if not shown.runs.record.is_free(each)]
    if searched:
        reasons.append(f"θ = {', '.join(searched)} is searched for on the train sample")
    if not groups or not reasons:
        return []
    return [f"Exact levels are for exchangeable points; here {' and '.join(reasons)}."]


def lowest(found: xr.Dataset, shown: Sheet) -> float:
    """The least coverage that has to be seen."""
    nominal = 1 - max(shown.where["alpha"])
    return float(np.nanmin([float(found["low"].min()), float(found["value"].min()), nominal - 0.05]))
