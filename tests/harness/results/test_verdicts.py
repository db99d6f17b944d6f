"""Verdicts hold for the whole grid at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from harness.core.types import Status
from harness.cube.caching import SizedCache
from harness.results import replications
from harness.results.estimates import estimate
from harness.results.replications import ReplicationReader, Slab
from harness.results.validity import verdicts
from harness.statistics import intervals
from harness.statistics.verdicts import CONSERVATIVE, INVALID, UNDECIDED, VALID, judge, to_words
from tests.harness.statistics.laws import Law
from tests.harness.studies import run_serially

CELLS, STUDIES, PATHS, POINTS = 72, 1000, 25, 200


def simulated(coverage: float, seed: int) -> np.ndarray:
    """Coverage of replications over path, draw, cell and study: paths differ by a correlation of 0.005."""
    rng = np.random.default_rng(seed)
    k = 1 / 0.005 - 1
    of_path = rng.beta(coverage * k, (1 - coverage) * k, (PATHS, 1, CELLS, STUDIES))
    return rng.binomial(POINTS, of_path) / POINTS


@pytest.mark.parametrize(("coverage", "wrong"), [(0.9, INVALID), (0.8799, VALID), (0.9, CONSERVATIVE)])
def test_in_at_most_one_study_of_twenty_any_verdict_is_wrong(coverage: float, wrong: str) -> None:
    """72 cells, all of the same coverage, at the very border of the tolerance too."""
    values = simulated(coverage, seed=1)
    found = intervals.estimate_share(values, np.ones(values.shape, bool), POINTS, 1 - 0.05 / CELLS)
    said = to_words(judge(found.low, found.high, np.array(0.9), np.array(0.02)))
    assert (said == wrong).any(axis=0).mean() < 0.05 + 0.02
    naive = (found.value + 2 * found.se < 0.9).any(axis=0).mean()
    if wrong == INVALID:
        assert naive > 0.6  # the rule of two standard errors, cell by cell: nearly every study has a false alarm


@pytest.mark.parametrize(("alpha", "correlation", "paths"), [(0.1, 0.05, 25), (0.01, 0.05, 25), (0.01, 0.03, 100)])
def test_verdicts_hold_where_points_fail_together(alpha: float, correlation: float, paths: int) -> None:
    """All of 72 cells at the border: each "valid" or "invalid" in a study is by chance."""
    tolerance = alpha / 5
    law = Law("beta", 1 - alpha - tolerance, correlation, paths, 1, POINTS)
    values = law.simulate(CELLS * 400).reshape(paths, 1, CELLS, 400)
    found = intervals.estimate_share(values, np.ones(values.shape, bool), POINTS, 1 - 0.05 / CELLS)
    said = to_words(judge(found.low, found.high, np.array(1 - alpha), np.array(tolerance)))
    assert (said != UNDECIDED).any(axis=0).mean() < 0.05 + 0.028  # 2.6 standard errors


@pytest.mark.parametrize(("paths", "least", "most"), [(25, 0.5, 1.0), (400, 0.0, 0.12)])
def test_verdicts_are_wrong_of_paths_that_none_has_shown(paths: int, least: float, most: float) -> None:
    """A tenth of all paths is bad: with 25 paths, some of 72 cells at the border have seen too few of them."""
    law = Law("rare", 0.88, 0.02, paths, 1, POINTS)
    values = law.simulate(CELLS * 150).reshape(paths, 1, CELLS, 150)
    found = intervals.estimate_share(values, np.ones(values.shape, bool), POINTS, 1 - 0.05 / CELLS)
    said = to_words(judge(found.low, found.high, np.array(0.9), np.array(0.02)))
    assert least <= (said == VALID).any(axis=0).mean() <= most


def test_what_is_clear_is_said() -> None:
    for coverage, word in [(0.8, INVALID), (0.98, CONSERVATIVE)]:
        values = simulated(coverage, seed=2)
        found = intervals.estimate_share(values, np.ones(values.shape, bool), POINTS, 1 - 0.05 / CELLS)
        said = to_words(judge(found.low, found.high, np.array(0.9), np.array(0.02)))
        assert (said == word).mean() > 0.99


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("verdicts") / "toy.zarr"
    run_serially(
        where, source__test_points=200, replications__paths=150, replications__draws=1, grid__theta=[1, "best"]
    )
    return where


def test_a_store_is_judged_by_what_is_known_of_the_toy(store: Path) -> None:
    found = verdicts(str(store), {"gamma": [1.0]})
    assert float(found.attrs["cells"]) == 4 * 2 * 2 * 2 * 2 * 2  # procedures, γ, θ, λ, n, α: not only the slice
    together = estimate(str(store), "coverage", {"gamma": [1.0]}, 1 - 0.05 / 128)
    assert found.low.equals(together.low), "of the whole grid, not of the slice or of a cell alone"
    said = {name: set(found.verdict.sel(procedure=name).to_numpy().ravel()) for name in ("exact", "wide", "split")}
    assert said == {"exact": {VALID}, "wide": {CONSERVATIVE, UNDECIDED}, "split": {INVALID}}
    assert set(found.verdict.sel(procedure="wide", alpha=0.1).to_numpy().ravel()) == {CONSERVATIVE}
    half = -ndtri(0.05)
    truth = {"exact": 0.9, "wide": 2 * ndtr(2 * half) - 1, "split": 2 * (ndtr(half) - ndtr(half / 2))}
    for name, coverage in truth.items():
        cell = found.sel(procedure=name, alpha=0.1)
        assert ((cell.low <= coverage) & (coverage <= cell.high)).all()


def test_targets_are_promised_levels(store: Path) -> None:
    found = verdicts(str(store))
    assert found.promised.sel(procedure="exact").all()
    assert not found.promised.sel(procedure="wide").any()
    assert found.exchangeable.sel(procedure="exact", theta="1").all()
    assert not found.exchangeable.sel(theta="best").any()  # θ was searched for on the train sample
    assert set(found.tolerance.to_numpy().round(6)) == {0.01, 0.02}


def test_test_points_on_a_grid_are_not_exchangeable(tmp_path: Path) -> None:
    run_serially(tmp_path / "grid.zarr", source__test="grid", replications__paths=3, grid__theta=[1])
    found = verdicts(str(tmp_path / "grid.zarr"))
    assert found.promised.sel(procedure="exact").all()
    assert not found.exchangeable.any()


def test_one_path_decides_nothing(tmp_path: Path) -> None:
    run_serially(tmp_path / "one.zarr", replications__paths=1)
    found = verdicts(str(tmp_path / "one.zarr"))
    assert set(found.verdict.to_numpy().ravel()) == {"undecided"}


def test_failed_replications_bound_a_verdict_from_both_sides(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a tenth of the paths had failed: what they would have given is unknown."""
    whole = verdicts(str(store), {"gamma": [1.0]})

    read = ReplicationReader.read

    def some_failed(self: ReplicationReader, slab: Slab, variable: str) -> np.ndarray:
        values = read(self, slab, variable)
        if variable == "status":
            values = values.copy()
            values[::10] = Status.ERROR
        return values

    monkeypatch.setattr(ReplicationReader, "read", some_failed)
    monkeypatch.setattr(replications, "_VARIABLES", SizedCache(0, lambda values: values.nbytes))  # of the true store
    found = verdicts(str(store), {"gamma": [1.0]})
    assert (found.replications == 135).all()
    assert (found.low < whole.low).all(), "failures may all have been misses"
    assert (found.high >= whole.high).all(), "or hits"
    assert (found.low < found.value - 0.09).sel(procedure="exact").all()
    assert set(found.verdict.sel(procedure="exact").to_numpy().ravel()) == {UNDECIDED}


def test_the_whole_line_is_valid_by_arithmetic(tmp_path: Path) -> None:
    """α = 0.01 at n = 20 and 25 leaves nothing out: few paths can't show it, and needn't."""
    changes = {"family": "krr", "grid.procedure": ["RRCM"], "grid.theta": [10], "grid.alpha": [0.01, 0.25]}
    run_serially(tmp_path / "line.zarr", **{key.replace(".", "__"): value for key, value in changes.items()})
    found = verdicts(str(tmp_path / "line.zarr"))
    assert set(found.verdict.sel(alpha=0.01).to_numpy().ravel()) == {VALID}
    assert (found.value.sel(alpha=0.01) == 1).all()
