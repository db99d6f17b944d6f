"""Extents against sets of cells."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
from hypothesis import assume, given, strategies as st

from harness.core.extent import count_cells, find_included, from_json, is_complete, to_json, union
from harness.core.schema.axes import CELL
from harness.core.types import Extent, Grid, Unit

AXES = ("procedure", "gamma", "theta", "lam", "n", "alpha")
VALUES = {
    "procedure": ["A", "B"],
    "gamma": [0.0, 0.1],
    "theta": [1.0, "ml"],
    "lam": [0.5, 1.0],
    "n": [10, 20],
    "alpha": [0.1, 0.2],
}


def some(axis: str) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(st.sampled_from(VALUES[axis]), min_size=1, max_size=2, unique=True).map(tuple)


rules = st.dictionaries(st.sampled_from(["n", *CELL]), st.none(), min_size=1).flatmap(
    lambda axes: st.fixed_dictionaries({axis: some(axis) for axis in axes})
)
extents = st.builds(
    Extent,
    st.builds(Grid, *(some(axis) for axis in AXES)),  # type: ignore[arg-type]
    st.integers(1, 6),
    st.integers(1, 6),
    st.lists(rules, max_size=2).map(tuple),
)


def left_in(extent: Extent) -> set[tuple[object, ...]]:
    """Cells as tuples, by the definition of a rule."""
    axes = [getattr(extent.grid, axis) for axis in AXES]
    return {
        cell
        for cell in product(*axes)
        if not any(all(dict(zip(AXES, cell, strict=True))[a] in v for a, v in rule.items()) for rule in extent.exclude)
    }


@given(extents)
def test_cells_are_those_that_no_rule_names(extent: Extent) -> None:
    expected = left_in(extent)
    assert count_cells(extent) == len(expected)
    for n in extent.grid.n:
        mask = find_included(extent, n)
        for places in np.ndindex(mask.shape):
            cell = [getattr(extent.grid, axis)[i] for axis, i in zip(CELL, places, strict=True)]
            assert mask[places] == ((*cell, n, extent.grid.alpha[0]) in expected)


@given(extents, extents)
def test_a_union_keeps_old_places(old: Extent, new: Extent) -> None:
    both = union(old, new)
    for axis in AXES:
        before, after = getattr(old.grid, axis), getattr(both.grid, axis)
        assert after[: len(before)] == before
        assert set(after) == {*before, *getattr(new.grid, axis)}
        assert len(after) == len(set(after))
    assert (both.paths, both.draws) == (max(old.paths, new.paths), max(old.draws, new.draws))
    assert union(both, new) == both


@given(extents, extents, st.integers(0, 5), st.integers(0, 5), st.sampled_from([10, 20]))
def test_what_a_unit_holds(held: Extent, asked: Extent, path: int, draw: int, n: int) -> None:
    """By the sets of its replications of cells."""
    assume(n in asked.grid.n)  # no other unit is ever asked about
    unit = Unit(n, 0, 0, range(path, path + 1), range(draw, draw + 1))
    has = {cell for cell in left_in(held) if cell[4] == n} if path < held.paths and draw < held.draws else set()
    axes = [getattr(asked.grid, axis) for axis in AXES]
    needs = {cell for cell in left_in(asked) if cell[4] == n}
    known = all(
        set(values) <= set(getattr(held.grid, axis)) for axis, values in zip(AXES, axes, strict=True) if axis != "n"
    )
    if is_complete(held, asked, unit):
        assert needs <= has or not needs
    elif known and n in held.grid.n and path < held.paths and draw < held.draws:
        assert not needs <= has


@given(extents)
def test_extents_survive_json(extent: Extent) -> None:
    assert from_json(json.loads(json.dumps(to_json(extent)))) == extent
