"""Two stores of one study become one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import zarr

import harness
from harness.core.errors import UserError
from harness.execution import lifecycle
from harness.maintenance.merge import merge_stores
from harness.maintenance.verify import verify
from harness.monitor.state import status
from tests.harness.studies import prepared, replications, run_serially


def test_two_stores_become_one(tmp_path: Path) -> None:
    """Some paths here, other n and θ there, and a part in both: the merged one is the one made at once."""
    a, b, c, fresh = (tmp_path / f"{name}.zarr" for name in "abcd")
    run_serially(a, grid__n=[10], grid__theta=[1, "best"])
    run_serially(b, grid__n=[20, 10], grid__theta=["best", 1], replications__paths=4)
    merge_stores([str(a), str(b)], str(c))
    run_serially(c, grid__n=[10, 20], grid__theta=[1, "best"])
    run_serially(fresh, grid__n=[10, 20], grid__theta=[1, "best"])
    one, other = (harness.open_cube(str(each)) for each in (c, fresh))
    for name in set(one.data_vars) - {"verdict"}:  # the merged one grew in paths, and is judged otherwise
        np.testing.assert_array_equal(one[name].to_numpy(), other[name].to_numpy(), err_msg=str(name))
    for name in ("coverage", "width", "theta_hat", "status"):
        np.testing.assert_array_equal(replications(c, 10, name), replications(fresh, 10, name), err_msg=name)


def test_a_merged_store_is_not_complete_before_all_of_it_is(tmp_path: Path) -> None:
    """Whatever the first of its parts asked for."""
    a, b, c = (str(tmp_path / f"{name}.zarr") for name in "abc")
    run_serially(Path(a), grid__n=[10])
    lifecycle.begin_run(prepared(Path(b), grid__n=[20]))
    merge_stores([a, b], c)
    facts = status(c)
    assert [one["n"] for one in facts["sizes"]] == [10, 20]
    assert not facts["complete"]


def test_cells_that_one_part_lacks_are_left_out_of_a_merger_and_counted(tmp_path: Path) -> None:
    a, b, c = (str(tmp_path / f"{name}.zarr") for name in "abc")
    run_serially(Path(a), grid__n=[10], grid__alpha=[0.1])
    run_serially(Path(b), grid__n=[20], grid__alpha=[0.1, 0.2])
    done, total = merge_stores([a, b], c)
    assert 0 < done < total


def test_merged_units_are_not_computed_again(tmp_path: Path) -> None:
    a, b, c = (tmp_path / f"{name}.zarr" for name in "abc")
    run_serially(a, grid__n=[10])
    run_serially(b, grid__n=[20])
    count = len(prepared(tmp_path / "none.zarr").plan.units)
    assert merge_stores([str(a), str(b)], str(c)) == (count, count)
    assert not prepared(c).plan.units
    assert verify(str(c))[1] == []
    with pytest.raises(UserError, match="already exists: choose another name with -o"):
        merge_stores([str(a), str(b)], str(c))


def test_stores_that_disagree_are_not_merged(tmp_path: Path) -> None:
    a, b, c, other = (tmp_path / f"{name}.zarr" for name in "abcd")
    for each in (a, b):
        run_serially(each, grid__n=[10])
    run_serially(other, grid__n=[10], seed=6)
    with pytest.raises(UserError, match="holds another study than"):
        merge_stores([str(a), str(other)], str(c))
    values = zarr.open_array(str(b), path="replications/n=10/width_mean", mode="r+")
    values[3, 1, 0, 0, 0, 0, 0] = 17.0
    with pytest.raises(
        UserError, match=r"b.zarr has different results than the stores before it: width_mean of n=10/p1_d0"
    ):
        merge_stores([str(a), str(b)], str(c))
    assert not c.exists()
