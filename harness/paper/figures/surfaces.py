"""Draw figure 8: the functions to learn in two dimensions."""

from __future__ import annotations

from math import isqrt
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.core.types import Array
from harness.figures.canvas import labels
from harness.figures.canvas.layout import PanelGrid, finish
from harness.paper.figures.data import SURFACES

NUMBER = 8
SHOWN = (("gp", 1e-6, "a Gaussian process path", -60), ("f2", 1e-1, "f2", -115))
"""Name, γ, title and azimuth in degrees of each surface."""


def draw() -> Figure:
    """Draw both surfaces, with noise."""
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    made = PanelGrid(figure, [figure.add_subplot(1, 2, place + 1, projection="3d") for place in range(len(SHOWN))])
    for ax, (name, gamma, what, azimuth) in zip(made.axes, SHOWN, strict=True):
        _draw_surface(ax, *SURFACES[name](gamma), azimuth)
        ax.set_title(f"{what}, {labels.format_axis_value('gamma', gamma)}")
    notes = [
        "The author's values at the 51 × 51 test points, with their noise: the path from which all samples of gp in "
        "2-d were taken (γ is the noise's variance), and the first replication of f2 (γ is its standard deviation)."
    ]
    return finish(made, f"Figure {NUMBER}. Two surfaces to learn", "", [], notes)


def _draw_surface(ax: Any, X: Array, y: Array, azimuth: float) -> None:
    """Draw values at the points of a square grid, the first coordinate varying fastest."""
    side = isqrt(len(X))
    x1, x2, height = (each.reshape(side, side) for each in (X[:, 0], X[:, 1], y))
    style: dict[str, Any] = {"cmap": "viridis", "rstride": 1, "cstride": 1, "linewidth": 0.15, "edgecolor": "#00000040"}
    ax.plot_surface(x1, x2, height, **style)
    ax.set(xlabel="x₁", ylabel="x₂", zlabel="y")
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axis.set_major_formatter("{x:g}")
    ax.view_init(elev=36, azim=azimuth)
    ax.set_box_aspect((1, 1, 0.5), zoom=1.0)
