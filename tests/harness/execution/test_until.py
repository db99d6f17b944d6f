"""A study that runs until it is decided has the same words at the same paths, whatever happens to it."""

from __future__ import annotations

import random
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import harness
from harness.backends.base import open_backend
from harness.cli import main
from harness.core.errors import UserError
from harness.core.types import Unit
from harness.cube.reader import open_cube
from harness.execution import driver, prepare
from harness.execution.facts import outcome_to_dict
from harness.execution.progress import SilentProgress
from harness.maintenance.merge import merge_stores
from harness.monitor.state import status
from harness.results.validity import verdicts
from harness.scenario.dump import dump_scenario
from harness.store.manifest import cache_key
from harness.store.manifest_io import load_manifest
from harness.store.rounds import FOLDER, list_rounds
from harness.worker.task import run_unit
from tests.harness.commands import start
from tests.harness.rounds import STUDY, Driver, assert_same
from tests.harness.studies import loaded, replications, toy


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("until") / "toy.zarr"
    Driver(where).go_on().finish()
    return where


def test_it_ends_when_every_cell_is_decided(store: Path) -> None:
    found = verdicts(str(store)).squeeze()
    assert found.attrs["design"] == "anytime"
    assert set(found.verdict.sel(procedure="exact").to_numpy().ravel()) <= {"valid", "borderline"}
    assert set(found.verdict.sel(procedure="wide").to_numpy().ravel()) == {"conservative"}
    assert set(found.verdict.sel(procedure="split").to_numpy().ravel()) == {"invalid"}
    last = list_rounds(open_backend(str(store)), load_manifest(open_backend(str(store))), [10, 20])
    assert {one.wanted for one in last.values()} == {None}
    assert all(one.open == 0 and 100 < one.paths < 2000 for one in last.values()), "it took several rounds"
    for n, one in last.items():
        assert int(found.decided_at.sel(n=n).max()) <= one.paths
        assert int(open_cube(str(store)).replication_count.sel(n=n).max()) == one.paths
    facts = status(str(store))
    assert facts["complete"]
    assert [(one["n"], one["open"]) for one in facts["sizes"]] == [(10, 0), (20, 0)]


@pytest.mark.parametrize("speed", [3.5e5, 6e5, 1e13])
def test_blocks_change_nothing(speed: float, store: Path, tmp_path: Path) -> None:
    other = Driver(tmp_path / "other.zarr", speed).go_on()
    other.finish()
    sizes = {group.block[0] for group in other.manifest.groups.values()}
    assert max(sizes) <= 50
    assert_same(store, tmp_path / "other.zarr")


def test_other_blocks_were_other_blocks(tmp_path: Path) -> None:
    """Otherwise the test above would say nothing."""
    made = [prepare.prepare(loaded(**STUDY), str(tmp_path / "none"), 2, speed) for speed in (3.5e5, 6e5, 1e13)]
    assert len({each.manifest.groups[10].block for each in made}) == 3


def test_order_changes_nothing(store: Path, tmp_path: Path) -> None:
    Driver(tmp_path / "other.zarr").go_on(shuffle=random.Random(3).shuffle).finish()
    assert_same(store, tmp_path / "other.zarr")


def test_a_kill_after_any_unit_changes_nothing(store: Path, tmp_path: Path) -> None:
    where, done = tmp_path / "other.zarr", 0
    for kills in range(1000):
        one = Driver(where).go_on(most=1 + kills % 3)
        done += one.units
        if one.queue.is_empty:
            break
    assert kills > 5
    one.finish()
    assert_same(store, where)


def test_two_drivers_give_the_same_words(store: Path, tmp_path: Path) -> None:
    where = tmp_path / "other.zarr"
    both = [Driver(where), Driver(where, shared=True)]
    while not all(one.queue.is_empty for one in both):
        taken = [(one, unit) for one in both for unit in one.take(2)]  # both at once: each sees what is on disk
        for one, unit in reversed(taken):
            one.compute(unit)
    assert min(one.units for one in both) > 2, "both have worked"
    both[1].finish()
    assert_same(store, where)


def test_idle_workers_get_units_in_advance_which_do_not_count(store: Path, tmp_path: Path) -> None:
    one = Driver(tmp_path / "other.zarr", speed=1e13)
    first = one.take(room=64, running=0)
    assert {unit.paths.stop for unit in first} == {50, 100}, "the first round of both n is enough for two workers"
    assert one.take(room=64, running=2) == [], "no worker idles"
    early = one.take(room=64, running=0)
    assert len(early) == 2, "one for each worker"
    assert all(unit.paths.start >= 100 for unit in early)
    for unit in [*early, *first]:
        one.compute(unit)
    one.go_on().finish()
    for unit in [Unit(10, 30, 0, range(1500, 1550), range(1))]:  # as if a worker had been far ahead
        run_unit(one.url, cache_key(one.manifest), one.manifest.generation, False, unit)
    one.finish()
    assert not np.isnan(replications(tmp_path / "other.zarr", 10, "coverage")[1500:1550]).any()
    assert_same(store, tmp_path / "other.zarr")


