"""The four tables, each number of ours beside the printed one."""

from __future__ import annotations

from harness.paper.page.columns import STYLE, beside, sheet
from harness.paper.page.statements import TABLES
from harness.paper.reproduced import Number
from harness.paper.searches import diagnosis
from harness.paper.summary import Report
from harness.paper.text import Layout, count_text, layouts
from harness.report.html.choices import Section, together
from harness.report.html.markup import Markup, items, tag

_CLASSES = {True: "v", False: "i"}


def tables(report: Report) -> Section:
    """All that there are, what differs, and why."""
    there = {one.number: one for one in layouts(report.numbers)}
    reading = (
        "In each cell our number, the printed one, and = if ours rounds to it or ≠ if it doesn't. The random numbers "
        "are the author's, so a difference is a difference."
    )
    body = [tag("p", reading), *(_one(number, there.get(number)) for number in TABLES)]
    differences = report.facts()["differences"]
    body += [tag("h3", "What differs, and why"), items(differences)] if differences else []
    body += [tag("p", diagnosis(report.searches), class_="soft")] if report.searches else []
    return Section("tables", "The four tables", together(body), STYLE)


def _one(number: int, layout: Layout | None) -> Markup:
    missing = tag("p", "Not run yet: ", tag("code", f"ckrr paper --table {number}"), class_="note")
    ours = missing if layout is None else _table(layout)
    return beside(f"Table {number}", ours, TABLES[number])


def _table(one: Layout) -> Markup:
    numbers = [each for _, row in one.rows for each in row]
    caption = f"Table {one.number}: {one.title} (ours, printed). {count_text(numbers).capitalize()}."
    return sheet(caption, one.heads, [(left, list(map(_cell, row))) for left, row in one.rows])


def _cell(one: Number) -> Markup:
    sign, word = ("=", "equal") if one.equal else ("≠", "different")
    texts = (f"{one.ours:.3f} ", tag("small", one.printed.text), " ", tag("b", sign, title=word))
    return tag("td", *texts, class_=_CLASSES[one.equal])
