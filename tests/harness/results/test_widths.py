"""Widths are compared where two procedures are shown valid at the same level, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.cube import aggregate
from harness.results import replications, widths
from harness.results.estimates import difference, estimate
from harness.results.validity import verdicts
from harness.results.widths import compare_widths
from harness.statistics.verdicts import CONSERVATIVE, VALID
from tests.harness.studies import run_serially


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """`random` is as wide as `exact`, `wide` twice as wide. θ and γ aren't sorted."""
    where = tmp_path_factory.mktemp("widths") / "toy.zarr"
    run_serially(
        where,
        source={"function": "tests.harness.toy:Toy", "test_points": 200},
        grid__theta=[2.5, 1, 13],
        grid__lam=[1],
        grid__n=[20, 10],
        replications={"paths": 40, "draws": 1},
    )
    return str(where)


def test_the_narrower_one_is_found(store: str) -> None:
    judged = verdicts(store)
    found = compare_widths(store, judged)
    valid = judged["verdict"].isin((VALID, CONSERVATIVE))
    assert bool(valid.sel(procedure=["exact", "wide"], theta=["1", "2.5"], gamma=0.25).all())
    assert bool((found["compared"] == (valid.sum("procedure") - 1).where(valid, 0)).all()), "all have the level 1 − α"
    assert not bool(found["narrowest"].sel(procedure=["wide", "random", "split"]).any())
    both = valid.sel(procedure="exact") & valid.sel(procedure="wide") & ~valid.sel(procedure="random")
    assert bool((found["narrowest"].sel(procedure="exact") == both).all())
    assert bool(both.any())
    assert found.attrs["pairs"] == 6 * 2 * 2 * 1 * 2 * 2, "of four procedures, without θ = 13, which fails"


@pytest.mark.parametrize(("share", "is_equal"), [(0.09, True), (-0.09, True), (0.11, False), (-0.11, False)])
def test_a_tenth_of_the_tolerance_makes_levels_equal(store: str, share: float, is_equal: bool) -> None:
    judged = verdicts(store)
    compared = compare_widths(store, judged)["compared"]
    moved = judged["target"] + (judged["procedure"] == "exact") * share * judged["tolerance"]
    found = compare_widths(store, judged.assign(target=moved))["compared"].sel(procedure="exact")
    assert bool(compared.sel(procedure="exact").any())
    assert bool((found == compared.sel(procedure="exact") * is_equal).all())


def test_it_agrees_with_the_paired_difference(store: str) -> None:
    found = compare_widths(store, verdicts(store))
    apart = difference(store, "wide", "width", level=1 - 0.05 / found.attrs["pairs"])
    assert bool((apart["high"].sel(procedure="exact").where(found["narrowest"].sel(procedure="exact"), -1) < 0).all())


def test_a_procedure_for_the_function_takes_no_part(tmp_path: Path) -> None:
    run_serially(
        tmp_path / "krr.zarr",
        family="krr",
        source={"function": "heaviside", "test_points": 20},
        grid__procedure=["GPR-f", "GPR-p"],
        grid__theta=[100],
        grid__n=[10],
        replications={"paths": 2, "draws": 1},
    )
    found = compare_widths(str(tmp_path / "krr.zarr"), verdicts(str(tmp_path / "krr.zarr")))
    assert found.attrs["pairs"] == 0
    assert not found["compared"].any()


def test_slabs_of_a_large_store_give_the_same(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = verdicts(store)
    whole = compare_widths(store, judged)
    monkeypatch.setattr(aggregate, "_SLAB", 1.0)
    monkeypatch.setattr(replications._VARIABLES, "most", 0.0)
    assert whole.identical(compare_widths(store, judged))
    assert np.asarray(whole["narrowest"]).any()


@pytest.mark.parametrize(("factor", "is_narrowest"), [(0.5, False), (1.5, True)])
def test_the_narrowest_isnt_wider_than_a_valid_one_of_another_level(
    store: str, factor: float, is_narrowest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here `split` is valid, at a level of its own, and narrower or wider than `exact`."""
    judged, found = verdicts(store), estimate(store, "width")
    is_split = judged["procedure"] == "split"
    has_result = judged["verdict"] != ""
    judged["verdict"] = judged["verdict"].where(~(is_split & has_result), "valid")
    judged["target"] = judged["target"] - is_split * judged["tolerance"]
    changed = found.assign(value=found["value"].where(~is_split, factor * found["value"]))
    monkeypatch.setattr(widths, "estimate_cells", lambda *_: changed)
    compared = compare_widths(store, judged)
    assert int((compared["compared"].sel(procedure="exact") > 0).sum()) == 16
    assert int(compared["narrowest"].sel(procedure="exact").sum()) == 16 * is_narrowest
    assert not compared["narrowest"].sel(procedure=["wide", "split"]).any()
