"""Dask gives the cube of the serial loop, bit for bit, whatever the workers, their order and the window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

from cluster import local
from harness.backends.base import open_backend
from harness.core.errors import StoppedError
from harness.core.types import Status, Unit
from harness.execution import driver, interrupts
from harness.execution.progress import SilentProgress
from harness.store import receipts
from harness.store.manifest_io import load_manifest
from tests.harness.studies import assert_identical, contents, loaded, prepared, replications, run, run_serially, until


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("serial") / "toy.zarr"
    run_serially(where)
    return where


@contextmanager
def workers(count: int) -> Iterator[Any]:
    with local(count, 4e9) as client:
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with workers(2) as connected:
        yield connected


def test_dask_gives_the_serial_cube(serial: Path, tmp_path: Path) -> None:
    with workers(4) as client:
        outcome = run(tmp_path / "toy.zarr", client)
    assert outcome.units > 4
    assert outcome.failed == 0
    assert_identical(tmp_path / "toy.zarr", serial)


@pytest.mark.parametrize("window", [1, 3, None])
def test_the_window_does_not_matter(serial: Path, client: Any, window: int | None, tmp_path: Path) -> None:
    run(tmp_path / "toy.zarr", client, window)
    assert_identical(tmp_path / "toy.zarr", serial)


def test_the_order_of_units_does_not_matter(serial: Path, tmp_path: Path) -> None:
    units = len(prepared(tmp_path / "none.zarr").plan.units)
    run_serially(tmp_path / "toy.zarr", order=np.random.default_rng(1).permutation(units).tolist())
    assert_identical(tmp_path / "toy.zarr", serial)


def test_other_blocks_give_the_same_numbers(serial: Path, tmp_path: Path, client: Any) -> None:
    """How a study is cut into units changes no replication."""
    from harness.execution import driver, prepare
    from harness.execution.progress import SilentProgress

    slow = prepare.prepare(loaded(), str(tmp_path / "toy.zarr"), workers=1, speed=6e7)
    assert slow.plan.sizes[0].block != prepared(tmp_path / "none.zarr").plan.sizes[0].block
    driver.run_prepared(slow, SilentProgress(), client)
    assert_identical(tmp_path / "toy.zarr", serial)


def test_on_workers_of_its_own(serial: Path, tmp_path: Path) -> None:
    run(tmp_path / "toy.zarr")
    assert_identical(tmp_path / "toy.zarr", serial)


def test_a_client_of_threads_that_is_not_the_default(serial: Path, tmp_path: Path) -> None:
    """As in somebody's notebook."""
    options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=1, threads_per_worker=3, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        run(tmp_path / "toy.zarr", client)
    assert_identical(tmp_path / "toy.zarr", serial)


def test_the_same_command_goes_on(serial: Path, tmp_path: Path, client: Any) -> None:
    """Units with a receipt aren't computed again; the others are."""
    where = tmp_path / "toy.zarr"
    total = len(prepared(where).plan.units)
    run_serially(where, order=range(3))
    assert len(prepared(where).plan.units) == total - 3
    outcome = run(where, client)
    assert outcome.units == total - 3
    assert_identical(where, serial)
    assert run(where, client).units == 0
    assert_identical(where, serial)


