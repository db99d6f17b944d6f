"""The families of baselines: a unit against the library's calls, whose θ and chance are whose, and MAPIE and crepes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ckrr
from ckrr.baselines import cv_plus, halves, jackknife_plus, jackknife_plus_gp, split, student
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.errors import UserError
from harness.core.protocols import Family, Target
from harness.core.seeds import Seeds
from harness.core.types import Array, Extent, Grid, Status
from harness.families.baselines import FAMILY, METHODS
from harness.families.krr import FAMILY as KRR
from harness.figures.plots import seconds
from harness.scenario.families import find_family
from harness.scenario.load import check, load
from scenarios import SOURCES
from tests.harness.families.scoring import scored, streams
from tests.harness.studies import only, run_serially, toy, unit

NAMES = ("CRR-loo", "split", "GPR-t", "jackknife+", "RRCM-loo", "CV+", "J+GP")
GRID = Grid(NAMES, (1e-6, 0.1), (100.0, "ml"), (1e-6, 0.1), (24,), (0.05, 0.1, 0.25))
SEEDS = Seeds.from_source(7, {"function": "heaviside"})
needs_peers = pytest.mark.skipif(
    not (find_spec("mapie") and find_spec("crepes")), reason="MAPIE and crepes aren't installed: ckrr[peers]"
)


def regions(name: str, X: Array, y: Array, X_test: Array, theta: float | str, lam: float, order: Any) -> ckrr.Regions:
    """One procedure with the library's plain calls."""
    fit = ckrr.fit(X, y, theta, lam)
    if name == "split":
        first, second = halves(order)
        return split(ckrr.fit(X[first], y[first], theta, lam), X[second], y[second], X_test, GRID.alpha)
    if name == "CV+":
        return cv_plus(fit, X_test, GRID.alpha, order)
    ways = {"GPR-t": student, "jackknife+": jackknife_plus, "J+GP": jackknife_plus_gp}
    return ways[name](fit, X_test, GRID.alpha) if name in ways else fit.regions(X_test, name, GRID.alpha)


def test_a_unit_is_what_the_library_gives() -> None:
    study = Study(Extent(GRID, 2, 1), SOURCES["heaviside"](test_points=15), only(FAMILY), SEEDS)
    block = compute_unit(study, unit(24, range(2), range(1)))
    assert (block.values["status"] == Status.OK).all()
    assert {f"score {name}" for name in NAMES} <= block.seconds.keys()
    for path, (g, gamma), (t, theta), (r, lam) in [
        (path, *cell)
        for path in range(2)
        for cell in np.stack(np.meshgrid(*map(range, (2, 2, 2)), indexing="ij"), -1).reshape(-1, 3)
        for cell in [[(i, axis[i]) for i, axis in zip(cell, (GRID.gamma, GRID.theta, GRID.lam), strict=True)]]
    ]:
        sample = study.source.path(SEEDS.make_path_streams(path)).draw(SEEDS.make_draw_streams(path, 0), 24, {})
        assert sample.noise is not None
        assert sample.noise_test is not None
        y, y_test = sample.y + np.sqrt(gamma) * sample.noise, sample.y_test + np.sqrt(gamma) * sample.noise_test
        order = SEEDS.make_draw_streams(path, 0)("order").permutation(24)
        for p, name in enumerate(NAMES):
            R = regions(name, sample.X, y, sample.X_test, theta, lam, order)
            here = (path, 0, p, g, t, r)
            assert block.values["coverage"][here] == pytest.approx(R.contains(y_test).mean(axis=0))
            assert block.values["coverage_f"][here] == pytest.approx(R.contains(sample.y_test).mean(axis=0))
            width = (R.upper - R.lower).mean(axis=0)
            assert block.values["width_mean"][here] == pytest.approx(width, rel=1e-6)


def test_bits_don_t_depend_on_company() -> None:
    """Nor do those of the procedures that are another family's, too."""
    together = scored(FAMILY, NAMES, 3)
    for p, name in enumerate(NAMES):
        known: Family = FAMILY if name in METHODS else KRR
        for one, all_ in zip(scored(known, [name], 3), together, strict=True):
            assert np.array_equal(one.lower[:, 0], all_.lower[:, p], equal_nan=True)
            assert np.array_equal(one.hits[:, 0], all_.hits[:, p])
    alone = scored(FAMILY, NAMES, 1)[0]
    assert np.array_equal(alone.upper, together[0].upper, equal_nan=True)


