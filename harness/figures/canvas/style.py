"""How figures look: one colour, marker and line style for each procedure, everywhere; sizes; styles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context

INK, FAINT, GRID = "#222222", "#767676", "#e4e4e4"

SALT = "ckrr"
"""Makes the ids in SVG files the same each time."""

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "figure.facecolor": "white",
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": SALT,
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Our style while something is drawn or written; nobody else's is touched."""
    with rc_context(_STYLE):
        yield


@dataclass(frozen=True)
class Stroke:
    """How a procedure is drawn."""

    colour: str
    marker: str
    line: Any
    """Matplotlib's line style."""


_DASHED, _DOTTED = (0, (4, 1.5)), (0, (1.2, 1.2))

STROKES = {
    "GPR-f": Stroke("#808080", "o", "solid"),
    "GPR-p": Stroke("#d98e04", "s", _DASHED),
    "RRCM": Stroke("#0b6fb5", "^", "solid"),
    "RRCM-loo": Stroke("#56b4e9", "v", _DASHED),
    "CRR": Stroke("#117a55", "D", "solid"),
    "CRR-loo": Stroke("#5cba8f", "P", _DASHED),
    "RRCM-std": Stroke("#7b4ea3", "<", _DOTTED),
    "CRR-std": Stroke("#b982d1", ">", _DOTTED),
    "GPR-t": Stroke("#3d3d3d", "X", _DOTTED),
    "split": Stroke("#c0392b", "h", "solid"),
    "jackknife+": Stroke("#8c564b", "d", "solid"),
    "CV+": Stroke("#e377c2", "p", _DASHED),
}
"""In-sample residuals are solid, leave-one-out ones dashed, studentised ones dotted; hues as in `ckrr.plot_bands`."""

_OTHERS = list(STROKES.values())


def assign_strokes(names: Sequence[str]) -> dict[str, Stroke]:
    """For all procedures of a store: ours have their own, others take in turn what is left."""
    free = [each for name, each in STROKES.items() if name not in names] or _OTHERS
    others = [name for name in names if name not in STROKES]
    taken = {name: free[place % len(free)] for place, name in enumerate(others)}
    return {name: STROKES.get(name) or taken[name] for name in names}
