"""Choose the cells that a figure shows, and arrange them in panels.

Everything that is left out, for lack of room or because it wasn't selected, is mentioned in a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil
from typing import Any

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.schema.cube import CUBE_DIMS
from harness.figures.canvas import labels
from harness.results.replications import ReplicationReader, Where, describe_condition, open_reader
from harness.store.receipts import list_begun_sizes

MOST_PANELS = 12
MOST_COLUMNS = 4


@dataclass(frozen=True)
class Panel:
    """One panel: its place in the grid, the cell it shows, and its headings."""

    row: int
    column: int
    at: Mapping[str, Any]
    """Value of each axis that is fixed in this panel."""
    above: str = ""
    beside: str = ""


@dataclass(frozen=True)
class PanelLayout:
    """Cells that a figure shows, arranged in panels."""

    runs: ReplicationReader
    where: Mapping[str, Sequence[Any]]
    """Values shown, for every axis."""
    panels: Sequence[Panel]
    rows: int
    columns: int
    fixed: Mapping[str, Any]
    """Axes with a single value, for the subtitle."""
    notes: list[str] = field(default_factory=list)
    """What errors are conditional on, and what is left out."""

    @property
    def procedures(self) -> Sequence[str]:
        """Procedures shown."""
        return self.where["procedure"]

    @property
    def sizes(self) -> Sequence[int]:
        """Values of n shown."""
        return self.where["n"]

    @property
    def all_procedures(self) -> Sequence[str]:
        """All procedures of the store, so that colours don't depend on the selection."""
        return self.runs.manifest.extent.grid.procedure


def open_with_sizes(url: str, where: Where | None) -> tuple[ReplicationReader, list[int]]:
    """Open the replications of a store, and list the n that have any.

    Raises
    ------
    UserError
        If nothing has been run yet.
    """
    chosen = open_reader(url, where)
    done = list_begun_sizes(open_backend(chosen.url), chosen.select_values("n"))
    if not done:
        raise UserError(f"{url}: nothing has been run yet; start with `ckrr run`")
    return chosen, done


def make_panel_layout(
    url: str, where: Where | None, over: Sequence[str], single: Sequence[str] = ("alpha",)
) -> PanelLayout:
    """Arrange the selected cells of a store in panels.

    Parameters
    ----------
    url : str
        Store.
    where : mapping or None
        Values selected on some axes; all values on the others.
    over : sequence of str
        Axes with one panel per value, the most important first.
    single : sequence of str
        Axes on which one value is shown unless `where` names them: the α nearest to 0.1, the largest n with results,
        the last λ, the first value of any other axis.
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
    condition = describe_condition(chosen.manifest)
    notes = [*([f"{condition.capitalize()}."] if condition else []), *_describe_left_out(chosen, shown)]
    return PanelLayout(chosen, shown, panels, rows, columns, alone, notes)


def _choose_default(axis: str, values: Sequence[Any], done: Sequence[int]) -> Any:
    """Return the value that is shown by default."""
    if axis == "alpha":
        return min(values, key=lambda each: (abs(each - 0.1), each))
    if axis == "n":
        return done[-1]
    return values[-1] if axis == "lam" else values[0]


def _limit_values(shown: Mapping[str, Sequence[Any]], over: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Keep the first values of each axis, so that panels fit; axes named first in `over` take precedence."""
    kept, count = dict(shown), 1
    for axis in over:
        kept[axis] = kept[axis][: max(1, MOST_PANELS // count)]
        count *= len(kept[axis])
    return kept


def _arrange_panels(shown: Mapping[str, Sequence[Any]], several: Sequence[str]) -> tuple[list[Panel], int, int]:
    """Wrap a single axis over several rows; tabulate several axes, with the longest one that fits across."""
    if not several:
        return [Panel(0, 0, {})], 1, 1
    if len(several) == 1:
        return _wrap_panels(several[0], shown[several[0]])
    narrow = [axis for axis in several if len(shown[axis]) <= MOST_COLUMNS] or several
    across = max(narrow, key=lambda axis: len(shown[axis]))  # ties: the first
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
    """List the values in the selection that the figure doesn't show."""
    rest = {axis: [each for each in chosen.sort_values(axis) if each not in shown[axis]] for axis in CUBE_DIMS}
    parts = [labels.format_axis_values(axis, values) for axis, values in rest.items() if values]
    return [f"Also in the store: {'; '.join(parts)}. Choose with --where."] if parts else []
