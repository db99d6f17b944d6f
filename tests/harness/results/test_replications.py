"""Variables and estimates are kept in memory, with the bits of those read from disk."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pytest

from harness.report.sections.facts import MEASURES
from harness.report.write import write_report
from harness.results import estimates, replications
from harness.results.estimates import estimate
from harness.results.replications import Slab, open_reader
from harness.results.tables import table
from harness.results.validity import verdicts
from harness.store import arrays
from tests.harness.studies import prepared, run_serially, serially

NAMES = ("coverage", *(name for name in MEASURES if name not in ("relative_width", "oracle_width")))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("kept") / "toy.zarr"
    run_serially(where, keep=["distribution"])
    return str(where)


@pytest.fixture(autouse=True)
def _empty() -> None:
    replications._VARIABLES.clear()
    estimates._ESTIMATES.clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[int, str]]:
    """How often each variable is read from disk at each n."""
    found: Counter[tuple[int, str]] = Counter()
    original = arrays.read

    def counting(url: str, n: int, variable: str, *more: Any) -> Any:
        found[n, variable] += 1
        return original(url, n, variable, *more)

    monkeypatch.setattr(arrays, "read", counting)
    return found


def test_every_variable_is_read_once(store: str, reads: Counter[tuple[int, str]]) -> None:
    for name in NAMES * 2:
        estimate(store, name)
        estimate(store, name, {"theta": ["best"], "procedure": ["wide"]})
    verdicts(store)
    assert {(n, name) for n in (10, 20) for name in ("status", "coverage", "width")} <= set(reads)
    assert set(reads.values()) == {1}


@pytest.mark.parametrize("name", NAMES)
def test_the_same_without_memory(store: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow twin reads everything anew."""
    some = {"theta": ["1", "best"], "n": [20]}
    kept = [estimate(store, name) for _ in range(2)] + [estimate(store, name, some)]
    for cache in (replications._VARIABLES, estimates._ESTIMATES):
        monkeypatch.setattr(cache, "most", -1.0)
        cache.clear()
    for one, other in zip(kept, [estimate(store, name)] * 2 + [estimate(store, name, some)], strict=True):
        assert one.identical(other)
        assert all(one[part].values.tobytes() == other[part].values.tobytes() for part in estimates.PARTS)


@pytest.mark.parametrize(
    "slab", [Slab(10, range(4), range(3)), Slab(20, range(1, 3), range(3)), Slab(20, range(1), range(2, 3))]
)
@pytest.mark.parametrize("variable", ["status", "coverage", "width"])
def test_parts_are_those_on_disk(store: str, slab: Slab, variable: str) -> None:
    reader = open_reader(store)
    found, direct = reader.read(slab, variable), reader._read(slab, variable)
    assert found.flags.c_contiguous, "sums depend on strides"
    assert (found.shape, found.dtype, found.tobytes()) == (direct.shape, direct.dtype, direct.tobytes())


def test_nobody_changes_what_others_read(store: str) -> None:
    reader = open_reader(store)
    (slab, *_) = reader.iter_slabs()
    for values in (reader.read(slab, "coverage"), reader.is_ok(slab)):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0


def test_units_written_since_are_seen(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    count = len(prepared(where).plan.units)
    serially(prepared(where), range(count // 2))
    before = estimate(str(where))
    serially(prepared(where))
    after = estimate(str(where))
    assert int(before["replications"].sum()) < int(after["replications"].sum())
    assert not np.array_equal(before["value"], after["value"], equal_nan=True)


def test_a_unit_that_was_damaged_and_computed_again_is_read_again(tmp_path: Path) -> None:
    where, small = tmp_path / "toy.zarr", {"grid__n": [10], "grid__theta": [1]}
    run_serially(where, **small)
    before = estimate(str(where))
    for chunk in (where / "replications/n=10/coverage").glob("c.0.*"):
        chunk.unlink()
    replications._VARIABLES.clear()
    estimates._ESTIMATES.clear()
    damaged = estimate(str(where))
    assert int(damaged["replications"].sum()) < int(before["replications"].sum())
    run_serially(where, **small)
    assert estimate(str(where)).identical(before)


def test_a_table_in_a_process_that_lives_long(tmp_path: Path) -> None:
    """The same as of a process that begins then: after more paths, and of another store in the same place."""
    where = tmp_path / "toy.zarr"

    small = {"grid__gamma": [1.0], "grid__n": [10], "grid__theta": [1], "grid__procedure": ["exact", "wide"]}

    def tabulate() -> str:
        kept = [str(table(str(where), name)) for name in ("coverage", "width") * 2]
        replications._VARIABLES.clear()
        estimates._ESTIMATES.clear()
        assert kept[2:] == [str(table(str(where), name)) for name in ("coverage", "width")]
        return kept[2]

    found = []
    for changes in ({}, {"replications__paths": 9}, {"replications__paths": 9, "grid__theta": [1, 2.5]}):
        run_serially(where, **{**small, **changes})
        found.append(tabulate())
    rmtree(where)
    run_serially(where, **small, seed=6)
    assert len({*found, tabulate()}) == 4


def test_a_report_reads_nothing_twice(store: str, tmp_path: Path, reads: Counter[tuple[int, str]]) -> None:
    write_report(store, tmp_path / "report.html", drawn=0)
    assert {(n, name) for n in (10, 20) for name in ("status", "coverage", "width")} <= set(reads)
    assert set(reads.values()) == {1}
    assert not replications._VARIABLES._held, "a process that lives on gets its memory back"
