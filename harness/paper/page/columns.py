"""Lay out our results beside what the paper says: two columns, or one on narrow screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.paper.page.statements import Statement
from harness.report.html.markup import Markup, tag

STYLE = """
.beside{display:grid;grid-template-columns:minmax(0,1fr) 17rem;gap:.4rem 1.6rem;align-items:start;margin:1.2rem 0 2rem}
.beside h3{grid-column:1/-1;margin:0}.beside aside{border-left:3px solid var(--line);padding-left:1rem;font-size:.94rem}
.beside aside p{margin:.3rem 0 .7rem}.beside .box,.claim .box{max-height:none}.beside td small{color:inherit}
.beside img{max-width:100%;height:auto;background:#fff;border-radius:6px}
.claim{margin:0 0 2.4rem}.claim .bar{min-width:9rem}.claim .counts{display:block;font-size:.8rem}
.claim td.said{white-space:normal;min-width:15rem;text-align:left}.claim td.verdicts{text-align:left;white-space:normal}
@media(max-width:62rem){.beside{grid-template-columns:1fr}}
@media print{.beside{grid-template-columns:minmax(0,1fr) 12rem;break-inside:avoid}.beside aside{font-size:8pt}}
"""
"""CSS rules of the columns and claims."""


def render_beside(title: str, ours: Markup, said: Statement) -> Markup:
    """Render one table or figure beside the paper's statement about it."""
    differs = [tag("p", tag("b", "As run: "), said.differs)] if said.differs else []
    paper = tag("aside", tag("p", tag("b", "The paper: "), said.says), *differs)
    return tag("div", tag("h3", title), ours, paper, class_="beside")


def render_table(caption: str, heads: Sequence[str], rows: Iterable[tuple[Sequence[str], Sequence[Markup]]]) -> Markup:
    """Render a table in a scrollable box; each row has its headings and its cells."""
    head = tag("tr", *(tag("th", text, scope="col") for text in heads))
    body = [tag("tr", *(tag("th", text, scope="row") for text in left), *cells) for left, cells in rows]
    whole = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body))
    return tag("div", whole, class_="box", tabindex="0", role="region", aria_label=caption)
