"""Render the eight figures inside the page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO

from markupsafe import Markup
from matplotlib.figure import Figure

from harness.figures.canvas.style import figure_style
from harness.figures.export import svg_text
from harness.paper.figures.index import FIGURES
from harness.paper.figures.surfaces import NUMBER as SURFACES
from harness.paper.figures.write import draw
from harness.paper.page.columns import TEMPLATES
from harness.paper.page.statements import FIGURES as SAID, Statement
from harness.report.html.choices import Section
from harness.report.html.templating import label_svg

_DOTS = 110
"""Dots per inch of figure 8, which is a bitmap: as SVG its surfaces would take two megabytes."""


@dataclass(frozen=True)
class FigureEntry:
    """Figure, as SVG or as PNG, and what the paper says about it."""

    number: int
    said: Statement
    words: str
    """Description of the image."""
    svg: Markup | None = None
    png: str = ""
    """Bitmap in base64."""


def make_figures_section(stores: Mapping[str, str], quick: bool) -> Section:
    """Render all figures, each beside what the paper says about it."""
    entries = [_make_entry(number, draw(number, stores, quick)) for number in FIGURES]
    return Section("figures", "The eight figures", TEMPLATES.render("paper_figures.html", entries=entries))


def _make_entry(number: int, figure: Figure) -> FigureEntry:
    said = SAID[number]
    words = f"Figure {number}: {said.says}"
    if number == SURFACES:
        return FigureEntry(number, said, words, png=_encode_png(figure))
    return FigureEntry(number, said, words, svg=label_svg(svg_text(figure), words))


def _encode_png(figure: Figure) -> str:
    out = BytesIO()
    with figure_style():
        figure.savefig(out, format="png", dpi=_DOTS, metadata={"Software": None})
    return b64encode(out.getvalue()).decode()
