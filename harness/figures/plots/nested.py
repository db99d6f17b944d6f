"""Draw the whole factorial in one nested-loop plot (Rücker & Schwarzer 2014).

All combinations of γ, θ, λ, α and n stand side by side, in nested loops of which n is the innermost. Below, one stair
for each axis shows the value at each combination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from harness.core.errors import UserError
from harness.core.procedures import assign_strokes, format_procedure
from harness.core.types import Array
from harness.figures.canvas import labels, marks
from harness.figures.canvas.layout import PanelGrid, finish
from harness.figures.canvas.panels import PanelLayout, make_panel_layout
from harness.figures.canvas.style import FAINT, INK
from harness.figures.plots.target import BAND, LABEL, compute_excess, find_ends
from harness.results.replications import Where

LOOPS = ("gamma", "theta", "lam", "alpha", "n")
"""Axes of the loops, the outermost first."""
MOST = 400
"""Combinations that fit side by side."""
_INCHES, _NARROWEST, _WIDEST = 0.055, 6.0, 11.0
"""Width of a combination, and of the figure."""
_STAIR = 0.24
"""Height of a stair in inches."""


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw coverage less its target in all combinations that `where` selects."""
    shown = make_panel_layout(url, where, (), single=())
    loops = [axis for axis in LOOPS if len(shown.where[axis]) > 1] or ["n"]
    count = prod(len(shown.where[axis]) for axis in loops)
    if count > MOST:
        how = "select fewer with --where, such as alpha=0.1"
        raise UserError(f"{url}: a nested-loop plot has room for {MOST} combinations, and these are {count}: {how}")
    found, looks = compute_excess(url, shown), assign_strokes(shown.all_procedures)
    ends, made = find_ends(found, -float(found["tolerance"].max())), _make_axes(count, len(loops))
    above, below = made.axes
    _draw_tolerance(above, found, loops, count)
    for name in shown.procedures:
        value = _unroll(found["value"].sel(procedure=name), loops)
        look = looks[name]
        above.stairs(value, np.arange(count + 1) - 0.5, baseline=None, color=look.colour, linestyle=look.line)
    above.set(ylim=ends, xlim=(-0.5, count - 0.5), ylabel=LABEL)
    above.grid(visible=False, axis="x")
    _draw_loops(below, shown.where, loops, count)
    lines = [
        Line2D([], [], color=looks[name].colour, linestyle=looks[name].line, label=format_procedure(name))
        for name in shown.procedures
    ]
    zero = Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 2)), label="target")
    handles = [*lines, zero, Patch(facecolor=BAND, edgecolor=FAINT, linewidth=0.4, label="tolerance")]
    title = marks.make_title(shown, "All combinations, in nested loops")
    return finish(made, title, marks.make_subtitle(shown), handles, _make_notes(found, shown, ends))


def _make_axes(count: int, loops: int) -> PanelGrid:
    """Create the axes of the procedures, and those of the loops below."""
    width = float(np.clip(_INCHES * count, _NARROWEST, _WIDEST))
    figure = Figure(figsize=(0.7 + width, 3.0 + _STAIR * loops), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.6, _STAIR * loops + 0.05))
    return PanelGrid(figure, [above, below])


def _unroll(values: xr.DataArray, loops: Sequence[str]) -> Array:
    """Return values over all combinations, in the order of the loops."""
    return marks.to_array(values.transpose(*loops, ...)).reshape(-1)


def _draw_tolerance(ax: Axes, found: xr.Dataset, loops: Sequence[str], count: int) -> None:
    shape = found["value"].isel(procedure=0)
    tolerance = _unroll(found["tolerance"].broadcast_like(shape), loops)
    ax.stairs(-tolerance, np.arange(count + 1) - 0.5, baseline=0, fill=True, color=BAND, linewidth=0, zorder=0.5)
    ax.axhline(0, color=INK, linewidth=0.9, linestyle=(0, (5, 2)), zorder=1.5)


def _draw_loops(ax: Axes, where: Mapping[str, Sequence[Any]], loops: Sequence[str], count: int) -> None:
    """Draw one stair for each axis, with its letter and its values on the left."""
    places = np.array(list(product(*(range(len(where[axis])) for axis in loops))), dtype=float)
    for row, axis in enumerate(loops):
        steps = places[:, row] / max(len(where[axis]) - 1, 1)
        ax.stairs(-row - 0.35 + 0.6 * steps, np.arange(count + 1) - 0.5, baseline=None, color=INK, linewidth=0.9)
    names = [labels.format_axis_values(axis, where[axis]) for axis in loops]
    ax.set(ylim=(-len(loops) + 0.5, 0.5), xticks=[])
    ax.set_yticks(-np.arange(len(loops)), names)
    ax.tick_params(left=False)
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


def _make_notes(found: xr.Dataset, shown: PanelLayout, ends: tuple[float, float]) -> list[str]:
    beyond = [name for name in shown.procedures if bool((found["value"].sel(procedure=name) < ends[0]).any())]
    half = float(((found["high"] - found["low"]) / 2).max()) if int(found["paths"].max()) > 1 else None
    errors = marks.ONE_PATH if half is None else f"Every 95 % Monte-Carlo interval is within ±{half:.2g}."
    left_out = [f"{', '.join(beyond)} leaves the axis."] if beyond else []
    return ["The stairs go from the first value to the last.", errors, *left_out, *shown.notes]
