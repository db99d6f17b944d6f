"""Parts that several figures share: legend handles, level lines, titles and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from harness.core.errors import UserError
from harness.core.procedures import Stroke, format_procedure
from harness.core.types import Array
from harness.figures.canvas import labels
from harness.figures.canvas.panels import PanelLayout
from harness.figures.canvas.style import FAINT, INK
from harness.statistics.intervals import LEVEL

ONE_PATH = "One path: no Monte-Carlo error."
NOMINAL = "nominal level 1 − α"


def make_procedure_handles(strokes: Mapping[str, Stroke], names: Sequence[str], line: bool = True) -> list[Line2D]:
    """Create the legend handles of the procedures in `names`, without lines if `line` is False."""
    return [
        Line2D(
            [],
            [],
            color=one.colour,
            marker=one.marker,
            linestyle=one.line if line else "none",
            label=format_procedure(name),
        )
        for name, one in strokes.items()
        if name in names
    ]


def draw_nominal_line(ax: Axes, alpha: float) -> Line2D:
    """Draw the nominal level 1 − α."""
    return ax.axhline(1 - alpha, color=INK, linewidth=0.9, linestyle=(0, (5, 2)), zorder=1.5, label=NOMINAL)


def mark_empty(ax: Axes) -> None:
    """Write "no results" into a panel without values."""
    ax.text(0.5, 0.5, "no results", transform=ax.transAxes, ha="center", va="center", color=FAINT, fontsize=8)


def check_not_empty(found: Sequence[Array], sheet: PanelLayout) -> None:
    """Raise UserError if there is no number to draw."""
    if all(np.isnan(each).all() for each in found):
        at = labels.format_cell(sheet.fixed) or "any cell"
        raise UserError(f"{sheet.runs.url}: no results at {at}: nothing has been run there, or everything failed")


def make_subtitle(sheet: PanelLayout, skip: Sequence[str] = ()) -> str:
    """Format the values that all panels share, except the axes in `skip`, and the number of paths and draws.

    The number of paths is that of the n that are shown.
    """
    fixed = labels.format_cell({axis: value for axis, value in sheet.fixed.items() if axis not in skip})
    extent = sheet.runs.manifest.extent
    draws = f" of {extent.draws} draws" if extent.draws > 1 else ""
    count = f"{sheet.runs.format_paths(sheet.sizes)}{draws}"
    return f"{fixed}; {count}" if fixed else count


def make_title(sheet: PanelLayout, what: str) -> str:
    """Return the title of a figure with the name of the study."""
    name = sheet.runs.manifest.scenario.get("name", "")
    return f"{what}: {name}" if name else what


def make_error_notes(found: xr.Dataset, what: str) -> list[str]:
    """Say what the bands or bars are (`what`), or why there are none."""
    if int(found["paths"].max()) <= 1:
        return [ONE_PATH]
    return [f"{what}: {100 * LEVEL:g} % Monte-Carlo interval, between paths."]


def to_array(values: xr.DataArray) -> Array:
    """Convert to a float array."""
    return np.asarray(values.to_numpy(), dtype=float)
