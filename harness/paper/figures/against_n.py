"""Draw panels of coverage and width against n, with a colour for each α."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from harness.core.types import Array
from harness.figures.canvas import labels
from harness.figures.canvas.axes import Edges
from harness.figures.canvas.style import FAINT, INK
from harness.paper.printed import ALPHA

COLOURS = dict(zip(ALPHA, ("#44337a", "#2372a8", "#1d9a6c", "#cc7a00"), strict=True))
MARKERS = dict(zip(ALPHA, "osDP", strict=True))
_LOW, _HIGH = 0.65, 1.025
"""Range of coverage in the paper."""
_NOMINAL = (0, (5, 2))
_BESIDE = 1.13
"""Factor on n between the marks of two α at infinity, which would overlap otherwise."""
REACH = 1.03 * _BESIDE**1.5
"""Factor by which marks may stand beside their n."""
_AT_INFINITY = {1: ("v", 2.4), 2: ("_", 4.0), 3: ("^", 2.4)}
"""Marker and size, by how many of the three numbers are infinite."""


def find_lowest(found: Sequence[Array]) -> float:
    """Return the lower end of the coverage axis: the paper's, or less if a quartile is lower."""
    least = float(np.nanmin([_LOW + 0.02, *np.concatenate(found, axis=None)]))
    return min(_LOW, least - 0.02)


def draw_coverage(ax: Axes, sizes: Sequence[int], found: Array, low: float) -> None:
    """Draw median and quartiles of coverage for each α, with its nominal level.

    Parameters
    ----------
    ax : Axes
        Panel.
    sizes : sequence of int
        Values of n.
    found : array
        Lower quartile, median and upper quartile, over n and α.
    low : float
        Lower end of the axis.
    """
    for a, alpha in enumerate(ALPHA):
        lower, median, upper = found[:, :, a]
        ax.axhline(1 - alpha, color=COLOURS[alpha], linewidth=0.9, linestyle=_NOMINAL, zorder=1.5)
        ax.fill_between(sizes, lower, upper, color=COLOURS[alpha], alpha=0.22, linewidth=0)
        ax.plot(sizes, median, color=COLOURS[alpha], marker=MARKERS[alpha], markersize=3.2, linewidth=1.2)
    ax.set_ylim(low, _HIGH)


def draw_width(ax: Axes, sizes: Sequence[int], found: Array, edges: Edges, first: bool) -> None:
    """Draw median widths as thick lines, the 5 % quantile and the maximum as triangles.

    Parameters
    ----------
    ax : Axes
        Panel.
    sizes : sequence of int
        Values of n.
    found : array
        5 % quantile, median and maximum, over n and α.
    edges : Edges
        Scale shared by all panels of widths.
    first : bool
        Whether the panel is the first of its row, which labels the axis.
    """
    ax.set_yscale("log")
    for a, alpha in enumerate(ALPHA):
        lower, median, upper = found[:, :, a]
        ax.plot(sizes, edges.mask_edges(median), linewidth=2.0, color=COLOURS[alpha])
        for marker, values in (("^", lower), ("v", upper)):
            ax.plot(
                sizes, edges.mask_edges(values), linestyle="none", marker=marker, markersize=3.2, color=COLOURS[alpha]
            )
        _draw_infinite(ax, np.array(sizes) * _BESIDE ** (a - 1.5), found[:, :, a], edges, COLOURS[alpha])
    edges.apply(ax, "y", labelled=first)


def _draw_infinite(ax: Axes, n: Array, found: Array, edges: Edges, colour: str) -> None:
    """Draw one mark at infinity for each n, by the smallest of the three numbers that is infinite."""
    count = np.isposinf(found).sum(axis=0)
    for how_many, (marker, size) in _AT_INFINITY.items():
        here = np.where(count == how_many, edges.infinity, np.nan)
        ax.plot(n, here, linestyle="none", marker=marker, markersize=size, markeredgewidth=1.6, color=colour)


def make_handles(widths: bool) -> list[Any]:
    """Create the legend handles, with those of widths if there are panels of widths."""
    levels = [
        Line2D(
            [],
            [],
            color=COLOURS[alpha],
            marker=MARKERS[alpha],
            markersize=3.2,
            label=labels.format_axis_value("alpha", alpha),
        )
        for alpha in ALPHA
    ]
    coverages = [
        Patch(color=FAINT, alpha=0.3, linewidth=0, label="coverage: median and\n25–75 % band over\nreplications"),
        Line2D([], [], color=INK, linewidth=0.9, linestyle=_NOMINAL, label="nominal level 1 − α,\nin the colour of α"),
    ]
    points: list[Line2D] = [
        Line2D([], [], color=INK, linewidth=2.2, label="width: median over\ntest points"),
        Line2D([], [], color=INK, marker="v", linestyle="none", markersize=3.5, label="width: maximum"),
        Line2D([], [], color=INK, marker="^", linestyle="none", markersize=3.5, label="width: 5 % quantile"),
    ]
    return [*levels, *coverages, *(points if widths else [])]
