"""Make tidy tables of a study: a row for each cell of the cube, or for each cell of each replication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.core.schema.axes import REPLICATION_AXES
from harness.core.schema.cube import CUBE, CUBE_DIMS
from harness.core.schema.measures import STATUS, Variable, list_variables
from harness.core.types import Bools, Status, Values
from harness.interchange.attributes import make_label_attributes
from harness.interchange.columns import AxisColumn, Column, list_axis_columns, list_columns, split_values
from harness.interchange.study import StoredStudy
from harness.interchange.windows import Window, iter_windows, read_window

Batch = Sequence[Values]
"""Some rows: an array for each column."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table in batches of rows, which can be read once."""

    columns: Sequence[Column]
    key: Sequence[str]
    """Names of the columns that tell rows apart."""
    batches: Iterator[Batch]


def make_table(study: StoredStudy, replications: bool) -> Table:
    """Make the table of the cube, or that of the replications."""
    return _make_replication_table(study) if replications else _make_cube_table(study)


def _make_cube_table(study: StoredStudy) -> Table:
    """Make the table of the cube, without cells of which no replication was run."""
    cube = study.cube.transpose(*CUBE_DIMS, ...)
    axes, lengths = list_axis_columns(cube), {dim: cube.sizes[dim] for dim in CUBE_DIMS}
    columns, values = [one.column for one in axes], [_expand(one.values, [one.axis], lengths) for one in axes]
    for one in (one for one in CUBE if one.name in cube):
        dims = [str(dim) for dim in cube[one.name].dims]
        columns += list_columns(one, dims)
        values += [each.reshape(-1) for each in split_values(study.url, one, dims, cube[one.name].to_numpy())]
    has_run = ~np.isnan(cube["failed"].to_numpy().reshape(-1))
    return Table(columns, CUBE_DIMS, iter([[each[has_run] for each in values]]))


def list_table_variables(study: StoredStudy) -> list[Variable]:
    """Return the variables in a row of a replication, the status first: all but arrays of each replication."""
    some = [one for one in list_variables(study.manifest.keep) if not {"point", "bin", "coordinate"} & {*one.dims}]
    return [STATUS, *(one for one in some if one.name != STATUS.name)]


def _make_replication_table(study: StoredStudy) -> Table:
    """Make the table of the replications, without cells that weren't run in them."""
    variables, axes = list_table_variables(study), list_axis_columns(study.cube)
    columns = [one.column for one in axes]
    columns += [Column(name, np.dtype("int64"), make_label_attributes(name)) for name in REPLICATION_AXES]
    for one in variables:
        columns += list_columns(one, one.dims)
    return Table(columns, (*CUBE_DIMS, *REPLICATION_AXES), _iter_batches(study, variables, axes))


def _iter_batches(study: StoredStudy, variables: Sequence[Variable], axes: Sequence[AxisColumn]) -> Iterator[Batch]:
    for n in study.axes["n"]:
        for window in iter_windows(study, n, variables):
            values = {one.name: read_window(study, window, one) for one in variables}
            has_run = _find_run(values["status"], values["coverage"])
            if has_run.any():
                yield [each[has_run] for each in _list_window_values(study, window, variables, axes, values)]


def _find_run(status: Values, coverage: Values) -> Bools:
    """Return which rows have results or failed.

    Not those of cells that weren't run or are excluded. Nor those that ended well, but have no coverage: at an α that
    was added to the store later, or because a chunk is missing.
    """
    is_there = ~np.isin(status, (Status.NOT_RUN, Status.EXCLUDED))[..., None]
    is_blank = (status == Status.OK)[..., None] & np.isnan(coverage)
    return np.asarray(is_there & ~is_blank).reshape(-1)


def _list_window_values(
    study: StoredStudy,
    window: Window,
    variables: Sequence[Variable],
    axes: Sequence[AxisColumn],
    values: Mapping[str, Values],
) -> Iterator[Values]:
    """Yield the values of each column in a window, in the order of rows."""
    inner = {dim: len(some) for dim, some in study.axes.items() if dim != "n"}
    lengths = {"path": len(window.paths), "draw": len(window.draws), **inner}
    for one in axes:
        yield (
            np.full(np.prod(list(lengths.values())), window.n, dtype=one.values.dtype)
            if one.axis == "n"
            else _expand(one.values, [one.axis], lengths)
        )
    yield _expand(np.array(window.paths), ["path"], lengths)
    yield _expand(np.array(window.draws), ["draw"], lengths)
    for variable in variables:
        dims = ["path", "draw", *(dim for dim in variable.dims if dim not in ("quantile", "pit_bin"))]
        for each in split_values(study.url, variable, variable.dims, values[variable.name]):
            yield _expand(each, dims, lengths)


def _expand(values: Values, dims: Sequence[str], lengths: Mapping[str, int]) -> Values:
    """Repeat values along the dimensions that they don't have, and return them as one column."""
    index = tuple(slice(None) if dim in dims else None for dim in lengths)
    return np.broadcast_to(values[index], list(lengths.values())).reshape(-1)
