"""A store that is removed under a run, or replaced by another study's: the run ends, and writes nothing there."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from harness.backends.base import open_backend
from harness.core.errors import StoreReplacedError, UserError
from harness.execution import driver, lifecycle
from harness.execution.progress import SilentProgress
from harness.maintenance.verify import verify
from harness.scenario.load import check
from harness.store import receipts
from harness.store.manifest import cache_key, hash_fingerprint
from harness.store.manifest_io import load_manifest
from harness.submit import process
from harness.worker.task import run_unit
from tests.harness.commands import TOY, start
from tests.harness.poison import Study, written
from tests.harness.studies import prepared, toy, until
from tests.harness.submissions import done, handed_over


@pytest.fixture
def one(tmp_path: Path) -> Study:
    return written(tmp_path, {"all": "slow"}, replications__paths=40)


def other(one: Study) -> Study:
    """With another seed."""
    return Study(one.folder, check(toy(source={"function": "poison.py"}, seed=6), "toy.toml", one.folder))


def remove(store: Path) -> None:
    """At once: removing file by file would meet those that write."""
    away = store.with_name("away.zarr")
    store.rename(away)
    shutil.rmtree(away, ignore_errors=True)


def fingerprints(store: Path) -> set[str]:
    """Of all that is signed for."""
    there = open_backend(str(store))
    return {str(receipts.read(there, each)["fingerprint"]) for each in receipts.list_receipts(there, (10, 20)).values()}


def test_removed_under_a_submitted_driver_it_stays_away(one: Study) -> None:
    given = handed_over(one).submission
    assert given is not None
    until(lambda: done(one) >= 1)
    remove(one.store)
    until(lambda: not process.is_running(given.handle, str(one.store), given.id))
    left = {each.name for each in one.store.iterdir()} if one.store.exists() else set()
    assert left <= {"replications", "receipts"}, "a unit may have been about to be written, and nobody makes it anew"


def test_replaced_under_a_submitted_driver_it_is_the_others(one: Study) -> None:
    """Both drivers are alive at first; all that is there in the end is of the second study."""
    given = handed_over(one).submission
    assert given is not None
    until(lambda: done(one) >= 1)
    second = other(one)
    os.kill(given.handle["pid"], signal.SIGSTOP)  # its workers go on, so that they find the other study
    try:
        remove(one.store)
        second.run(workers=2)
    finally:
        os.kill(given.handle["pid"], signal.SIGCONT)
    until(lambda: not process.is_running(given.handle, str(one.store), given.id))
    assert fingerprints(one.store) == {hash_fingerprint(second.loaded.fingerprint)}
    assert verify(str(one.store))[1] == []
    assert not list(one.store.glob("submission/*.json")), "its last words aren't told there"


def test_a_run_says_that_its_store_is_gone(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY.replace("paths = 6", "paths = 20000"))
    running = start("run", "toy.toml", "--store", "one.zarr", cwd=tmp_path)
    until(lambda: any((tmp_path / "one.zarr").glob("receipts/*/*.json")))
    remove(tmp_path / "one.zarr")
    _, err = running.communicate(timeout=60)
    assert running.returncode == 2, err
    assert "the store was removed or replaced during the run: nothing more is written to it" in err
    assert "Traceback" not in err


def test_a_worker_writes_to_its_own_study_alone(tmp_path: Path) -> None:
    mine = prepared(tmp_path / "one.zarr")
    record = lifecycle.begin_run(mine)
    arguments = (mine.backend.url, cache_key(record), record.generation, False)
    first, second, *_ = mine.plan.units
    run_unit(*arguments, first)
    there = replace(prepared(tmp_path / "two.zarr", seed=6), backend=mine.backend)
    shutil.rmtree(tmp_path / "one.zarr")
    lifecycle.begin_run(there)
    with pytest.raises(StoreReplacedError, match=r"one\.zarr: the store was removed or replaced during the run"):
        run_unit(*arguments, second)
    assert not receipts.list_receipts(mine.backend, (10, 20))


def test_units_of_another_study_are_refused_and_kept(tmp_path: Path) -> None:
    """However they came there: they aren't ours to give up."""
    mine = prepared(tmp_path / "one.zarr")
    driver.run_prepared(mine, SilentProgress())
    record = load_manifest(mine.backend)
    assert record is not None
    receipt = next(iter(receipts.list_receipts(mine.backend, (10,)).values()))
    told = (mine.backend.get(receipt.key) or b"").replace(hash_fingerprint(record.fingerprint).encode(), b"f" * 16)
    mine.backend.put(receipt.key, told)
    with pytest.raises(UserError, match=r"1 of \d+ units are signed by another study .*nothing was changed"):
        verify(mine.backend.url)
    assert mine.backend.get(receipt.key) == told
