"""A study that runs until it is decided, and is then asked for something else: nothing is lost, nothing is made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from harness.backends.base import open_backend
from harness.core.types import Status
from harness.cube.reader import open_cube
from harness.cube.rounds import iter_rounds
from harness.execution import driver, lifecycle, prepare
from harness.execution.progress import SilentProgress
from harness.figures import draw
from harness.maintenance.merge import merge_stores
from harness.monitor.state import status
from harness.parsing.toml import parse_toml
from harness.results.estimates import difference
from harness.results.replications import open_reader
from harness.results.validity import verdicts
from harness.scenario.dump import dump_scenario
from harness.scenario.load import load
from harness.store.manifest import cache_key
from harness.store.manifest_io import load_manifest
from harness.store.receipts import list_receipts
from harness.store.requests import get_full_scenario
from harness.store.rounds import Round, list_rounds
from harness.worker.task import run_unit
from tests.harness.figures.reading import texts
from tests.harness.rounds import STUDY, Driver
from tests.harness.studies import loaded, run_serially


def ask(paths: int = 2000, **until: Any) -> dict[str, Any]:
    return {"until": until or {"verdict": 0.95}, "budget": {"paths": paths}}


def count_paths(where: Path) -> list[int]:
    """Paths that the cube has at each n."""
    cube = open_cube(str(where)).replication_count
    return [int(cube.sel(n=n).max()) for n in (10, 20)]


def test_an_easier_aim_is_reached_and_takes_no_result_away(tmp_path: Path) -> None:
    """Records of the harder aim have more paths, and must not hide those of the easier one."""
    Driver(tmp_path / "toy.zarr", replications=ask(se=0.003)).go_on().finish()
    many = count_paths(tmp_path / "toy.zarr")
    again = Driver(tmp_path / "toy.zarr", replications=ask(se=0.01)).go_on()
    again.finish()
    assert again.units == 0
    assert status(str(tmp_path / "toy.zarr"))["complete"]
    assert max(one.paths for one in again.queue.rounds.values()) < min(many)
    assert count_paths(tmp_path / "toy.zarr") == many


def test_a_larger_budget_that_is_killed_at_once_takes_no_result_away(tmp_path: Path) -> None:
    Driver(tmp_path / "toy.zarr", replications=ask(300)).go_on().finish()
    killed = Driver(tmp_path / "toy.zarr", replications=ask(2000))
    killed.finish()
    assert count_paths(tmp_path / "toy.zarr") == [300, 300]
    backend = open_backend(killed.url)
    assert list_rounds(backend, load_manifest(backend), [10, 20]) == killed.queue.rounds
    assert not status(killed.url)["complete"]


def test_a_grown_grid_is_not_complete_by_the_rounds_of_the_old_one(tmp_path: Path) -> None:
    """The old records say that nothing is open: of other cells."""
    old = ["wide", "split"]
    where = tmp_path / "toy.zarr"
    first = Driver(where, grid__n=[10], grid__procedure=old).go_on()
    first.finish()
    before, ended = verdicts(str(where)), max(one.paths for one in first.queue.rounds.values())
    killed = Driver(where, grid__n=[10], grid__procedure=[*old, "exact"])
    while max((one.paths for one in killed.queue.rounds.values()), default=0) < 200:
        killed.compute(killed.take()[0])
    assert ended > 200
    facts = status(str(where))
    assert not facts["complete"]
    assert all(one["paths"] < ended and one["open"] for one in facts["sizes"])
    after = verdicts(str(where)).sel(procedure=old)
    assert (after.verdict == before.verdict).all(), "old words stay, while the new cells are computed"


def test_cells_that_are_no_longer_asked_for_keep_nothing_open(tmp_path: Path) -> None:
    """A procedure that was added, computed in part and given up would otherwise be waited for until the budget ends."""
    old = ["wide", "split"]
    for until in ({"verdict": 0.95}, {"se": 0.005}, {"width": 0.02}):
        where = tmp_path / f"{next(iter(until))}.zarr"
        done = Driver(where, grid__procedure=old, replications=ask(**until)).go_on().queue.rounds
        Driver(where, grid__procedure=[*old, "exact"], replications=ask(**until)).go_on(most=1)
        again = Driver(where, grid__procedure=old, replications=ask(**until)).go_on()
        assert again.units == 0
        assert {n: (one.paths, one.open) for n, one in again.queue.rounds.items()} == {
            n: (one.paths, 0) for n, one in done.items()
        }


def test_an_n_that_is_not_asked_for_keeps_its_paths(tmp_path: Path) -> None:
    run_serially(tmp_path / "toy.zarr", **{**STUDY, "replications": {"paths": 300}})
    Driver(tmp_path / "toy.zarr", grid__n=[10], replications=ask(400)).go_on().finish()
    assert count_paths(tmp_path / "toy.zarr") == [400, 300]
    Driver(tmp_path / "toy.zarr", grid__n=[20], replications=ask(500)).go_on().finish()
    assert count_paths(tmp_path / "toy.zarr") == [400, 500]


def test_cells_without_any_result_do_not_keep_widths_open(tmp_path: Path) -> None:
    one = Driver(tmp_path / "toy.zarr", grid__theta=[1, 13], replications=ask(400, width=0.02)).go_on()
    assert {each.paths for each in one.queue.rounds.values()} == {100}


@pytest.mark.parametrize("until", [{"verdict": 0.95}, {"se": 0.005}, {"width": 0.02}])
def test_a_round_does_not_depend_on_later_paths(until: dict[str, Any], tmp_path: Path) -> None:
    """Not even if a cell has its first result in them."""
    made = Driver(tmp_path / "toy.zarr", replications=ask(**until)).manifest
    rng = np.random.default_rng(2)
    shape = (500, 1, 3, 1, 1, 1, 2)
    status = np.zeros(shape[:-1], dtype=np.uint8)
    status[:120, :, 0] = Status.ERROR
    known = {"status": status, "coverage": rng.binomial(20, 0.88, shape) / 20, "width": rng.random((*shape, 3))}

    def look(prefix: int) -> list[Round]:
        return list(iter_rounds(made, 10, lambda name, where: known[name][where], prefix))

    whole = look(500)
    for prefix in (100, 150, 250):
        part = look(prefix)
        assert part
        assert part == whole[: len(part)]


def test_a_merge_keeps_how_a_study_grew(tmp_path: Path) -> None:
    """Otherwise cells that were added later would share the error of the first ones, and their words could change."""
    one, other, both = (str(tmp_path / f"{name}.zarr") for name in ("one", "other", "both"))
    Driver(Path(one), grid__n=[10]).go_on()
    Driver(Path(one), grid__n=[10], grid__procedure=["exact", "wide", "split", "random"]).go_on().finish()
    Driver(Path(other), grid__n=[20]).go_on().finish()
    merge_stores([one], both)
    xr.testing.assert_identical(verdicts(both), verdicts(one))
    assert verdicts(both).added_later.any()
    merge_stores([other, one], str(tmp_path / "all.zarr"))
    found = verdicts(str(tmp_path / "all.zarr"))
    assert found.added_later.sel(procedure="random").all()
    assert not found.added_later.sel(procedure=["exact", "wide", "split"]).any()


def test_a_merge_does_not_hide_that_paths_were_added(tmp_path: Path) -> None:
    for paths in (60, 120):
        run_serially(tmp_path / "one.zarr", **{**STUDY, "replications": {"paths": paths}})
    merge_stores([str(tmp_path / "one.zarr")], str(tmp_path / "both.zarr"))
    assert verdicts(str(tmp_path / "both.zarr")).attrs["design"] == "anytime"


def test_figures_tell_the_paths_that_were_computed_not_the_budget(tmp_path: Path) -> None:
    one = Driver(tmp_path / "toy.zarr").go_on()
    one.finish()
    counts = sorted(each.paths for each in one.queue.rounds.values())
    chosen = open_reader(one.url)
    assert chosen.get_path_range() == (counts[0], counts[-1])
    assert counts[-1] < chosen.manifest.extent.paths
    for name in ("coverage", "paths"):
        assert f"{counts[-1]} paths" in texts(draw(one.url, name))


def test_a_study_that_was_looked_at_stays_so(tmp_path: Path) -> None:
    """Asked for a number of paths that it has already, it isn't judged as if nobody had looked."""
    Driver(tmp_path / "toy.zarr", replications=ask(100)).go_on().finish()
    run_serially(tmp_path / "toy.zarr", **{**STUDY, "replications": {"paths": 100}})
    assert verdicts(str(tmp_path / "toy.zarr")).attrs["design"] == "anytime"
    run_serially(tmp_path / "fixed.zarr", **{**STUDY, "replications": {"paths": 100}})
    assert verdicts(str(tmp_path / "fixed.zarr")).attrs["design"] == "fixed"


