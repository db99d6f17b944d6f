"""The plan: every replication in just one unit, units of the right length, what doesn't fit refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from harness.core.errors import UserError
from harness.core.types import Extent
from harness.planning.blocks import LONGEST, _choose_block
from harness.planning.cost import estimate_replication_seconds
from harness.planning.machine import Machine
from harness.planning.plan import check_fits
from harness.store.receipts import Receipt
from tests.harness.plans import FAMILIES, GRID, SHAPE, planned


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(6, 10), st.integers(1, 8))
def test_every_replication_is_in_one_unit(paths: int, draws: int, speed: float, workers: int) -> None:
    _, plan = planned(Extent(GRID, paths, draws), Machine(10**speed, workers, 1e12))
    seen = [(unit.n, path, draw) for unit in plan.units for path in unit.paths for draw in unit.draws]
    assert sorted(seen) == [(n, p, d) for n in GRID.n for p in range(paths) for d in range(draws)]
    assert len({unit.name for unit in plan.units}) == len(plan.units)


@pytest.mark.parametrize(("paths", "draws"), [(1000, 20), (20, 1000), (20_000, 1)])
def test_units_are_long_enough_and_not_too_long(paths: int, draws: int) -> None:
    """A long study has units of some ten seconds; the longest come first."""
    _, plan = planned(Extent(GRID, paths, draws), Machine(1e9, 4, 1e12))
    for size in plan.sizes:
        assert LONGEST / 3 < size.seconds < 1.5 * LONGEST
    seconds = [size.seconds for size in plan.sizes for _ in size.todo]
    assert seconds == sorted(seconds, reverse=True)


def test_every_worker_gets_many_units_of_a_short_study() -> None:
    _, plan = planned(Extent(GRID, 200, 20), Machine(1e10, 4, 1e12))
    assert len(plan.units) >= 20 * 4


@given(st.integers(1, 10_000), st.integers(1, 500), st.integers(1, 500))
def test_blocks_are_about_as_large_as_asked(wanted: int, paths: int, draws: int) -> None:
    rows, columns = _choose_block(wanted, paths, draws)
    assert 1 <= rows <= paths
    assert 1 <= columns <= draws
    assert rows * columns <= max(wanted, 1)
    assert rows == 1 or columns == draws, "draws of a path stay together"


def test_what_has_a_receipt_is_not_planned_again() -> None:
    extent = Extent(GRID, 30, 4)
    _, plan = planned(extent, Machine(1e8, 2, 1e12))
    done = {unit.name: Receipt(0, 0, 0, unit.name) for unit in plan.units[::3]}
    _, left = planned(extent, Machine(1e8, 2, 1e12), done)
    assert {unit.name for unit in left.units} == {unit.name for unit in plan.units} - done.keys()
    assert left.bytes < plan.bytes


def test_cells_that_are_left_out_cost_nothing() -> None:
    whole = Extent(GRID, 10, 10)
    without = replace(whole, exclude=({"theta": ("best",)},))
    a, b = (estimate_replication_seconds(extent, 40, SHAPE, FAMILIES, 1e9) for extent in (whole, without))
    assert b < a / 5


def test_what_does_not_fit_is_refused() -> None:
    extent = Extent(GRID, 10, 10)
    _, plan = planned(extent, Machine(1e9, 2, 1e6))
    with pytest.raises(
        UserError,
        match=r"^my.toml: grid.n = 40 needs 0.4 GB per worker, 0.0 GB are available: use fewer or larger workers",
    ):
        check_fits(plan, Machine(1e9, 2, 1e6), "my.toml")
    with pytest.raises(UserError, match=r"take up to [0-9.]+ MB on disk, and 1e-05 MB are free: choose another"):
        check_fits(plan, Machine(1e9, 2, 1e12, disk=10.0), "my.toml")
    check_fits(plan, Machine(1e9, 2, 1e12), "my.toml")


def test_a_hundred_thousand_units_are_planned() -> None:
    """`tests.benchmarks.planning` has the time."""
    _, plan = planned(Extent(replace(GRID, n=(40,)), 100_000, 1), Machine(5e6, 4, 1e12))
    assert len(plan.units) == 100_000
