"""CRPS and PIT of a store are those of the library, and a store without them stays without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from harness.backends.base import open_backend
from harness.compute.measures import PointResults, count_pits
from harness.compute.unit import draw_cell
from harness.core.errors import UserError
from harness.core.protocols import PredictiveScores, SupportsDistributions, Target
from harness.cube.reader import open_cube
from harness.families.baselines import FAMILY as BASELINES
from harness.families.krr import FAMILY as KRR_FAMILY
from harness.figures import draw
from harness.maintenance.merge import merge_stores
from harness.maintenance.replay import CellSelection, replay_one
from harness.report.write import write
from harness.results.estimates import estimate, estimate_pits
from harness.scenario.load import check
from harness.statistics.reduce import reduce_replications
from harness.store.manifest_io import load_manifest
from harness.worker.study import build_study
from tests.harness.families.scoring import scored, streams
from tests.harness.figures.reading import texts
from tests.harness.studies import contents, loaded, run_serially
from tests.harness.toy import FAMILY as TOY, ToyFactor

KRR: dict[str, Any] = {
    "family": "krr",
    "source": {"function": "heaviside", "test_points": 20},
    "grid__procedure": ["GPR-f", "RRCM-loo", "CRR-std"],
    "grid__theta": [30, "ml"],
    "grid__lam": [0.1],
    "grid__gamma": [0.1, 1e-6],
    "grid__n": [12],
    "grid__alpha": [0.1, 0.25],
    "replications__paths": 3,
    "replications__draws": 2,
}
KEPT: dict[str, Any] = {"keep": ["distribution"]}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("distributions") / "krr.zarr"
    run_serially(where, **KRR, **KEPT)
    return where


def test_a_store_has_what_its_replications_would_give_again(store: Path) -> None:
    manifest = load_manifest(open_backend(str(store)))
    assert manifest is not None
    study, arrays = build_study(str(store), manifest), contents(store)
    for path, k, g, t, r in [(0, 0, 0, 0, 0), (1, 1, 1, 0, 0), (2, 0, 0, 1, 0)]:
        cell = draw_cell(study, 12, path, k, g, t, r)
        target, ((_, factor),) = cell.target, cell.factors
        tau = study.seeds.make_draw_streams(path, k)("pit").random(20)
        for p, name in enumerate(manifest.extent.grid.procedure):
            crps, pit = (arrays[f"replications/n=12/{each}"][path, k, p, g, t, r] for each in ("crps", "pit"))
            if name == "RRCM-loo":
                assert np.isnan(crps)
                assert np.isnan(pit).all()
                continue
            D = factor.fit(target.Y[:, 0]).distribution(cell.sample.X_test, name)  # type: ignore[attr-defined]
            assert crps == np.float32(D.crps(target.Y_test[:, 0]).mean())
            counts = np.histogram(D.pit(target.Y_test[:, 0], tau), bins=10, range=(0, 1))[0]
            assert pit == pytest.approx(counts / 20, rel=1e-6)


def test_everything_else_has_the_same_bits(store: Path, tmp_path: Path) -> None:
    run_serially(tmp_path / "plain.zarr", **KRR)
    plain, more = contents(tmp_path / "plain.zarr"), contents(store)
    added = {"crps", "crps_se", *(f"replications/n=12/{name}" for name in ("crps", "pit"))}
    assert more.keys() - plain.keys() == added
    for name, values in plain.items():
        assert np.array_equal(values, more[name], equal_nan=values.dtype.kind == "f"), name
    before, after = loaded(**KRR).fingerprint, loaded(**KRR, **KEPT).fingerprint
    assert {**after, "keep": before["keep"]} == before


def test_growth_gives_the_same_bits(store: Path, tmp_path: Path) -> None:
    """A store that gets an α, a θ and a path later has what it would have had at once; replays, too."""
    less = KRR | {"grid__alpha": [0.1], "grid__theta": [30], "replications__paths": 2}
    run_serially(tmp_path / "grown.zarr", **less, **KEPT)
    run_serially(tmp_path / "grown.zarr", **KRR, **KEPT)
    one, other = contents(store), contents(tmp_path / "grown.zarr")
    for name in ("crps", "pit"):
        np.testing.assert_array_equal(one[f"replications/n=12/{name}"], other[f"replications/n=12/{name}"])
    assert replay_one(str(store), CellSelection(12, 2, 1)).equal


def test_stores_with_them_are_merged(tmp_path: Path) -> None:
    """Where both have the NaN of a procedure without a distribution, they agree."""
    for name, procedures in (("a", ["RRCM-loo", "CRR-std"]), ("b", ["RRCM-loo", "GPR-f"])):
        run_serially(tmp_path / f"{name}.zarr", **KRR | {"grid__procedure": procedures, "grid__theta": [30]}, **KEPT)
    merge_stores([str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")], str(tmp_path / "both.zarr"))
    whole = contents(tmp_path / "both.zarr")["replications/n=12/crps"]
    a, b = (contents(tmp_path / f"{name}.zarr")["replications/n=12/crps"] for name in "ab")
    np.testing.assert_array_equal(whole, np.concatenate([a, b[:, :, 1:]], axis=2))


def test_the_cube_and_the_table_have_the_mean(store: Path) -> None:
    cube, values = open_cube(str(store)), contents(store)["replications/n=12/crps"]
    found = estimate(str(store), "crps")
    at = {"procedure": "CRR-std", "gamma": 0.1, "theta": "ml", "lam": 0.1, "n": 12}
    mine = values[:, :, 2, 0, 1, 0].astype(float)
    assert cube.crps.sel(at).values.tolist() == [pytest.approx(mine.mean())] * 2, "the same at every α"
    assert float(cube.crps_se.sel(at)[0]) == pytest.approx(mine.mean(axis=1).std(ddof=1) / 3**0.5)
    assert float(found.value.sel(at)[0]) == float(cube.crps.sel(at)[0])
    assert float(found.se.sel(at)[0]) == float(cube.crps_se.sel(at)[0])
    assert cube.crps.sel(procedure="RRCM-loo").isnull().all()


def test_a_store_without_them_stays_without(tmp_path: Path) -> None:
    where = tmp_path / "old.zarr"
    fewer = KRR | {"grid__theta": [30], "replications__paths": 2}
    assert run_serially(where, **fewer, expected_coverage=False).keep == ()
    with pytest.raises(UserError, match="the optional variables were none and are distribution"):
        run_serially(where, **fewer, **KEPT, expected_coverage=False)
    with pytest.raises(UserError, match=r'has no crps: its scenario has no keep = \["distribution"\]'):
        estimate(str(where), "crps")
    assert "crps" not in contents(where)
    assert not {"crps", "pit"} & {name.rpartition("/")[2] for name in contents(where)}


def test_families_without_distributions_are_refused() -> None:
    with pytest.raises(UserError, match=r"keep\[1\] must not be 'distribution': no procedure of the scenario's famil"):
        check({**plain_sklearn(), "keep": ["pointwise", "distribution"]}, "my.toml", Path.cwd())
    check({**plain_sklearn(), "keep": ["pointwise"]}, "my.toml", Path.cwd())


def plain_sklearn() -> dict[str, Any]:
    return {
        "name": "ridge",
        "seed": 1,
        "family": "sklearn:Ridge",
        "source": {"function": "heaviside"},
        "grid": {"gamma": [0.1], "n": [10], "alpha": [0.1], "procedure": ["Ridge-split"]},
        "replications": {"paths": 2},
    }


def test_baselines_have_those_of_krr() -> None:
    """Bitwise, with NaN for the methods."""
    names = ("RRCM", "GPR-f", "split", "CRR-std", "J+GP")
    assert isinstance(BASELINES, SupportsDistributions)
    ours = scored(BASELINES.with_distributions(), names, 2)
    for one, other in zip(ours, scored(KRR_FAMILY.with_distributions(), ["GPR-f", "CRR-std"], 2), strict=True):
        assert isinstance(one, PredictiveScores)
        assert isinstance(other, PredictiveScores)
        for mine, theirs in ((one.crps, other.crps), (one.pit, other.pit)):
            assert mine is not None
            assert theirs is not None
            assert np.isnan(mine[:, [0, 2, 4]]).all()
            assert (mine[:, [1, 3]] == theirs).all()
    assert all(one.crps is None for one in scored(BASELINES, names, 1) if isinstance(one, PredictiveScores))


def test_samples_are_measured_alike_together_and_alone() -> None:
    """Also beside a family's scores without distributions."""
    rng = np.random.default_rng(0)
    targets = [Target(np.zeros((3, k)), rng.standard_normal((7, k)), None) for k in (1, 2)]
    asked = TOY.with_distributions()
    found = [asked.score([ToyFactor(1, 1)], [one], TOY.procedures, [0.1], [streams(0)])[0] for one in targets]
    (plain,) = TOY.score([ToyFactor(1, 1)], targets[:1], TOY.procedures, [0.1], [streams(0)])
    y = [one.Y_test.T for one in targets]
    together = PointResults([*found, plain], [*y, y[0]], [0.1], None)
    for i, rows in enumerate((slice(0, 1), slice(1, 3))):
        alone = PointResults([found[i]], [y[i]], [0.1], None)
        np.testing.assert_array_equal(together.mean_crps()[rows], alone.mean_crps())
        np.testing.assert_array_equal(together.count_pits()[rows], alone.count_pits())
    assert np.isnan(together.mean_crps()[3]).all()
    assert together.count_pits().shape == (4, 4, 10)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.floats(0, 1), st.integers(0, 10).map(lambda i: i / 10)), min_size=1, max_size=30))
