"""Studies with known truth: nominal 95 % intervals cover it in 94 % of them and more."""

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
    assert 0.94 - noise < covered < (0.96 if error > 0.01 or paths > 10 else 0.98) + noise


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
    assert 0.98 < found.low < 0.99, "60 replications aren't 12000 independent points"


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


LAWS = [  # truth, correlation between the points of a path, paths, draws, test points
    (0.9, 0.2, 20, 1, 200),
    (0.99, 0.05, 20, 5, 200),
    (0.99, 0.2, 50, 1, 200),
    (0.998, 0.04, 20, 1, 200),
    (0.998, 0.2, 200, 1, 200),
    (0.999, 0.05, 50, 5, 200),
    (0.999, 0.005, 20, 1, 200),
    (0.99, 0.1, 50, 1, 5),
    (0.9, 0.2, 20, 5, 5),
]


def share_covered(
    law: tuple[float, float, int, int, int], is_counted: bool, studies: int = 3000
) -> tuple[float, float]:
    """How often the interval covers the truth, and its mean length, where all points of a path share a beta law."""
    truth, correlation, paths, draws, points = law
    rng = np.random.default_rng([int(truth * 1e4), int(correlation * 1e4), paths, draws, points, is_counted])
    k = 1 / correlation - 1 if correlation else np.inf
    size = (paths, 1, studies)
    p = rng.beta(truth * k, (1 - truth) * k, size) if correlation else np.full(size, truth)
    values = np.broadcast_to(p, (paths, draws, studies))
    if is_counted:
        values = rng.binomial(points, values) / points
    found = intervals.estimate_share(values, np.ones(values.shape, bool), points, is_counted=is_counted)
    covered = (found.low <= truth + 1e-15) & (truth - 1e-15 <= found.high)
    return float(covered.mean()), float((found.high - found.low).mean())


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("is_counted", [True, False])
def test_intervals_near_1_cover_where_points_fail_together(
    law: tuple[float, float, int, int, int], is_counted: bool
) -> None:
    assert share_covered(law, is_counted)[0] > (0.94 if is_counted else 0.93) - 0.011  # 2.6 standard errors


@pytest.mark.parametrize("paths", [3, 5, 10])
@pytest.mark.parametrize("correlation", [0.2, 0.5, 0.999])
@pytest.mark.parametrize("truth", [0.9, 0.99])
def test_few_paths_that_share_everything_are_not_trusted(paths: int, correlation: float, truth: float) -> None:
    covered, length = share_covered((truth, correlation, paths, 1, 200), is_counted=True)
    assert covered > 0.93
    assert length > 0.2, "wide: so few paths can't tell"


def test_intervals_are_no_longer_than_they_must_be() -> None:
    """Where points are nearly independent, the mean length is that of Agresti and Coull for as many."""
    for truth, paths in ((0.9, 50), (0.9, 200), (0.99, 200)):
        _, length = share_covered((truth, 0.0, paths, 1, 200), is_counted=True)
        assert length < 1.08 * 2 * stats.t.ppf(0.975, paths - 1) * np.sqrt(truth * (1 - truth) / (200 * paths))


@pytest.mark.soak
@pytest.mark.parametrize("is_counted", [True, False])
def test_the_whole_grid_of_laws(is_counted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for truth in (0.5, 0.9, 0.99, 0.998, 0.999):
        for correlation in (0.0, 0.005, 0.02, 0.05, 0.1, 0.2):
            for paths in (20, 30, 50, 100, 200):
                for draws in (1, 5):
                    for points in (200, 5):
                        law = (truth, correlation, paths, draws, points)
                        if is_counted or correlation:
                            rows.append((*share_covered(law, is_counted, 20000), law))
    with capsys.disabled():
        print(f"\n{len(rows)} laws, the worst:", *sorted(rows)[:10], sep="\n")
    assert min(rows)[0] > 0.93


@pytest.mark.parametrize("q", [0.05, 0.95])
@pytest.mark.parametrize("paths", [5, 10, 20, 60])
def test_quantiles_that_few_paths_cannot_bound(q: float, paths: int) -> None:
    rng = np.random.default_rng([paths, int(100 * q)])
    values = rng.beta(18, 2, (paths, 1, STUDIES))
    found = intervals.estimate_quantile(values, np.ones(values.shape, bool), q, bounds=(0.0, 1.0))
    truth = stats.beta.ppf(q, 18, 2)
    assert np.mean((found.low <= truth) & (truth <= found.high)) > 0.93
    if paths <= 20:
        assert np.mean((found.low == 0) if q < 0.5 else (found.high == 1)) > 0.9
