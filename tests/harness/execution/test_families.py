"""Several families in one study: side by side, each for itself, each computed once where it uses no θ or λ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.types import Limits, Status
from harness.cube.anytime import allocate_cells, count_new_cells
from harness.cube.levels import count_judged_cells
from harness.execution import lifecycle, prepare
from harness.maintenance.failures import group_failures
from harness.maintenance.merge import merge_stores
from harness.maintenance.replay import CellSelection, check_code, extract_arrays, replay_one
from harness.maintenance.verify import verify
from harness.monitor.state import status as status_of
from harness.results.check import check as check_coverage
from harness.results.validity import verdicts
from harness.scenario.load import Loaded, check
from harness.store.manifest import Manifest, cache_key
from harness.store.manifest_io import load_manifest
from harness.worker import task
from harness.worker.sandbox import compute_in_sandbox
from harness.worker.study import build_study
from tests.harness.studies import ROOT, assert_identical, contents, replications, run_serially, serially, toy, unit

TOY = "tests.harness.toy:FAMILY"
MINE = '''
import numpy as np
from harness import procedure

calls = []


@procedure(level=lambda n, alpha: 1 - alpha)
def mean(X, y, X_new, alpha, rng, shift=0.0):
    calls.append(len(X))
    half = np.quantile(np.abs(y), 1 - alpha) + rng.random()
    return np.tile(shift - half, (len(X_new), 1)), np.tile(shift + half, (len(X_new), 1))


class Ridge:
    """Uses λ alone."""

    procedures = ("ridge", "reach")
    axes = ("lam",)
    searches = ()
    reference = None
    version = 1

    def __init__(self, factor: float = 1.0):
        self.scale = factor

    def inputs(self, X, X_test):
        from types import SimpleNamespace

        return SimpleNamespace(factor=lambda theta, lam: SimpleNamespace(theta=float("nan"), lam=lam, given=theta))

    def score(self, factors, targets, procedures, alpha, streams):
        from harness.families.intervals import score_intervals

        found = []
        for factor, target in zip(factors, targets):
            assert factor.given == 0, "it has no use for θ"
            half = np.array([self.scale * factor.lam * (2 if name == "reach" else 1) for name in procedures])
            shape = (target.Y.shape[1], len(procedures), len(target.Y_test), len(alpha))
            ends = np.broadcast_to(half[:, None, None], shape)
            found.append(score_intervals(-ends, ends, target))
        return found

    def level(self, procedure, n, alpha):
        return None

    def flops(self, n, points, targets, searched):
        return None

    def memory(self, n, points):
        return 1e6
'''
FAMILIES = [TOY, "mine.py:mean", "mine.py:Ridge"]
PROCEDURES = ["exact", "mean", "ridge", "reach"]


def loaded(folder: Path, family: Any, procedures: list[str], code: str = MINE, **changes: Any) -> Loaded:
    (folder / "mine.py").write_text(code)
    return check(small(family=family, grid__procedure=procedures, **changes), "toy.toml", folder)


def small(**changes: Any) -> dict[str, Any]:
    return toy(**{"replications__paths": 4, "replications__draws": 2, "grid__n": [10], **changes})


def run(
    folder: Path,
    name: str,
    family: Any = FAMILIES,
    procedures: list[str] = PROCEDURES,
    accept: bool = False,
    **rest: Any,
) -> Path:
    where = folder / name
    one = loaded(folder, family, procedures, **rest)
    serially(prepare.prepare(one, str(where), workers=2, speed=2e8, accept_changed=accept))
    return where


def count_calls(folder: Path) -> list[int]:
    """A list that gets an entry whenever the function `mean` is called from now on."""
    families = loaded(folder, FAMILIES, PROCEDURES).families
    function: Any = next(one.family for one in families if one.name == "mine.py:mean")
    calls: list[int] = function.function.__globals__["calls"]
    calls.clear()
    return calls


def manifest_of(where: Path) -> Manifest:
    found = load_manifest(open_backend(str(where)))
    assert found is not None
    return found


def test_side_by_side_they_are_what_they_are_alone(tmp_path: Path) -> None:
    """In every bit, whatever stands beside them."""
    together = run(tmp_path, "all.zarr")
    assert (replications(together, 10, "status") == Status.OK).all()
    alone = {"toy.zarr": (TOY, ["exact"]), "mean.zarr": ("mine.py:mean", ["mean"])}
    alone |= {"ridge.zarr": ("mine.py:Ridge", ["ridge", "reach"])}
    for name, (family, procedures) in alone.items():
        single = run(tmp_path, name, family, procedures)
        places = [PROCEDURES.index(one) for one in procedures]
        for variable in ("coverage", "width", "length_mean", "interval_score", "distance_lower"):
            ours, theirs = (replications(each, 10, variable) for each in (together, single))
            assert ours[:, :, places].tobytes() == np.ascontiguousarray(theirs).tobytes(), (name, variable)
    theta_hat = replications(together, 10, "theta_hat")
    assert np.array_equal(theta_hat, replications(tmp_path / "toy.zarr", 10, "theta_hat")), "the forest has no θ"


def test_what_uses_no_axis_is_computed_once_and_stands_everywhere(tmp_path: Path) -> None:
    where = run(tmp_path, "all.zarr")
    cube = xr.open_zarr(where)
    assert cube.uses_theta.to_series().to_dict() == {"exact": True, "mean": False, "ridge": False, "reach": False}
    assert cube.uses_lam.to_series().to_dict() == {"exact": True, "mean": False, "ridge": True, "reach": True}
    width = cube.width_mean
    assert (width.sel(procedure="mean") == width.sel(procedure="mean").isel(theta=0, lam=0)).all()
    assert (width.sel(procedure="ridge") == width.sel(procedure="ridge").isel(theta=0)).all()
    assert (width.sel(procedure="ridge", lam=1.0) == 2.0).all()
    assert set(np.unique(cube.sel(lam=0.1).width_mean.idxmin("procedure"))) <= set(PROCEDURES)
    calls = count_calls(tmp_path)
    run(tmp_path, "again.zarr")
    probed = 2
    assert len(calls) - probed == 4 * 2 * 2, "paths × draws × γ, whatever θ and λ"


def test_multiplicity_counts_it_once(tmp_path: Path) -> None:
    where = run(tmp_path, "all.zarr")
    manifest = manifest_of(where)
    toy_cells, mean, ridge = 2 * 2 * 3 * 2, 2 * 2, 2 * 2 * 2 * 2
    assert count_judged_cells(manifest) == toy_cells + mean + ridge  # α × γ, θ × λ where they are used
    assert count_new_cells(manifest).tolist() == [toy_cells + mean + ridge]
    assert verdicts(str(where)).attrs["cells"] == toy_cells + mean + ridge
    outcome = check_coverage(str(where))
    assert sum(outcome.counts.values()) == toy_cells + mean + ridge
    assert sum(check_coverage(str(where), {"theta": ["best"]}).counts.values()) == 2 * 2 * 2 + mean + ridge
    grown = manifest_of(run(tmp_path, "all.zarr", grid__theta=[1, 2.5, "best", 7]))
    assert count_new_cells(grown).tolist() == [toy_cells + mean + ridge, toy_cells // 3], (
        "an old cell at a new θ is old"
    )
    share = allocate_cells(grown, 10, 0.05)
    assert (share[1] == share[1, 0, 0, 0, 0]).all()
    assert len(np.unique(share[0])) == 2


def test_a_new_value_of_an_axis_without_use_copies_what_is_stored(tmp_path: Path) -> None:
    where, fresh = run(tmp_path, "grown.zarr"), {"grid__theta": [1, 2.5, "best", 7], "grid__lam": [0.1, 1, 5]}
    calls = count_calls(tmp_path)
    run(tmp_path, "grown.zarr", **fresh)
    assert len(calls) == 2, "the probe alone"
    assert_identical(where, run(tmp_path, "fresh.zarr", **fresh))


def test_a_family_extends_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the new one is computed, and the store is that made at once."""
    where = run(tmp_path, "grown.zarr", TOY, ["exact"])
    seen: list[set[int]] = []
    compute = task.compute_unit

    def watched(study: Any, unit: Any, todo: Any) -> Any:
        seen.append(set(np.flatnonzero(todo.any(axis=(0, 1, 3, 4, 5)))))
        return compute(study, unit, todo)

    monkeypatch.setattr(task, "compute_unit", watched)
    run(tmp_path, "grown.zarr", [TOY, "mine.py:mean"], ["exact", "mean"])
    assert seen
    assert all(each == {1} for each in seen)
    monkeypatch.undo()
    assert_identical(where, run(tmp_path, "fresh.zarr", [TOY, "mine.py:mean"], ["exact", "mean"]))
    assert set(manifest_of(where).families) == {TOY, "mine.py:mean"}


