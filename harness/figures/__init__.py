"""Draw figures of a study: coverage, width, the trade-off between them, failures and run times.

>>> from harness.figures import draw, save
>>> save(draw("results/my.zarr", "coverage", {"theta": ["ml"]}), "coverage.svg")                  # doctest: +SKIP
"""

from harness.figures.export import save, svg_text
from harness.figures.registry import DEFAULT, FIGURES, FigureKind, draw

__all__ = ["DEFAULT", "FIGURES", "FigureKind", "draw", "save", "svg_text"]
