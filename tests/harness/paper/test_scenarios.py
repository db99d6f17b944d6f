"""The paper's scenarios: what they hold, and that nothing else can be asked of the published data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import main
from harness.core.errors import UserError
from harness.core.packaged import list_scenario_files
from harness.execution.prepare import reduce_to_smoke
from harness.scenario.load import check, load
from tests.harness.studies import ROOT, toy

STUDIES = ["gp1", "gp2", "f6", "heaviside", "pressure2", "f2", "f5"]


@pytest.mark.parametrize("name", STUDIES)
def test_what_was_run(name: str) -> None:
    loaded = load(f"paper/{name}")
    extent, grid = loaded.extent, loaded.extent.grid
    line = name in ("gp1", "f6", "heaviside", "pressure2")
    assert loaded.scenario.name == f"paper-{name}"
    assert grid.n == ((25, 50, 100, 200, 400, 600, 800, 1000, 1200, 1400, 1600) if line else (150, 1500))
    assert (grid.gamma, grid.lam) == ((1e-6, 1e-1), (1e-6, 1e-1))
    assert grid.theta == (10, 100, 1000, "ml-cobyla")
    assert grid.alpha == (0.01, 0.05, 0.1, 0.25)
    assert (extent.paths, extent.draws) == ((1, 25) if name.startswith("gp") else (25, 1))
    source = loaded.built.source
    assert (source.test, source.test_points, source.dimension) == ("grid", 1001 if line else 2601, 1 if line else 2)


@pytest.mark.parametrize("name", STUDIES)
def test_what_the_text_says(name: str) -> None:
    loaded = load(name)
    source = loaded.built.source
    assert source.test == "grid"
    assert source.redraws == ()
    assert source.knows_f
    assert loaded.extent.paths >= 40
    if name in ("gp2", "f2", "f5"):
        assert getattr(source, "domain", None) == (-1.0, 1.0)


def test_all_are_listed() -> None:
    done = CliRunner().invoke(main, ["list", "--json"])
    names = [one["name"] for one in json.loads(done.output)["scenarios"]]
    assert names == list(list_scenario_files())
    others = {name for name in names if not name.startswith(("data/", "worlds/", "efficiency"))}
    assert others == {*STUDIES, *(f"paper/{name}" for name in STUDIES), "quickstart", "baselines", "peers"}


def test_a_store_is_found_by_the_name_of_its_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["status", "paper/f2"])
    assert done.exit_code == 2
    assert "results/paper-f2.zarr: there is no store here; `ckrr run paper/f2` makes one" in done.output


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("f2", "grid.n=[150,151]", r"grid.n\[1\] must be one of 150, 1500, for which the source has data, got 151"),
        ("f2", "grid.gamma=0.2", r"grid.gamma\[0\] must be one of 1e-06, 0.1, for which .* got 0.2"),
        ("f2", "grid.lam=0.2", r"grid.lam\[0\] must be one of 1e-06, 0.1, for which .* got 0.2"),
        (
            "f2",
            'grid.theta=[10,"ml"]',
            r"grid.theta\[1\] must be one of 10, 100, 1000, ml-cobyla, .* got 'ml'",
        ),
        ("f2", "replications.paths=26", "replications.paths must be at most 25, for which the source has data, got 26"),
        ("f2", "replications.draws=2", "replications.draws must be at most 1, for which the source has data, got 2"),
        ("gp2", "replications.paths=2", "replications.paths must be at most 1, for which the source has data, got 2"),
        ("gp2", "source.study=gp", "source.study must be one of gp1, gp2, .* got 'gp'"),
    ],
)
def test_there_are_data_for_what_was_run_alone(name: str, setting: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load(f"paper/{name}", [setting])


def test_smoke_has_two_replications_of_a_single_path() -> None:
    for name, expected in (("gp2", (1, 2)), ("f2", (2, 1))):
        small = reduce_to_smoke(load(f"paper/{name}")).extent
        assert (small.paths, small.draws) == expected


def test_a_source_depends_on_known_things_alone() -> None:
    source: dict[str, Any] = {"function": "tests.harness.toy:Toy", "redraws": ["gamma", "n"]}
    with pytest.raises(UserError, match="whose redraws must be among gamma, theta, lam, path, draw, got 'n'"):
        check(toy(source=source), "toy.toml", ROOT)