def test_theta_hat_comes_with_the_first_family_that_has_one(tmp_path: Path) -> None:
    where = run(tmp_path, "grown.zarr", "mine.py:mean", ["mean"])
    assert np.isnan(replications(where, 10, "theta_hat")).all()
    run(tmp_path, "grown.zarr", ["mine.py:mean", TOY], ["mean", "exact"])
    fresh = run(tmp_path, "fresh.zarr", ["mine.py:mean", TOY], ["mean", "exact"])
    assert not np.isnan(replications(where, 10, "theta_hat")).any()
    assert_identical(where, fresh)


def test_axes_that_no_family_uses_are_left_out(tmp_path: Path) -> None:
    plain = small(family="mine.py:mean", grid__procedure=["mean"])
    del plain["grid"]["theta"], plain["grid"]["lam"]
    (tmp_path / "mine.py").write_text(MINE)
    one = check(plain, "toy.toml", tmp_path)
    where = tmp_path / "bare.zarr"
    serially(prepare.prepare(one, str(where), workers=1, speed=2e8))
    cube = xr.open_zarr(where)
    assert (cube.theta.values.tolist(), cube.lam.values.tolist()) == (["0"], [0.0])
    run(tmp_path, "bare.zarr", ["mine.py:mean", TOY], ["mean", "exact"])
    status = replications(where, 10, "status")
    assert (status[:, :, 1, :, 0] == Status.EXCLUDED).all(), "the toy has no θ = 0"
    assert (status[:, :, 1, :, 1:, 1:] == Status.OK).all()
    assert (status[:, :, 0] == Status.OK).all()
    del plain["grid"]["n"]
    with pytest.raises(UserError, match=r"grid.n is missing"):
        check(plain, "toy.toml", tmp_path)
    with pytest.raises(UserError, match=r"grid.theta is missing: tests.harness.toy:FAMILY needs it, as in theta = "):
        check({**plain, "family": TOY, "grid": {**plain["grid"], "n": [5], "procedure": ["exact"]}}, "t", tmp_path)


