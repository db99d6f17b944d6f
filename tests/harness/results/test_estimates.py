"""Estimates of a small store against plain loops over its replications."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.special import ndtri

from harness import UserError
from harness.core.schema.measures import DIFFERENCES
from harness.cube import aggregate
from harness.parsing.selections import parse_where
from harness.results.estimates import difference, estimate
from harness.results.mad import bootstrap, compute_ends
from harness.results.measures import MEASURES
from tests.harness.studies import replications, run_serially

CHANGES = {
    "grid__theta": [1, 13, "best"],
    "source__fails_at": 0.1,
    "source__spread": 0.4,
    "exclude": [{"procedure": "wide", "gamma": 0.25}],
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("estimates") / "toy.zarr"
    run_serially(where, **CHANGES)
    return where


def by_loops(
    store: Path, of: str, procedure: int, gamma: int, theta: int, lam: int, n: int, alpha: int
) -> list[list[float]]:
    """The values of a cell: for each path those of its draws that are ok."""
    values, status = replications(store, n, of), replications(store, n, "status")
    found = []
    for path in range(values.shape[0]):
        draws = [
            float(values[path, draw, procedure, gamma, theta, lam, alpha])
            for draw in range(values.shape[1])
            if status[path, draw, procedure, gamma, theta, lam] == 0
        ]
        if draws:
            found.append(draws)
    return found


def test_coverage_and_its_error_are_those_of_plain_loops(store: Path) -> None:
    found = estimate(str(store), "coverage")
    for place in [(0, 0, 0, 0, 0, 1), (2, 1, 2, 1, 1, 0), (3, 0, 0, 1, 1, 1)]:
        p, g, t, r, n, a = place
        nested = by_loops(store, "coverage", p, g, t, r, (10, 20)[n], a)
        flat = [x for draws in nested for x in draws]
        centre = sum(flat) / len(flat)
        square = sum(sum(x - centre for x in draws) ** 2 for draws in nested) / len(flat) ** 2
        se = (square * len(nested) / (len(nested) - 1)) ** 0.5
        names = {
            "procedure": ["exact", "wide", "random", "split"][p],
            "gamma": (1.0, 0.25)[g],
            "theta": ("1", "13", "best")[t],
            "lam": (0.1, 1.0)[r],
            "n": (10, 20)[n],
            "alpha": (0.05, 0.10)[a],
        }
        cell = found.sel(names)
        assert (float(cell.value), float(cell.se)) == pytest.approx((centre, se))
        assert (int(cell.paths), int(cell.replications)) == (len(nested), len(flat))
        assert cell.low < centre < cell.high


def test_cells_without_results_have_none(store: Path) -> None:
    found = estimate(str(store), "coverage")
    for empty in (found.sel(theta="13"), found.sel(procedure="wide", gamma=0.25)):
        assert empty.value.isnull().all()
        assert (empty.replications == 0).all()


def test_failed_is_a_share_of_what_was_run(store: Path) -> None:
    found = estimate(str(store), "failed")
    assert (found.value.sel(theta="13", procedure="exact") == 1).all()
    status = replications(store, 10, "status")[:, :, 0, 0, 0, 0]
    assert float(found.value.sel(theta="1", procedure="exact", gamma=1.0, lam=0.1, n=10, alpha=0.05)) == np.mean(
        status != 0
    )
    assert found.value.sel(procedure="wide", gamma=0.25).isnull().all()


def test_every_measure_can_be_asked_for(store: Path) -> None:
    for name in [*(set(MEASURES) - {"relative_width", "coverage_expected", "crps", *DIFFERENCES}), "mad"]:
        found = estimate(str(store), name, {"theta": ["1"], "procedure": ["exact"]})
        assert found.value.notnull().all(), name
        assert ((found.low <= found.value) & (found.value <= found.high)).all(), name
    with pytest.raises(UserError, match=r"needs GPR-f"):
        estimate(str(store), "relative_width")
    with pytest.raises(UserError, match=r"has no coverage_expected: its source doesn't know its noise"):
        estimate(str(store), "coverage_expected")
    with pytest.raises(UserError, match="has no difference_lower: its scenario has no keep"):
        estimate(str(store), "difference_lower")


def test_a_slice_has_the_numbers_of_the_whole(store: Path) -> None:
    where = {"n": [20], "theta": ["best", "1"], "alpha": 0.1, "procedure": ["split", "exact"]}
    part, whole = estimate(str(store), "width", where), estimate(str(store), "width")
    assert part.value.shape == (2, 2, 2, 2, 1, 1)
    assert part["theta"].values.tolist() == ["1", "best"]
    xr.testing.assert_identical(part, whole.sel(n=[20], theta=["1", "best"], alpha=[0.1], procedure=["split", "exact"]))


def test_slabs_change_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a store that doesn't fit into memory at once."""
    whole = {name: estimate(str(store), name) for name in ("coverage", "width", "mad")}
    pairs = difference(str(store), "exact")
    monkeypatch.setattr(aggregate, "_SLAB", 1.0)
    for name, found in whole.items():
        xr.testing.assert_identical(estimate(str(store), name), found)
    xr.testing.assert_identical(difference(str(store), "exact"), pairs)


def test_differences_are_paired(store: Path) -> None:
    """Their error is that of the differences, replication by replication."""
    found = difference(str(store), "exact", "coverage", {"theta": ["1"], "lam": [0.1], "n": [20], "gamma": [1.0]})
    ours, theirs = (by_loops(store, "coverage", p, 0, 0, 0, 20, 1) for p in (3, 0))
    paths = [[a - b for a, b in zip(mine, other, strict=True)] for mine, other in zip(ours, theirs, strict=True)]
    flat = [x for draws in paths for x in draws]
    centre = sum(flat) / len(flat)
    square = sum(sum(x - centre for x in draws) ** 2 for draws in paths) / len(flat) ** 2
    cell = found.sel(procedure="split", alpha=0.1).squeeze()
    expected = (centre, (square * len(paths) / (len(paths) - 1)) ** 0.5)
    assert (float(cell.value), float(cell.se)) == pytest.approx(expected)
    own = found.sel(procedure="exact")
    assert (own.value == 0).all()
    assert (own.se == 0).all()


