"""A study that takes less time than starting a cluster is computed without one: in the driver's process, if tiny."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.execution import clusters, driver, prepare
from harness.execution.progress import SilentProgress
from harness.scenario.load import check, load
from tests.harness.studies import ROOT, assert_identical, serially, toy

SETTINGS = ["replications.paths=3", "grid.n=[25,50]", "source.test_points=20"]


def make(where: Path, *more: str, speed: float = 1e12, **options: Any) -> prepare.Prepared:
    return prepare.prepare(load("quickstart", [*SETTINGS, *more]), str(where), speed=speed, **options)


def test_a_short_study_starts_no_worker_and_has_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here.zarr", tmp_path / "there.zarr"
    monkeypatch.setattr(clusters, "connect", lambda *_: pytest.fail("workers were started"))
    outcome = driver.run_prepared(make(here), SilentProgress())
    assert outcome.units > 0
    assert outcome.failed == 0
    serially(make(there, workers=2))
    assert_identical(here, there)
    assert not make(here).runs_here, "nothing is left to do"


def test_what_runs_on_workers(tmp_path: Path) -> None:
    """Where the user says how many, what takes long, and code of the user."""
    where = tmp_path / "a.zarr"
    short = make(where)
    assert short.runs_here
    assert short.is_tiny
    longer = make(where, speed=1e8)
    assert longer.runs_here
    assert not longer.is_tiny, "whatever the number of cores"
    assert (short.machine.workers, short.plan.duration) == (1, short.plan.seconds)
    assert not make(where, workers=2).runs_here
    assert not make(where, speed=1e6).runs_here
    assert not make(where, "replications.seconds=60").runs_here
    assert not make(where, "grid.n=[5000]").runs_here
    custom = prepare.prepare(check(toy(), "toy.toml", ROOT), str(where), speed=1e12)
    assert custom.plan.seconds < 1
    assert not custom.runs_here
