"""Combine, compare and serialise extents: the grid of cells and the numbers of paths and draws of a study.

Stores only ever grow. A store keeps the list of its extents, one for each growth, and a receipt records the index of
the extent at which its unit was written. Together they tell what a unit holds without reading its chunks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from harness.core.families import Uses
from harness.core.labels import list_axis_values
from harness.core.schema.axes import CELL
from harness.core.types import Bools, Extent, Grid, Unit

T = TypeVar("T")


def union(old: Extent, new: Extent) -> Extent:
    """Return the smallest extent that holds both `old` and `new`.

    On each axis, old values keep their positions and new values are appended. The exclusion rules, and the procedures
    that are left out, are those of `new`.

    Examples
    --------
    >>> a = Extent(Grid(("A",), (0.1,), ("ml",), (0.1,), (25,), (0.1,)), paths=5, draws=4)
    >>> b = Extent(Grid(("A",), (0.1,), (10.0,), (0.1,), (50,), (0.1,)), paths=9, draws=2)
    >>> both = union(a, b)
    >>> both.grid.theta, both.grid.n, both.paths, both.draws
    (('ml', 10.0), (25, 50), 9, 4)
    """
    grid = Grid(*(_append_new(getattr(old.grid, f.name), getattr(new.grid, f.name)) for f in fields(Grid)))
    return Extent(grid, max(old.paths, new.paths), max(old.draws, new.draws), new.exclude, new.left_out)


def _append_new(old: tuple[T, ...], new: tuple[T, ...]) -> tuple[T, ...]:
    return old + tuple(value for value in new if value not in old)


def list_extra_values(one: Extent, other: Extent) -> dict[str, tuple[Any, ...]]:
    """Return the values that `one` has and `other` lacks, by axis; axes without any are left out.

    Examples
    --------
    >>> a = Extent(Grid(("A", "B"), (0.1,), ("ml",), (0.1,), (25, 50), (0.1,)), paths=5, draws=4)
    >>> b = Extent(Grid(("A",), (0.1,), ("ml",), (0.1,), (25, 100), (0.1,)), paths=5, draws=4)
    >>> list_extra_values(a, b)
    {'procedure': ('B',), 'n': (50,)}
    """
    axes = {f.name: (getattr(one.grid, f.name), getattr(other.grid, f.name)) for f in fields(Grid)}
    extra = {axis: tuple(value for value in mine if value not in theirs) for axis, (mine, theirs) in axes.items()}
    return {axis: values for axis, values in extra.items() if values}


def find_included(extent: Extent, n: int) -> Bools:
    """Return a mask over procedure, γ, θ and λ of the cells at `n` that no rule excludes."""
    import numpy as np  # imported late, so that `ckrr status` starts fast

    grid = extent.grid
    mask = np.ones([len(getattr(grid, axis)) for axis in CELL], dtype=bool)
    for rule in extent.exclude:
        if n in rule.get("n", (n,)):
            sides = [[value in rule.get(axis, (value,)) for value in getattr(grid, axis)] for axis in CELL]
            mask[np.ix_(*(np.flatnonzero(side) for side in sides))] = False
    return mask


def find_computed(extent: Extent, n: int) -> Bools:
    """Return a mask over procedure, γ, θ and λ of the cells at `n` that units written at this extent compute."""
    import numpy as np

    is_left_out = np.array([name in extent.left_out for name in extent.grid.procedure])
    return np.asarray(find_included(extent, n) & ~is_left_out.reshape(-1, 1, 1, 1))


def find_distinct(mask: Bools, uses: Uses, grid: Grid) -> Bools:
    """Return the cells of a mask without repetitions of a result.

    Parameters
    ----------
    mask : array of bool
        Cells, over procedure, γ, θ, λ and any other axes.
    uses : Uses
        Which of θ and λ results depend on. They stand at every value of the others, and only the first of these cells
        is kept.
    grid : Grid
        The grid of the mask.
    """
    import numpy as np

    found = mask.copy()
    for i, name in enumerate(grid.procedure):
        for cells in uses.list_results(name, grid):
            if len(cells) > 1:
                thetas, lams = np.array(cells).T
                joined = found[i][:, thetas, lams]
                found[i][:, thetas, lams] = joined & (np.cumsum(joined, axis=1) == 1)
    return found


def is_complete(held: Extent, asked: Extent, unit: Unit) -> bool:
    """Return whether a unit written at the extent `held` contains everything that `asked` requests of it."""
    inner = all(set(getattr(asked.grid, axis)) <= set(getattr(held.grid, axis)) for axis in (*CELL, "alpha"))
    if not inner or unit.n not in held.grid.n or held.paths < unit.paths.stop or held.draws < unit.draws.stop:
        return False
    if set(asked.grid.procedure) & set(held.left_out):
        return False
    if not (held.exclude or asked.exclude):
        return True
    import numpy as np

    places = [[getattr(held.grid, axis).index(value) for value in getattr(asked.grid, axis)] for axis in CELL]
    return bool((find_included(held, unit.n)[np.ix_(*places)] | ~find_included(asked, unit.n)).all())


def count_cells(extent: Extent) -> int:
    """Return the number of cells that no rule excludes, over all axes of the grid including n and α."""
    return sum(int(find_included(extent, n).sum()) for n in extent.grid.n) * len(extent.grid.alpha)


def to_json(extent: Extent) -> dict[str, Any]:
    """Convert an extent to JSON-serialisable dictionaries, lists and numbers."""
    return {key: value for key, value in asdict(extent).items() if value or key != "left_out"}


def from_json(plain: Mapping[str, Any]) -> Extent:
    """Build an extent from the output of `to_json`, after a round trip through JSON."""
    grid = Grid(**{axis: tuple(values) for axis, values in plain["grid"].items()})
    rules = tuple({axis: tuple(values) for axis, values in rule.items()} for rule in plain["exclude"])
    return Extent(grid, plain["paths"], plain["draws"], rules, tuple(plain.get("left_out", ())))


def get_axis_lengths(grid: Grid) -> dict[str, int]:
    """Return the length of each axis of a grid."""
    return {f.name: len(list_axis_values(grid, f.name)) for f in fields(Grid)}
