"""What a plan says is new and computed again is what the run then does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.types import Block, Bools, Extent, Status, Unit
from harness.execution import lifecycle, prepare
from harness.execution.facts import plan_to_dict
from harness.planning.diff import diff
from harness.planning.machine import Machine
from harness.planning.plan import Plan, make_plan
from harness.planning.plan_text import format_plan
from harness.scenario.load import check
from harness.store.manifest import cache_key
from harness.store.receipts import Receipt
from harness.worker import task
from harness.worker.task import run_unit
from tests.harness.plans import FAMILIES, GRID, SHAPE, planned
from tests.harness.studies import ROOT, contents, prepared, replications, run_serially

NOTHING = {"units": 0, "replications": 0}
ALL = {"units": 8, "replications": 42}
"""The toy's study."""


class Witness:
    """Sees what a run computes, and sorts it by what the store has before."""

    def __init__(self, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._where, self._counts = where, Counter[tuple[str, str]]()
        monkeypatch.setattr(task, "compute_unit", self._compute)

    def _compute(self, study: Study, unit: Unit, todo: Bools | None) -> Block:
        status = replications(self._where, unit.n, "status")[np.ix_(unit.paths, unit.draws)]
        there = (~np.isin(status, [Status.NOT_RUN, Status.EXCLUDED])).any(axis=2)
        left = np.ones_like(there) if todo is None else todo.any(axis=2)
        old = there.any(axis=(2, 3, 4))
        kinds = {
            "new": ~old & left.any(axis=(2, 3, 4)),
            "extended": old & (left & ~there).any(axis=(2, 3, 4)),
            "again": (left & there).any(axis=(2, 3, 4)),
        }
        for kind, mask in kinds.items():
            self._counts[kind, "replications"] += int(mask.sum())
            self._counts[kind, "units"] += bool(mask.any())
        return compute_unit(study, unit, todo)

    def work(self) -> dict[str, dict[str, int]]:
        return {
            kind: {what: self._counts[kind, what] for what in ("units", "replications")}
            for kind in ("new", "extended", "again")
        }


def counts(facts: dict[str, Any]) -> dict[str, dict[str, int]]:
    """A plan's work without its seconds."""
    return {kind: {key: share[key] for key in ("units", "replications")} for kind, share in facts["work"].items()}


@pytest.mark.parametrize(
    ("changes", "values", "expected"),
    [
        ({"grid__theta": [1, 2.5, "best", 7]}, {"theta": [7.0]}, {"extended": ALL}),
        ({"grid__lam": [0.1, 1, 3]}, {"lam": [3.0]}, {"extended": ALL}),
        ({"grid__gamma": [1.0, 0.25, 4.0]}, {"gamma": [4.0]}, {"extended": ALL}),
        ({"grid__alpha": [0.05, 0.1, 0.2]}, {"alpha": [0.2]}, {"again": ALL}),
        ({"grid__n": [10, 20, 30]}, {"n": [30]}, {"new": {"units": 4, "replications": 21}}),
        ({"grid__alpha": [0.3], "grid__lam": [3]}, {"alpha": [0.3], "lam": [3.0]}, {"extended": ALL, "again": ALL}),
        ({"replications__paths": 7, "grid__n": [20]}, {}, {}),
    ],
)
def test_the_plan_says_what_the_run_does(
    changes: dict[str, Any],
    values: dict[str, Any],
    expected: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where = tmp_path / "toy.zarr"
    run_serially(where)
    before = contents(where)
    facts = plan_to_dict(prepared(where, **changes))
    assert facts["new_values"] == values
    assert counts(facts) == {kind: expected.get(kind, NOTHING) for kind in ("new", "extended", "again")}
    assert all((share["seconds"] > 0) == (share["units"] > 0) for share in facts["work"].values())
    witness = Witness(where, monkeypatch)
    run_serially(where, **changes)
    assert counts(facts) == witness.work()
    assert counts(plan_to_dict(prepared(where, **changes))) == dict.fromkeys(("new", "extended", "again"), NOTHING)
    for n in (10, 20):
        old = before[f"replications/n={n}/coverage"]
        kept = replications(where, n, "coverage")[tuple(slice(length) for length in old.shape)]
        np.testing.assert_array_equal(kept, old)


@pytest.mark.parametrize(
    "changes",
    [
        {"grid__procedure": ["exact", "wide"]},
        {"replications__paths": 4},
        {"replications__draws": 2, "replications__paths": 6, "grid__lam": [1]},
        {"grid__procedure": ["wide"], "grid__theta": [1], "grid__n": [20], "replications__paths": 3},
        {"grid__alpha": [0.1], "exclude": [{"theta": "best", "n": 10}]},
    ],
)
def test_a_study_that_started_smaller(changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several axes at once, paths and draws that fill up units, cells that were left out: grown to the whole toy."""
    where = tmp_path / "toy.zarr"
    run_serially(where, **changes)
    facts = plan_to_dict(prepared(where))
    witness = Witness(where, monkeypatch)
    run_serially(where)
    assert counts(facts) == witness.work()
    assert sum(share["units"] for share in counts(facts).values()) > 0


def test_an_extension_that_was_killed_is_still_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store has grown, half of its units haven't: the value is as new to them as before."""
    where = tmp_path / "toy.zarr"
    run_serially(where)
    run_serially(where, order=range(3), grid__lam=[0.1, 1, 3])
    facts = plan_to_dict(prepared(where, grid__lam=[0.1, 1, 3]))
    assert facts["new_values"] == {"lam": [3.0]}
    assert counts(facts)["extended"]["units"] == 5
    witness = Witness(where, monkeypatch)
    run_serially(where, grid__lam=[0.1, 1, 3])
    assert counts(facts) == witness.work()


def test_units_of_an_older_extent_lack_no_paths(tmp_path: Path) -> None:
    """They were written when there were fewer, and are to be computed again for something else."""
    where = tmp_path / "toy.zarr"
    run_serially(where, replications__paths=3)
    run_serially(where)
    text = format_plan(plan_to_dict(prepared(where, replications__paths=8, grid__alpha=[0.05, 0.1, 0.2])))
    assert "new in the scenario: alpha 0.2; 1 more path\n" in text


def test_it_is_told_in_words(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    small = {"grid__procedure": ["exact", "wide", "random"], "replications__paths": 6}
    run_serially(where, **small)
    text = format_plan(plan_to_dict(prepared(where, grid__theta=["best", 1, 7], grid__alpha=[0.05, 0.1, 0.2])))
    assert "new in the scenario: procedure split; theta 7; alpha 0.2; 1 more path\n" in text
    assert "in the store, for new cells only" in text
    assert "in the store, to be recomputed (a new α or procedure needs every factor)" in text
    assert "numbers that are in the store stay bitwise identical\n" in text
    assert "not in the scenario any more: theta 2.5; their numbers stay in the store\n" in text
    text = format_plan(plan_to_dict(prepared(where, **small)))
    assert "new in" not in text
    assert "stay" not in text


def test_cells_that_rules_left_out_are_told(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    run_serially(where, exclude=[{"theta": "best", "n": 10}])
    facts = plan_to_dict(prepared(where))
    assert facts["cells_let_in"] == 4 * 2 * 2
    assert "new in the scenario: 16 cells that [[exclude]] left out\n" in format_plan(facts)


def test_what_is_there_and_not_asked_for() -> None:
    whole = Extent(GRID, 10, 4)
    part = Extent(replace(GRID, n=(20,), theta=(1.0,)), 3, 2)
    found = diff([whole], part)
    assert (found.values, found.paths, found.draws) == ({}, 0, 0)
    assert found.unasked == {"theta": ("best",), "n": (10, 40)}


MACHINE = Machine(1e8, 2, 1e12)


def extended(old: Extent, new: Extent) -> Plan:
    """The plan for a study that is complete at an extent and then asked for more."""
    record, plan = planned(old, MACHINE)
    done = {unit.name: Receipt(0, 0, 0, unit.name) for unit in plan.units}
    return make_plan(record.extend(new), new, done, SHAPE, FAMILIES, MACHINE)


def test_new_cells_cost_what_they_would_cost_alone() -> None:
    old = Extent(GRID, 30, 4)
    plan = extended(old, replace(old, grid=replace(GRID, lam=(0.1, 1.0))))
    _, alone = planned(replace(old, grid=replace(GRID, lam=(1.0,))), MACHINE)
    assert plan.seconds == pytest.approx(alone.seconds)
    assert plan.work.extended.seconds == plan.seconds
    assert sum(plan.seconds_of.values()) == pytest.approx(plan.seconds)


def test_a_new_level_costs_everything_again_and_new_cells_are_not_in_it() -> None:
    old = Extent(GRID, 30, 4)
    _, whole = planned(old, MACHINE)
    plan = extended(old, replace(old, grid=replace(GRID, alpha=(0.1, 0.2))))
    assert plan.work.again.seconds == pytest.approx(whole.seconds)
    both = replace(old, grid=replace(GRID, alpha=(0.1, 0.2), lam=(0.1, 1.0)))
    _, fresh = planned(both, MACHINE)
    plan = extended(old, both)
    assert plan.work.extended.seconds == pytest.approx(whole.seconds)
    assert plan.seconds == pytest.approx(fresh.seconds)


def test_failures_that_are_retried_cost_their_cells(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    run_serially(where, grid__theta=[1, 13])
    plan = prepared(where, grid__theta=[1, 13], retry=True).plan
    assert plan.work.again.replications == 42
    whole = prepared(tmp_path / "none.zarr", grid__theta=[1, 13]).plan
    assert plan.seconds == pytest.approx(whole.seconds / 2, rel=0.01)


def test_one_theta_more_costs_a_third_of_three(tmp_path: Path) -> None:
    """By the plan, with real fits; whether the clock agrees says `tests.benchmarks.planned_seconds`."""
    said, more = (planned_really(tmp_path / "real.zarr", theta) for theta in ([10, 100, 1000], [10, 100, 1000, 30]))
    assert 0.3 < more / said < 0.4


def planned_really(where: Path, theta: list[float]) -> float:
    """The seconds of a plan for a machine so slow that nothing but fits takes time; then it is carried out."""
    plain = {
        "name": "real",
        "seed": 1,
        "source": {"function": "heaviside", "test_points": 20},
        "grid": {"gamma": [0.1], "n": [50], "theta": theta, "lam": [0.1], "procedure": ["GPR-f", "RRCM"]},
        "replications": {"paths": 4},
    }
    study = prepare.prepare(check(plain, "real.toml", ROOT), str(where), workers=1, speed=1e4)
    record = lifecycle.begin_run(study)
    for unit in study.plan.units:
        run_unit(str(where), cache_key(record), record.generation, False, unit)
    return study.plan.seconds
