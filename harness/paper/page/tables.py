"""Render the four tables, each number of ours beside the printed one."""

from __future__ import annotations

from harness.paper.page.columns import STYLE, render_beside, render_table
from harness.paper.page.statements import TABLES
from harness.paper.reproduced import ComparedNumber
from harness.paper.searches import describe_searches
from harness.paper.summary import PaperReport
from harness.paper.text import TableLayout, format_match_count, make_layouts
from harness.report.html.choices import Section, join_parts
from harness.report.html.markup import Markup, render_list, tag

_CLASSES = {True: "v", False: "i"}


def make_tables_section(report: PaperReport) -> Section:
    """Render all tables, the differences, and their reasons."""
    layouts = {one.number: one for one in make_layouts(report.numbers)}
    reading = (
        "In each cell our number, the printed one, and = if ours rounds to it or ≠ if it doesn't. The random numbers "
        "are the author's, so no difference is due to chance."
    )
    body = [tag("p", reading), *(_render_entry(number, layouts.get(number)) for number in TABLES)]
    differences = report.collect_facts()["differences"]
    body += [tag("h3", "What differs, and why"), render_list(differences)] if differences else []
    body += [tag("p", describe_searches(report.searches), class_="soft")] if report.searches else []
    return Section("tables", "The four tables", join_parts(body), STYLE)


def _render_entry(number: int, layout: TableLayout | None) -> Markup:
    missing = tag("p", "Not run yet: ", tag("code", f"ckrr paper --table {number}"), class_="note")
    ours = missing if layout is None else _render_table(layout)
    return render_beside(f"Table {number}", ours, TABLES[number])


def _render_table(one: TableLayout) -> Markup:
    numbers = [each for _, row in one.rows for each in row]
    caption = f"Table {one.number}: {one.title} (ours, printed). {format_match_count(numbers).capitalize()}."
    return render_table(caption, one.heads, [(left, list(map(_render_cell, row))) for left, row in one.rows])


def _render_cell(one: ComparedNumber) -> Markup:
    sign, word = ("=", "equal") if one.equal else ("≠", "different")
    texts = (f"{one.ours:.3f} ", tag("small", one.printed.text), " ", tag("b", sign, title=word))
    return tag("td", *texts, class_=_CLASSES[one.equal])
