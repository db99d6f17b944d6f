"""Draw figures 1, 2 and 4: bands over a single sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from harness.core.procedures import PROCEDURES
from harness.core.types import Array
from harness.figures.canvas import labels
from harness.figures.canvas.layout import finish, label_axes, make_panel_grid
from harness.figures.canvas.panels import Panel
from harness.figures.canvas.style import FAINT, INK
from harness.paper.figures.data import SAMPLES, Bands, compute_bands

_RANGE = "#f1f1f1"
"""Colour of the range of training points."""
_MOST = 6.0
"""Largest height of a panel, relative to the height needed within the training knots."""


@dataclass(frozen=True)
class ProfileFigure:
    """Contents of a figure of bands."""

    title: str
    sample: str
    """Key in `data.SAMPLES`."""
    rows: tuple[float, ...]
    """One γ per row."""
    columns: tuple[tuple[str, ...], ...]
    """Procedures of each column."""
    lam: float
    alpha: float
    notes: tuple[str, ...]
    far: bool = False
    """Whether the figure is about the range beyond the training knots."""
    theta: float = 100.0

    def make_panels(self) -> list[Panel]:
        """Return the panels: γ down, procedures across."""
        return [
            Panel(
                r,
                c,
                {"gamma": gamma, "procedures": names},
                _format_column_heading(names, r),
                self._format_row_heading(gamma, c),
            )
            for r, gamma in enumerate(self.rows)
            for c, names in enumerate(self.columns)
        ]

    def _format_row_heading(self, gamma: float, column: int) -> str:
        return (
            labels.format_axis_value("gamma", gamma) if len(self.rows) > 1 and column == len(self.columns) - 1 else ""
        )


def _format_column_heading(names: Sequence[str], row: int) -> str:
    return " and ".join(names) if row == 0 else ""


_GPR = ("GPR-f", "GPR-p")
_KNOTS = "The author's sample: 51 training knots from 0.05 to 0.95, 501 test knots."
_VARIANCE = "γ is the variance of the noise. GPR-f is for y*, GPR-p for f(x*)."
PROFILES = {
    1: ProfileFigure(
        "Bands on a Gaussian process path",
        "gp",
        (1e-1, 1e-6),
        (_GPR, ("RRCM",)),
        0.1,
        0.05,
        (f"{_KNOTS} {_VARIANCE}",),
    ),
    2: ProfileFigure(
        "Bands far from the training points",
        "far",
        (1e-6, 1e-1),
        (_GPR, ("RRCM",)),
        0.1,
        0.01,
        (f"Our own sample (the author's isn't known): 201 training knots from 0 to 1. {_VARIANCE}",),
        far=True,
    ),
    4: ProfileFigure(
        "Bands on the Heaviside step",
        "heaviside",
        (1e-6,),
        (("CRR",), ("RRCM",)),
        1e-6,
        0.1,
        (f"{_KNOTS} γ is the standard deviation of the noise.",),
    ),
}


def draw(number: int) -> Figure:
    """Draw figure 1, 2 or 4."""
    one = PROFILES[number]
    panels = one.make_panels()
    made = make_panel_grid(panels, len(one.rows), len(one.columns), (4.0, 2.5), sharey="row")
    found = [
        compute_bands(SAMPLES[one.sample](each.at["gamma"]), each.at["procedures"], one.theta, one.lam, one.alpha)
        for each in panels
    ]
    cut = False
    for ax, panel, here in zip(made.axes, panels, found, strict=True):
        limits = _compute_limits(
            [each for each, other in zip(found, panels, strict=True) if other.row == panel.row], one.far
        )
        cut |= _draw_panel(ax, here, limits, one.far)
    label_axes(made, panels, "x", "y")
    fixed = {"gamma": one.rows[0]} if len(one.rows) == 1 else {}
    at = labels.format_cell({**fixed, "lam": one.lam, "theta": one.theta, "alpha": one.alpha})
    subtitle = f"{at}: the nominal level is {100 * (1 - one.alpha):g} %"
    notes = [*one.notes, *_list_cautions(found, cut)]
    return finish(made, f"Figure {number}. {one.title}", subtitle, _make_handles(one), notes)


def _draw_panel(ax: Axes, here: Bands, limits: tuple[float, float], far: bool) -> bool:
    """Draw bands below and data above them; return whether a band leaves the panel."""
    if far:
        ax.axvspan(here.X.min(), here.X.max(), color=_RANGE, linewidth=0, zorder=0)
        ax.text(0.02, 0.03, _format_end_widths(here), transform=ax.transAxes, fontsize=7.5, va="bottom", zorder=5)
    low, high = limits
    beyond = (low - 9 * (high - low), high + 9 * (high - low))
    for name, ends in here.ends.items():
        look = PROCEDURES[name].stroke
        lower, upper = (np.clip(each, *beyond) for each in ends)
        ax.fill_between(here.x, lower, upper, color=look.colour, alpha=0.25, linewidth=0)
        for each in (lower, upper):
            ax.plot(here.x, each, color=look.colour, linewidth=0.9, linestyle=look.line)
    ax.plot(here.x, here.y, ".", color=FAINT, markersize=1.6, zorder=2.1)
    ax.plot(here.x, here.prediction, color=INK, linewidth=0.8, zorder=2.2)
    ax.plot(here.X, here.Y, ".", color=INK, markersize=3.5 if len(here.X) < 100 else 2.4, zorder=2.3)
    ax.xaxis.set_major_formatter("{x:g}")  # panels are close: 1.0 would touch 0.0
    ax.set(xlim=(here.x[0], here.x[-1]), ylim=limits)
    return any(bool((lower < low).any() or (upper > high).any()) for lower, upper in here.ends.values())


def _format_end_widths(here: Bands) -> str:
    widths = ", ".join(f"{name} {upper[-1] - lower[-1]:.2f}" for name, (lower, upper) in here.ends.items())
    return f"width at x = {here.x[-1]:g}: {widths}"


def _compute_limits(found: Sequence[Bands], far: bool) -> tuple[float, float]:
    """Return y-limits for all data and bands.

    Bands beyond the training knots are cut if they would leave too little room for the others.
    """
    everywhere = np.concatenate([_collect_values(one, np.full(len(one.x), True)) for one in found])
    inside = np.concatenate([_collect_values(one, (one.x >= one.X.min()) & (one.x <= one.X.max())) for one in found])
    low, high = everywhere.min(), everywhere.max()
    if not high - low <= _MOST * np.ptp(inside):
        low, high = inside.min(), inside.max()
    margin = 0.06 * (high - low)
    return float(low - margin * (3 if far else 1)), float(high + margin)  # room for the text at the bottom


def _collect_values(one: Bands, some: Any) -> Array:
    return np.concatenate([one.y, one.Y, *(each[some] for pair in one.ends.values() for each in pair)])


def _make_handles(one: ProfileFigure) -> list[Any]:
    names = dict.fromkeys(name for column in one.columns for name in column)
    regions = [Patch(color=PROCEDURES[name].stroke.colour, alpha=0.4, label=f"region of {name}") for name in names]
    data = [
        Line2D([], [], color=INK, marker=".", linestyle="none", label="training values"),
        Line2D([], [], color=FAINT, marker=".", markersize=2.5, linestyle="none", label="test values y*"),
        Line2D([], [], color=INK, linewidth=0.8, label="ridge prediction"),
    ]
    return [*regions, *data, *([Patch(color=_RANGE, label="range of training points")] if one.far else [])]


def _list_cautions(found: Sequence[Bands], cut: bool) -> list[str]:
    pieces = sum(one.pieces for one in found)
    hulls = [f"Hulls are drawn: {pieces} regions are in several pieces."] if pieces else []
    wide = max(float((upper - lower).max()) for one in found for lower, upper in one.ends.values())
    how = "unbounded at the ends" if np.isinf(wide) else f"up to {wide:.3g} wide"
    return [*hulls, *([f"Beyond the training knots regions run out of the picture: they are {how}."] if cut else [])]
