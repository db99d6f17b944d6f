"""Draw the prediction bands of procedures over a 1-d sample, including regions of several pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, check_choices, check_points
from ckrr.fitted import Fit
from ckrr.levels import parse_alphas
from ckrr.procedures import ALL_PROCEDURES, PROCEDURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "GPR-f": "#999999",
    "GPR-p": "#d98e04",
    "RRCM": "#0b6fb5",
    "RRCM-loo": "#56b4e9",
    "CRR": "#117a55",
    "CRR-loo": "#7ccfa7",
    "RRCM-std": "#7b4ea3",
    "CRR-std": "#c9a0dc",
}
"""Colour of each procedure, distinguishable by colour-blind readers and in greyscale."""
_OTHER = "#4d4d4d"
"""Colour of procedures without their own."""


def plot_bands(
    fit: Fit,
    procedures: str | Sequence[str] = PROCEDURES,
    alpha: float = 0.1,
    X_new: npt.ArrayLike | None = None,
    truth: Callable[[Array], Array] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the prediction bands of some procedures over a 1-d sample, with the data.

    Parameters
    ----------
    fit : Fit
        A fit to one-dimensional inputs.
    procedures : str or sequence of str
        Procedures to draw, one panel each; all on one panel if `ax` is given.
    alpha : float
        Allowed error rate.
    X_new : (m,) array, optional
        Points at which to draw; by default 1000 points over the data and a little beyond.
    truth : callable, optional
        The true function behind the data, drawn as a dashed line.
    ax : matplotlib Axes, optional
        Axes to draw on instead of a new figure.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import ckrr
    >>> X = np.linspace(0, 1, 30)
    >>> figure = plot_bands(ckrr.fit(X, np.sin(6 * X), theta=10.0, lam=0.01), ["GPR-f", "RRCM"])
    >>> len(figure.axes)
    2
    """
    names = check_choices("procedures", procedures, ALL_PROCEDURES)
    if len(parse_alphas(alpha)) != 1:
        raise ValueError(f"alpha must be a single number for a picture, got {alpha}")
    if fit.X.shape[1] != 1:
        raise ValueError(f"fit must be to one-dimensional inputs to be drawn, got {fit.X.shape[1]} dimensions")
    x = _make_grid(fit.X[:, 0]) if X_new is None else np.unique(check_points("X_new", X_new, 1)[:, 0])
    panels = dict.fromkeys(names, ax) if ax is not None else _make_panels(names, f"α = {float(alpha):g}")
    limits = _compute_limits(fit, x, names, alpha)
    for name, panel in panels.items():
        _draw_band(panel, fit, name, alpha, x, limits)
    for panel in dict.fromkeys(panels.values()):
        _draw_data(panel, fit, x, truth)
        panel.set(xlim=(x[0], x[-1]), ylim=limits)
    panels[names[0]].legend(loc="best", fontsize="x-small")
    figure = panels[names[0]].get_figure(root=True)
    assert figure is not None, "axes are always in a figure"
    return figure


def _make_grid(x: Array) -> Array:
    margin = 0.1 * np.ptp(x) or 1.0
    return np.linspace(x.min() - margin, x.max() + margin, 1000)


def _make_panels(names: Sequence[str], level: str) -> dict[str, Axes]:
    from matplotlib import pyplot

    columns = min(len(names), 2)
    rows = ceil(len(names) / columns)
    _, axes = pyplot.subplots(
        rows,
        columns,
        sharex=True,
        sharey=True,
        squeeze=False,
        figsize=(4.8 * columns, 2.6 * rows),
        layout="constrained",
    )
    for spare in axes.ravel()[len(names) :]:
        spare.remove()
    for name, panel in zip(names, axes.ravel(), strict=False):
        panel.set_title(f"{name}, {level}")
    for panel in axes[:, 0]:
        panel.set_ylabel("y")
    for panel in axes.ravel()[max(0, len(names) - columns) : len(names)]:
        panel.set_xlabel("x")
        panel.tick_params(labelbottom=True)
    return dict(zip(names, axes.ravel(), strict=False))


def _compute_limits(fit: Fit, x: Array, names: Sequence[str], alpha: float) -> tuple[float, float]:
    """Return limits that show the data and nearly all of the bands; a few long or infinite spikes may be cut off."""
    ends = np.concatenate([fit.predict(x), *(_compute_bounds(fit, x, name, alpha).ravel() for name in names)])
    inside = ends[np.isfinite(ends)]
    low, high = np.quantile(inside, [0.02, 0.98])
    low, high = min(low, fit.y.min()), max(high, fit.y.max())
    margin = 0.08 * (high - low) or 1.0
    return float(low - margin), float(high + margin)


def _compute_bounds(fit: Fit, x: Array, name: str, alpha: float) -> Array:
    regions = fit.regions(x, name, alpha)
    return np.concatenate([regions.lower, regions.upper])


def _draw_band(ax: Axes, fit: Fit, name: str, alpha: float, x: Array, limits: tuple[float, float]) -> None:
    """Draw a rectangle for each component at each x, so that gaps and single points are visible."""
    from matplotlib.collections import PolyCollection

    edges = np.concatenate([x[:1], (x[1:] + x[:-1]) / 2, x[-1:]])
    height = limits[1] - limits[0]
    regions = fit.regions(x, name, alpha)
    boxes = []
    for i in range(len(x)):
        for component in regions.components(i):
            lo, hi = np.clip(component, limits[0] - height, limits[1] + height)
            hi = max(hi, lo + 0.003 * height)  # keep a single point visible
            boxes.append([(edges[i], lo), (edges[i + 1], lo), (edges[i + 1], hi), (edges[i], hi)])
    colour = COLOURS.get(name, _OTHER)
    band = PolyCollection(boxes, facecolors=colour, linewidths=0, antialiaseds=False, alpha=0.5, label=name)
    ax.add_collection(band, autolim=False)


def _draw_data(ax: Axes, fit: Fit, x: Array, truth: Callable[[Array], Array] | None) -> None:
    if truth is not None:
        ax.plot(x, truth(x), color="black", linewidth=0.8, linestyle="--", label="truth")
    ax.plot(x, fit.predict(x), color="black", linewidth=0.9, label="ridge prediction")
    ax.plot(fit.X[:, 0], fit.y, ".", color="black", markersize=3, label="data")
