"""Damage is found, and computed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import ClusterError
from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.execution import driver
from harness.execution.progress import SilentProgress
from harness.maintenance.verify import verify
from harness.store import receipts
from tests.faults.injector import flip, truncate
from tests.harness.commands import QUICK, TOY, ckrr
from tests.harness.studies import assert_identical, prepared, run_serially


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("whole") / "toy.zarr"
    run_serially(where)
    return where


@pytest.mark.parametrize("harm", [flip, truncate, Path.unlink])
@pytest.mark.parametrize("name", ["coverage", "distance_upper", "status"])
def test_what_is_torn_is_found_and_mended(harm: Callable[[Path], None], name: str, whole: Path, tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    shutil.copytree(whole, where)
    assert verify(str(where)) == (8, [])
    chunk = sorted((where / "replications/n=20" / name).glob("c.1.0.*"))[0]
    harm(chunk)
    (chunk.parent / f"{chunk.name}.{'0' * 32}.partial").write_bytes(b"left by a killed writer")
    count, torn = verify(str(where))
    assert count == 8
    assert [one.unit for one in torn] == ["n=20/p1_d0"]
    assert name in torn[0].what
    study = prepared(where)
    assert [unit.name for unit in study.plan.units] == ["n=20/p1_d0"]
    run_serially(where)
    assert_identical(where, whole)
    assert verify(str(where)) == (8, [])


def test_what_is_no_unit_is_checked_and_written_anew(whole: Path, tmp_path: Path) -> None:
    """Labels, metadata and the cube, each harmed in its own way: no unit is computed again for them."""
    where = tmp_path / "toy.zarr"
    shutil.copytree(whole, where)
    driver.run_prepared(prepared(where), SilentProgress())
    assert verify(str(where)) == (8, [])
    for harms in (
        {"theta/c/0": flip, "replications/n=20/procedure/c/0": truncate, "coverage/c.0.0.0.0.1.0": Path.unlink},
        {"lam/c/0": Path.unlink, "width/c.0.0.0.0.0.0.0": flip, "level/c.0.0.0.0.0.0": truncate},
        {"replications/n=20/width/zarr.json": flip, "level/zarr.json": truncate, "alpha/zarr.json": Path.unlink},
    ):
        for name, harm in harms.items():
            harm(where / name)
        _, torn = verify(str(where))
        assert sorted(one.unit for one in torn) == sorted(name.partition("/c.")[0] for name in harms)
        assert all(one.outside_units for one in torn)
        assert verify(str(where))[1] == torn, "it is told until it is mended"
        assert driver.run_prepared(prepared(where), SilentProgress()).units == 0
        assert_identical(where, whole)
        assert verify(str(where)) == (8, [])


def test_verify_says_what_it_found(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY)
    assert ckrr("run", "toy.toml", *QUICK, cwd=tmp_path)[0] == 0
    code, _, err = ckrr("status", "results/toy.zarr", "--verify", cwd=tmp_path)
    assert code == 0
    assert "units read, nothing is damaged" in err
    truncate(next((tmp_path / "results/toy.zarr/replications/n=10/width").glob("c.*")))
    code, _, err = ckrr("status", "results/toy.zarr", "--verify", cwd=tmp_path)
    assert code == 1
    assert "width can't be read" in err
    assert "units are damaged: `ckrr run` computes them again" in err


def test_a_torn_receipt_is_found_and_told(whole: Path, tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    shutil.copytree(whole, where)
    truncate(next(where.glob("receipts/n=20/p1_d0.*")))
    found = receipts.list_receipts(open_backend(str(where)), (20,))["n=20/p1_d0"]
    mend = r"can't be read \(it must be JSON\): `ckrr status .* --verify`, then `ckrr run`"
    with pytest.raises(UserError, match=rf"receipts/n=20/p1_d0.* {mend}"):
        receipts.read(open_backend(str(where)), found)
    assert [(one.unit, one.what) for one in verify(str(where))[1]] == [("n=20/p1_d0", "its receipt can't be read")]
    run_serially(where)
    assert_identical(where, whole)


@pytest.mark.parametrize("what", ["receipts/n=20/p1_d0.*", "replications/n=20/width/c.1.0.*"])
def test_a_torn_unit_that_is_extended_is_computed_whole(what: str, whole: Path, tmp_path: Path) -> None:
    where, fresh = tmp_path / "toy.zarr", tmp_path / "fresh.zarr"
    shutil.copytree(whole, where)
    truncate(next(where.glob(what)))
    for each in (where, fresh):
        run_serially(each, grid__theta=[1, 2.5, "best", 7])
    assert_identical(where, fresh)


def test_a_run_that_ends_on_a_torn_chunk_says_so(whole: Path, tmp_path: Path) -> None:
    """The unit loses its receipt, and the next run computes it."""
    where = tmp_path / "toy.zarr"
    shutil.copytree(whole, where)
    flip(next(where.glob("replications/n=20/width/c.1.0.*")))
    with pytest.raises(
        ClusterError, match=r"1 of 8 units are damaged \(n=20/p1_d0: width can't be read: .*run again to resume"
    ):
        driver.run_prepared(prepared(where), SilentProgress())
    assert verify(str(where)) == (7, []), "the chunk that nobody signs for is no reason to stop"
    assert driver.run_prepared(prepared(where), SilentProgress()).units == 1
    assert_identical(where, whole)