def test_differences_need_a_procedure_and_a_measure_of_replications(store: Path) -> None:
    with pytest.raises(UserError, match=r"procedure 'exat' isn't in the store: it has exact, wide"):
        difference(str(store), "exat")
    with pytest.raises(UserError, match=r"mad is defined per cell"):
        difference(str(store), "exact", "mad")


def test_mad_is_the_largest_of_the_means(store: Path) -> None:
    found = estimate(str(store), "mad", {"theta": ["1"]})
    errors = estimate(str(store), "error", {"theta": ["1"]})
    by_hand = np.abs(errors.value - errors.alpha).max("alpha", skipna=False)
    np.testing.assert_allclose(found.value, by_hand)
    assert "alpha" not in found.dims


def test_the_error_of_mad_is_about_right() -> None:
    """Against the spread of MAD over many studies, where its maximum isn't in doubt."""
    rng, alpha = np.random.default_rng(1), np.array([0.05, 0.25])
    studies = 0.05 + 0.05 * rng.standard_normal((300, 40, 1)) + np.array([0.0, 0.3])
    truth = np.abs(studies.mean(axis=1) - alpha).max(axis=1).std()
    guesses = [bootstrap(one, np.ones_like(one), alpha)[0].std() for one in studies[:20]]
    assert np.mean(guesses) == pytest.approx(truth, rel=0.15)


def test_widths_by_the_oracle(store: Path) -> None:
    found = estimate(str(store), "oracle_width", {"theta": ["1"], "procedure": ["exact"]})
    plain = estimate(str(store), "width", {"theta": ["1"], "procedure": ["exact"]})
    divisor = 2 * np.sqrt(plain.gamma) * -ndtri(plain.alpha / 2)
    np.testing.assert_allclose(found.value, plain.value / divisor, rtol=1e-6)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"m": [1]}, r"there is no axis 'm'"),
        ({"n": [11]}, r"n=11 isn't in the store: it has 10, 20"),
        ({"theta": ["bets"]}, r"theta=bets isn't in the store: it has 1, 13, best \(did you mean 'best'\?\)"),
    ],
)
def test_what_is_not_in_the_store_is_said(store: Path, where: dict[str, list[object]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        estimate(str(store), "coverage", where)


def test_unknown_measures_and_stores_are_said(store: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no measure 'coverag'.*did you mean 'coverage'"):
        estimate(str(store), "coverag")
    with pytest.raises(UserError, match=r"there is neither a store nor a scenario here"):
        estimate(str(tmp_path / "nothing"))


@pytest.mark.parametrize("text", ["n", "=3", "n=", "n=1,,2", ""])
def test_where_must_be_axis_and_value(text: str) -> None:
    with pytest.raises(UserError, match=r"must be axis=value"):
        parse_where([text])


def test_a_store_that_grew_is_read_anew(tmp_path: Path) -> None:
    where = tmp_path / "toy.zarr"
    run_serially(where, replications__paths=4)
    before = estimate(str(where))
    run_serially(where, replications__paths=9)
    after = estimate(str(where))
    assert (int(before.paths.max()), int(after.paths.max())) == (4, 9)


def test_another_store_in_the_same_place_is_read_anew(tmp_path: Path) -> None:
    """As when somebody removes a store in a notebook, and runs another study, or the same with another grid."""
    where, values = tmp_path / "toy.zarr", []
    for changes in ({"seed": 1}, {"seed": 2}, {"seed": 2, "grid__gamma": [0.25, 1.0]}):
        run_serially(where, replications__paths=4, source__spread=1.0, **changes)
        values.append(estimate(str(where)).value)
        shutil.rmtree(where)
    assert not values[0].equals(values[1])
    assert values[1].equals(values[2])


@pytest.mark.parametrize("truth", [0.0, 0.01, 0.05])
def test_the_interval_of_mad_covers_even_0(truth: float) -> None:
    """Error rates at four α are off by `truth` at one of them: 600 studies of 40 paths."""
    rng, alpha = np.random.default_rng([5, int(1e3 * truth)]), np.array([0.01, 0.05, 0.1, 0.25])
    rates = alpha + np.array([0.0, 0.0, truth, 0.0])
    k = 1 / 0.02 - 1
    path = rng.beta(rates * k, (1 - rates) * k, (40, 600, 4))
    errors = rng.binomial(200, path) / 200
    counts = np.ones(errors.shape)
    value = np.abs(errors.mean(axis=0) - alpha).max(axis=-1)
    low, high = compute_ends(value, *bootstrap(errors, counts, alpha), 0.95)
    assert np.mean((low <= truth) & (truth <= high)) > 0.93
    assert (low <= value).all()


def test_mad_is_biased_upward() -> None:
    """Where the truth is 0, more so with fewer paths; and the samples of the bootstrap are biased once more."""
    rng, alpha = np.random.default_rng(6), np.array([0.05, 0.1, 0.25])
    means = []
    for paths in (10, 40):
        errors = rng.binomial(200, alpha, (paths, 300, 3)) / 200
        value = np.abs(errors.mean(axis=0) - alpha).max(axis=-1)
        samples, _ = bootstrap(errors, np.ones(errors.shape), alpha)
        assert samples.mean() > 1.2 * value.mean()
        means.append(value.mean())
    assert means[0] > 1.5 * means[1] > 0