def test_a_family_that_is_left_out_keeps_its_results(tmp_path: Path) -> None:
    where = run(tmp_path, "all.zarr", [TOY, "mine.py:mean"], ["exact", "mean"])
    before = replications(where, 10, "coverage")[:, :, 1]
    (tmp_path / "mine.py").unlink()
    serially(
        prepare.prepare(
            check(small(grid__procedure=["exact"], replications__paths=6), "toy.toml", tmp_path), str(where), 2, 2e8
        )
    )
    status = replications(where, 10, "status")
    assert np.array_equal(replications(where, 10, "coverage")[:4, :, 1], before)
    assert (status[4:, :, 1] == Status.NOT_RUN).all(), "its code isn't run"
    assert (status[:, :, 0] == Status.OK).all()
    assert not verify(str(where))[1]
    shown = verdicts(str(where)).sel(procedure="mean")
    assert (shown.replications == 8).all(), "what is stored is shown"
    assert {cell.axes["procedure"] for cell in check_coverage(str(where)).iter_cells()} == {"exact", "mean"}
    run(tmp_path, "all.zarr", [TOY, "mine.py:mean"], ["exact", "mean"], replications__paths=6)
    fresh = run(tmp_path, "fresh.zarr", [TOY, "mine.py:mean"], ["exact", "mean"], replications__paths=6)
    for name, values in contents(fresh).items():
        if name.startswith("replications/"):
            assert np.array_equal(values, contents(where)[name], equal_nan=values.dtype.kind == "f"), name


EDITED = MINE.replace("+ rng.random()", "+ 1.0 * rng.random()")