def test_a_prefix_is_judged_as_it_would_be_alone(store: Path, tmp_path: Path) -> None:
    """The words after the first round are those of a study with a budget of one round."""
    short = {"until": {"verdict": 0.95}, "budget": {"paths": 100}}
    Driver(tmp_path / "short.zarr", replications=short).go_on().finish()
    long, cut = verdicts(str(store)), verdicts(str(tmp_path / "short.zarr"))
    early = (long.decided_at > 0) & (long.decided_at <= 100)
    assert 0 < int(early.sum()) < early.size
    assert (cut.decided_at.where(early) == long.decided_at.where(early)).where(early, True).all()
    same = (cut.verdict == long.verdict) | ((cut.verdict == "valid") & (long.verdict == "conservative"))
    assert same.where(early, True).all()
    assert (cut.verdict == "undecided").where(~early, True).all()


def test_a_larger_budget_goes_on_and_a_smaller_one_is_refused(store: Path, tmp_path: Path) -> None:
    where = tmp_path / "other.zarr"
    for paths in (100, 300, 2000):
        one = Driver(where, replications={"until": {"verdict": 0.95}, "budget": {"paths": paths}}).go_on()
        assert max(each.paths for each in one.queue.rounds.values()) <= paths
        if paths == 100:
            assert any(each.open for each in one.queue.rounds.values()), "the budget is spent before all is decided"
    one.finish()
    xr.testing.assert_identical(verdicts(str(store)).verdict, verdicts(str(where)).verdict)
    with pytest.raises(UserError, match=r"budget\.paths is 100, and .*other\.zarr was made for 2000: ask for at least"):
        Driver(where, replications={"until": {"verdict": 0.95}, "budget": {"paths": 100}})


def test_a_grown_grid_changes_no_old_word(store: Path, tmp_path: Path) -> None:
    where = tmp_path / "grown.zarr"
    Driver(where).go_on().finish()
    Driver(where, grid__procedure=["exact", "wide", "split", "random"], grid__lam=[0.1, 1]).go_on().finish()
    old, new = verdicts(str(store)), verdicts(str(where))
    part = new.sel(procedure=old.procedure, lam=old.lam)
    assert (part.verdict == old.verdict).all()
    assert (part.decided_at == old.decided_at).all()
    assert not part.added_later.any()
    assert new.added_later.sel(procedure="random").all()
    assert new.added_later.sel(lam=1.0).all()


def test_failed_replications_neither_stop_it_nor_disappear(tmp_path: Path) -> None:
    few = {"until": {"verdict": 0.95}, "budget": {"paths": 300}}
    one = Driver(tmp_path / "toy.zarr", source__fails_at=0.005, replications=few).go_on()
    cube = one.finish()
    assert float(cube.failed.max()) > 0
    assert one.queue.is_empty
    worse = Driver(tmp_path / "worse.zarr", source__fails_at=0.2, replications=few).go_on()
    worse.finish()
    found = verdicts(str(tmp_path / "worse.zarr")).squeeze()
    assert set(found.verdict.sel(procedure="exact", alpha=0.1).to_numpy()) == {"undecided"}, "a fifth may be misses"


def test_a_precision_is_reached(tmp_path: Path) -> None:
    target = {"until": {"se": 0.004}, "budget": {"paths": 2000}}
    cube = Driver(tmp_path / "se.zarr", replications=target).go_on().finish()
    assert 0.002 < float(cube.coverage_se.max()) <= 0.0045
    assert int(cube.replication_count.max()) < 2000
    target = {"until": {"width": 0.02}, "budget": {"paths": 2000}}
    one = Driver(tmp_path / "width.zarr", replications=target).go_on()
    assert {each.paths for each in one.queue.rounds.values()} == {100}, "the toy's widths don't vary"


def test_on_workers_with_a_kill_it_is_the_same(store: Path, tmp_path: Path) -> None:
    """The run that users start: Dask, its own cube, status from another process."""
    where = tmp_path / "toy.zarr"
    first = prepare.prepare(loaded(**STUDY), str(where), workers=2, speed=2e8)

    class Killed(SilentProgress):
        left = 5

        def advance(self, unit: Unit, failed: int, seconds: float) -> None:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        driver.run_prepared(first, Killed())
    assert not status(str(where))["complete"]
    done = driver.run_prepared(prepare.prepare(loaded(**STUDY), str(where), workers=2, speed=2e8), SilentProgress())
    assert_same(store, where)
    assert status(str(where))["complete"]
    assert [answer.n for answer in done.answers] == [10, 20]
    assert sum(count for answer in done.answers for count in answer.counts.values()) == 12
    again = driver.run_prepared(prepare.prepare(loaded(**STUDY), str(where), workers=2, speed=2e8), SilentProgress())
    assert again.units == 0
    assert again.answers == done.answers
    assert again.is_complete


TOML = """
name = "toy"
seed = 5
family = "tests.harness.toy:FAMILY"
[source]
function = "tests.harness.toy:Toy"
[grid]
gamma = 1.0
n = [10]
theta = 1
lam = 0.1
alpha = 0.25
procedure = ["wide"]
[replications]
"""


