"""The cube is kept fresh beside the run; a run that is stopped doesn't wait for a cube that takes long."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zarr

from harness.execution import cube_keeper
from harness.execution.cube_keeper import CubeKeeper
from harness.store.manifest import Manifest
from tests.harness.studies import contents, run_serially, until


@pytest.fixture
def spoilt(tmp_path: Path) -> tuple[Path, Manifest, dict[str, object]]:
    """A store whose cube has wrong numbers; its record, and the right numbers."""
    where = tmp_path / "toy.zarr"
    record = run_serially(where)
    right = contents(where)
    zarr.open_array(str(where), path="coverage", mode="r+")[...] = 7.0
    return where, record, dict(right)


def wrong(where: Path, right: dict[str, object]) -> set[int]:
    """The n at which coverage isn't right."""
    same = contents(where)["coverage"] == np.asarray(right["coverage"])
    return {n for i, n in enumerate((10, 20)) if not same[:, :, :, :, i].all()}


def ended(keeper: CubeKeeper) -> bool:
    """Whether what is done beside the run has ended, and is known to have."""
    assert keeper._background is not None
    return keeper._background.process.poll() is not None


def test_it_is_refreshed_where_units_came_in(spoilt: tuple[Path, Manifest, dict[str, object]]) -> None:
    where, record, right = spoilt
    keeper = CubeKeeper(str(where), record, set())
    keeper.note_unit(20)
    assert keeper._background is None, "it isn't time yet"
    keeper._next = 0.0
    keeper.note_unit(20)
    until(lambda: ended(keeper))
    assert wrong(where, right) == {10}
    keeper.note_unit(10)
    assert (keeper._background, keeper.stale) == (None, {10}), "it isn't time again"
    assert keeper.longest_refresh > 0
    keeper.finish()
    assert wrong(where, right) == set()


def test_what_went_wrong_beside_a_run_is_done_again(spoilt: tuple[Path, Manifest, dict[str, object]]) -> None:
    where, record, right = spoilt
    keeper = CubeKeeper(str(where / "nowhere"), record, {20}, _next=0.0)
    keeper.note_unit(10)
    until(lambda: ended(keeper))
    keeper.note_unit(10)
    assert keeper.stale == {10, 20}
    keeper.url = str(where)
    keeper.finish()
    assert wrong(where, right) == set()


def test_a_store_that_has_grown_is_left_alone(spoilt: tuple[Path, Manifest, dict[str, object]]) -> None:
    """By a driver of the time before."""
    where, record, right = spoilt
    later = replace(record, extents=(record.extent, record.extent))
    keeper = CubeKeeper(str(where), later, {10}, _next=0.0)
    keeper.note_unit(20)
    until(lambda: ended(keeper))
    assert wrong(where, right) == {10, 20}


@pytest.mark.parametrize(("took", "left"), [(0.1, {10}), (100.0, {10, 20})])
def test_a_run_that_is_stopped_leaves_soon(
    took: float, left: set[int], spoilt: tuple[Path, Manifest, dict[str, object]]
) -> None:
    where, record, right = spoilt
    keeper = CubeKeeper(str(where), record, {20}, longest_refresh=took)
    keeper.abort()
    assert wrong(where, right) == left


def test_a_run_that_is_stopped_hurries(
    spoilt: tuple[Path, Manifest, dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long all of it would take."""
    where, record, right = spoilt
    monkeypatch.setattr(cube_keeper, "_QUICK", -1.0)
    CubeKeeper(str(where), record, {20}).abort()
    assert wrong(where, right) == {10, 20}


@pytest.mark.parametrize("end", [CubeKeeper.finish, CubeKeeper.abort])
def test_at_the_end_nobody_waits_for_what_is_old(
    end: Callable[[CubeKeeper], None], spoilt: tuple[Path, Manifest, dict[str, object]]
) -> None:
    """What is computed beside the run is ended, and computed anew."""
    where, record, right = spoilt
    keeper = CubeKeeper(str(where), record, set(), _next=0.0)
    keeper.note_unit(20)
    assert keeper._background is not None
    process = keeper._background.process
    end(keeper)
    assert process.returncode == -signal.SIGKILL
    assert wrong(where, right) == {10}
