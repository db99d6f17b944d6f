"""Pictures of a study: coverage, widths, the trade between them, and where things go wrong.

>>> from harness.figures import draw, save
>>> save(draw("results/my.zarr", "coverage", {"theta": ["ml"]}), "coverage.svg")                  # doctest: +SKIP
"""

from harness.figures.export import save, svg_text
from harness.figures.registry import DEFAULT, FIGURES, FigureKind, draw

__all__ = ["DEFAULT", "FIGURES", "FigureKind", "draw", "save", "svg_text"]
