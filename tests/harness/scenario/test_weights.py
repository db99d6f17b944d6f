"""Weighted procedures in scenarios: their weights, what a store remembers of them, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ckrr
from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.protocols import SupportsDensityRatio, SupportsWeights
from harness.execution import prepare
from harness.families import baselines, krr
from harness.families.weights import PowerOfRatio
from harness.report.sections.design import render_design
from harness.report.sections.facts import gather_facts
from harness.results.validity import verdicts
from harness.scenario.load import Loaded, check
from harness.store.manifest import from_attributes, to_attributes
from harness.store.manifest_io import load_manifest
from harness.worker.study import build_study
from tests.harness.studies import replications, serially, toy

BOTH = ["RRCM-loo", "RRCM-loo-w"]


def plain_scenario(
    procedure: list[str] | None = None, source: dict[str, Any] | None = None, **keys: Any
) -> dict[str, Any]:
    return {
        "name": "weights",
        "seed": 5,
        "source": {"function": "f6", "test_points": 40, "noise": "heteroscedastic", "shift": 2.0, **(source or {})},
        "grid": {
            "gamma": [0.1, 1.0],
            "n": [20],
            "theta": 100,
            "lam": 0.1,
            "alpha": [0.1, 0.25],
            "procedure": BOTH if procedure is None else procedure,
        },
        "replications": {"paths": 12},
        **keys,
    }


def scenario(*args: Any, **keys: Any) -> Loaded:
    return check(plain_scenario(*args, **keys), "weights.toml", Path.cwd())


def run(loaded: Loaded, url: Path) -> Path:
    serially(prepare.prepare(loaded, str(url), workers=1, speed=1e9))
    return url


def coverage(loaded: Loaded, url: Path, procedure: str) -> np.ndarray[Any, Any]:
    """Hits of a procedure over path, γ and α."""
    place = loaded.scenario.grid.procedure.index(procedure)
    return replications(run(loaded, url), 20, "coverage")[:, 0, place, :, 0, 0]


@pytest.mark.parametrize(("weights", "power"), [("exact", 1.0), (0.5, 0.5), (-1, -1.0)])
def test_weights_are_powers_of_the_density_ratio(weights: Any, power: float, tmp_path: Path) -> None:
    """Every replication again, from its sample, by the density of a tilt as the documentation writes it."""
    loaded = scenario(weights=weights)
    found, source, seeds = coverage(loaded, tmp_path / "w.zarr", "RRCM-loo-w"), loaded.built.source, loaded.seeds
    for path in range(12):
        sample = source.path(seeds.make_path_streams(path)).draw(seeds.make_draw_streams(path, 0), 20, {})
        w, w_new = (np.exp(2.0 * power * X[:, 0]) for X in (sample.X, sample.X_test))
        assert sample.noise is not None
        assert sample.noise_test is not None
        for g, gamma in enumerate((0.1, 1.0)):
            fit = ckrr.fit(sample.X, sample.y + np.sqrt(gamma) * sample.noise, 100.0, 0.1)
            y_new = sample.y_test + np.sqrt(gamma) * sample.noise_test
            hits = fit.score(sample.X_test, y_new, "RRCM-loo-w", [0.1, 0.25], weights=(w, w_new)).hits[0]
            assert found[path, g] == pytest.approx(hits.mean(axis=0))


def test_estimated_weights_are_those_of_each_sample(tmp_path: Path) -> None:
    loaded = scenario(["CRR-w"], weights="estimated")
    found, source, seeds = coverage(loaded, tmp_path / "w.zarr", "CRR-w"), loaded.built.source, loaded.seeds
    for path in range(4):
        sample = source.path(seeds.make_path_streams(path)).draw(seeds.make_draw_streams(path, 0), 20, {})
        assert sample.noise is not None
        assert sample.noise_test is not None
        fit, weights = (
            ckrr.fit(sample.X, sample.y + sample.noise, 100.0, 0.1),
            ckrr.estimate_weights(sample.X, sample.X_test),
        )
        hits = fit.score(sample.X_test, sample.y_test + sample.noise_test, "CRR-w", [0.1, 0.25], weights=weights).hits[
            0
        ]
        assert found[path, 1] == pytest.approx(hits.mean(axis=0))


@pytest.mark.parametrize(
    "keys", [{"weights": 0.0}, {"source": {"shift": 0.0}}, {"family": "baselines", "source": {"shift": 0.0}}]
)
def test_without_a_shift_or_ignoring_it_no_bit_changes(keys: dict[str, Any], tmp_path: Path) -> None:
    run(scenario(**keys), tmp_path / "w.zarr")
    for name in ("coverage", "width_mean", "length", "unbounded"):
        values = replications(tmp_path / "w.zarr", 20, name)
        assert np.array_equal(values[:, :, 0], values[:, :, 1], equal_nan=True), name


def test_only_other_weights_are_in_the_fingerprint(tmp_path: Path) -> None:
    """So stores without weighted procedures take them in, and those with other weights are other studies."""
    plain = scenario(["RRCM-loo"])
    assert "weights" not in plain.fingerprint
    assert plain.fingerprint == scenario().fingerprint == scenario(weights="exact").fingerprint
    assert scenario(weights=1).fingerprint == plain.fingerprint
    assert scenario(weights=0.5).fingerprint == {**plain.fingerprint, "weights": 0.5}
    url = run(plain, tmp_path / "w.zarr")
    before = replications(url, 20, "coverage").copy()
    run(scenario(), url)
    after = replications(url, 20, "coverage")
    assert np.array_equal(before, after[:, :, :1])
    assert not np.array_equal(after[:, :, 0], after[:, :, 1])
    with pytest.raises(UserError, match="weights was 'exact' and is 'estimated'"):
        prepare.prepare(scenario(weights="estimated"), str(url), workers=1, speed=1e9)


def test_a_store_remembers_its_weights(tmp_path: Path) -> None:
    url = str(run(scenario(weights=0.5), tmp_path / "w.zarr"))
    record = load_manifest(open_backend(url))
    assert record is not None
    (family,) = build_study(url, record).families
    assert isinstance(family.family, krr.KernelRidge)
    assert isinstance(family.family.ratio, PowerOfRatio)
    assert family.family.ratio.power == 0.5
    assert "Weights of weighted procedures: the density ratio to the power 0.5." in str(
        render_design(gather_facts(url))
    )
    assert from_attributes(to_attributes(record)) == record
    for strange in ("os:system", [1], True):
        changed = replace(record, fingerprint={**record.fingerprint, "weights": strange})
        with pytest.raises(ValueError, match=r"fingerprint\.weights must be"):
            from_attributes(to_attributes(changed))


def test_the_target_is_at_least_one_minus_alpha(tmp_path: Path) -> None:
    """There is no exact level, so nothing is a control variate, and more coverage than 1 − α is valid."""
    url = str(run(scenario(["RRCM-loo", "CRR-loo-w"]), tmp_path / "w.zarr"))
    record = load_manifest(open_backend(url))
    assert record is not None
    assert list(record.exact_levels) == ["RRCM-loo"]
    found = verdicts(url).squeeze().sel(procedure="CRR-loo-w", gamma=1.0)
    assert found["target"].values.tolist() == [0.9, 0.75]
    assert not found["promised"].any()
    assert found["verdict"].sel(alpha=0.1).item() == "conservative"


def test_who_has_weights() -> None:
    assert isinstance(krr.FAMILY, SupportsWeights)
    assert isinstance(baselines.FAMILY, SupportsWeights)
    assert isinstance(scenario().built.source, SupportsDensityRatio)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"source": {"shift": 0.0, "test": "grid"}},
            "grid.procedure has RRCM-loo-w, whose weights are unknown: a grid of test points has no distribution; "
            'write test = "iid" in [source], or weights = "estimated"',
        ),
        ({"smoothed": True}, "smoothed must be false or left out with RRCM-loo-w: weighted p-values can't be smoothed"),
        (
            {"weights": "right"},
            'weights must be "exact", "estimated", or the power of the density ratio, from −10 to 10, got \'right\'',
        ),
        ({"weights": 11}, 'weights must be "exact", "estimated", or the power'),
        ({"weights": True}, 'weights must be "exact", "estimated", or the power'),
        ({"weights": float("nan")}, 'weights must be "exact", "estimated", or the power'),
    ],
)
def test_mistakes(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as found:
        scenario(**keys)
    assert str(found.value).startswith(f"weights.toml: {message}"), found.value
    assert "\n" not in str(found.value)


def test_estimated_weights_need_no_distribution() -> None:
    assert scenario(source={"shift": 0.0, "test": "grid"}, weights="estimated").families


def test_families_and_sources_that_know_no_weights(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="weights must be left out: no family of the scenario has weighted procedures"):
        check(toy(weights=0.5), "toy.toml", Path.cwd())
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\nfrom harness.core.protocols import Path\n"
        "from scenarios import SOURCES, World\n"
        "@dataclass(frozen=True)\n"
        "class Mine:\n"
        "    inner = SOURCES['f6'](test_points=40).in_world(World(shift=1.0))\n"
        "    dimension, test, test_points, knows_f, redraws, largest_n = 1, 'shifted', 40, True, (), None\n"
        "    def path(self, streams) -> Path:\n"
        "        return self.inner.path(streams)\n"
        "class Known(Mine):\n"
        "    def density_ratio(self, X):\n"
        "        return self.inner.density_ratio(X)\n"
    )
    plain = plain_scenario()
    with pytest.raises(
        UserError, match=r"has RRCM-loo-w, whose weights are unknown: this source has no method density_"
    ):
        check({**plain, "source": {"function": "mine.py:Mine"}}, "weights.toml", tmp_path)
    assert check({**plain, "source": {"function": "mine.py:Mine"}, "weights": "estimated"}, "weights.toml", tmp_path)
    assert check({**plain, "source": {"function": "mine.py:Known"}}, "weights.toml", tmp_path)
