"""Draw the regions of one replication with one-dimensional inputs: a row of panels for each cell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.labels import is_number
from harness.core.procedures import Stroke, assign_strokes
from harness.core.types import Values
from harness.figures.canvas import labels
from harness.figures.canvas.layout import finish, make_panel_grid
from harness.figures.canvas.panels import Panel
from harness.figures.canvas.style import FAINT, INK, figure_style
from harness.store.manifest_io import load_manifest

_MISSED = "#c1121f"


def draw_bands(store: str, arrays: Mapping[str, Values], replication: str) -> Figure:
    """Draw the hulls of every procedure, at the α nearest to 0.1, with the training data and the test values.

    Parameters
    ----------
    store : str
        Store of the replication.
    arrays : mapping
        Arrays of the replication by `<cell>/<name>`, as `ckrr replay --save` writes them.
    replication : str
        Which replication it is, for the subtitle.
    """
    manifest = load_manifest(open_backend(store))
    assert manifest is not None
    cells = sorted({key.rpartition("/")[0] for key in arrays})
    if arrays[f"{cells[0]}/X"].shape[1] != 1:
        raise UserError("--plot draws one-dimensional data only: use --save instead")
    names, alpha = manifest.extent.grid.procedure, np.array(manifest.extent.grid.alpha)
    level, looks = int(np.argmin(np.abs(alpha - 0.1))), assign_strokes(names)
    with figure_style():
        panels = [
            Panel(row, column, {}, name if row == 0 else "", _format_cell(cell) if name == names[-1] else "")
            for row, cell in enumerate(cells)
            for column, name in enumerate(names)
        ]
        made = make_panel_grid(panels, len(cells), len(names), size=(2.1, 1.7), sharey="row")
        for ax, panel in zip(made.axes, panels, strict=True):
            start = f"{cells[panel.row]}/"
            one = {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}
            _draw_panel(ax, one, panel.column, level, looks[names[panel.column]])
            ax.set_xlabel("x" if panel.row == len(cells) - 1 else "")
            ax.set_ylabel("y" if panel.column == 0 else "")
        title = f"Regions of one replication: {manifest.scenario.get('name', '')}".removesuffix(": ")
        return finish(made, title, f"{replication}, α = {alpha[level]:g}", _make_handles(), _make_notes(arrays, cells))


def _parse_cell(cell: str) -> dict[str, str]:
    return dict(part.split("=") for part in cell.split(","))


def _format_cell(cell: str) -> str:
    """Format "gamma=0.1,theta=ml" as headings have it.

    Examples
    --------
    >>> _format_cell("gamma=1e-06,theta=ml,lam=0.1")
    'γ = 10⁻⁶, θ = ml, λ = 0.1'
    """
    parts = _parse_cell(cell)
    return labels.format_cell({key: float(value) if is_number(value) else value for key, value in parts.items()})


def _draw_panel(ax: Axes, one: Mapping[str, Values], p: int, level: int, look: Stroke) -> None:
    order = np.argsort(one["X_test"][:, 0])
    x, y = one["X_test"][order, 0], one["y_test"][order]
    low, high = (np.clip(one[end][p, order, level], -1e6, 1e6) for end in ("lower", "upper"))
    missed = ~one["hits"][p, order, level]
    ax.fill_between(x, low, high, color=look.colour, alpha=0.35, linewidth=0)
    ax.plot(x, y, ".", color=FAINT, markersize=1.5)
    ax.plot(x[missed], y[missed], "x", color=_MISSED, markersize=3, markeredgewidth=0.8)
    ax.plot(one["X"][:, 0], one["y"], ".", color=INK, markersize=4)
    least, most = one["y"].min(), one["y"].max()
    spare = 0.6 * ((most - least) or 1.0)
    ax.set_ylim(least - spare, most + spare)


def _make_handles() -> list[Line2D | Patch]:
    return [
        Patch(color=FAINT, alpha=0.35, label="hull of the region"),
        Line2D([], [], color=INK, marker=".", linestyle="none", label="training sample"),
        Line2D([], [], color=FAINT, marker=".", markersize=3, linestyle="none", label="test values in the region"),
        Line2D([], [], color=_MISSED, marker="x", markersize=3, linestyle="none", label="test values missed"),
    ]


def _make_notes(arrays: Mapping[str, Values], cells: list[str]) -> list[str]:
    """Give the θ that was found where it was searched for."""
    found = {cell: float(arrays[f"{cell}/theta_hat"]) for cell in cells if not is_number(_parse_cell(cell)["theta"])}
    told = [f"{value:.4g} at {_format_cell(cell)}" for cell, value in found.items() if not np.isnan(value)]
    return [f"The θ found is {'; '.join(told)}."] if told else []
