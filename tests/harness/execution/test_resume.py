"""Killed at random, a study loses nothing; what failed can be done again; any replication can be looked at again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import harness
from harness.backends.base import open_backend
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.errors import UserError
from harness.core.types import Block, Bools, Status, Unit
from harness.execution import driver, lifecycle
from harness.monitor.state import status
from harness.monitor.text import format_status_line
from harness.store.heartbeat import current_driver, start_time, to_bytes
from harness.store.manifest import DRIVER, cache_key
from harness.store.manifest_io import add_to_history, load_manifest
from harness.worker import task
from tests.faults import disks
from tests.harness.commands import QUICK, TOY, ckrr, start
from tests.harness.notes import Noted
from tests.harness.studies import assert_identical, contents, prepared, replications, run_serially

KILLS = 4
SLOW = ("run", "toy.toml", "--set", "replications.paths=400", "--set", "source.test_points=600")
SMALLER = QUICK[:2]
LONG = ("run", "toy.toml", "--set", "replications.paths=800", "--set", "source.test_points=1500")


@dataclass
class Toll:
    """What kills did to a study."""

    kills: int = 0
    at_work: int = 0
    """Of the kills, those after which the store had some units and not all."""
    torn: int = 0
    """Units that a kill left with chunks and without a receipt: they were computed again."""


def kill_at_random(folder: Path, command: tuple[str, ...], rng: np.random.Generator, kills: int) -> Toll:
    """Starts the study and kills its whole process group, again and again; then lets it end.

    Every other kill comes while it starts, the others once it has written something. Half-way the store has to grow, by
    an n. A unit that has its receipt is never computed again.
    """
    toll, store, signed = Toll(), folder / "results/toy.zarr", dict[str, int]()
    for turn in range(kills):
        process = start(*command, *(SMALLER if turn < kills // 2 else ()), cwd=folder)
        if turn % 2:
            wait_for_work(process, store)
            sleep(float(rng.uniform(0, 1.0)))
        else:
            sleep(float(rng.uniform(0.3, 3.5)))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            toll.kills += 1
        process.communicate(timeout=60)
        before, signed = signed, signatures(store)
        assert before.items() <= signed.items(), "signed once, for ever"
        torn = begun(store) - {name.partition(".")[0] for name in signed}
        toll.torn += len(torn)
        toll.at_work += process.returncode != 0 and (before != signed or bool(torn))
    code, _, err = ckrr(*command, cwd=folder)
    assert code == 0, err
    assert signed.items() <= signatures(store).items()
    return toll


def wait_for_work(process: subprocess.Popen[str], store: Path) -> None:
    """Until the study has written something more, or has ended."""
    before = begun(store)
    while process.poll() is None and begun(store) == before:
        sleep(0.02)


def signatures(store: Path) -> dict[str, int]:
    """The receipts of a store, by n, unit and so on, with the time of their writing."""
    return {f"{each.parent.name}/{each.name}": each.stat().st_mtime_ns for each in store.glob("receipts/*/*.json")}


def begun(store: Path) -> set[str]:
    """The units of which anything was written, by n and block."""
    chunks = (each for each in store.glob("replications/n=*/*/c.*") if not each.name.endswith(".partial"))
    return {"{}/p{}_d{}".format(each.parent.parent.name, *each.name.split(".")[1:3]) for each in chunks}


def check_kills(tmp_path: Path, command: tuple[str, ...], whole: Path, seed: int, kills: int) -> Toll:
    (tmp_path / "toy.toml").write_text(TOY)
    toll = kill_at_random(tmp_path, command, np.random.default_rng(seed), kills)
    assert toll.kills >= kills - 2, "the study may be done before"
    assert toll.at_work >= kills // 4, "kills that come before the first unit show little"
    assert_identical(tmp_path / "results/toy.zarr", whole)
    _, out, _ = ckrr("status", "results/toy.zarr", "--json", cwd=tmp_path)
    assert json.loads(out)["complete"]
    return toll


def left_alone(folder: Path, command: tuple[str, ...]) -> Path:
    """The store of a study that nobody kills."""
    (folder / "toy.toml").write_text(TOY)
    assert ckrr(*command, cwd=folder)[0] == 0
    return folder / "results/toy.zarr"


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return left_alone(tmp_path_factory.mktemp("slow"), SLOW)


@pytest.mark.soak  # tests/faults has a kill of each kind in the default tier
def test_killed_at_random_it_loses_nothing(slow: Path, tmp_path: Path) -> None:
    check_kills(tmp_path, SLOW, slow, seed=0, kills=KILLS)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return left_alone(tmp_path_factory.mktemp("long"), LONG)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 11))
def test_killed_at_random_many_times_it_loses_nothing(long: Path, tmp_path: Path, seed: int) -> None:
    print(check_kills(tmp_path, LONG, long, seed, kills=20))  # to be written down: pytest -m soak -s


BROKEN = """
import numpy as np
from scenarios import Synthetic

def source(test_points: int = 21) -> Synthetic:
    def f(X):
        if BUG and X[0, 0] < 0.3:
            raise ArithmeticError("unlucky")
        return np.zeros(len(X))
    return Synthetic(f, test_points=test_points)