@pytest.mark.parametrize(
    ("family", "code", "message"),
    [
        ("mine.py:mean", EDITED, r"mine.py was edited .*--accept-changed-source.* since mean of family 'mine.py:mean'"),
        ({"use": "mine.py:mean", "shift": 0.5}, MINE, "shift was changed from its default to 0.5 since mean"),
        ("mine.py:mean", MINE.replace("@procedure(", "@procedure(version=2, "), "mine.py was edited"),
    ],
)
def test_a_changed_family_concerns_its_own_procedures(family: Any, code: str, message: str, tmp_path: Path) -> None:
    where = run(tmp_path, "all.zarr", [TOY, "mine.py:mean"], ["exact", "mean"])
    before = contents(where)
    with pytest.raises(
        UserError,
        match=message + r".*give it another name: .*name = \"mean_2\".* in grid.procedure.*leave the family out",
    ):
        run(tmp_path, "all.zarr", [TOY, family], ["exact", "mean"], code=code)
    assert all(
        np.array_equal(each, contents(where)[name], equal_nan=each.dtype.kind == "f") for name, each in before.items()
    )
    run(tmp_path, "all.zarr", TOY, ["exact"], code=code, replications__paths=6)
    renamed = {"use": "mine.py:mean", "name": "other"} | (family if isinstance(family, dict) else {})
    run(tmp_path, "all.zarr", [TOY, renamed], ["exact", "other"], code=code, replications__paths=6)
    assert set(manifest_of(where).families) == {TOY, "mine.py:mean", "other"}
    state = status_of(str(where))
    assert (state["complete"], state["share_of_everything"]) == (True, 1.0)
    assert state["also_stored"]
    assert (replications(where, 10, "status")[:, :, 2] == Status.OK).all()


def test_an_edit_that_changes_no_number_can_be_accepted(tmp_path: Path) -> None:
    where = run(tmp_path, "all.zarr", [TOY, "mine.py:mean"], ["exact", "mean"])
    run(tmp_path, "all.zarr", [TOY, "mine.py:mean"], ["exact", "mean"], code=EDITED, accept=True, replications__paths=6)
    assert_identical(
        where, run(tmp_path, "fresh.zarr", [TOY, "mine.py:mean"], ["exact", "mean"], replications__paths=6)
    )
    assert manifest_of(where).history[-1]["mended"] == ["mine.py"]
    assert not verify(str(where))[1]


FAILING = (
    MINE
    + """

@procedure
def picky(X, y, X_new, alpha, rng):
    if y[0] > 0.3:
        raise RuntimeError("too large")
    return np.zeros((len(X_new), len(alpha))), np.ones((len(X_new), len(alpha)))
"""
)


def test_a_failure_costs_the_family_that_failed(tmp_path: Path) -> None:
    """Once for each fit: a status at every θ and λ, one message."""
    families = [TOY, {"use": "mine.py:picky", "name": "sulky"}]
    where = run(tmp_path, "all.zarr", families, ["exact", "sulky"], code=FAILING)
    status = replications(where, 10, "status")
    failed = status[:, :, 1, :, 0, 0] == Status.ERROR
    assert 0 < failed.sum() < failed.size
    assert (status[:, :, 0] == Status.OK).all()
    assert (status[:, :, 1] == status[:, :, 1, :, :1, :1]).all()
    (group,) = group_failures(str(where))
    both = sum(int((replications(where, n, "status")[:, :, 1, :, 0, 0] == Status.ERROR).sum()) for n in (10,))
    assert (group["message"], group["count"]) == ("sulky: RuntimeError: too large", both)


def test_stores_of_different_families_are_merged(tmp_path: Path) -> None:
    one = run(tmp_path, "one.zarr", TOY, ["exact"])
    other = run(tmp_path, "other.zarr", "mine.py:mean", ["mean"])
    merge_stores([str(one), str(other)], str(tmp_path / "both.zarr"))
    fresh = run(tmp_path, "fresh.zarr", [TOY, "mine.py:mean"], ["exact", "mean"])
    assert_identical(tmp_path / "both.zarr", fresh)
    assert manifest_of(tmp_path / "both.zarr").families == manifest_of(fresh).families
    changed = run(tmp_path, "changed.zarr", [{"use": "mine.py:mean", "shift": 1.0}], ["mean"])
    with pytest.raises(UserError, match="holds another study"):
        merge_stores([str(other), str(changed)], str(tmp_path / "no.zarr"))


