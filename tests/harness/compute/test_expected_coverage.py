"""Expected coverage is the probability that y* falls into a region, pieces and all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import ckrr
from ckrr.procedures import ALL_PROCEDURES
from harness.backends.base import open_backend
from harness.compute.measures import OutcomeLaw, PointResults
from harness.compute.unit import draw_cell
from harness.core.errors import UserError
from harness.execution.prepare import prepare
from harness.results.replications import open_reader
from harness.scenario.load import check
from harness.store.manifest_io import load_manifest
from harness.worker.study import build_study
from scenarios.sources.world import World
from tests.harness.studies import contents, run, run_serially
from tests.harness.toy import ToyScores

ALPHA = (0.05, 0.25, 0.5)
KRR: dict[str, Any] = {
    "family": "krr",
    "source": {"function": "heaviside", "test_points": 20},
    "grid__procedure": ["GPR-f", "RRCM", "RRCM-loo", "CRR", "CRR-loo"],
    "grid__theta": [30, "ml"],
    "grid__lam": [1e-6, 0.1],
    "grid__gamma": [0.1, 1e-6],
    "grid__n": [8, 12],
    "grid__alpha": list(ALPHA),
    "replications__paths": 5,
    "replications__draws": 2,
}


def probability(law: Any, pieces: list[tuple[float, float]], f: float, scale: float) -> float:
    """The slow twin: a sum over the components of one region."""
    if scale == 0:
        return float(any(lo <= f <= hi for lo, hi in pieces))
    return float(sum(law.cdf((hi - f) / scale) - law.cdf((lo - f) / scale) for lo, hi in pieces))


@given(seed=st.integers(0, 10**6), noise=st.sampled_from([("gaussian", stats.norm()), ("skewed", stats.expon(-1))]))
@settings(max_examples=15, deadline=None)
def test_it_is_the_sum_over_the_pieces_of_each_region(seed: int, noise: Any) -> None:
    rng = np.random.default_rng(seed)
    X, X_test, f = rng.random((9, 1)), rng.random((7, 1)), rng.standard_normal(7)
    Y, Y_test, scale = rng.standard_normal((9, 2)), rng.standard_normal((7, 2)), np.array([0.3, 0.0])
    factor = ckrr.Inputs(X, X_test).factor(30.0, 1e-6)
    scores = factor.score(Y, Y_test, ALL_PROCEDURES, ALPHA)
    world = World(noise=noise[0])
    law = OutcomeLaw(X_test, f, scale, lambda X, z: world.compute_cdf(X[:, 0], z))
    before = OutcomeLaw(X_test, -f, 2 * scale[:1] + 1, law.cdf)
    first = factor.score(Y[:, 0], Y_test[:, 0], ALL_PROCEDURES, ALPHA)
    samples = PointResults([first, scores], [Y_test.T[:1], Y_test.T], ALPHA, None, [before, law])
    found = PointResults([scores], [Y_test.T], ALPHA, None, [law]).probability
    assert np.array_equal(samples.probability[1:], found, equal_nan=True)
    for t, target in enumerate(Y.T):
        fit = factor.fit(target)
        for p, name in enumerate(ALL_PROCEDURES):
            regions = fit.regions(X_test, procedure=name, alpha=ALPHA)
            for i in range(len(X_test)):
                for k in range(len(ALPHA)):
                    meant = probability(noise[1], regions.components(i, k), f[i], scale[t])
                    assert abs(found[t, p, k, i] - meant) < 1e-13


def test_an_end_at_f_is_inside_where_there_is_no_noise() -> None:
    law = OutcomeLaw(np.zeros((3, 1)), np.array([1.0, 1.0, 1.0]), np.zeros(1), lambda X, z: stats.norm.cdf(z))
    lower, upper = (np.array([[[each]]]) for each in ([1.0, 0.0, 1.5], [2.0, 1.0, 2.0]))
    assert law.compute_probability(lower, upper).ravel().tolist() == [1.0, 1.0, 0.0]


def test_pieces_that_a_family_does_not_give_are_missed_in_words() -> None:
    shape = (1, 1, 2, 1)
    scores = ToyScores(np.ones(shape, bool), None, -np.ones(shape), np.ones(shape), np.ones(shape), np.full(shape, 2))
    law = OutcomeLaw(np.zeros((2, 1)), np.zeros(2), np.ones(1), lambda X, z: stats.norm.cdf(z))
    with pytest.raises(ValueError, match=r"2 pieces.*`pieces`, or the scenario expected_coverage = false"):
        PointResults([scores], [np.zeros((1, 2))], [0.1], None, [law]).probability  # noqa: B018


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("expected") / "krr.zarr"
    run_serially(where, **KRR)
    return where


def test_a_store_has_what_its_replications_would_give_again(store: Path) -> None:
    manifest = load_manifest(open_backend(str(store)))
    assert manifest.keep == ("coverage_expected",)
    study, runs = build_study(str(store), manifest), open_reader(str(store))
    values = contents(store)["replications/n=12/coverage_expected"]
    disconnected = contents(store)["replications/n=12/disconnected"]
    assert (disconnected > 0).any(), "otherwise no region has pieces"
    grid, checked = manifest.extent.grid, 0
    for path, g, t, r in [(0, 0, 0, 0), (3, 1, 0, 0), (4, 0, 1, 1), (2, 0, 0, 1)]:
        cell = draw_cell(study, 12, path, 1, g, t, r)
        sample, target, ((_, factor),) = cell.sample, cell.target, cell.factors
        fit, scale = factor.fit(target.Y[:, 0]), float(np.sqrt(grid.gamma[g]))
        for p, name in enumerate(grid.procedure):
            regions = fit.regions(sample.X_test, procedure=name, alpha=ALPHA)
            for k in range(len(ALPHA)):
                each = [
                    probability(stats.norm(), regions.components(i, k), f, scale) for i, f in enumerate(sample.y_test)
                ]
                assert abs(values[path, 1, p, g, t, r, k] - np.mean(each)) < 1e-12
                checked += 1
    assert checked == 60
    assert runs.judged == "coverage_expected"


def test_workers_give_the_same_bits(store: Path, tmp_path: Path) -> None:
    run(tmp_path / "again.zarr", **KRR)
    ours, theirs = (contents(each) for each in (store, tmp_path / "again.zarr"))
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name], equal_nan=ours[name].dtype.kind == "f") for name in ours)


def test_a_store_without_it_stays_without(tmp_path: Path) -> None:
    """A store of version 0.1 goes on with the scenario that made it, which says nothing of expected coverage."""
    where, fewer = tmp_path / "old.zarr", KRR | {"replications__paths": 3}
    run_serially(where, **fewer, expected_coverage=False)
    grown = run_serially(where, **KRR)
    assert grown.keep == ()
    assert "coverage_expected" not in contents(where)
    assert open_reader(str(where)).judged == "coverage"
    with pytest.raises(UserError, match="doesn't have expected coverage, and the two aren't mixed"):
        run_serially(where, **KRR, expected_coverage=True)


def test_a_store_with_it_does_not_go_on_without(store: Path) -> None:
    with pytest.raises(UserError, match=r"krr\.zarr has expected coverage.*leave expected_coverage out"):
        run_serially(store, **KRR, expected_coverage=False)


def test_a_source_that_does_not_know_its_noise_has_none(tmp_path: Path) -> None:
    assert run_serially(tmp_path / "toy.zarr").keep == ()
    with pytest.raises(UserError, match=r"expected_coverage must be left out or false: this source doesn't know f"):
        run_serially(tmp_path / "other.zarr", expected_coverage=True)


WRONG = """
import numpy as np
from scenarios import Synthetic

class Wrong(Synthetic):
    def noise_cdf(self, X, z):
        return {law}

def source():
    return Wrong(lambda X: X[:, 0])
"""


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("super().noise_cdf(X, 5 * z)", "doesn't have the distribution that noise_cdf says: mend noise_cdf"),
        ("np.zeros(3)", r"returned an array of shape \(3,\), it must be \(201,\)"),
        ("super().noise_cdf(X, z) + 1", "returned values that aren't probabilities"),
    ],
)
def test_a_wrong_law_is_found_before_work_starts(law: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(WRONG.format(law=law))
    plain = {
        "name": "wrong",
        "seed": 1,
        "source": {"function": "mine.py:source"},
        "grid": {"gamma": 0.1, "n": 10, "theta": 10, "lam": 0.1, "procedure": "RRCM"},
        "replications": {"paths": 3},
    }
    with pytest.raises(UserError, match=said):
        prepare(check(plain, "wrong.toml", tmp_path), str(tmp_path / "wrong.zarr"), 1, 1e9)
    assert not (tmp_path / "wrong.zarr").exists()