def test_an_interrupt_that_got_lost_is_heeded(tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C was heard where Python can't raise: the run looks whether it was pressed."""
    monkeypatch.setattr(interrupts, "_pressed", True)
    with pytest.raises(StoppedError, match="what is done is kept"):
        run(tmp_path / "toy.zarr", client)
    monkeypatch.setattr(interrupts, "_pressed", False)
    assert run(tmp_path / "toy.zarr", client).failed == 0


def test_a_run_that_is_stopped_leaves_no_task_behind(tmp_path: Path, client: Any) -> None:
    """Its client may live on, as a worker's does on which a driver was: what nobody waits for isn't computed."""

    def ours() -> list[str]:
        return client.run_on_scheduler(lambda dask_scheduler: [key for key in dask_scheduler.tasks if "ckrr-" in key])

    class Impatient(SilentProgress):
        def advance(self, unit: Unit, failed: int, seconds: float) -> None:
            raise StoppedError

    study = prepared(tmp_path / "toy.zarr", replications__paths=40)
    assert len(study.plan.units) > 20
    with pytest.raises(StoppedError):
        driver.run_prepared(study, Impatient(), client)
    until(lambda: not ours())
    assert len(receipts.list_receipts(study.backend, (10, 20))) < len(study.plan.units)


def test_a_run_leaves_its_history(tmp_path: Path, client: Any) -> None:
    run(tmp_path / "toy.zarr", client)
    record = load_manifest(open_backend(str(tmp_path / "toy.zarr")))
    assert record is not None
    (entry,) = record.history
    assert entry["start"] <= entry["end"]
    assert {"host", "command", "python", "versions"} <= entry.keys()


def test_receipts_say_where_the_time_went(serial: Path) -> None:
    there = open_backend(str(serial))
    found = receipts.list_receipts(there, (10, 20))
    assert {one.failed for one in found.values()} == {0}
    content = receipts.read(there, next(iter(found.values())))
    assert {"data", "factor", "search", "score", "measure", "compute"} <= content["seconds"].keys()
    assert content["blas"]
    assert content["versions"]["numpy"] == np.__version__


def test_failures_are_data(tmp_path: Path, client: Any) -> None:
    """A failed replication has a status and a message, and its neighbours have their results."""
    where = tmp_path / "toy.zarr"
    outcome = run(where, client, source__fails_at=0.2, grid__theta=[1, 13, 666])
    status = replications(where, 10, "status")
    lost = (status == Status.ERROR).all(axis=(2, 3, 4, 5))
    assert 0 < lost.sum() < lost.size
    assert (status[~lost][:, :, :, 1] == Status.SINGULAR).all()
    assert (status[~lost][:, :, :, 2] == Status.NOT_A_NUMBER).all()
    assert (status[~lost][:, :, :, 0] == Status.OK).all()
    coverage = replications(where, 10, "coverage")
    assert np.isfinite(coverage[~lost][:, :, :, 0]).all()
    assert np.isnan(coverage[lost]).all()
    assert np.isnan(coverage[~lost][:, :, :, 1]).all()
    cube = contents(where)
    assert cube["failed"][0, 0, 1, 0, 0, 0] == 1.0
    assert cube["failed"][0, 0, 0, 0, 0, 0] == pytest.approx(lost.mean())
    assert cube["replication_count"][0, 0, 0, 0, 0, 0] == (~lost).sum()
    there = open_backend(str(where))
    found = receipts.list_receipts(there, (10, 20))
    assert sum(one.failed for one in found.values()) == outcome.failed
    messages = {f["message"] for one in found.values() for f in receipts.read(there, one)["failures"]}
    assert messages == {
        "RuntimeError: the toy broke",
        "LinAlgError: thirteen is singular",
        "NaN from exact, wide, random, split",
    }


def test_rules_leave_cells_out(serial: Path, tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    rules = [{"n": 20, "theta": "best"}, {"procedure": ["wide"], "lam": 1, "gamma": 0.25}]
    run_serially(where, exclude=rules)
    status, coverage = replications(where, 20, "status"), replications(where, 20, "coverage")
    assert (status[:, :, :, :, 2] == Status.EXCLUDED).all()
    assert (status[:, :, 1, 1, :, 1] == Status.EXCLUDED).all()
    assert (np.isnan(coverage).any(axis=6) == (status == Status.EXCLUDED)).all()
    assert (replications(where, 10, "status")[:, :, :, :, 2, 0] == Status.OK).all()
    kept = status == Status.OK
    np.testing.assert_array_equal(coverage[kept], replications(serial, 20, "coverage")[kept])


def test_the_harness_measures_right(tmp_path: Path, client: Any) -> None:
    """A family of known coverage: what the cube says is the truth, within its own errors."""
    where = tmp_path / "toy.zarr"
    small = {"grid__gamma": [1.0], "grid__theta": [1], "grid__lam": [1], "grid__n": [10]}
    run(where, client, replications__paths=150, replications__draws=4, source__test_points=50, **small)
    cube = contents(where)
    for k, alpha in enumerate(cube["alpha"].tolist()):
        for p, expected in ((0, 1 - alpha), (1, known_coverage(2.0, alpha)), (3, 1 - alpha - known_middle(alpha))):
            at = (p, 0, 0, 0, 0, k)
            assert abs(cube["coverage"][at] - expected) < 4 * cube["coverage_se"][at] + 1e-12
            assert cube["coverage_se"][at] < 0.01
        at = (0, 0, 0, 0, 0, k)
        naive = np.sqrt(alpha * (1 - alpha) / (150 * 4 * 50))
        assert cube["coverage_se"][at] == pytest.approx(naive, rel=0.25)
    assert (cube["disconnected"][3] == 1).all()
    assert (cube["coverage_f"][0] == 1).all()


def known_coverage(factor: float, alpha: float) -> float:
    from scipy.stats import norm

    return float(1 - 2 * norm.sf(factor * norm.isf(alpha / 2)))


def known_middle(alpha: float) -> float:
    return known_coverage(0.5, alpha)


def test_errors_know_that_draws_share_a_path(tmp_path: Path) -> None:
    """Where paths differ, more draws of each don't make the error smaller."""
    small = {"grid__n": [10], "grid__theta": [1], "grid__lam": [1], "grid__gamma": [1], "grid__procedure": ["exact"]}
    run_serially(tmp_path / "a.zarr", replications__paths=60, replications__draws=2, source__spread=1.0, **small)
    run_serially(tmp_path / "b.zarr", replications__paths=60, replications__draws=10, source__spread=1.0, **small)
    a, b = (contents(tmp_path / name)["coverage_se"][0, 0, 0, 0, 0, 1] for name in ("a.zarr", "b.zarr"))
    assert b > 0.6 * a
    run_serially(tmp_path / "c.zarr", replications__paths=1, replications__draws=20, **small)
    assert np.isnan(contents(tmp_path / "c.zarr")["coverage_se"]).all(), "one path has no error between paths"


def test_pointwise_results_are_kept(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    run_serially(where, keep=["pointwise"])
    hit, width = replications(where, 10, "hit"), replications(where, 10, "point_width")
    np.testing.assert_allclose(hit.mean(axis=-1), replications(where, 10, "coverage"))
    np.testing.assert_allclose(width.mean(axis=-1), replications(where, 10, "width_mean"), rtol=1e-6)
