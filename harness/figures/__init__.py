"""Pictures of a study: coverage, widths, the trade between them, and where things go wrong.

>>> from harness.figures import draw, save
>>> save(draw("results/my.zarr", "coverage", {"theta": ["ml"]}), "coverage.svg")                  # doctest: +SKIP
"""

from harness.figures.drawing import draw
from harness.figures.files import save, svg_text
from harness.figures.kinds import DEFAULT, FIGURES, Kind

__all__ = ["DEFAULT", "FIGURES", "Kind", "draw", "save", "svg_text"]
