"""Style of all figures: the Matplotlib settings. (Strokes of procedures: `harness.core.procedures`.)"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import rc_context

INK, FAINT, GRID = "#222222", "#767676", "#e4e4e4"

SALT = "ckrr"
"""Salt of the ids in SVG files, which makes them reproducible."""

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
    "pdf.fonttype": 42,
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply our Matplotlib settings while drawing or saving; global settings stay unchanged."""
    with rc_context(_STYLE):
        yield
