"""What a figure shows: which cells, cut into panels, what is the same in all of them, and what is left out.

Nothing is left out in silence: more panels than fit, and values that were not asked for, are told in a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil
from typing import Any

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.schema import CUBE_DIMS
from harness.figures.canvas import labels
from harness.results.replications import ReplicationReader, Where, open_replications
from harness.store.receipts import list_receipts

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
class PanelLayout:
    """What a figure shows."""

    runs: ReplicationReader
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
    def all_procedures(self) -> Sequence[str]:
        """All procedures of the store: colours depend on nothing else."""
        return self.runs.manifest.extent.grid.procedure


def open_with_sizes(url: str, where: Where | None) -> tuple[ReplicationReader, list[int]]:
    """The replications of a store, and the n at which some are there."""
    chosen = open_replications(url, where)
    done = {
        int(key.partition("/")[0].removeprefix("n="))
        for key in list_receipts(open_backend(chosen.url), chosen.select_values("n"))
    }
    if not done:
        raise UserError(f"{url}: nothing has been run yet; `ckrr run` does that")
    return chosen, sorted(done)


def make_panel_layout(
    url: str, where: Where | None, over: Sequence[str], single: Sequence[str] = ("alpha",)
) -> PanelLayout:
    """Cells of a store in panels.

    Parameters
    ----------
    url, where : the store, and what of it is asked for
    over : the axes that panels are for, the most important first
    single : the axes of which one value is enough, unless several are asked for: α nearest to 0.1, the largest n and λ,
        the first of others
    """
    chosen, done = open_with_sizes(url, where)
    asked = {axis: chosen.sort_values(axis) for axis in CUBE_DIMS}
    shown: dict[str, Sequence[Any]] = {
        axis: [_choose_default(axis, values, done)] if axis in single and axis not in chosen.where else values
        for axis, values in asked.items()
    }
    shown = _limit_values(shown, over)
    several = [axis for axis in over if len(shown[axis]) > 1]
    panels, rows, columns = _arrange_panels(shown, several)
    alone = {axis: shown[axis][0] for axis in CUBE_DIMS if len(shown[axis]) == 1}
    panels = [Panel(each.row, each.column, {**alone, **each.at}, each.above, each.beside) for each in panels]
    notes = _describe_left_out(chosen, shown)
    return PanelLayout(chosen, shown, panels, rows, columns, alone, notes)


def _choose_default(axis: str, values: Sequence[Any], done: Sequence[int]) -> Any:
    """The value that is shown unless told."""
    if axis == "alpha":
        return min(values, key=lambda each: (abs(each - 0.1), each))
    if axis == "n":
        return done[-1]
    return values[-1] if axis == "lam" else values[0]


def _limit_values(shown: Mapping[str, Sequence[Any]], over: Sequence[str]) -> dict[str, Sequence[Any]]:
    """The first values of each axis, as many as there is room for; the axes named first have it first."""
    kept, count = dict(shown), 1
    for axis in over:
        kept[axis] = kept[axis][: max(1, MOST_PANELS // count)]
        count *= len(kept[axis])
    return kept


def _arrange_panels(shown: Mapping[str, Sequence[Any]], several: Sequence[str]) -> tuple[list[Panel], int, int]:
    """One axis in lines of text, as it were; two or more as a table, the longest that fits across."""
    if not several:
        return [Panel(0, 0, {})], 1, 1
    if len(several) == 1:
        return _wrap_panels(several[0], shown[several[0]])
    narrow = [axis for axis in several if len(shown[axis]) <= MOST_COLUMNS] or several
    across = max(narrow, key=lambda axis: len(shown[axis]))  # the first of equals
    return _tabulate_panels(shown, [across], [axis for axis in several if axis != across])


def _wrap_panels(axis: str, values: Sequence[Any]) -> tuple[list[Panel], int, int]:
    columns = {4: 2, 7: 4, 8: 4, 10: 4, 11: 4, 12: 4}.get(len(values), min(len(values), 3))
    panels = [
        Panel(place // columns, place % columns, {axis: value}, labels.format_axis_value(axis, value))
        for place, value in enumerate(values)
    ]
    return panels, ceil(len(values) / columns), columns


def _tabulate_panels(
    shown: Mapping[str, Sequence[Any]], across: Sequence[str], down: Sequence[str]
) -> tuple[list[Panel], int, int]:
    columns, rows = _list_combinations(shown, across), _list_combinations(shown, down)
    panels = [
        Panel(
            r,
            c,
            {**row, **column},
            labels.format_cell(column) if r == 0 else "",
            labels.format_cell(row) if c == len(columns) - 1 else "",
        )
        for (r, row), (c, column) in product(enumerate(rows), enumerate(columns))
    ]
    return panels, len(rows), len(columns)


def _list_combinations(shown: Mapping[str, Sequence[Any]], axes: Sequence[str]) -> list[dict[str, Any]]:
    return [dict(zip(axes, each, strict=True)) for each in product(*(shown[axis] for axis in axes))]


def _describe_left_out(chosen: ReplicationReader, shown: Mapping[str, Sequence[Any]]) -> list[str]:
    """What is in the store and was neither shown nor excluded by whoever asked."""
    rest = {axis: [each for each in chosen.sort_values(axis) if each not in shown[axis]] for axis in CUBE_DIMS}
    parts = [labels.format_axis_values(axis, values) for axis, values in rest.items() if values]
    return [f"Also in the store: {'; '.join(parts)}. Choose with --where."] if parts else []
