"""The linear kernel, a known σ and signed differences of ends in studies: from the scenario to the limit law."""

from __future__ import annotations

import doctest
import re
from copy import deepcopy
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import ckrr
import scenarios
from harness.backends.base import open_backend
from harness.compute.unit import draw_cell
from harness.core.errors import UserError
from harness.core.schema.measures import DIFFERENCES
from harness.execution.prepare import prepare
from harness.results.replications import open_reader
from harness.scenario.load import check, load
from harness.store.manifest_io import load_manifest
from harness.worker.study import build_study
from tests.harness.studies import ROOT, contents, run_serially, serially, toy

ALPHA = (0.1, 0.4)
LINEAR: dict[str, Any] = {
    "family": "baselines",
    "kernel": "linear",
    "sigma": "known",
    "keep": list(DIFFERENCES),
    "source": {"function": "linear", "test_points": 3},
    "grid": {
        "gamma": [1.0, 0.01],
        "n": [2, 12],
        "lam": [1e-6, 1],
        "alpha": list(ALPHA),
        "procedure": ["GPR-f", "GPR-p", "CRR", "RRCM-loo", "GPR-t", "CV+"],
    },
    "replications": {"paths": 4, "draws": 2},
}


NO_SIGMA = r'sigma must be left out or "estimated": this source'


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("efficiency") / "linear.zarr"
    run_serially(where, **LINEAR)
    return where


def test_a_store_has_what_fits_would_give_again(store: Path) -> None:
    """With n = 2 by the n×n matrix, with n = 12 by the d×d matrix; σ is √γ for GPR-f and GPR-p, and for them alone."""
    manifest = load_manifest(open_backend(str(store)))
    assert manifest is not None
    study, checked = build_study(str(store), manifest), 0
    for n in (2, 12):
        found = {name: contents(store)[f"replications/n={n}/{name}"] for name in (*DIFFERENCES, "width_mean")}
        for path, draw, g, r in [(0, 0, 0, 0), (3, 1, 1, 1)]:
            cell = draw_cell(study, n, path, draw, g, 0, r)
            gamma, lam = manifest.extent.grid.gamma[g], manifest.extent.grid.lam[r]
            fit = ckrr.fit(cell.sample.X, cell.target.Y[:, 0], lam=lam, kernel="linear", noise_sd=gamma**0.5)
            bayes = fit.regions(cell.sample.X_test, "GPR-f", ALPHA)
            for p, name in enumerate(("GPR-f", "GPR-p", "CRR", "RRCM-loo")):
                mine = fit.regions(cell.sample.X_test, name, ALPHA)
                at = (path, draw, p, g, 0, r)
                assert found["width_mean"][at] == pytest.approx((mine.upper - mine.lower).mean(axis=0), rel=1e-6)
                for side in ("lower", "upper"):
                    ends, other = getattr(mine, side), getattr(bayes, side)
                    expected = (ends - other).mean(axis=0)
                    expected[~np.isfinite(expected)] = np.nan
                    assert found[f"difference_{side}"][at] == pytest.approx(expected, rel=1e-5, nan_ok=True)
                    checked += int(np.isfinite(expected).sum())
    assert checked > 40


def test_there_is_no_theta_to_give(store: Path) -> None:
    """The axis has one value that stands for none, and the record says that no procedure uses it."""
    cube = xr.open_zarr(store)
    assert cube.theta.size == 1
    assert cube.uses_theta.to_numpy().tolist() == [False] * 6
    assert cube.uses_lam.all()
    assert np.isnan(contents(store)["replications/n=12/theta_hat"]).all()
    assert isnan(ckrr.Inputs([[1.0], [2.0]], [[1.0]], "linear").factor(lam=0.1).theta)


def test_the_cube_has_means_with_errors(store: Path) -> None:
    values = contents(store)["replications/n=12/difference_upper"].astype(float)
    at = {"procedure": "CRR", "gamma": 0.01, "lam": 1.0, "n": 12, "alpha": 0.4}
    cube = xr.open_zarr(store, chunks=None).sel(at)
    means = values[:, :, 2, 1, 0, 1, 1].mean(axis=1)
    assert cube.difference_upper.item() == pytest.approx(means.mean())
    assert cube.difference_upper_se.item() == pytest.approx(means.std(ddof=1) / 2)


