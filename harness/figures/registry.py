"""From a name to a figure. Matplotlib is loaded only when something is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.core.errors import UserError
from harness.core.text import suggest_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.results.replications import Where


def draw(url: str, name: str, where: Where | None = None) -> Figure:
    """A figure of a store.

    Parameters
    ----------
    url : the store
    name : one of `FIGURES`
    where : for some axes the values that are wanted, as {"n": [100, 400], "theta": ["ml"]}
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
    """A figure that there is."""
    if name not in FIGURES:
        raise UserError(
            f"there is no figure {name!r}: it must be one of {', '.join(FIGURES)}{suggest_name(name, FIGURES)}"
        )


@dataclass(frozen=True)
class FigureKind:
    """One kind of figure."""

    name: str
    what: str
    """A sentence."""


DEFAULT = "coverage"


FIGURES = {
    one.name: one
    for one in (
        FigureKind("coverage", "coverage against n, with its Monte-Carlo interval, the nominal and the exact level"),
        FigureKind("width", "widths against n: the median, and the 5 % and 95 % quantiles over test points"),
        FigureKind("tradeoff", "coverage against width as n grows, so that the trade is seen"),
        FigureKind(
            "pointwise", "coverage at each test point, a line in one dimension and a map in two; needs pointwise kept"
        ),
        FigureKind("paths", "coverage on each path, sorted, with its interval: what a single sample may get"),
        FigureKind(
            "failures", "where replications failed, and where regions are unbounded, empty or in several pieces"
        ),
        FigureKind("seconds", "seconds of a replication against n, with the fitted exponent"),
    )
}
"""By name."""
