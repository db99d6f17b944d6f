"""Searches that find λ: one result at every λ of the grid, counted once, kept when a study grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import ckrr
from harness.backends.base import open_backend
from harness.compute.unit import draw_cell
from harness.core.errors import UserError
from harness.core.extent import find_included
from harness.core.families import NO_VALUE, StudyFamily
from harness.core.types import Status
from harness.cube.anytime import count_new_cells
from harness.cube.levels import count_judged_cells
from harness.execution import prepare
from harness.families.krr import FAMILY
from harness.maintenance.merge import merge_stores
from harness.maintenance.replay import CellSelection, extract_arrays, replay_one
from harness.maintenance.verify import verify
from harness.results.check import check as check_coverage
from harness.scenario.load import Loaded, check
from harness.store.manifest import Manifest
from harness.store.manifest_io import load_manifest
from harness.worker.study import build_study
from tests.harness.studies import ROOT, replications, serially

PATHS = 3


def scenario(**changes: Any) -> dict[str, Any]:
    grid = {
        "gamma": [1e-6, 0.1],
        "n": [16],
        "theta": ["ml-joint", 100],
        "lam": [1e-6, 0.1],
        "alpha": [0.1],
        "procedure": ["GPR-f", "RRCM-loo"],
    }
    plain: dict[str, Any] = {
        "name": "searches",
        "seed": 7,
        "source": {"function": "heaviside", "test_points": 12},
        "grid": grid,
        "replications": {"paths": PATHS},
    }
    for key, value in changes.items():
        table, _, name = key.rpartition("__")
        (plain[table] if table else plain)[name] = value
    return plain


def loaded(**changes: Any) -> Loaded:
    return check(scenario(**changes), "searches.toml", ROOT)


def run(where: Path, **changes: Any) -> Manifest:
    return serially(prepare.prepare(loaded(**changes), str(where), workers=1, speed=1e10))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("searches") / "first.zarr"
    run(where)
    return where


def test_the_result_of_a_search_for_lam_stands_at_every_lam(first: Path) -> None:
    manifest = load_manifest(open_backend(str(first)))
    assert manifest is not None
    study = build_study(str(first), manifest)
    coverage, lam_hat, theta_hat = (replications(first, 16, name) for name in ("coverage", "lam_hat", "theta_hat"))
    for path in range(PATHS):
        for g in range(2):
            cell = draw_cell(study, 16, path, 0, g, 0, 1)
            fit = ckrr.fit(cell.sample.X, cell.target.Y[:, 0], "ml-joint")
            assert (lam_hat[path, 0, g, 0] == fit.lam).all()
            assert (theta_hat[path, 0, g, 0] == fit.theta).all()
            hits = fit.score(cell.sample.X_test, cell.target.Y_test[:, 0], ["GPR-f", "RRCM-loo"], 0.1).hits[..., 0]
            assert (coverage[path, 0, :, g, 0, :, 0] == hits.mean(axis=1)[:, None]).all()
    assert (lam_hat[:, :, :, 1] == [1e-6, 0.1]).all(), "as given"
    assert (coverage[..., 1, 0, 0] != coverage[..., 1, 1, 0]).any()


def test_the_cube_says_at_which_theta_lam_is_used(first: Path) -> None:
    cube = xr.open_zarr(str(first))
    assert cube.theta_uses_lam.to_series().to_dict() == {"ml-joint": False, "100": True}
    assert cube.uses_lam.values.all(), "at other θ"
    assert cube.sel(theta=~cube.theta_uses_lam.load()).theta.values.tolist() == ["ml-joint"]


def test_a_repeated_result_counts_once(first: Path) -> None:
    manifest = load_manifest(open_backend(str(first)))
    assert manifest is not None
    assert count_judged_cells(manifest) == 2 * 2 * (1 + 2)
    assert count_new_cells(manifest).tolist() == [12]
    assert check_coverage(str(first)).cells.sizes["cell"] == 12


def test_stores_without_such_a_search_are_as_before(tmp_path: Path) -> None:
    manifest = run(tmp_path / "old.zarr", grid__theta=["ml", 100])
    assert manifest.keep == ("coverage_expected",)
    assert "finds_lam" not in open_backend(str(tmp_path / "old.zarr")).get("zarr.json").decode()  # type: ignore[union-attr]
    assert "theta_uses_lam" not in xr.open_zarr(str(tmp_path / "old.zarr")).coords
    run(tmp_path / "old.zarr")  # with the search
    cube = xr.open_zarr(str(tmp_path / "old.zarr"))
    assert not cube.theta_uses_lam.sel(theta="ml-joint")
    run(tmp_path / "new.zarr", grid__theta=["ml", 100, "ml-joint"])
    assert (cube.coverage.values == xr.open_zarr(str(tmp_path / "new.zarr")).coverage.values).all()
    assert "lam_hat" not in xr.open_datatree(str(tmp_path / "old.zarr"))["replications/n=16"]


def test_new_values_of_lam_get_the_same_numbers(first: Path, tmp_path: Path) -> None:
    where = tmp_path / "grown.zarr"
    run(where, grid__lam=[1e-6])
    run(where)
    assert_same_replications(where, first)
    whole = load_manifest(open_backend(str(where)))
    assert whole is not None
    assert count_judged_cells(whole) == 12
    assert count_new_cells(whole).tolist() == [8, 4], "the search has nothing new"


def test_new_lam_without_anything_to_compute(tmp_path: Path) -> None:
    where, other = tmp_path / "grown.zarr", tmp_path / "whole.zarr"
    run(where, grid__lam=[1e-6], grid__theta=["ml-joint"])
    plan = prepare.prepare(loaded(grid__theta=["ml-joint"]), str(where), workers=1, speed=1e10).plan
    assert plan.units, "a unit is written anew"
    assert plan.seconds == 0, "nothing is computed"
    run(where, grid__theta=["ml-joint"])
    run(other, grid__theta=["ml-joint"])
    assert_same_replications(where, other)


def assert_same_replications(one: Path, other: Path) -> None:
    for name in ("coverage", "coverage_expected", "width", "lam_hat", "on_bound", "theta_hat", "status"):
        assert replications(one, 16, name).tobytes() == replications(other, 16, name).tobytes(), name


def test_scales_and_bounds_that_a_search_found_are_kept(tmp_path: Path) -> None:
    """Of every replication and at every λ, also after the store has grown."""
    where, other = tmp_path / "grown.zarr", tmp_path / "whole.zarr"
    two: dict[str, Any] = {"source": {"function": "f2", "test_points": 12}, "grid__theta": ["ml-ard", 100]}
    run(where, **two, grid__lam=[0.1])
    run(where, **two, grid__lam=[0.1, 1e-3])
    manifest = run(other, **two, grid__lam=[0.1, 1e-3])
    scale_hat, on_bound = (replications(where, 16, name) for name in ("scale_hat", "on_bound"))
    study = build_study(str(other), manifest)
    for path in range(PATHS):
        for g in range(2):
            cell = draw_cell(study, 16, path, 0, g, 0, 0)
            fit = ckrr.fit(cell.sample.X, cell.target.Y[:, 0], "ml-ard")
            assert fit.search is not None
            found = fit.search.lam_on_bound or any(fit.search.scales_on_bound)
            assert (scale_hat[path, 0, g, 0] == fit.scales).all()
            assert (on_bound[path, 0, g, 0] == found).all()
    assert on_bound[:, :, :, 0].any(), "so that it tests something"
    assert (scale_hat[:, :, :, 1] == 1).all(), "as given"
    assert np.isnan(on_bound[:, :, :, 1]).all(), "nothing was searched for"
    for name in ("scale_hat", "on_bound", "lam_hat"):
        assert replications(where, 16, name).tobytes() == replications(other, 16, name).tobytes(), name
    assert verify(str(where))[1] == []
    parts = [run(tmp_path / f"{n}.zarr", **two, grid__n=[n]) and str(tmp_path / f"{n}.zarr") for n in (16, 20)]
    merge_stores(parts, str(tmp_path / "both.zarr"))
    merged = replications(tmp_path / "both.zarr", 16, "scale_hat")
    assert merged.tobytes() == replications(Path(parts[0]), 16, "scale_hat").tobytes()
    other_theta = run(tmp_path / "given.zarr", **{**two, "grid__theta": [10]})
    assert "scale_hat" not in other_theta.keep
    merge_stores([parts[0], str(tmp_path / "given.zarr")], str(tmp_path / "less.zarr"))
    less = load_manifest(open_backend(str(tmp_path / "less.zarr")))
    assert less is not None
    assert (less.keep, less.dimension) == (("coverage_expected",), 0), "what all of its replications have"
    mine, whole = replications(tmp_path / "less.zarr", 16, "coverage"), replications(Path(parts[0]), 16, "coverage")
    assert mine[:, :, :, :, :2].tobytes() == whole.tobytes()
    joint = run(tmp_path / "joint.zarr")
    assert (manifest.dimension, joint.dimension) == (2, 0)
    assert "scale_hat" not in joint.keep


def test_lam_may_be_left_out_where_only_such_searches_are_asked_for(first: Path, tmp_path: Path) -> None:
    plain = scenario(grid__theta=["ml-joint", "holdout-joint"])
    del plain["grid"]["lam"]
    asked = check(plain, "searches.toml", ROOT)
    assert asked.extent.grid.lam == (NO_VALUE,)
    where = tmp_path / "no-lam.zarr"
    serially(prepare.prepare(asked, str(where), workers=1, speed=1e10))
    mine = replications(where, 16, "coverage")[..., 0, 0, 0]
    assert (mine == replications(first, 16, "coverage")[..., 0, 0, 0]).all()
    run(where)  # with values of λ, and a θ that needs one
    status = replications(where, 16, "status")
    grid = load_manifest(open_backend(str(where))).extent.grid  # type: ignore[union-attr]
    assert grid.lam == (NO_VALUE, 1e-6, 0.1)
    assert (status[..., grid.theta.index(100.0), 0] == Status.EXCLUDED).all()
    assert (np.delete(status, grid.theta.index(100.0), axis=4) == Status.OK).all()
    del plain["grid"]["theta"]
    with pytest.raises(UserError, match=r"grid\.lam is missing: krr needs it"):
        check({**plain, "grid": {**plain["grid"], "theta": ["ml-joint", "ml"]}}, "searches.toml", ROOT)
    with pytest.raises(UserError, match=r"grid\.lam\[0\] must be > 0, got 0"):
        loaded(grid__lam=[0.0])


def test_levels_are_exact_on_held_out_rows(tmp_path: Path) -> None:
    run(tmp_path / "holdout.zarr", grid__theta=["ml-joint", "holdout-joint", "holdout"])
    level = xr.open_zarr(str(tmp_path / "holdout.zarr")).target.sel(procedure="RRCM-loo").squeeze().load()
    exact = ckrr.exact_level("RRCM-loo", 12, 0.1)
    assert (level.sel(theta=["holdout-joint", "holdout"]) == exact).all()


def test_merged_stores_have_what_one_would_have(first: Path, tmp_path: Path) -> None:
    run(tmp_path / "a.zarr", grid__lam=[1e-6])
    run(tmp_path / "b.zarr", grid__lam=[0.1])
    merge_stores([str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")], str(tmp_path / "both.zarr"))
    assert_same_replications(tmp_path / "both.zarr", first)


def test_replay_finds_no_difference(first: Path) -> None:
    asked = CellSelection(16, 1, 0, theta="ml-joint", lam=0.1)
    assert replay_one(str(first), asked).equal
    arrays = extract_arrays(str(first), CellSelection(16, 1, 0, theta="ml-joint"))
    of = {lam: arrays[f"gamma=0.1,theta=ml-joint,lam={lam}/upper"] for lam in ("1e-06", "0.1")}
    assert (of["1e-06"] == of["0.1"]).all()


def test_a_source_that_redraws_for_lam_has_results_for_each() -> None:
    family = StudyFamily("krr", FAMILY, redraws=("lam",))
    assert family.finds_lam == ()
    assert family.uses_lam("ml-joint")
    assert not StudyFamily("krr", FAMILY).uses_lam("ml-joint")
    assert StudyFamily("krr", FAMILY).uses_lam("ml")


def test_a_plan_counts_a_search_once() -> None:
    def count_fits(lams: list[float]) -> int:
        study = loaded(grid__theta=["ml-joint", 100], grid__lam=lams)
        (family,) = study.families
        return int(family.select_fits(find_included(study.extent, 16), study.extent.grid).sum())

    assert [count_fits([0.1]), count_fits([1e-6, 0.1, 1.0])] == [2 * (1 + 1), 2 * (1 + 3)], "over γ, θ and λ"
    assert FAMILY.on_search("ml-joint").flops(100, 50, 1, True) > FAMILY.flops(100, 50, 1, True)


def test_other_families_share_a_grid_with_it(tmp_path: Path) -> None:
    where = tmp_path / "baselines.zarr"
    run(where, family="baselines", grid__procedure=["RRCM-loo", "split", "jackknife+"])
    coverage, lam_hat = replications(where, 16, "coverage"), replications(where, 16, "lam_hat")
    assert (coverage[..., 0, 0, 0] == coverage[..., 0, 1, 0]).all()
    assert (lam_hat[..., 0, 0] == lam_hat[..., 0, 1]).all()
    assert np.isfinite(lam_hat).all()
