"""Render the eight figures inside the page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from html import escape
from io import BytesIO

from matplotlib.figure import Figure

from harness.figures.canvas.style import figure_style
from harness.figures.export import svg_text
from harness.paper.figures.index import FIGURES
from harness.paper.figures.surfaces import NUMBER as SURFACES
from harness.paper.figures.write import draw
from harness.paper.page.columns import render_beside
from harness.paper.page.statements import FIGURES as SAID
from harness.report.html.choices import Section, join_parts
from harness.report.html.markup import Markup, tag

_DOTS = 110
"""Dots per inch of figure 8, which is a bitmap: as SVG its surfaces would take two megabytes."""


def make_figures_section(stores: Mapping[str, str], quick: bool) -> Section:
    """Render all figures, each beside what the paper says about it."""
    reading = (
        "In our style, with the panels of the paper, from the author's random numbers (except figure 2). As files: "
    )
    first = tag("p", reading, tag("code", "ckrr paper --figures"))
    each = [_render_figure(number, draw(number, stores, quick)) for number in FIGURES]
    return Section("figures", "The eight figures", join_parts([first, *each]))


def _render_figure(number: int, figure: Figure) -> Markup:
    words = f"Figure {number}: {SAID[number].says}"
    image = _render_png(figure, words) if number == SURFACES else _render_svg(figure, words)
    return render_beside(f"Figure {number}", tag("figure", image), SAID[number])


def _render_svg(figure: Figure, words: str) -> Markup:
    return Markup(svg_text(figure).replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1))


def _render_png(figure: Figure, words: str) -> Markup:
    out = BytesIO()
    with figure_style():
        figure.savefig(out, format="png", dpi=_DOTS, metadata={"Software": None})
    data = b64encode(out.getvalue()).decode()
    return tag("img", alt=words, src=f"data:image/png;base64,{data}")
