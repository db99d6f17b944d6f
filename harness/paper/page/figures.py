"""The eight figures, inside the page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from html import escape
from io import BytesIO

from matplotlib.figure import Figure

from harness.figures.canvas.style import styled
from harness.figures.export import svg_text
from harness.paper.figures.index import FIGURES
from harness.paper.figures.surfaces import NUMBER as SURFACES
from harness.paper.figures.write import draw
from harness.paper.page.columns import beside
from harness.paper.page.statements import FIGURES as SAID
from harness.report.html.choices import Section, together
from harness.report.html.markup import Markup, tag

_DOTS = 110
"""An inch, of the figure that is a picture: as lines its surfaces would take two megabytes."""


def pictures(stores: Mapping[str, str], quick: bool) -> Section:
    """All of them, each with what the paper says."""
    reading = (
        "In our style, with the panels of the paper, from the author's random numbers (but for figure 2). Larger ones: "
    )
    first = tag("p", reading, tag("code", "ckrr paper --figures"))
    each = [_one(number, draw(number, stores, quick)) for number in FIGURES]
    return Section("figures", "The eight figures", together([first, *each]))


def _one(number: int, figure: Figure) -> Markup:
    words = f"Figure {number}: {SAID[number].says}"
    image = _png(figure, words) if number == SURFACES else _svg(figure, words)
    return beside(f"Figure {number}", tag("figure", image), SAID[number])


def _svg(figure: Figure, words: str) -> Markup:
    return Markup(svg_text(figure).replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1))


def _png(figure: Figure, words: str) -> Markup:
    out = BytesIO()
    with styled():
        figure.savefig(out, format="png", dpi=_DOTS, metadata={"Software": None})
    data = b64encode(out.getvalue()).decode()
    return tag("img", alt=words, src=f"data:image/png;base64,{data}")
