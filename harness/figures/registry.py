"""Find figures by name, and draw them. Matplotlib is imported only when something is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.core.errors import UserError
from harness.core.text import suggest_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.results.replications import Where


def draw(url: str, name: str, where: Where | None = None, versus: str | None = None) -> Figure:
    """Draw a figure of a store.

    Parameters
    ----------
    url : str
        Store.
    name : str
        One of `FIGURES`.
    where : mapping, optional
        Values to show on some axes, as in ``{"n": [100, 400], "theta": ["ml"]}``.
    versus : str, optional
        For a figure that compares with a procedure: which one. Default: RRCM-loo, or the first that is for y*.

    Raises
    ------
    UserError
        If there is no such figure, it compares with no procedure, or the store lacks what it needs.
    """
    check_name(name, versus)
    from harness.figures.canvas import style
    from harness.figures.plots import (
        calibration,
        coverage,
        failures,
        nested,
        paired,
        paths,
        pointwise,
        seconds,
        target,
        tradeoff,
        width,
    )

    drawers: dict[str, Callable[..., Figure]] = {
        "coverage": coverage.draw,
        "target": target.draw,
        "lollipop": target.draw_lollipops,
        "relative": paired.draw_relative,
        "difference": paired.draw_difference,
        "calibration": calibration.draw,
        "nested": nested.draw,
        "width": width.draw,
        "tradeoff": tradeoff.draw,
        "pointwise": pointwise.draw,
        "conditional": pointwise.draw_bins,
        "paths": paths.draw,
        "failures": failures.draw,
        "seconds": seconds.draw,
    }
    with style.figure_style():
        return drawers[name](str(url), where, **({} if versus is None else {"versus": versus}))


def check_name(name: str, versus: str | None = None) -> None:
    """Raise UserError unless `name` is a figure, one that compares with a procedure if `versus` is given."""
    if name not in FIGURES:
        raise UserError(
            f"there is no figure {name!r}: it must be one of {', '.join(FIGURES)}{suggest_name(name, FIGURES)}"
        )
    if versus is not None and not FIGURES[name].is_paired:
        paired = " and ".join(one.name for one in FIGURES.values() if one.is_paired)
        raise UserError(f"versus is for the figures {paired}: {name} compares with no procedure")


@dataclass(frozen=True)
class FigureKind:
    """Name and description of a figure."""

    name: str
    what: str
    """One sentence, without capital and full stop."""
    is_paired: bool = False
    """Whether it compares with a reference procedure."""


DEFAULT = "coverage"
"""Figure that `ckrr figure` draws unless one is named."""
FIGURES = {
    one.name: one
    for one in (
        FigureKind("coverage", "coverage against n, with its Monte-Carlo interval, the nominal and the exact level"),
        FigureKind("target", "coverage less its target against n, with the tolerance as a band"),
        FigureKind("lollipop", "coverage less its target for each procedure, with Monte-Carlo intervals"),
        FigureKind("width", "widths against n: the median, and the 5 % and 95 % quantiles over test points"),
        FigureKind("relative", "widths relative to a reference in the same replications", is_paired=True),
        FigureKind("difference", "paired differences of coverage from a reference, with intervals", is_paired=True),
        FigureKind("calibration", "error rates relative to α, at every level"),
        FigureKind("nested", "coverage less its target in all combinations, in nested loops"),
        FigureKind("tradeoff", "the trade-off between coverage and width as n grows"),
        FigureKind(
            "pointwise", 'coverage at each test point, as a line (1-d) or a map (2-d); needs keep = ["pointwise"]'
        ),
        FigureKind("conditional", 'coverage given x, in bins, as a line (1-d) or a map (2-d); needs keep = ["bins"]'),
        FigureKind("paths", "coverage on each path, sorted, with its interval: the spread behind the average"),
        FigureKind(
            "failures", "where replications failed, and where regions are unbounded, empty or in several pieces"
        ),
        FigureKind("seconds", "seconds of a replication against n, with the fitted exponent"),
    )
}
"""All figures by name."""