def test_bins_are_half_open(pit: list[float]) -> None:
    found = count_pits(np.array([pit]))[0]
    right = [sum(min(int(10 * each), 9) == i for each in pit) / len(pit) for i in range(10)]
    assert found.tolist() == right


def test_the_histogram_is_of_all_test_points(store: Path) -> None:
    found, values = estimate_pits(str(store), {"alpha": [0.25]}), contents(store)["replications/n=12/pit"]
    at = {"procedure": "GPR-f", "gamma": 0.1, "theta": "30", "lam": 0.1, "n": 12}
    mine = values[:, :, 0, 0, 0, 0].astype(float)
    assert found.value.sel(at).to_numpy() == pytest.approx(mine.mean(axis=(0, 1)))
    assert found.se.sel(at).to_numpy() == pytest.approx(mine.mean(axis=1).std(axis=0, ddof=1) / 3**0.5)
    assert found.bin.to_numpy() == pytest.approx(np.arange(0.05, 1, 0.1))
    ends = reduce_replications(values[:, :, 0, 0, 0, 0], np.ones((3, 2, 1), bool), "share", 20, level=0.995)
    assert found.low.sel(at).to_numpy() == pytest.approx(ends.low)
    assert found.high.sel(at).to_numpy() == pytest.approx(ends.high)
    assert found.value.sel(procedure="RRCM-loo").isnull().all()


