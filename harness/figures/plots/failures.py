"""Draw where replications failed, and where regions are unbounded, empty or in several pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from harness.core.procedures import format_procedure
from harness.core.types import Array
from harness.figures.canvas import labels, marks
from harness.figures.canvas.layout import finish, make_panel_grid
from harness.figures.canvas.panels import MOST_PANELS, Panel, PanelLayout, make_panel_layout
from harness.figures.canvas.style import FAINT, INK
from harness.results.estimates import estimate
from harness.results.replications import Where

KINDS = {
    "failed": "replications that failed",
    "unbounded": "unbounded regions",
    "empty": "empty regions",
    "disconnected": "regions in several pieces",
}
_TALLEST = 8.0
"""Height of all tables together, in inches: one page."""
SETTING = ("gamma", "theta", "lam", "alpha")
"""Axes whose values make a setting, one row of tables each."""
_NORM = PowerNorm(0.5, 0.0, 1.0)
"""Square-root colour scale, because small shares matter."""


def draw(url: str, where: Where | None = None) -> Figure:
    """Draw a table over procedures and n for each kind of problem and each setting where it occurs."""
    shown = make_panel_layout(url, where, ())
    found = xr.Dataset({kind: estimate(url, kind, shown.where)["value"] for kind in KINDS})
    marks.check_not_empty([found["failed"].to_numpy()], shown)
    kinds = [kind for kind in KINDS if float(found[kind].max()) > 0]
    what = marks.make_title(shown, "Failures and unusual regions")
    if not kinds:
        return _draw_no_failures(shown, what)
    names, spared = _split_procedures(found[kinds], shown)
    size = (max(2.0, 0.5 * len(shown.sizes) + 0.4), max(0.9, 0.2 * len(names) + 0.35))
    settings, note = _select_worst(found[kinds], shown, max(int(_TALLEST / size[1]), 1))
    panels = [
        Panel(
            r,
            c,
            {**at, "kind": kind},
            KINDS[kind] if r == 0 else "",
            _format_row_heading(at, shown) if c == len(kinds) - 1 else "",
        )
        for (r, at), (c, kind) in product(enumerate(settings), enumerate(kinds))
    ]
    made = make_panel_grid(panels, len(settings), len(kinds), size)
    for ax, panel in zip(made.axes, panels, strict=True):
        _draw_table(ax, found[panel.at["kind"]].sel({axis: panel.at[axis] for axis in SETTING}), names, shown.sizes)
        if panel.row == len(settings) - 1:
            ax.set_xlabel("n")
    never = [KINDS[kind] for kind in KINDS if kind not in kinds]
    notes = ["Numbers are shares in per cent; a dash: no results. n is the size of the training sample."]
    notes += [f"There are none: {', '.join(never)}."] if never else []
    return finish(made, what, marks.make_subtitle(shown), [], [*notes, *spared, *note, *shown.notes])


def _split_procedures(found: xr.Dataset, shown: PanelLayout) -> tuple[list[str], list[str]]:
    """Return the procedures with any of these problems, and a note that names the others."""
    most = {
        name: max(float(found[kind].sel(procedure=name).fillna(0).max()) for kind in found) for name in shown.procedures
    }
    names, others = ([name for name in most if (most[name] > 0) == some] for some in (True, False))
    return names, [f"Without any of these, and not shown: {', '.join(others)}."] if others else []


def _select_worst(found: xr.Dataset, shown: PanelLayout, room: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the settings with the largest shares, in the order of the grid, and notes about the others."""
    settings = [dict(zip(SETTING, each, strict=True)) for each in product(*(shown.where[axis] for axis in SETTING))]
    shares = [max(float(found[kind].sel(at).fillna(0).max()) for kind in found) for at in settings]
    room = min(room, max(MOST_PANELS // len(found), 1))
    some = [place for place, each in enumerate(shares) if each > 0]
    kept = sorted(sorted(some, key=lambda place: -shares[place])[:room])
    notes = []
    if len(some) > len(kept):
        most = max(shares[place] for place in some if place not in kept)
        notes.append(
            f"The {len(kept)} worst of {len(some)} settings; the others have at most {_format_percent(most)} %."
        )
    if len(some) < len(settings):
        notes.append(f"{len(settings) - len(some)} of {len(settings)} settings have none of these and aren't shown.")
    return [settings[place] for place in kept], notes


def _format_row_heading(at: Mapping[str, Any], shown: PanelLayout) -> str:
    return labels.format_cell({axis: value for axis, value in at.items() if axis not in shown.fixed})


def _draw_table(ax: Axes, shares: xr.DataArray, names: Sequence[str], sizes: Sequence[int]) -> None:
    """Draw procedures down and n across, each share as a colour and as a number."""
    values: Array = shares.sel(procedure=list(names)).transpose("procedure", "n").to_numpy()
    ax.imshow(values, norm=_NORM, cmap="Blues", aspect="auto", interpolation="nearest")
    for (row, column), value in np.ndenumerate(values):
        dark = sum(colormaps["Blues"](_NORM(value))[:3]) < 1.5 if value == value else False
        colour = "white" if dark else FAINT if not value > 0 else INK
        ax.text(column, row, _format_percent(float(value)), ha="center", va="center", fontsize=7, color=colour)
    ax.grid(visible=False)
    ax.set_xticks(range(len(sizes)), [str(n) for n in sizes])
    ax.set_yticks(range(len(names)), [format_procedure(name) for name in names])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _format_percent(share: float) -> str:
    """Format a share in per cent, with two or three significant digits.

    Examples
    --------
    >>> tuple(map(_format_percent, (0.0, 0.00004, 0.0123, 0.999, 1.0, float("nan"))))
    ('0', '<0.01', '1.2', '99.9', '100', '–')
    """
    if share != share:
        return "–"
    if share == 0:
        return "0"
    if share < 1e-4:
        return "<0.01"
    return f"{100 * share:.2g}" if share < 0.1 else f"{100 * share:.3g}"


def _draw_no_failures(shown: PanelLayout, what: str) -> Figure:
    """Say in words that nothing occurred, because an empty table would look like a mistake."""
    made = make_panel_grid([Panel(0, 0, {})], 1, 1, (4.0, 1.0))
    made.figure.set_size_inches(5.0, 1.2)
    ax = made.axes[0]
    ax.set_axis_off()
    text = "No replication failed,\nand every region is bounded, not empty, and in one piece."
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center")
    return finish(made, what, marks.make_subtitle(shown), [], shown.notes)