def test_a_replay_has_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = run(tmp_path, "all.zarr")
    found = replay_one(str(where), CellSelection(10, 3, 1))
    assert found.equal
    arrays = extract_arrays(str(where), CellSelection(10, 3, 1, 1.0, 1.0, 0.1))
    lower = next(value for name, value in arrays.items() if name.endswith("/lower"))
    assert not np.isnan(lower).any()
    monkeypatch.chdir(tmp_path / "..")
    with pytest.raises(UserError, match=r"the module of the family 'tests.harness.toy:FAMILY'; .*-mine.py.*--trust"):
        check_code(str(where), trusted=False)


def test_a_store_of_one_family_in_its_fingerprint_grows(tmp_path: Path) -> None:
    """As those of version 0.1 have it: receipts are signed with that."""
    where = tmp_path / "old.zarr"
    record = run_serially(where, grid__procedure=["exact"], grid__n=[10], replications={"paths": 4, "draws": 2})
    old = {**record.fingerprint, "family": TOY, "numerics": {**record.fingerprint["numerics"], "procedures": 1}}
    rewrite(where, old)
    assert manifest_of(where).families[TOY].procedures == ("exact",)
    run(tmp_path, "old.zarr", [TOY, "mine.py:mean"], ["exact", "mean"])
    assert manifest_of(where).fingerprint["family"] == TOY
    fresh = run(tmp_path, "fresh.zarr", [TOY, "mine.py:mean"], ["exact", "mean"])
    assert_identical(where, fresh)
    rewrite(where, {**old, "numerics": {**old["numerics"], "procedures": 0}})
    with pytest.raises(UserError, match="its version was changed from 0 to 1 since exact"):
        prepare.prepare(check(small(grid__procedure=["exact"]), "toy.toml", ROOT), str(where), 2, 2e8)


def rewrite(where: Path, fingerprint: dict[str, Any]) -> None:
    """Give a store another fingerprint, and no record of its families."""
    import json

    for name in ("zarr.json", "manifest.json"):
        plain = json.loads((where / name).read_text())
        attributes = plain["attributes"] if name == "zarr.json" else plain
        holder = attributes if "fingerprint" in attributes else attributes["attributes"]
        holder["fingerprint"] = json.dumps(fingerprint)
        holder.pop("families", None)
        (where / name).write_text(json.dumps(plain))


DEADLY = (
    MINE
    + """

@procedure
def deadly(X, y, X_new, alpha, rng):
    if len(X) == 20 and y[0] > 0:
        import os

        os._exit(7)
    return np.zeros((len(X_new), len(alpha))), np.ones((len(X_new), len(alpha)))
"""
)


def test_a_family_that_ends_its_process_leaves_the_others_their_results(tmp_path: Path) -> None:
    families, procedures = [TOY, "mine.py:deadly", "mine.py:Ridge"], ["exact", "deadly", "ridge"]
    changes = {"grid__n": [10, 20], "replications__paths": 4, "replications__draws": 1}
    one = loaded(tmp_path, families, procedures, DEADLY, **changes)
    study = prepare.prepare(one, str(tmp_path / "a.zarr"), workers=1, speed=2e8)
    record = lifecycle.begin_run(study)
    where = (study.backend.url, cache_key(record), record.generation)
    built = build_study(study.backend.url, record)
    whole = unit(20, range(4), range(1))  # those of the plan depend on the machine
    block = compute_in_sandbox(built, where, whole, None, Limits(sandboxed=True))
    status = block.values["status"]
    failed = status[:, :, 1] == Status.ERROR
    assert 0 < failed[..., 0, 0].sum() < failed[..., 0, 0].size, "otherwise this test tries nothing"
    assert (status[:, :, [0, 2]] == Status.OK).all()
    alone = compute_in_sandbox(replace(built, families=built.families[::2]), where, whole, None, Limits(sandboxed=True))
    for name in ("coverage", "theta_hat"):
        mine, theirs = block.values[name], alone.values[name]
        here = (slice(None), slice(None), [0, 2]) if name == "coverage" else ...
        assert np.array_equal(mine[here], theirs[here], equal_nan=True)
    assert {each.family for each in block.failures} == {"mine.py:deadly"}
    assert len(block.failures) == failed[..., 0, 0].sum()


