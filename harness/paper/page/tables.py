"""Render the four tables, each number of ours beside the printed one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.paper.page.columns import STYLE, TEMPLATES
from harness.paper.page.statements import TABLES, Statement
from harness.paper.reproduced import ComparedNumber
from harness.paper.searches import describe_searches
from harness.paper.summary import PaperReport
from harness.paper.text import TableLayout, format_match_count, make_layouts
from harness.report.html.choices import Section


@dataclass(frozen=True)
class TableCell:
    """Number of ours and the printed one."""

    ours: str
    printed: str
    equal: bool


@dataclass(frozen=True)
class TableRow:
    """Row of a table."""

    heads: Sequence[str]
    cells: Sequence[TableCell]


@dataclass(frozen=True)
class PrintedTable:
    """Table of the paper with our numbers."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[TableRow]


@dataclass(frozen=True)
class TableEntry:
    """Table, if it has been run, and what the paper says about it."""

    number: int
    table: PrintedTable | None
    said: Statement


def make_tables_section(report: PaperReport) -> Section:
    """Render all tables, the differences, and their reasons."""
    layouts = {one.number: one for one in make_layouts(report.numbers)}
    body = TEMPLATES.render(
        "printed_tables.html",
        entries=[TableEntry(number, _make_table(layouts.get(number)), said) for number, said in TABLES.items()],
        differences=report.collect_facts()["differences"],
        searches=describe_searches(report.searches) if report.searches else "",
    )
    return Section("tables", "The four tables", body, STYLE)


def _make_table(one: TableLayout | None) -> PrintedTable | None:
    if one is None:
        return None
    numbers = [each for _, row in one.rows for each in row]
    caption = f"Table {one.number}: {one.title} (ours, printed). {format_match_count(numbers).capitalize()}."
    return PrintedTable(caption, one.heads, [TableRow(left, list(map(_make_cell, row))) for left, row in one.rows])


def _make_cell(one: ComparedNumber) -> TableCell:
    return TableCell(f"{one.ours:.3f}", one.printed.text, one.equal)