def test_intervals_of_a_histogram_hold_at_once() -> None:
    """In 300 studies of 40 paths whose PITs are uniform, and dependent within a path; a pooled test rejects most."""
    rng, studies = np.random.default_rng(4), 300
    pit = (rng.random((40, 1, studies, 1)) + 0.2 * rng.random((40, 1, studies, 20))) % 1
    found = reduce_replications(count_pits(pit), np.ones((1, 1, 1, 1), bool), "share", 20, level=1 - 0.05 / 10)
    wrong = ((found.low > 0.1) | (found.high < 0.1)).any(axis=-1).mean()
    assert wrong < 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5, "which a right program fails once in 700 seeds"
    pooled = [stats.kstest(pit[:, 0, i].ravel(), "uniform").pvalue < 0.05 for i in range(studies)]
    assert np.mean(pooled) > 0.8
    bent = reduce_replications(count_pits(pit**2), np.ones((1, 1, 1, 1), bool), "share", 20, level=1 - 0.05 / 10)
    assert ((bent.low > 0.1) | (bent.high < 0.1)).any(axis=-1).mean() > 0.8, "they have power"


def test_the_figure_draws_it(store: Path) -> None:
    figure, found = draw(str(store), "pit", {"gamma": [0.1]}), estimate_pits(str(store))
    (ax,) = figure.axes
    at = {"gamma": 0.1, "theta": "30", "lam": 0.1, "n": 12}
    drawn = [np.asarray(line.get_ydata()).tolist() for line in ax.lines if len(np.asarray(line.get_xdata())) == 10]
    assert drawn == [found.value.sel({**at, "procedure": name}).to_numpy().tolist() for name in ("GPR-f", "CRR-std")]
    assert "Without a predictive distribution: RRCM-loo." in texts(figure)
    with pytest.raises(UserError, match="none of RRCM-loo has a PIT here"):
        draw(str(store), "pit", {"procedure": ["RRCM-loo"]})


def test_the_report_shows_it(store: Path, tmp_path: Path) -> None:
    write(str(store), str(tmp_path / "it.html"), settings=1)
    text = (tmp_path / "it.html").read_text()
    assert "Histograms of the PIT of predictive distributions" in text
    assert ">CRPS<" in text