BUG = True
"""


def test_what_failed_is_done_again_when_asked(tmp_path: Path) -> None:
    """The user mends the source; what failed is computed, what didn't keeps its numbers and isn't computed again."""
    (tmp_path / "mine.py").write_text(BROKEN)
    text = TOY.replace("tests.harness.toy:Toy", "mine.py").replace("fails_at = 0.0\n", "")
    (tmp_path / "toy.toml").write_text(text)
    where = tmp_path / "results/toy.zarr"
    code, out, _ = ckrr("run", "toy.toml", *QUICK, cwd=tmp_path)
    assert code == 1
    assert "ckrr errors results/toy.zarr says why" in out
    before, status = replications(where, 10, "coverage"), replications(where, 10, "status")
    failed = status == Status.ERROR
    assert 0 < failed.sum() < failed.size

    code, out, _ = ckrr("errors", "results/toy.zarr", cwd=tmp_path)
    assert code == 0
    assert "× error: ArithmeticError: unlucky" in out
    command = out.splitlines()[1].split()
    assert command[:3] == ["ckrr", "replay", "results/toy.zarr"]
    code, out, _ = ckrr(*command[1:], "--trust", cwd=tmp_path)
    assert code == 0, "the failure is the same one"
    assert "failed here: error: ArithmeticError: unlucky" in out

    code, out, _ = ckrr("run", "toy.toml", *QUICK, cwd=tmp_path)
    assert code == 1, "it isn't silently drawn again"
    assert "complete, nothing to do" in out

    (tmp_path / "mine.py").write_text(BROKEN.replace("BUG = True", "BUG = False"))
    code, _, err = ckrr("run", "toy.toml", *QUICK, cwd=tmp_path)
    assert code == 2
    assert "--accept-changed-source" in err
    code, out, err = ckrr("run", "toy.toml", *SMALLER, "--retry-failed", "--accept-changed-source", cwd=tmp_path)
    assert code == 0, err
    after = replications(where, 10, "coverage")
    assert not np.isnan(after).any()
    np.testing.assert_array_equal(after[~failed], before[~failed])
    code, out, _ = ckrr("errors", "results/toy.zarr", cwd=tmp_path)
    assert out == "nothing failed\n"


@pytest.mark.parametrize(
    ("changes", "computed"),
    [
        ({"grid__theta": [1, 2.5, "best", 7]}, 2 * 2),
        ({"grid__gamma": [1.0, 0.25, 4.0]}, 3 * 2),
        ({"grid__alpha": [0.05, 0.1, 0.2]}, 2 * 3 * 2),
    ],
)
def test_an_extension_computes_what_is_new(
    changes: dict[str, Any], computed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in cells of γ, θ and λ for each replication."""
    where = tmp_path / "toy.zarr"
    run_serially(where)
    asked: list[int] = []

    def counted(study: Study, unit: Unit, todo: Bools | None) -> Block:
        assert todo is not None
        asked.append(int(todo.any(axis=2).sum()))
        return compute_unit(study, unit, todo)

    monkeypatch.setattr(task, "compute_unit", counted)
    run_serially(where, **changes)
    assert sum(asked) == computed * 2 * 7 * 3


def test_extended_twice_and_along_several_axes(tmp_path: Path) -> None:
    where, fresh = tmp_path / "grown.zarr", tmp_path / "fresh.zarr"
    first = {"grid__gamma": [1], "grid__lam": [1], "grid__n": [10], "grid__theta": [1], "grid__procedure": ["exact"]}
    second = {**first, "grid__procedure": ["exact", "wide"], "grid__theta": [1, "best"], "replications__paths": 9}
    last = {
        **second,
        "replications__paths": 11,
        "replications__draws": 5,
        "grid__theta": [1, 2.5, "best"],
        "grid__alpha": [0.05, 0.1, 0.3],
        "grid__n": [10, 30],
        "grid__procedure": ["exact", "wide", "random"],
    }
    for changes in (first, second, last):
        run_serially(where, **changes)
    run_serially(fresh, **last)
    one, other = (harness.open_cube(str(each)) for each in (where, fresh))
    for name in set(one.data_vars) - {"verdict"}:  # a study that grew is judged otherwise
        np.testing.assert_array_equal(one[name].to_numpy(), other[name].to_numpy(), err_msg=str(name))


def test_values_taken_out_stay(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    run_serially(where)
    before = contents(where)
    run_serially(where, grid__theta=[1], replications__paths=2, grid__n=[20])
    for name, values in contents(where).items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)


@pytest.mark.soak  # likewise
def test_two_runs_at_once_end_in_the_same_cube(slow: Path, tmp_path: Path) -> None:
    """Started together they make one store; neither harms the other."""
    (tmp_path / "toy.toml").write_text(TOY)
    both = [start(*SLOW, cwd=tmp_path) for _ in range(2)]
    for process in both:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert_identical(tmp_path / "results/toy.zarr", slow)
    left = {each.name for each in (tmp_path / "results/toy.zarr").iterdir() if each.suffix == ".json"}
    assert left == {"zarr.json"}, "no claim and no driver is left"


