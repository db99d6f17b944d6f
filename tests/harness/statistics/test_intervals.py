"""Studies with known truth: nominal 95 % intervals cover it in 94 % of them and more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.statistics import intervals
from harness.statistics.clustered import clustered_error, variance_components
from tests.harness.statistics.laws import Law, Outcome, format_report, list_laws, measure, measure_carefully

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


LAWS = [
    Law("beta", 0.9, 0.2, 20, 1, 200),
    Law("beta", 0.99, 0.05, 20, 5, 200),
    Law("beta", 0.99, 0.2, 50, 1, 200),
    Law("beta", 0.998, 0.04, 20, 1, 200),
    Law("beta", 0.998, 0.2, 200, 1, 200),
    Law("beta", 0.999, 0.05, 50, 5, 200),
    Law("beta", 0.999, 0.005, 20, 1, 200),
    Law("beta", 0.99, 0.1, 50, 1, 5),
    Law("beta", 0.9, 0.2, 20, 5, 5),
    Law("beta", 0.9, 0.05, 10, 1, 200),
    Law("beta", 0.998, 0.2, 10, 5, 200),
    Law("rare", 0.99, 0.05, 200, 1, 200),
    Law("discrete", 0.99, 0.2, 200, 5, 200),
    Law("discrete", 0.9, 0.2, 50, 1, 5),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("is_counted", [True, False])
def test_intervals_near_1_cover_where_points_fail_together(law: Law, is_counted: bool) -> None:
    law = replace(law, is_counted=is_counted)
    assert measure(law, 3000).covered > law.promise - 0.011  # 2.6 standard errors


@pytest.mark.parametrize(
    ("law", "covered"),
    [
        (Law("beta", 0.9, 0.005, 50, 1, 200), 0.952),
        (Law("beta", 0.99, 0.2, 10, 1, 200), 0.641),
        (Law("beta", 0.999, 0.05, 50, 1, 200), 0.775),
    ],
)
def test_the_previous_interval_is_the_one_that_was_audited(law: Law, covered: float) -> None:
    """With which lengths are compared: it covers as often as the audit of commit 04bc54f measured."""
    assert measure(law, 8000).previous_covered == pytest.approx(covered, abs=0.03)


@pytest.mark.parametrize("paths", [3, 5, 10])
@pytest.mark.parametrize("correlation", [0.2, 0.5, 0.999])
@pytest.mark.parametrize("truth", [0.9, 0.99])
def test_few_paths_that_share_everything_are_not_trusted(paths: int, correlation: float, truth: float) -> None:
    found = measure(Law("beta", truth, correlation, paths, 1, 200), 3000)
    assert found.covered > 0.93
    assert found.length > 0.2, "wide: so few paths can't tell"


@pytest.mark.parametrize(("truth", "correlation"), [(0.9, 0.1), (0.99, 0.05)])
def test_paths_that_no_study_has_seen_are_not_in_its_interval(truth: float, correlation: float) -> None:
    """The limit of every such interval: a tenth of the paths is bad, and one study in eight with 20 paths sees none."""
    law = Law("rare", truth, correlation, 20, 1, 200)
    assert law.unseen == pytest.approx(0.9**20)
    assert law.promise - law.unseen - 0.02 < measure(law, 3000).covered < 1 - law.unseen + 0.02


@pytest.mark.parametrize("is_counted", [True, False])
@pytest.mark.parametrize(("truth", "paths"), [(0.5, 50), (0.9, 50), (0.9, 200)])
def test_intervals_cover_where_a_tenth_of_the_paths_is_bad(truth: float, paths: int, is_counted: bool) -> None:
    law = Law("rare", truth, 0.05, paths, 1, 200, is_counted)
    found = measure(law, 5000)
    assert found.covered > law.promise - law.unseen - 0.009
    assert found.length < 1.02 * found.previous_length or not is_counted


@pytest.mark.parametrize("level", [0.95, 0.999])
def test_one_bad_path_is_no_proof_of_more(level: float) -> None:
    """Bad paths that are so rare that few studies have one: the upper end stays above the truth in those, too."""
    rng = np.random.default_rng(7)
    bad = rng.random((50, 1, STUDIES)) < 0.0005
    values = rng.binomial(POINTS, np.where(bad, 0.5, 0.9)) / POINTS
    found = intervals.estimate_share(values, np.ones(values.shape, bool), POINTS, level)
    assert np.mean(found.high < 0.9 - 0.0002) < (1 - level) / 2 + 0.004


def test_the_skew_of_a_mean_is_that_of_its_definition() -> None:
    rng = np.random.default_rng(8)
    values = rng.beta(5, 1, (30, 4))
    ok = rng.random(values.shape) < 0.8
    found = intervals.Share.from_replications(np.where(ok, values, np.nan), ok, POINTS)
    sums = [sum(values[p, d] - found.value for d in range(4) if ok[p, d]) for p in range(30)]
    assert found.skew == pytest.approx(sum(u**3 for u in sums) / sum(u**2 for u in sums) / ok.sum(), rel=1e-9)


def test_intervals_are_no_longer_than_they_must_be() -> None:
    """Where points are nearly independent, the mean length is that of Agresti and Coull for as many."""
    for truth, paths in ((0.9, 50), (0.9, 200), (0.99, 200)):
        length = measure(Law("beta", truth, 0.0, paths, 1, 200), 3000).length
        assert length < 1.08 * 2 * stats.t.ppf(0.975, paths - 1) * np.sqrt(truth * (1 - truth) / (200 * paths))


@pytest.mark.parametrize("correlation", [0.0, 0.05, 0.2])
@pytest.mark.parametrize(("paths", "most"), [(20, 1.15), (50, 1.05), (200, 1.05)])
def test_intervals_at_09_are_about_as_long_as_before(correlation: float, paths: int, most: float) -> None:
    found = measure(Law("beta", 0.9, correlation, paths, 1, 200), 3000)
    assert 0.99 < found.length / found.previous_length < most


@pytest.mark.soak
@pytest.mark.parametrize("is_counted", [True, False])
def test_the_whole_grid_of_laws(is_counted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """`coverage.md` has the tables that this prints."""
    found = {law: measure_carefully(law) for law in list_laws(is_counted)}
    with capsys.disabled():
        print(f"\n## {'Counted points' if is_counted else 'Probabilities'}\n\n{format_report(found)}")
    for law, outcome in found.items():
        noise = 3.5 * np.sqrt(0.06 / outcome.studies)
        assert outcome.covered > law.promise - law.unseen - noise, law
        if law.kind == "beta" and law.truth <= 0.9 and law.points == 200 and law.paths > 10:
            assert outcome.length / outcome.previous_length < (1.15 if law.paths == 20 else 1.05), law


def test_the_table_of_laws_marks_what_is_below_its_promise() -> None:
    good, bad = (Law("beta", 0.9, 0.2, paths, 1, 200) for paths in (50, 10))
    text = format_report({good: Outcome(0.95, 0.1, 0.93, 0.08, 100), bad: Outcome(0.9, 0.1, 0.93, 0.08, 100)})
    assert text.startswith("2 laws; 1 below their promise, 1 of them beta:\n")
    assert "| beta | 0.9 | 0.2 | 10 | 1 | 200 | 0.9000 | 0.000 | 0.1000 | 1.25 |" in text
    assert text.endswith("| beta | 0.9 | 0.2 | 0.950 | **0.900** |")


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
