"""Studies with known truth: nominal 95 % intervals cover it in 94–96 % of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.statistics import intervals
from harness.statistics.clustered import clustered_error, variance_components

STUDIES = 8000
POINTS = 200


def studies(
    rng: np.random.Generator, error: float, paths: int, draws: int, between: float, within: float
) -> np.ndarray:
    """Coverage of each replication, over path, draw and study: paths differ, draws on them differ less, points are
    independent given both. `between` and `within` are correlations: 0.005 is coverage 0.9 ± 0.02 from path to path."""

    def spread(centre: np.ndarray, correlation: float, size: tuple[int, ...]) -> np.ndarray:
        if correlation == 0:
            return np.broadcast_to(centre, size)
        k = 1 / correlation - 1
        return rng.beta(np.maximum(centre * k, 1e-12), np.maximum((1 - centre) * k, 1e-12), size)

    of_path = spread(np.array(error), between, (paths, 1, STUDIES))
    of_draw = spread(of_path, within, (paths, draws, STUDIES))
    return 1 - rng.binomial(POINTS, of_draw) / POINTS


@pytest.mark.parametrize("error", [0.25, 0.1, 0.05, 0.01])
@pytest.mark.parametrize(("paths", "draws"), [(10, 1), (10, 5), (40, 2)])
@pytest.mark.parametrize(("between", "within"), [(0.0, 0.0), (0.005, 0.0), (0.005, 0.005)])
def test_intervals_of_coverage_cover(error: float, paths: int, draws: int, between: float, within: float) -> None:
    rng = np.random.default_rng([int(1e4 * error), paths, draws, int(1e4 * between), int(1e4 * within)])
    values = studies(rng, error, paths, draws, between, within)
    found = intervals.estimate_share(values, np.ones(values.shape, bool), POINTS)
    covered = np.mean((found.low <= 1 - error) & (1 - error <= found.high))
    noise = 2.6 * np.sqrt(0.95 * 0.05 / STUDIES)
    assert 0.94 - noise < covered < 0.96 + noise


def test_treating_points_as_independent_would_not() -> None:
    """The wrong way, to see that the test can tell: its errors are some 2.4 times too small, and it covers 60 %."""
    rng = np.random.default_rng(1)
    values = studies(rng, 0.1, 10, 10, 0.005, 0.0)
    centre = values.mean(axis=(0, 1))
    naive = np.sqrt(centre * (1 - centre) / values[..., 0].size / POINTS)
    _, honest = clustered_error(values, np.ones(values.shape, bool))
    assert np.median(honest / naive) > 2.4
    assert np.mean(np.abs(centre - 0.9) < 1.96 * naive) < 0.75


def test_no_interval_is_empty_where_every_replication_gave_one() -> None:
    found = intervals.estimate_share(np.ones((20, 3)), np.ones((20, 3), bool), POINTS)
    assert (found.value, found.se, found.high) == (1.0, 0.0, 1.0)
    assert 0.99 < found.low < 1


def test_one_path_has_no_error() -> None:
    values, ok = np.linspace(0.8, 1, 7)[None, :], np.ones((1, 7), bool)
    for found in (
        intervals.estimate_share(values, ok, 10),
        intervals.estimate_mean(values, ok),
        intervals.estimate_quantile(values, ok),
    ):
        assert np.isfinite(found.value)
        assert np.isnan([found.se, found.low, found.high]).all()


@pytest.mark.parametrize("q", [0.5, 0.05])
def test_intervals_of_quantiles_cover(q: float) -> None:
    """Of widths, say, that vary between paths and between draws: the quantile of all of them is known."""
    rng = np.random.default_rng(3)
    values = np.exp(rng.standard_normal((60, 1, STUDIES)) + 0.5 * rng.standard_normal((60, 4, STUDIES)))
    truth = np.exp(np.sqrt(1.25) * stats.norm.ppf(q))
    found = intervals.estimate_quantile(values, np.ones(values.shape, bool), q)
    assert 0.93 < np.mean((found.low <= truth) & (truth <= found.high)) < 0.98


def test_quantiles_may_be_infinite() -> None:
    values = np.where(np.arange(40).reshape(20, 2) % 5 < 3, np.inf, 1.0)
    found = intervals.estimate_quantile(values, np.ones(values.shape, bool))
    assert found.value == np.inf == found.high


def test_failed_replications_do_not_count() -> None:
    rng = np.random.default_rng(4)
    values, ok = rng.random((12, 3)), np.ones((12, 3), bool)
    ok[:2], ok[5, 1] = False, False
    values[~ok] = np.nan
    for found in (
        intervals.estimate_share(values, ok, 10),
        intervals.estimate_mean(values, ok),
        intervals.estimate_quantile(values, ok),
    ):
        assert (found.paths, found.replications) == (10, 29)
        assert np.isfinite([found.value, found.se, found.low, found.high]).all()
    assert found.value in values[ok]


def test_components_find_both_variances() -> None:
    rng = np.random.default_rng(5)
    values = 2.0 * rng.standard_normal((4000, 1)) + 0.5 * rng.standard_normal((4000, 6))
    ok = rng.random(values.shape) < 0.7
    between, within = variance_components(np.where(ok, values, np.nan), ok)
    assert between == pytest.approx(4.0, rel=0.1)
    assert within == pytest.approx(0.25, rel=0.1)
    alone, nothing = variance_components(values[:, :1], ok[:, :1])
    assert alone == pytest.approx(4.25, rel=0.1)
    assert np.isnan(nothing)