def test_the_cube_follows_a_number_of_paths_that_is_there_already(tmp_path: Path) -> None:
    """Units of later paths were computed in advance: asked for, they count, though nothing is left to compute."""
    wide = {"grid__procedure": ["wide"], "grid__alpha": [0.25]}
    one = Driver(tmp_path / "toy.zarr", speed=1e13, replications=ask(150), **wide).go_on()
    for unit in [unit for some in one.queue._left.values() for unit in some.values()]:
        run_unit(one.url, cache_key(one.manifest), one.manifest.generation, False, unit)
    one.finish()
    lifecycle.mark_ended(open_backend(one.url), one.manifest.history[-1], 0.0)  # else every cube is taken for stale
    assert count_paths(tmp_path / "toy.zarr") == [100, 100]
    fixed = loaded(**{**STUDY, **wide, "replications": {"paths": 150}})
    done = driver.run_prepared(prepare.prepare(fixed, one.url, workers=2, speed=1e13), SilentProgress())
    assert done.units == 0
    assert count_paths(tmp_path / "toy.zarr") == [150, 150]
    assert status(one.url)["share_of_everything"] == 1.0


def test_the_scenario_in_a_report_can_be_run_again(tmp_path: Path) -> None:
    told = loaded(**STUDY).scenario.model_dump(mode="json")
    assert parse_toml(dump_scenario(told))["replications"]["until"]["verdict"] == 0.95
    (tmp_path / "toy.toml").write_text(dump_scenario(told))
    assert load(str(tmp_path / "toy.toml")).extent == loaded(**STUDY).extent


