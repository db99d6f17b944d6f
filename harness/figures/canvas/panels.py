"""What a figure shows: which cells, cut into panels, what is the same in all of them, and what is left out.

Nothing is left out in silence: more panels than fit, and values that were not asked for, are told in a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil
from typing import Any

from harness.backends.base import place
from harness.core.errors import Mistake
from harness.core.schema import CUBE_DIMS
from harness.figures.canvas import labels
from harness.results.replications import Runs, Where, runs
from harness.store.receipts import listed

MOST_PANELS = 12
MOST_COLUMNS = 4


@dataclass(frozen=True)
class Panel:
    """One panel: where it stands, what it is of, and its headings."""

    row: int
    column: int
    at: Mapping[str, Any]
    above: str = ""
    beside: str = ""


@dataclass(frozen=True)
class Sheet:
    """What a figure shows."""

    runs: Runs
    where: Mapping[str, Sequence[Any]]
    """For every axis the values that are shown."""
    panels: Sequence[Panel]
    rows: int
    columns: int
    fixed: Mapping[str, Any]
    """The axes that have one value, for the title."""
    notes: list[str] = field(default_factory=list)

    @property
    def procedures(self) -> Sequence[str]:
        """Those that are shown."""
        return self.where["procedure"]

    @property
    def sizes(self) -> Sequence[int]:
        """The n that are shown."""
        return self.where["n"]

    @property
    def known(self) -> Sequence[str]:
        """All procedures of the store: colours depend on nothing else."""
        return self.runs.record.extent.grid.procedure


def opened(url: str, where: Where | None) -> tuple[Runs, list[int]]:
    """The replications of a store, and the n at which some are there."""
    chosen = runs(url, where)
    done = {int(key.partition("/")[0].removeprefix("n=")) for key in listed(place(chosen.url), chosen.chosen("n"))}
    if not done:
        raise Mistake(f"{url}: nothing has been run yet; `ckrr run` does that")
    return chosen, sorted(done)


def sheet(url: str, where: Where | None, over: Sequence[str], single: Sequence[str] = ("alpha",)) -> Sheet:
    """Cells of a store in panels.

    Parameters
    ----------
    url, where : the store, and what of it is asked for
    over : the axes that panels are for, the most important first
    single : the axes of which one value is enough, unless several are asked for: α nearest to 0.1, the largest n and λ,
        the first of others
    """
    chosen, done = opened(url, where)
    asked = {axis: chosen.sorted(axis) for axis in CUBE_DIMS}
    shown: dict[str, Sequence[Any]] = {
        axis: [_usual(axis, values, done)] if axis in single and axis not in chosen.where else values
        for axis, values in asked.items()
    }
    shown = _fitting(shown, over)
    several = [axis for axis in over if len(shown[axis]) > 1]
    panels, rows, columns = _laid_out(shown, several)
    alone = {axis: shown[axis][0] for axis in CUBE_DIMS if len(shown[axis]) == 1}
    panels = [Panel(each.row, each.column, {**alone, **each.at}, each.above, each.beside) for each in panels]
    notes = _left_out(chosen, shown)
    return Sheet(chosen, shown, panels, rows, columns, alone, notes)


def _usual(axis: str, values: Sequence[Any], done: Sequence[int]) -> Any:
    """The value that is shown unless told."""
    if axis == "alpha":
        return min(values, key=lambda each: (abs(each - 0.1), each))
    if axis == "n":
        return done[-1]
    return values[-1] if axis == "lam" else values[0]


def _fitting(shown: Mapping[str, Sequence[Any]], over: Sequence[str]) -> dict[str, Sequence[Any]]:
    """The first values of each axis, as many as there is room for; the axes named first have it first."""
    kept, count = dict(shown), 1
    for axis in over:
        kept[axis] = kept[axis][: max(1, MOST_PANELS // count)]
        count *= len(kept[axis])
    return kept


def _laid_out(shown: Mapping[str, Sequence[Any]], several: Sequence[str]) -> tuple[list[Panel], int, int]:
    """One axis in lines of text, as it were; two or more as a table, the longest that fits across."""
    if not several:
        return [Panel(0, 0, {})], 1, 1
    if len(several) == 1:
        return _wrapped(several[0], shown[several[0]])
    narrow = [axis for axis in several if len(shown[axis]) <= MOST_COLUMNS] or several
    across = max(narrow, key=lambda axis: len(shown[axis]))  # the first of equals
    return _table(shown, [across], [axis for axis in several if axis != across])


def _wrapped(axis: str, values: Sequence[Any]) -> tuple[list[Panel], int, int]:
    columns = {4: 2, 7: 4, 8: 4, 10: 4, 11: 4, 12: 4}.get(len(values), min(len(values), 3))
    panels = [
        Panel(place // columns, place % columns, {axis: value}, labels.named(axis, value))
        for place, value in enumerate(values)
    ]
    return panels, ceil(len(values) / columns), columns


def _table(
    shown: Mapping[str, Sequence[Any]], across: Sequence[str], down: Sequence[str]
) -> tuple[list[Panel], int, int]:
    columns, rows = _combinations(shown, across), _combinations(shown, down)
    panels = [
        Panel(
            r,
            c,
            {**row, **column},
            labels.place(column) if r == 0 else "",
            labels.place(row) if c == len(columns) - 1 else "",
        )
        for (r, row), (c, column) in product(enumerate(rows), enumerate(columns))
    ]
    return panels, len(rows), len(columns)


def _combinations(shown: Mapping[str, Sequence[Any]], axes: Sequence[str]) -> list[dict[str, Any]]:
    return [dict(zip(axes, each, strict=True)) for each in product(*(shown[axis] for axis in axes))]


def _left_out(chosen: Runs, shown: Mapping[str, Sequence[Any]]) -> list[str]:
    """What is in the store and was neither shown nor excluded by whoever asked."""
    rest = {axis: [each for each in chosen.sorted(axis) if each not in shown[axis]] for axis in CUBE_DIMS}
    parts = [labels.values(axis, values) for axis, values in rest.items() if values]
    return [f"Also in the store: {'; '.join(parts)}. Choose with --where."] if parts else []