def test_split_looks_for_theta_in_its_first_half() -> None:
    """What judges have to say moves the width of the interval, not its middle."""
    rng = np.random.default_rng(0)
    X, X_test, y = rng.random((30, 1)), rng.random((9, 1)), rng.standard_normal(30)
    _, second = halves(streams(0)("order").permutation(30))
    other = y.copy()
    other[second] *= 100.0
    middles, widths = [], []
    for values in (y, other):
        factor = FAMILY.inputs(X, X_test).factor_ml(values, 0.1, "ml")
        target = Target(values[:, None], np.zeros((9, 1)), None)
        (found,) = FAMILY.score([factor], [target], ["split"], [0.25], [streams(0)])
        middles.append((found.lower + found.upper)[0, 0, :, 0])
        widths.append((found.upper - found.lower)[0, 0, :, 0])
    assert middles[0] == pytest.approx(middles[1], abs=1e-9)
    assert (widths[1] > 10 * widths[0]).all()


def test_levels_are_those_that_are_promised() -> None:
    assert FAMILY.level("split", 24, 0.1) == 12 / 13
    assert FAMILY.level("RRCM-loo", 24, 0.1) == ckrr.exact_level("RRCM-loo", 24, 0.1)
    assert [FAMILY.level(name, 24, 0.1) for name in ("jackknife+", "CV+", "J+GP", "GPR-t", "GPR-f")] == [None] * 5


def baselines(**changes: Any) -> dict[str, Any]:
    grid = {"gamma": 0.1, "n": [12, 20], "theta": 10, "lam": 0.1, "alpha": [0.2], "procedure": ["split", "CV+", "RRCM"]}
    source = {"function": "heaviside", "test_points": 9}
    return toy(**{"family": "baselines", "source": source, "grid": grid, "replications": {"paths": 2}, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "gaussian-rff"}, "kernel must not use random features, which CV\\+ does not support"),
        (
            {"grid__procedure": ["jacknife+"]},
            r"grid.procedure\[0\] must be one of .*J\+GP, which family = .* \(did you mean 'jackknife\+'",
        ),
        (
            {"grid__theta": ["holdout"]},
            r"grid.theta\[0\] must be a number > 0 or one of ml, .*, which family = 'baselines' has",
        ),
        ({"smoothed": True}, "smoothed must be left out: the family 'baselines' can't smooth p-values"),
    ],
)
def test_what_can_t_be_is_told(changes: dict[str, Any], message: str) -> None:
    plain = baselines()
    for key, value in changes.items():
        plain |= {key: value} if "__" not in key else {"grid": {**plain["grid"], key.removeprefix("grid__"): value}}
    with pytest.raises(UserError, match=message):
        check(plain, "baselines.toml", Path.cwd())
    assert check(baselines(kernel="matern52"), "baselines.toml", Path.cwd()).families[0].family != FAMILY


def test_times_of_procedures_are_drawn(tmp_path: Path) -> None:
    run_serially(tmp_path / "it.zarr", **baselines())
    legend = [text.get_text() for each in seconds.draw(str(tmp_path / "it.zarr")).legends for text in each.get_texts()]
    for name in ("split", "CV+", "RRCM"):
        assert any(text.partition(" ∝")[0] == name for text in legend), legend


def test_the_packaged_scenario_has_them_all() -> None:
    loaded = load("baselines")
    assert {"RRCM-loo", "CRR-loo", *METHODS} <= set(loaded.extent.grid.procedure)
    assert loaded.built.source.test == "iid"


@pytest.mark.skipif(bool(find_spec("mapie") and find_spec("crepes")), reason="MAPIE and crepes are installed")
def test_what_is_not_installed_is_told() -> None:
    with pytest.raises(UserError, match=r"family\[0\] is 'peers': it needs mapie.* pip install 'ckrr"):
        load("peers")


@needs_peers
@pytest.mark.parametrize("n", [8, 19, 40])
def test_mapie_and_crepes_give_what_ours_give(n: int) -> None:
    """The same halves and folds, the same order statistics, and refits in place of closed forms."""
    known = find_family("peers")
    twins = {"split": ["MAPIE-split", "crepes-split"], "jackknife+": ["MAPIE-jackknife+"], "CV+": ["MAPIE-CV+"]}
    for ours, theirs in twins.items():
        found = scored(known, [ours, *theirs], 2, n, (0.05, 0.15, 0.35))
        for one in found:
            for p in range(1, len(theirs) + 1):
                for ends in (one.lower, one.upper):
                    assert ends[:, p] == pytest.approx(ends[:, 0], abs=1e-9)


@needs_peers
def test_the_other_packaged_scenario_has_mapie_and_crepes(tmp_path: Path) -> None:
    names = load("peers").extent.grid.procedure
    assert find_family("peers").flops(25, 10, 1, False) is None, "the harness times the procedures that are asked for"
    assert set(names) >= {"RRCM-loo", "CRR-loo", *find_family("peers").procedures[8:], "MAPIE-CQR"}
    plain = baselines(family=["peers", "cqr"])
    run_serially(tmp_path / "it.zarr", **{**plain, "grid": {**plain["grid"], "procedure": list(names), "n": [12]}})
    with pytest.raises(UserError, match=r"kernel and scales must be left out"):
        check(baselines(family="peers", kernel="matern52"), "peers.toml", Path.cwd())
