"""Harder worlds in a scenario: told apart where they are asked for, and nothing else where they aren't."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ckrr
from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.packaged import list_scenario_files
from harness.core.types import Status
from harness.cube.reader import open_cube
from harness.execution import prepare
from harness.report.sections.design import render_design
from harness.report.sections.facts import gather_facts
from harness.report.sections.uncertainty import describe_violations
from harness.results.estimates import estimate
from harness.results.validity import verdicts
from harness.scenario.load import Loaded, check, load
from harness.store.manifest import from_attributes, hash_fingerprint, to_attributes
from harness.store.manifest_io import load_manifest as record_of
from harness.worker.study import build_study
from scenarios import SOURCES, World
from tests.harness.studies import replications, serially, toy

FINGERPRINTS = {
    "quickstart": "fbac470e44d698e6",
    "f2": "cdf93038abc844bf",
    "f5": "422102eb753a809f",
    "f6": "467c252dd53eb170",
    "gp1": "c33db0cbe2de4243",
    "gp2": "56463ae9bb191a4d",
    "heaviside": "a78aeef66202d24f",
    "pressure2": "61d596a482fc2698",
    "paper/f2": "40d3e3b118973200",
    "paper/f5": "ea02b35aa0f686c4",
    "paper/f6": "603f273591fc875c",
    "paper/gp1": "71d81b86c7445b8f",
    "paper/gp2": "e4e762679698507e",
    "paper/heaviside": "27b6f6e9e8ebd108",
    "paper/pressure2": "f7e7132f99947a39",
}
"""Of the scenarios that came along before there were worlds, as they were then."""
NUMERICS = {"procedures": 1, "measures": 1, "sources": 1}
"""The versions of the arithmetic then."""
PROCEDURES = ["GPR-f", "RRCM-loo"]


def scenario(folder: Path | None = None, grid: dict[str, Any] | None = None, paths: int = 60, **source: Any) -> Loaded:
    return check(plain_scenario(grid, paths, **source), "worlds.toml", folder or Path.cwd())


def plain_scenario(grid: dict[str, Any] | None = None, paths: int = 60, **source: Any) -> dict[str, Any]:
    return {
        "name": "worlds",
        "seed": 5,
        "source": {"function": "f6", "test_points": 40, **source},
        "grid": {
            "gamma": 0.1,
            "n": [20],
            "theta": [100],
            "lam": 0.1,
            "alpha": 0.1,
            "procedure": PROCEDURES,
            **(grid or {}),
        },
        "replications": {"paths": paths},
    }


def run(loaded: Loaded, url: Path) -> str:
    serially(prepare.prepare(loaded, str(url), workers=1, speed=1e9))
    return str(url)


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_the_older_scenarios_are_what_they_were(name: str) -> None:
    """For a store of that time, which has no expected coverage."""
    then = load(name).with_variables_of(())
    assert hash_fingerprint({**then.fingerprint, "family": "krr", "numerics": NUMERICS}) == FINGERPRINTS[name]


def test_a_world_is_told_where_it_isnt_the_default() -> None:
    plain = scenario()
    assert plain.fingerprint == scenario(noise="gaussian", shift=0.0).fingerprint
    assert plain.seeds == scenario(noise="gaussian").seeds
    hard = scenario(noise="student", df=5.0, shift=1)
    assert hard.fingerprint["source"] == {**plain.fingerprint["source"], "noise": "student", "df": 5, "shift": 1}
    assert hard.seeds != plain.seeds


def test_a_store_remembers_its_world(tmp_path: Path) -> None:
    url = run(scenario(noise="skewed", shift=2.0), tmp_path / "w.zarr")
    record = record_of(open_backend(url))
    assert record is not None
    assert record.test == "shifted"
    assert build_study(url, record).source == SOURCES["f6"](test_points=40).in_world(World(noise="skewed", shift=2.0))  # type: ignore[attr-defined]


def test_there_is_no_oracle_of_other_noise(tmp_path: Path) -> None:
    """2z·sqrt(γ) is for normal noise: by it intervals that are too short would look right."""
    url = run(scenario(noise="student", df=1.5, paths=3), tmp_path / "w.zarr")
    with pytest.raises(UserError, match="oracle_width is for normal noise, and the store's is student"):
        estimate(url, "oracle_width")
    facts = gather_facts(url)
    assert "oracle_width" not in facts.measures
    assert "Noise: Student's t with scale √γ, γ = 0.1" in unescape(str(render_design(facts)))


@pytest.mark.parametrize(("shift", "exact"), [(0.0, True), (3.0, False)])
def test_no_level_is_promised_under_a_shift(shift: float, exact: bool, tmp_path: Path) -> None:
    """Where the noise grows to the right, and test points move there, conformal regions cover less than they did."""
    url = run(scenario(noise="heteroscedastic", spread=20.0, shift=shift), tmp_path / "w.zarr")
    found = verdicts(url).squeeze().sel(procedure="RRCM-loo")
    assert bool(found["promised"])
    assert bool(found["exchangeable"]) == exact
    assert (float(found["value"]) > 0.88) == exact
    facts = gather_facts(url)
    assert bool(describe_violations(facts)) != exact
    assert ("from a shifted training distribution" in str(render_design(facts))) != exact
    assert "Noise: normal, its spread changing" in str(render_design(facts))


def test_a_source_of_ones_own_takes_them(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\nfrom scenarios import Synthetic\n"
        "def sine(test_points: int = 30) -> Synthetic:\n"
        "    return Synthetic(lambda X: np.sin(5 * X[:, 0]), test_points=test_points)\n"
        "def mine(noise: float = 1.0) -> Synthetic:\n"
        "    return Synthetic(lambda X: noise * X[:, 0], test_points=40)\n"
    )
    hard = scenario(tmp_path, function="mine.py:sine", noise="student").built.source
    assert hard.world == World(noise="student")  # type: ignore[attr-defined]
    own = {"function": "mine.py:mine", "noise": 2.0}
    plain = {**scenario().scenario.model_dump(), "source": own}
    built = check(plain, "worlds.toml", tmp_path).built
    assert built.non_default == {"function": "mine.py:mine", "noise": 2}, "a key that the source has itself is its own"
    sample = built.source.path(np.random.default_rng).draw(lambda name: np.random.default_rng(1), 3, {})
    assert (sample.y == 2 * sample.X[:, 0]).all()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            {"noise": "cauchy"},
            "source.noise must be 'gaussian', 'student', 'skewed' or 'heteroscedastic', got 'cauchy'",
        ),
        ({"df": 5.0}, 'source.df must be left out unless noise = "student", got 5.0'),
        ({"shift": 1.0, "test": "grid"}, 'source.shift must be left out where test = "grid"'),
        ({"nois": "student"}, r"source.nois is unknown \(did you mean 'noise'\?\)"),
        ({"shift": "right"}, "source.shift must be a number, got 'right'"),
    ],
)
def test_mistakes_are_told(source: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=f"^worlds.toml: {message}"):
        scenario(**source)


@pytest.mark.parametrize("function", ["published", "tests.harness.toy:Toy"])
def test_sources_with_noise_of_their_own_refuse(function: str) -> None:
    own = {"study": "f6"} if function == "published" else {}
    plain = {**scenario().scenario.model_dump(), "source": {"function": function, "shift": 1.0, **own}}
    message = (
        f"^worlds.toml: source.shift must be left out: the source '{function}' defines its own noise and test points"
    )
    with pytest.raises(UserError, match=message):
        check(plain, "worlds.toml", Path.cwd())


def test_a_theta_that_is_held_out_has_the_level_of_what_is_left(tmp_path: Path) -> None:
    """Of 20 points 15 are left: N = 16 and not 21. Stores without it are as they were."""
    url = run(scenario(grid={"theta": [100, "holdout", "ml"], "n": [20, 21]}, paths=4), tmp_path / "h.zarr")
    cube = open_cube(url).squeeze().sel(procedure="RRCM-loo")
    level = {theta: [float(each) for each in cube["level"].sel(theta=theta)] for theta in cube["theta"].values.tolist()}
    assert level == {"100": [1 - 2 / 21, 1 - 2 / 22], "holdout": [1 - 1 / 16] * 2, "ml": [1 - 2 / 21, 1 - 2 / 22]}
    found = verdicts(url).squeeze().sel(procedure="RRCM-loo", n=20)
    assert found["target"].sel(theta="holdout").item() == 1 - 1 / 16
    free = {theta: bool(found["exchangeable"].sel(theta=theta)) for theta in level}
    assert free == {"100": True, "holdout": True, "ml": False}
    (said,) = describe_violations(gather_facts(url))
    assert said.startswith("θ = ml is searched for")
    record = record_of(open_backend(url))
    assert record is not None
    assert record.holdout_levels["holdout"]["RRCM-loo"] == {20: {0.1: 1 - 1 / 16}, 21: {0.1: 1 - 1 / 16}}
    assert from_attributes(to_attributes(record)) == record
    assert "spared" not in to_attributes(replace(record, holdout_levels={}))
    theta_hat = replications(Path(url), 20, "theta_hat")
    assert (theta_hat[..., 1, 0] != theta_hat[..., 2, 0]).any()


def test_levels_of_what_is_left_grow_with_the_store(tmp_path: Path) -> None:
    where = tmp_path / "h.zarr"
    run(scenario(grid={"procedure": ["CRR"]}, paths=2), where)
    run(scenario(grid={"procedure": ["CRR"], "theta": ["holdout"], "n": [20, 40]}, paths=2), where)
    found = open_cube(str(where))["level"].squeeze()
    assert found.sel(theta="100").values.tolist() == pytest.approx([1 - 2 / 21, 1 - 4 / 41])
    assert found.sel(theta="holdout").values.tolist() == pytest.approx([1.0, 1 - 2 / 31])


def test_a_smoothed_study_is_another_one_and_its_levels_are_exact(tmp_path: Path) -> None:
    plain = plain_scenario({"n": [12], "alpha": [0.1, 0.25]}, paths=3)
    rough, smooth = (check({**plain, "smoothed": on}, "worlds.toml", Path.cwd()) for on in (False, True))
    assert rough.fingerprint == check(plain, "worlds.toml", Path.cwd()).fingerprint
    assert smooth.fingerprint == {**rough.fingerprint, "smoothed": True}
    assert smooth.seeds == rough.seeds, "the same data, so that what smoothing does can be seen"
    urls = {on: run(one, tmp_path / f"{on}.zarr") for on, one in ((False, rough), (True, smooth))}
    levels = {on: open_cube(url)["level"].squeeze().sel(procedure="RRCM-loo") for on, url in urls.items()}
    assert levels[True].values.tolist() == [0.9, 0.75]
    assert levels[False].values.tolist() == pytest.approx([1 - 1 / 13, 1 - 3 / 13])
    assert np.isnan(open_cube(urls[True])["level"].squeeze().sel(procedure="GPR-f")).all()
    with pytest.raises(UserError, match="smoothed was false and is true"):
        prepare.prepare(smooth, urls[False], workers=1, speed=1e9)


def test_smoothing_takes_its_chance_from_the_replication(tmp_path: Path) -> None:
    """One number a test point, from the draw's own stream; a twin by hand."""
    plain = {**plain_scenario({"n": [12]}, paths=2), "smoothed": True, "replications": {"paths": 2, "draws": 2}}
    loaded = check(plain, "worlds.toml", Path.cwd())
    url = run(loaded, tmp_path / "s.zarr")
    lengths = replications(Path(url), 12, "length_mean")
    for path, draw in [(0, 0), (1, 0), (1, 1)]:
        streams = loaded.seeds.make_draw_streams(path, draw)
        sample = loaded.built.source.path(loaded.seeds.make_path_streams(path)).draw(streams, 12, {})
        assert sample.noise is not None
        fit = ckrr.fit(sample.X, sample.y + np.sqrt(0.1) * sample.noise, 100.0, 0.1)
        regions = fit.regions(sample.X_test, "RRCM-loo", 0.1, smoothed=streams("smoothing").random(40))
        assert lengths[path, draw, 1].item() == np.float32(regions.length.mean())


def test_a_family_without_smoothing_says_so() -> None:
    with pytest.raises(
        UserError, match=r"smoothed must be left out: the family 'tests.harness.toy:FAMILY' can't smooth"
    ):
        check({**toy(), "smoothed": True}, "toy.toml", Path.cwd())
    with pytest.raises(UserError, match="smoothed must be true or false, got 1"):
        check({**plain_scenario(), "smoothed": 1}, "worlds.toml", Path.cwd())


@pytest.mark.parametrize("name", [name for name in list_scenario_files() if name.startswith("worlds/")])
def test_the_packaged_ones_run(name: str, tmp_path: Path) -> None:
    loaded = load(name)
    assert loaded.scenario.name == name.replace("/", "-")
    record = serially(prepare.prepare(prepare.reduce_to_smoke(loaded), str(tmp_path / "s.zarr"), workers=1, speed=1e9))
    (n,) = record.extent.grid.n
    assert (replications(tmp_path / "s.zarr", n, "status") == Status.OK).all()