def test_a_store_does_not_grow_under_another_driver(tmp_path: Path) -> None:
    """A second run on the same store goes on beside the first; growth has to wait."""
    where = tmp_path / "toy.zarr"
    run_serially(where)
    there = open_backend(str(where))
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        there.put(DRIVER, to_bytes(replace(current_driver(), pid=sleeper.pid, born=start_time(sleeper.pid))))
        notes: list[str] = []
        progress = Noted(notes)
        assert driver.run_prepared(prepared(where), progress).units == 0
        assert notes == [
            f"process {sleeper.pid} on {current_driver().host} is running on this store, too: "
            "this run starts from the other end of "
            "the remaining units"
        ]
        there.put(DRIVER, to_bytes(replace(current_driver(), pid=sleeper.pid, born=start_time(sleeper.pid))))
        with pytest.raises(
            UserError,
            match=rf"can't grow or take an edited source while process {sleeper.pid} on .* is running on it: wait",
        ):
            driver.run_prepared(prepared(where, replications__paths=20), progress)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert driver.run_prepared(prepared(where, replications__paths=8, grid__n=[10]), progress).units > 0, (
        "the dead don't count"
    )


def test_what_another_driver_has_done_is_not_computed_again(tmp_path: Path) -> None:
    """Planned by both, done by one; what failed there is computed again, which does no harm."""
    where = tmp_path / "toy.zarr"
    planned = prepared(where)  # before the other has done anything
    run_serially(where)
    written = {each: each.stat().st_mtime_ns for each in where.glob("receipts/*/*.json")}
    assert planned.plan.units
    failed = next(each for each in written if each.parent.name == "n=10")
    failed.rename(failed.with_name(failed.name.replace(".f0.", ".f2.")))  # as if it had failures
    arguments = (planned.backend.url, cache_key(planned.manifest), planned.manifest.generation, False)
    results = [task.run_unit(*arguments, unit) for unit in planned.plan.units]
    again = {str(result["unit"].name) for result in results if result["compute"] > 0}
    assert again == {f"n=10/{failed.name.partition('.')[0]}"}
    assert all(each.stat().st_mtime_ns == then for each, then in written.items() if each != failed)


def test_leftovers_of_killed_writers_are_swept(tmp_path: Path) -> None:
    here = open_backend(str(tmp_path))
    here.put("a/b", b"whole")
    old, new = (tmp_path / "a" / f"b.{digit * 32}.partial" for digit in "12")
    mine = tmp_path / "a" / "thesis.partial"  # a user's file, which only looks alike
    for each in (old, new, mine):
        each.write_bytes(b"half")
    for each in (old, mine):
        os.utime(each, (0, 0))
    here.delete_stale_drafts()
    assert sorted(each.name for each in (tmp_path / "a").iterdir()) == ["b", new.name, mine.name]


def test_what_the_latest_run_did_not_ask_for_is_not_forgotten(tmp_path: Path) -> None:
    """Its failures count, and tables that show it say that it isn't complete."""
    where = tmp_path / "one.zarr"
    source = {"function": "tests.harness.toy:Toy", "test_points": 10, "fails_at": 0.3}
    run_serially(where, grid__n=[10], source=source)
    failed = status(str(where))["failed"]
    lifecycle.begin_run(prepared(where, grid__n=[20], source=source, replications={"paths": 60, "draws": 2}))
    run_serially(where, grid__n=[10], source=source)
    facts = status(str(where))
    assert failed > 0
    assert (facts["complete"], facts["failed"], [one["n"] for one in facts["sizes"]]) == (True, failed, [10])
    assert 0 < facts["share_of_everything"] < 1
    assert re.search(
        r": complete as last requested; of everything ever requested, \d+% is done$", format_status_line(facts)
    )
    assert "isn't complete" in harness.table(str(where)).notes[0]


def test_the_end_of_a_run_is_told_in_its_own_entry(tmp_path: Path) -> None:
    """Another one may have begun since, and ended."""
    where = tmp_path / "one.zarr"
    first = lifecycle.begin_run(prepared(where)).history[-1]
    second = lifecycle.begin_run(replace(prepared(where), manifest=load_manifest(open_backend(str(where))))).history[-1]
    for entry, end in ((second, "early"), (first, "late")):
        add_to_history(open_backend(str(where)), {"end": end}, entry)
    found = load_manifest(open_backend(str(where)))
    assert found is not None
    assert [one["end"] for one in found.history] == ["late", "early"]


@pytest.mark.skipif(disks.missing() is not None, reason=str(disks.missing()))
def test_a_store_that_can_t_be_written_is_told(tmp_path: Path) -> None:
    with disks.mounted(tmp_path / "disk") as here:
        run_serially(here / "toy.zarr")
        disks.remount(here, "ro")
        (tmp_path / "toy.toml").write_text(TOY)
        code, _, err = ckrr("run", "toy.toml", "--store", str(here / "new.zarr"), cwd=tmp_path)
        assert code == 2
        assert len(err.splitlines()) == 1
        assert "Read-only file system" in err
        assert ckrr("status", str(here / "toy.zarr"), cwd=tmp_path)[0] == 0