def test_a_difference_of_probabilities_is_no_share(tmp_path: Path) -> None:
    """Of a procedure from itself it is 0, without any error."""
    run_serially(
        tmp_path / "toy.zarr", source__function="tests.harness.toy:KnownToy", grid__procedure=["exact", "random"]
    )
    found = difference(str(tmp_path / "toy.zarr"), "exact", "coverage_expected").sel(procedure="exact")
    for part in ("value", "low", "high"):
        assert (found[part] == 0).all()


def test_failures_in_advance_do_not_count(tmp_path: Path) -> None:
    """Otherwise the exit code would depend on how far ahead workers were."""
    wide = {"grid__procedure": ["wide"], "grid__alpha": [0.25], "source__fails_at": 0.05}
    one = Driver(tmp_path / "toy.zarr", speed=1e13, replications=ask(400, se=0.05), **wide).go_on()
    counted = one.queue.count_failed()
    for unit in [unit for some in one.queue._left.values() for unit in some.values()]:
        run_unit(one.url, cache_key(one.manifest), one.manifest.generation, False, unit)
    assert 0 < counted == one.queue.count_failed()
    assert sum(each.failed for each in list_receipts(open_backend(one.url), (10, 20)).values()) > counted


def test_a_number_of_paths_is_what_results_are_made_from(tmp_path: Path) -> None:
    """After rounds with a budget: neither the budget counts, nor what workers computed in advance."""
    where = tmp_path / "toy.zarr"
    one = Driver(where, speed=1e13, replications=ask(2000), grid__procedure=["wide"], grid__alpha=[0.25]).go_on()
    assert {each.paths for each in one.queue.rounds.values()} == {100}
    wide = {**STUDY, "grid__procedure": ["wide"], "grid__alpha": [0.25]}
    run_serially(where, **{**wide, "replications": {"paths": 130}})
    assert count_paths(where) == [130, 130]
    assert open_reader(str(where)).get_path_range() == (130, 130)
    manifest = load_manifest(open_backend(str(where)))
    assert get_full_scenario(manifest)["replications"]["paths"] == 130
    assert status(str(where))["complete"]
    Driver(where, speed=1e13, replications=ask(2000), grid__procedure=["wide"], grid__alpha=[0.25]).go_on().finish()
    assert count_paths(where) == [130, 130], "nothing is taken away"
