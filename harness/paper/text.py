"""Format the tables as text: ours and the printed number beside it, marked as equal or different."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from harness.core.text import format_table
from harness.paper.printed import ERROR, SEARCH, PrintedNumber
from harness.paper.reproduced import REPLICATIONS, ComparedNumber
from harness.paper.searches import ComparedSearch, select_searches

_STUDIES = {"gp2": "gp on [0, 1]²", "f2": "f2"}
_NOTES = {
    (3, "CRR-loo", 1e-6, 1e-6, SEARCH): (
        "the search stops within 1e-4 of the best log₁₀θ, and with every θ̂ moved by a third of that this number is "
        "2.537 or 2.556. (The gaps that the original filled between kept breakpoints hold no test value at this α, and "
        "filling them could only lower the number.)"
    )
}
"""Known reasons of differences, by table, procedure, γ, λ and θ."""


@dataclass(frozen=True)
class TableLayout:
    """A table as printed: a row for each θ and α, or θ and procedure; a column for each γ and λ."""

    number: int
    title: str
    heads: Sequence[str]
    rows: Sequence[tuple[Sequence[str], Sequence[ComparedNumber]]]
    """Headings and numbers of each row."""


def make_layouts(numbers: Sequence[ComparedNumber]) -> list[TableLayout]:
    """Arrange the numbers in their tables, in the order of the paper."""
    ordered = sorted(numbers, key=lambda one: one.printed.table)
    return [_make_layout(list(some)) for _, some in groupby(ordered, key=lambda one: one.printed.table)]


def _make_layout(numbers: Sequence[ComparedNumber]) -> TableLayout:
    first = numbers[0].printed
    what = f"error rate of {first.procedure}" if first.measure == ERROR else "largest |error rate − α| over α"
    title = f"{what}, in %; {_STUDIES[first.study]}, n = {first.n}"
    columns = sorted({(one.printed.gamma, one.printed.lam) for one in numbers})
    heads = ["θ", "α" if first.measure == ERROR else "procedure", *(f"γ={g:g} λ={r:g}" for g, r in columns)]
    found = {(*_make_row_key(one.printed), one.printed.gamma, one.printed.lam): one for one in numbers}
    rows = [
        ((_format_theta(row[0]), row[1]), [found[(*row, *column)] for column in columns])
        for row in sorted({_make_row_key(one.printed) for one in numbers}, key=_make_sort_key)
    ]
    return TableLayout(first.table, title, heads, rows)


def format_tables(numbers: Sequence[ComparedNumber]) -> str:
    """Format all tables as text."""
    return "\n\n".join(_format_table(one) for one in make_layouts(numbers))


def _format_table(one: TableLayout) -> str:
    lines = [one.heads, *([*left, *map(_format_cell, numbers)] for left, numbers in one.rows)]
    return f"table {one.number}: {one.title} (ours, printed)\n{format_table(lines, left=2)}"


def _make_row_key(one: PrintedNumber) -> tuple[str, str]:
    return one.theta, one.procedure if one.alpha is None else f"{one.alpha:g}"


def _make_sort_key(row: tuple[str, str]) -> tuple[bool, float, str]:
    """Sort by θ, with the search last."""
    searched = row[0] == SEARCH
    return searched, 0.0 if searched else float(row[0]), row[1]


def _format_theta(theta: str) -> str:
    return "ML" if theta == SEARCH else theta


def _format_cell(one: ComparedNumber) -> str:
    return f"{one.ours:.3f} {one.printed.text:>5} {'=' if one.equal else '≠'}"


def format_match_count(numbers: Sequence[ComparedNumber]) -> str:
    """Say how many numbers are equal."""
    return f"reproduced {sum(one.equal for one in numbers)} of {len(numbers)} printed numbers to the digit"


def list_differences(numbers: Sequence[ComparedNumber], found: Sequence[ComparedSearch]) -> list[str]:
    """Return a line for each number that differs, with the reason if it is known."""
    return [_format_difference(one, found) for one in numbers if not one.equal]


def _format_difference(one: ComparedNumber, found: Sequence[ComparedSearch]) -> str:
    off = f"{one.points_off} of its {one.trials} hits and misses away"
    return f"≠ {one.printed}: {one.ours:.4f} for {one.printed.text}, {off}: {_explain_difference(one, found)}"


def _explain_difference(one: ComparedNumber, found: Sequence[ComparedSearch]) -> str:
    if one.replications < REPLICATIONS:
        return f"{REPLICATIONS - one.replications} of its {REPLICATIONS} replications failed: `ckrr errors` says why"
    elsewhere = [each for each in select_searches(found, one.printed) if not each.same]
    if elsewhere:
        return f"θ̂ isn't the recorded one in {len(elsewhere)} of its {REPLICATIONS} replications"
    key = (one.printed.table, one.printed.procedure, one.printed.gamma, one.printed.lam, one.printed.theta)
    return _NOTES.get(key, "other CPUs or libraries may move points that lie on the edge of a region")
