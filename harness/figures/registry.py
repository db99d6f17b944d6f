"""Find figures by name, and draw them. Matplotlib is imported only when something is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.core.errors import UserError
from harness.core.text import suggest_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.results.replications import Where


def draw(url: str, name: str, where: Where | None = None) -> Figure:
    """Draw a figure of a store.

    Parameters
    ----------
    url : str
        Store.
    name : str
        One of `FIGURES`.
    where : mapping, optional
        Values to show on some axes, as in ``{"n": [100, 400], "theta": ["ml"]}``.

    Raises
    ------
    UserError
        If there is no such figure, or the store lacks what it needs.
    """
    check_name(name)
    from harness.figures.canvas import style
    from harness.figures.plots import coverage, failures, paths, pointwise, seconds, tradeoff, width

    drawers = {
        "coverage": coverage.draw,
        "width": width.draw,
        "tradeoff": tradeoff.draw,
        "pointwise": pointwise.draw,
        "paths": paths.draw,
        "failures": failures.draw,
        "seconds": seconds.draw,
    }
    with style.figure_style():
        return drawers[name](str(url), where)


def check_name(name: str) -> None:
    """Raise UserError unless `name` is a figure."""
    if name not in FIGURES:
        raise UserError(
            f"there is no figure {name!r}: it must be one of {', '.join(FIGURES)}{suggest_name(name, FIGURES)}"
        )


@dataclass(frozen=True)
class FigureKind:
    """Name and description of a figure."""

    name: str
    what: str
    """One sentence, without capital and full stop."""


DEFAULT = "coverage"
"""Figure that `ckrr figure` draws unless one is named."""
FIGURES = {
    one.name: one
    for one in (
        FigureKind("coverage", "coverage against n, with its Monte-Carlo interval, the nominal and the exact level"),
        FigureKind("width", "widths against n: the median, and the 5 % and 95 % quantiles over test points"),
        FigureKind("tradeoff", "the trade-off between coverage and width as n grows"),
        FigureKind(
            "pointwise", 'coverage at each test point, as a line (1-d) or a map (2-d); needs keep = ["pointwise"]'
        ),
        FigureKind("paths", "coverage on each path, sorted, with its interval: the spread behind the average"),
        FigureKind(
            "failures", "where replications failed, and where regions are unbounded, empty or in several pieces"
        ),
        FigureKind("seconds", "seconds of a replication against n, with the fitted exponent"),
    )
}
"""All figures by name."""