BOTH = [TOY, "mine.py:mean"], ["exact", "mean"]


def test_an_alpha_that_came_while_a_family_was_left_out_is_computed(tmp_path: Path) -> None:
    where = run(tmp_path, "grown.zarr", *BOTH)
    run(tmp_path, "grown.zarr", TOY, ["exact"], grid__alpha=[0.05, 0.1, 0.25])
    assert not verify(str(where))[1]
    run(tmp_path, "grown.zarr", *BOTH, grid__alpha=[0.05, 0.1, 0.25])
    fresh = run(tmp_path, "fresh.zarr", *BOTH, grid__alpha=[0.05, 0.1, 0.25])
    for name in ("coverage", "width", "interval_score"):
        ours, theirs = (replications(each, 10, name) for each in (where, fresh))
        assert np.array_equal(ours, theirs, equal_nan=True), name


def test_a_merge_with_a_family_that_was_left_out_can_be_completed(tmp_path: Path) -> None:
    one = run(tmp_path, "one.zarr", *BOTH)
    run(tmp_path, "one.zarr", TOY, ["exact"], replications__paths=6)
    other = run(tmp_path, "other.zarr", "mine.py:mean", ["mean"])
    merge_stores([str(one), str(other)], str(tmp_path / "both.zarr"))
    status = replications(tmp_path / "both.zarr", 10, "status")
    assert (status[:, :, 0] == Status.OK).all()
    assert (status[4:, :, 1] == Status.NOT_RUN).all()
    assert not verify(str(tmp_path / "both.zarr"))[1]
    calls = count_calls(tmp_path)
    run(tmp_path, "both.zarr", *BOTH, replications__paths=6)
    assert len(calls) == 2 * 2 * 2 + 2, "two paths × draws × γ, and the probe"
    fresh = run(tmp_path, "fresh.zarr", *BOTH, replications__paths=6)
    for name in ("coverage", "width", "theta_hat"):
        assert np.array_equal(replications(tmp_path / "both.zarr", 10, name), replications(fresh, 10, name))


def test_stores_of_other_grids_are_merged_without_computing(tmp_path: Path) -> None:
    """What uses no θ has no θ in its own store."""
    one = run(tmp_path, "one.zarr", TOY, ["exact"])
    plain = small(family="mine.py:mean", grid__procedure=["mean"])
    del plain["grid"]["theta"], plain["grid"]["lam"]
    other = tmp_path / "other.zarr"
    serially(prepare.prepare(check(plain, "toy.toml", tmp_path), str(other), 2, 2e8))
    done, total = merge_stores([str(one), str(other)], str(tmp_path / "both.zarr"))
    assert done == total
    calls = count_calls(tmp_path)
    run(tmp_path, "both.zarr", *BOTH)
    assert len(calls) == 2, "the probe alone"
    assert (replications(tmp_path / "both.zarr", 10, "status")[:, :, 1] == Status.OK).all()


def test_a_family_without_theta_is_given_none_where_data_are_redrawn(tmp_path: Path) -> None:
    """Its results depend on θ then, through the data."""
    source = {"function": "tests.harness.compute.test_unit:Redrawn", "test_points": 5}
    theta = [0.5, 0.7]
    where = run(tmp_path, "a.zarr", ["mine.py:Ridge", TOY], ["ridge", "exact"], source=source, grid__theta=theta)
    assert (replications(where, 10, "status") == Status.OK).all(), "otherwise it was given θ"
    assert np.array_equal(np.unique(replications(where, 10, "theta_hat")), theta), "those of the toy"
    assert xr.open_zarr(where).uses_theta.values.all()