@pytest.mark.parametrize(
    ("replications", "said"),
    [
        ("", "must have paths, or until and budget in their place, got neither"),
        ("paths = 5\nuntil = { verdict = 0.95 }\nbudget = { paths = 9 }", "in their place, got both"),
        ("until = { verdict = 0.95 }", "must have budget where it has until"),
        ("paths = 5\nbudget = { paths = 9 }", "must have until where it has a budget"),
        ("until = {}\nbudget = { paths = 9 }", "must have verdict, se or width"),
        ("until = { se = 0.1, exact = true }\nbudget = { paths = 9 }", "must have verdict where it has"),
        ("until = { verdict = 2 }\nbudget = { paths = 9 }", "until.verdict"),
        ("until = { verdict = 0.9 }\nbudget = { paths = 0 }", "budget.paths"),
        ("until = { verdit = 0.9 }\nbudget = { paths = 9 }", "verdit"),
    ],
)
def test_mistakes_are_told(replications: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOML + replications)
    with pytest.raises(UserError, match=rf"replications.*{said}" if "until." not in said else said):
        harness.plan(tmp_path / "toy.toml", tmp_path / "toy.zarr", 1)


def test_the_command_line_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOML + "paths = 5")
    words = ["toy.toml", "--until", "verdict", "--budget", "400", "--workers", "1"]
    planned = CliRunner().invoke(main, ["plan", *words])
    assert planned.exit_code == 0, planned.output
    assert (
        "runs until every cell is decided (with probability 0.95 none wrongly), with at most 400 paths"
        in planned.output
    )
    assert "next round: 100 paths at n = 10: 100 replications" in planned.output
    done = CliRunner().invoke(main, ["run", *words])
    assert done.exit_code == 0, done.output
    assert "verdicts after 100 paths at n = 10: 1 conservative" in done.output
    assert "a fixed design takes" in done.output
    shown = CliRunner().invoke(main, ["status", "results/toy.zarr"])
    assert "complete" in shown.output
    assert "expected paths" in shown.output
    for wrong in (["--until", "verdikt"], ["--until", "se"], ["--until", "se=x"]):
        failed = CliRunner().invoke(main, ["plan", "toy.toml", *wrong, "--budget", "400"])
        assert failed.exit_code == 2, failed.output


def test_hours_end_a_run_and_the_next_one_goes_on(store: Path, tmp_path: Path) -> None:
    where, notes = tmp_path / "toy.zarr", list[str]()
    short = {**STUDY, "replications": {"until": {"verdict": 0.95}, "budget": {"paths": 2000, "hours": 1e-9}}}

    class Noted(SilentProgress):
        def note(self, text: str) -> None:
            notes.append(text)

    made = prepare.prepare(loaded(**short), str(where), workers=2, speed=2e8)
    done = driver.run_prepared(made, Noted())
    assert done.units == 1
    assert not outcome_to_dict(made, done)["complete"]
    assert "the budget of 1e-09 hours is spent: the same command goes on" in notes
    assert not status(str(where))["complete"]
    Driver(where).go_on().finish()
    xr.testing.assert_identical(verdicts(str(store)).verdict, verdicts(str(where)).verdict)


def test_the_store_says_what_it_was_asked(store: Path) -> None:
    told = load_manifest(open_backend(str(store))).scenario["replications"]
    assert told["until"]["verdict"] == 0.95
    assert told["paths"] is None
    assert "until" not in load_manifest(open_backend(str(store))).fingerprint
    assert toy()["replications"] == {"paths": 7, "draws": 3}, "the toy itself has paths"


def test_merged_parts_are_decided_as_the_whole_is(store: Path, tmp_path: Path) -> None:
    """One part has the first n, the other the second."""
    for n in (10, 20):
        Driver(tmp_path / f"{n}.zarr", grid__n=[n]).go_on().finish()
    merge_stores([str(tmp_path / "10.zarr"), str(tmp_path / "20.zarr")], str(tmp_path / "both.zarr"))
    assert_same(store, tmp_path / "both.zarr")


def test_two_processes_share_a_study(store: Path, tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(dump_scenario(toy(**STUDY)))
    both = [start("run", "toy.toml", "--workers", "1", cwd=tmp_path) for _ in range(2)]
    for process in both:
        _, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
    where = tmp_path / "results/toy.zarr"
    xr.testing.assert_identical(verdicts(str(store)), verdicts(str(where)))
    assert_same(store, where)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[1]", b'{"paths": -1}', b"\xff", b"[" * 100_000])
def test_a_damaged_record_is_written_again(raw: bytes, store: Path, tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    copytree(store, where)
    last = sorted((where / FOLDER / "n=10").iterdir())[-1]
    kept = last.read_bytes()
    last.write_bytes(raw)
    assert not status(str(where))["complete"]
    verdicts(str(where))
    Driver(where).go_on().finish()
    assert last.read_bytes() == kept
    assert_same(store, where)