def test_a_store_without_differences_stays_without(tmp_path: Path) -> None:
    where, plain = tmp_path / "old.zarr", {key: value for key, value in LINEAR.items() if key != "keep"}
    run_serially(where, **plain)
    assert not [name for name in contents(where) if "difference" in name]
    with pytest.raises(UserError, match=r'has no difference_upper: its scenario has no keep = \["difference_upper"\]'):
        open_reader(str(where)).read(next(iter(open_reader(str(where)).iter_slabs())), "difference_upper")
    with pytest.raises(UserError, match="belongs to another study"):
        run_serially(where, **LINEAR)
    with pytest.raises(UserError, match="sigma was 'known' and is 'estimated'"):
        run_serially(where, **plain | {"sigma": "estimated"})


def test_only_what_is_used_is_in_the_fingerprint() -> None:
    loaded = check(toy(**LINEAR), "my.toml", ROOT)
    assert loaded.fingerprint["sigma"] == "known"
    assert loaded.fingerprint["kernel"] == {"kernel": "linear"}
    assert {"sigma", "kernel"}.isdisjoint(load("quickstart").fingerprint)
    assert load("quickstart").records["krr"].axes == ("theta", "lam")
    assert loaded.records["baselines"].axes == ("lam",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sigma": "guessed"}, "sigma must be 'estimated' or 'known', got 'guessed'"),
        (
            {"source": {"function": "linear", "noise": "heteroscedastic"}},
            NO_SIGMA,
        ),
        (
            {"source": {"function": "linear", "noise": "student", "df": 2.0}},
            r"sigma must be left out or \"estimated\": ",
        ),
        ({"source": {"function": "dataset", "dataset": "diabetes"}}, NO_SIGMA),
        ({"grid__gamma": [1.0, 0.0]}, r"grid\.gamma\[1\] must be > 0 where sigma = \"known\", got 0\.0"),
        (
            {
                "family": "tests.harness.toy:FAMILY",
                "kernel": "gaussian",
                "grid__theta": [1],
                "grid__procedure": ["wide"],
            },
            r"sigma must be left out or \"estimated\": the family 'tests.harness.toy:FAMILY' can't use a known σ",
        ),
        ({"kernel": "gaussian"}, "grid.theta is missing: baselines needs it"),
    ],
)
def test_mistakes_are_told_before_work_starts(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        check(toy(**deepcopy(LINEAR) | changes), "my.toml", ROOT)


def test_what_a_source_says_of_its_noise() -> None:
    def noise_sd(**world: Any) -> float | None:
        return scenarios.SOURCES["linear"]().in_world(scenarios.World(**world)).noise_sd  # type: ignore[attr-defined]

    assert noise_sd() == noise_sd(noise="skewed") == noise_sd(noise="student", df=3.0) == 1.0
    assert noise_sd(noise="student", df=1.5) is None
    assert noise_sd(noise="heteroscedastic") is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both bundled scenarios, with few paths and sizes."""
    where = tmp_path_factory.mktemp("bundled")
    settings = {
        "efficiency": ["grid.n=[400,1600]", "replications.paths=400"],
        "efficiency-gaussian": ["grid.n=[200,400]", "replications.paths=60"],
    }
    for name, some in settings.items():
        serially(prepare(load(name, some), str(where / f"results/{name}.zarr"), workers=1, speed=2e8))
    return where


def test_the_bundled_scenario_follows_the_law(folder: Path) -> None:
    """400 paths: the standard deviation is within 4 of its errors, and n^(−1/2) of its limit, at each α.

    Four errors of 3.5 % at 8 numbers: a false alarm in 2000 seeds, and the seed is fixed.
    """
    cube = xr.open_zarr(folder / "results/efficiency.zarr").sel(procedure="CRR", n=1600).squeeze()
    tail = cube.alpha.to_numpy() / 2
    law = np.sqrt(tail * (1 - tail) / norm.pdf(norm.isf(tail)) ** 2 - 6 / 7)
    for side in ("lower", "upper"):
        deviation = np.sqrt(1600 * 400) * cube[f"difference_{side}_se"].to_numpy()
        assert deviation == pytest.approx(law, rel=4 / np.sqrt(800) + 1 / 40)


def test_the_page_s_code_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    page = (ROOT / "docs/efficiency.md").read_text()
    session, law, exponent = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    found = doctest.DocTestParser().get_doctest(session, {}, "efficiency", None, None)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(found).failed == 0
    names: dict[str, Any] = {}
    exec(law, names)
    exec(exponent, names)
    assert (abs(names["fit_exponent"](names["ends"]) - 0.5) < 0.7).all()
    assert capsys.readouterr().out.startswith("alpha")
