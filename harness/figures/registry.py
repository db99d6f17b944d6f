"""From a name to a figure. Matplotlib is loaded only when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.core.types import Mistake
from harness.figures._kinds import FIGURES
from harness.scenario.errors import nearest

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
    with style.styled():
        return drawers[name](str(url), where)


def check_name(name: str) -> None:
    """A figure that there is."""
    if name not in FIGURES:
        raise Mistake(f"there is no figure {name!r}: it must be one of {', '.join(FIGURES)}{nearest(name, FIGURES)}")
