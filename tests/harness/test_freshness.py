"""The cube is kept fresh beside the run; a run that is stopped doesn't wait for a cube that takes long."""

from __future__ import annotations

from pathlib import Path
from threading import Event, current_thread
from time import monotonic, thread_time
from typing import Any

import numpy as np
import pytest
import zarr

from harness import freshness, store
from harness.freshness import Keeper
from harness.record import Record
from tests.harness.studies import contents, run_serially, until


@pytest.fixture
def spoilt(tmp_path: Path) -> tuple[Path, Record, dict[str, object]]:
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


def test_it_is_refreshed_where_units_came_in(spoilt: tuple[Path, Record, dict[str, object]]) -> None:
    where, record, right = spoilt
    keeper = Keeper(str(where), record, set())
    keeper.done(20)
    assert keeper._thread is None, "it isn't time yet"
    keeper._next = 0.0
    keeper.done(20)
    assert keeper._thread is not None
    keeper._thread.join()
    assert wrong(where, right) == {10}
    assert keeper.stale == set()
    keeper.done(10)
    keeper.finish()
    assert wrong(where, right) == set()


@pytest.mark.parametrize(("took", "left"), [(0.1, {10}), (100.0, {10, 20})])
def test_a_run_that_is_stopped_leaves_soon(
    took: float, left: set[int], spoilt: tuple[Path, Record, dict[str, object]]
) -> None:
    where, record, right = spoilt
    keeper = Keeper(str(where), record, {20}, took=took)
    keeper.leave()
    assert wrong(where, right) == left


def test_at_the_end_nobody_waits_for_what_is_old(
    spoilt: tuple[Path, Record, dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is computed beside the run is given up after a variable, and computed anew."""
    where, record, right = spoilt
    keeper, read, readers = Keeper(str(where), record, set(), _next=0.0), store.read, list[str]()

    def slowly(*arguments: Any) -> Any:
        readers.append(current_thread().name)
        if readers[-1] == "cube":
            until(keeper._over.is_set)
        return read(*arguments)

    monkeypatch.setattr(store, "read", slowly)
    keeper.done(20)
    until(lambda: bool(readers))
    keeper.finish()
    assert readers.count("cube") == 1
    assert wrong(where, right) == {10}


def test_a_run_that_is_stopped_waits_for_nobody(
    spoilt: tuple[Path, Record, dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store may not answer for minutes."""
    where, record, right = spoilt
    keeper, asked, answers = Keeper(str(where), record, set(), _next=0.0), Event(), Event()

    def never(*arguments: Any) -> None:
        asked.set()
        answers.wait(60)

    monkeypatch.setattr(store, "read", never)
    keeper.done(20)
    asked.wait()
    start = monotonic()
    keeper.leave()
    assert monotonic() - start < 5
    assert wrong(where, right) == {10, 20}
    answers.set()
    assert keeper._thread is not None
    keeper._thread.join()


def test_what_is_done_beside_a_run_rests_most_of_the_time() -> None:
    over = Event()
    pace = freshness._Pace(over)
    end = thread_time() + 0.02
    while thread_time() < end:
        pass
    pace()
    assert pace.paused > 0.07
    over.set()
    with pytest.raises(freshness._Unwanted):
        pace()