def test_a_retry_without_a_family_keeps_its_failures(tmp_path: Path) -> None:
    where = run(tmp_path, "all.zarr", [TOY, "mine.py:picky"], ["exact", "picky"], code=FAILING)
    status, failures = replications(where, 10, "status"), group_failures(str(where))
    assert (status[:, :, 1] == Status.ERROR).any()
    one = loaded(tmp_path, TOY, ["exact"], FAILING, replications__paths=5)
    serially(prepare.prepare(one, str(where), workers=2, speed=2e8, retry=True))
    assert np.array_equal(replications(where, 10, "status")[:4], status)
    assert group_failures(str(where)) == failures


OWN = (
    MINE
    + """

class Own(Ridge):
    procedures = ("own",)
    axes = ("theta", "lam")

    def inputs(self, X, X_test):
        from types import SimpleNamespace

        return SimpleNamespace(factor=lambda theta, lam: SimpleNamespace(theta=77.0, lam=lam, given=0))
"""
)


def test_a_family_is_not_computed_at_searches_that_it_does_not_have(tmp_path: Path) -> None:
    where = run(tmp_path, "a.zarr", TOY, ["exact"])
    run(tmp_path, "a.zarr", [TOY, "mine.py:Own"], ["exact", "own"], code=OWN, grid__theta=[1, 2.5])
    status = replications(where, 10, "status")
    assert (status[:, :, 1, :, :2] == Status.OK).all()
    assert (status[:, :, 1, :, 2] == Status.EXCLUDED).all(), "it can't search"
    assert (status[:, :, 0] == Status.OK).all()


def test_theta_hat_stays_with_the_family_that_had_it_first(tmp_path: Path) -> None:
    where = run(tmp_path, "a.zarr", TOY, ["exact"], grid__theta=[1, 2.5])
    other = run(tmp_path, "b.zarr", "mine.py:Own", ["own"], code=OWN, grid__theta=[1, 2.5])
    changes: dict[str, Any] = {"code": OWN, "grid__theta": [1, 2.5], "replications__paths": 6}
    run(tmp_path, "a.zarr", ["mine.py:Own", TOY], ["own", "exact"], **changes)
    assert np.array_equal(np.unique(replications(where, 10, "theta_hat")), [1, 2.5])
    assert replay_one(str(where), CellSelection(10, 5, 1)).equal
    merge_stores([str(where), str(other)], str(tmp_path / "both.zarr"))
    assert np.array_equal(np.unique(replications(tmp_path / "both.zarr", 10, "theta_hat")), [1, 2.5])


def test_a_file_that_was_edited_and_put_back_is_kept_twice(tmp_path: Path) -> None:
    where = run(tmp_path, "a.zarr", *BOTH)
    run(tmp_path, "a.zarr", [TOY, {"use": "mine.py:mean", "name": "other"}], ["exact", "other"], code=EDITED)
    run(tmp_path, "a.zarr", *BOTH, replications__paths=5)
    assert not verify(str(where))[1]
    assert replay_one(str(where), CellSelection(10, 4, 1)).equal
    assert len([each for each in (where / "files").iterdir() if each.name.endswith("-mine.py")]) == 2


def test_procedures_of_two_families_are_not_merged(tmp_path: Path) -> None:
    one = run(tmp_path, "one.zarr", TOY, ["exact"])
    two = run(tmp_path, "two.zarr", "mine.py:exact", ["exact"], code=MINE.replace("def mean(", "def exact("))
    with pytest.raises(UserError, match=r"exact is of family 'tests.harness.toy:FAMILY' in .* and of 'mine.py:exact'"):
        merge_stores([str(one), str(two)], str(tmp_path / "no.zarr"))
    assert not (tmp_path / "no.zarr").exists()


def test_a_rule_that_is_taken_back_computes_nothing_again(tmp_path: Path) -> None:
    where = run(tmp_path, "a.zarr", *BOTH, exclude=[{"theta": [1], "procedure": ["mean"]}])
    assert (replications(where, 10, "status")[:, :, 1, :, 0] == Status.EXCLUDED).all()
    assert np.isnan(replications(where, 10, "coverage")[:, :, 1, :, 0]).all()
    calls = count_calls(tmp_path)
    run(tmp_path, "a.zarr", *BOTH)
    assert len(calls) == 2, "the probe alone"
    fresh = run(tmp_path, "fresh.zarr", *BOTH)
    assert np.array_equal(replications(where, 10, "coverage"), replications(fresh, 10, "coverage"))
