"""Draw figures 3, 5, 6 and 7: coverage and width against n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from harness.core.types import Array
from harness.cube.reader import open_cube
from harness.figures.canvas import labels
from harness.figures.canvas.axes import N_LABEL, Edges, set_size_axis
from harness.figures.canvas.layout import PanelGrid, finish, make_panel_grid
from harness.figures.canvas.panels import Panel
from harness.paper.figures import against_n, spreads
from harness.paper.printed import ALPHA, SEARCH
from harness.results.replications import ReplicationReader, open_reader


@dataclass(frozen=True)
class PanelColumn:
    """Contents of a column of panels."""

    measure: str
    """`coverage` or `width`."""
    lam: float
    theta: str


@dataclass(frozen=True)
class StudyFigure:
    """Contents of a figure that is drawn from a store."""

    title: str
    study: str
    """Name of the scenario: paper/<study>."""
    gamma: float
    rows: tuple[str, ...]
    """One procedure per row."""
    columns: tuple[PanelColumn, ...]
    noise: str
    """Meaning of γ: variance or standard deviation of the noise."""

    @property
    def thetas(self) -> list[str]:
        """Values of θ that the figure shows."""
        return list(dict.fromkeys(column.theta for column in self.columns))


_GP = tuple(PanelColumn(measure, lam, SEARCH) for measure in ("coverage", "width") for lam in (1e-6, 1e-1))
_STEP = tuple(PanelColumn("coverage", lam, theta) for theta in ("10", SEARCH) for lam in (1e-6, 1e-1))
_ALL = ("GPR-f", "RRCM", "RRCM-loo", "CRR", "CRR-loo")
_TITLE = "Coverage and width on a Gaussian process path", "Coverage on the Heaviside step"
_READ = {"coverage": spreads.compute_coverage_quartiles, "width": spreads.compute_width_quantiles}
STUDIES = {
    3: StudyFigure(_TITLE[0], "gp1", 1e-6, _ALL, _GP, "variance"),
    5: StudyFigure(_TITLE[1], "heaviside", 1e-6, ("GPR-f", "RRCM"), _STEP, "standard deviation"),
    6: StudyFigure(_TITLE[0], "gp1", 1e-1, _ALL, _GP, "variance"),
    7: StudyFigure(_TITLE[1], "heaviside", 1e-1, ("GPR-f", "RRCM"), _STEP, "standard deviation"),
}


def draw(number: int, url: str, sizes: Sequence[int], notes: Sequence[str] = ()) -> Figure:
    """Draw figure 3, 5, 6 or 7 from a store."""
    one, chosen = STUDIES[number], open_reader(url)
    panels = [_make_panel(one, r, c) for r in range(len(one.rows)) for c in range(len(one.columns))]
    found = _read_panels(chosen, one, panels, sizes)
    made = make_panel_grid(panels, len(one.rows), len(one.columns), (2.45, 1.85), sharey=False)
    of = {
        name: [each for each, at in zip(found, panels, strict=True) if _get_measure(one, at) == name] for name in _READ
    }
    low, edges = against_n.find_lowest(of["coverage"]), Edges(np.array(np.nan), *of["width"])
    widths = bool(of["width"])
    reach = against_n.REACH if widths else 1.0
    for ax, panel, each in zip(made.axes, panels, found, strict=True):
        if _get_measure(one, panel) == "coverage":
            against_n.draw_coverage(ax, sizes, each, low)
        else:
            against_n.draw_width(ax, sizes, each, edges, first=_is_first(one, panel.column))
        set_size_axis(ax, sizes, reach)
        ax.tick_params(labelleft=_is_first(one, panel.column))
    _label_axes(made, panels, one)
    told = [*_make_reading_notes(one, url, sizes, widths, edges.has_infinity), *notes]
    return finish(
        made, f"Figure {number}. {one.title}", _format_subtitle(one, chosen), against_n.make_handles(widths), told
    )


def _make_panel(one: StudyFigure, row: int, column: int) -> Panel:
    shown = one.columns[column]
    several = len(one.thetas) > 1
    theta = f", θ = {_format_theta(shown.theta)}" if several else ""
    above = f"{shown.measure}, {labels.format_axis_value('lam', shown.lam)}{theta}"
    last = column == len(one.columns) - 1
    return Panel(row, column, {"procedure": one.rows[row]}, above if row == 0 else "", one.rows[row] if last else "")


def _format_theta(text: str) -> str:
    return "ML" if text == SEARCH else text


def _get_column(one: StudyFigure, panel: Panel) -> PanelColumn:
    return one.columns[panel.column]


def _get_measure(one: StudyFigure, panel: Panel) -> str:
    return _get_column(one, panel).measure


def _is_first(one: StudyFigure, column: int) -> bool:
    """Return whether this is the first column of its measure."""
    return column == 0 or one.columns[column - 1].measure != one.columns[column].measure


def _read_panels(
    chosen: ReplicationReader, one: StudyFigure, panels: Sequence[Panel], sizes: Sequence[int]
) -> list[Array]:
    """Read three numbers for each panel, over n and α in the order of `ALPHA`; every array is read once."""
    kinds = dict.fromkeys((column.measure, column.theta) for column in one.columns)
    made = {kind: _READ[kind[0]](chosen, one.gamma, kind[1], sizes) for kind in kinds}
    found = []
    for panel in panels:
        column = _get_column(one, panel)
        here = made[column.measure, column.theta].sel(lam=column.lam, alpha=list(ALPHA), **panel.at)
        found.append(here.transpose("part", "n", "alpha").to_numpy())
    return found


def _label_axes(made: PanelGrid, panels: Sequence[Panel], one: StudyFigure) -> None:
    for ax, panel in zip(made.axes, panels, strict=True):
        if panel.row == len(one.rows) - 1:
            ax.set_xlabel(N_LABEL)
        if _is_first(one, panel.column):
            ax.set_ylabel("coverage of y*" if _get_measure(one, panel) == "coverage" else "width of the hull")


def _format_subtitle(one: StudyFigure, chosen: ReplicationReader) -> str:
    theta = f", θ = {_format_theta(one.thetas[0])}" if len(one.thetas) == 1 else ""
    count = chosen.manifest.extent.paths * chosen.manifest.extent.draws
    return f"{labels.format_axis_value('gamma', one.gamma)} ({one.noise} of the noise){theta}; {count} replications"


def _make_reading_notes(one: StudyFigure, url: str, sizes: Sequence[int], widths: bool, infinite: bool) -> list[str]:
    """Explain how to read the figure, and how it differs from the paper's."""
    where = {"procedure": list(one.rows), "gamma": one.gamma, "theta": one.thetas, "n": list(sizes)}
    cube = open_cube(url)[["width_mean", "length_mean", "failed"]].sel(where)
    notes = ["ML: θ by maximum likelihood, with the author's local search."]
    if widths:
        mean = "Widths are averaged over replications at each test point; of these the quantile, median and maximum."
        notes += [f"{mean} {_describe_hulls(cube)}"]
        at = "At ∞, because a region is unbounded in some replication: ▼ the maximum, ━ the median too, ▲ all three."
        notes += [at] * infinite
    failed = bool((cube["failed"] > 0).any())
    return [*notes, *["Replications that failed are left out: `ckrr errors` says why."] * failed]


def _describe_hulls(cube: xr.Dataset) -> str:
    """Say how much hulls, as in the paper's text, are wider than lengths, which the author drew."""
    width, length = (cube[name].to_numpy() for name in ("width_mean", "length_mean"))
    bounded = np.isfinite(width)
    more = float((width[bounded] / length[bounded]).max()) - 1 if bounded.any() else 0.0
    return (
        "Width is that of the hull, as in the paper's text; the author drew the total length. In cells without an "
        f"unbounded region the mean hull is at most {100 * more:.2g} % wider than that."
    )
