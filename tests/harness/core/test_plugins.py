"""Names that installed packages bring: real packages in a folder, and commands in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.errors import UserError
from harness.core.plugins import CLUSTERS, FAMILIES, SOURCES, find_plugin, list_entries, list_plugins
from harness.scenario.errors import ScenarioError
from harness.scenario.sources import build_source
from harness.worker.compatibility import environment_facts, list_user_modules
from scenarios import Synthetic
from tests.harness.commands import TOY, ckrr
from tests.house import ROOT

CODE = """
from pathlib import Path
from distributed import LocalCluster
from tests.harness.toy import Toy

Path(__file__).with_suffix(".imported").touch()

def rain(test_points: int = 10, fails_at: float = 0.0):
    return Toy(test_points=test_points, fails_at=fails_at)

def pool(count: int):
    return LocalCluster(n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)

NUMBER = 3
"""
ENTRIES = """
[ckrr.sources]
rain = weather:rain
gp = weather:rain
number = weather:NUMBER
gone = weather:snow
bad = weather
[ckrr.clusters]
pool = weather:pool
[ckrr.families]
forest = weather:FOREST [extra]
"""
SCENARIO = TOY.replace("tests.harness.toy:Toy", "rain")


def install(site: Path, package: str, entries: str) -> None:
    info = site / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages, which a test may put on its path."""
    install(tmp_path / "site", "my-weather", ENTRIES)
    (tmp_path / "site" / "weather.py").write_text(CODE)
    return tmp_path / "site"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "toy.toml").write_text(SCENARIO)
    return tmp_path / "work"


def call(*words: str, folder: Path, site: Path) -> tuple[int, str, str]:
    return ckrr(*words, cwd=folder, PYTHONPATH=os.pathsep.join([str(ROOT), str(site)]))


def test_names_are_found_without_importing_them(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_plugin(SOURCES, "rain") is None
    assert list_plugins(CLUSTERS) == {}
    monkeypatch.syspath_prepend(site)
    assert find_plugin(SOURCES, "rain") == "weather:rain"
    assert find_plugin(FAMILIES, "forest") == "weather:FOREST"
    assert find_plugin(FAMILIES, "rain") is None
    assert list_plugins(CLUSTERS) == {"pool": "weather:pool"}
    assert {one.package for one in list_entries(SOURCES)} == {"my-weather"}
    with pytest.raises(UserError, match=r"'bad' of my-weather .* must be 'package.module:object', got 'weather'"):
        find_plugin(SOURCES, "bad")
    assert "weather" not in sys.modules


def test_two_packages_with_one_name_are_refused(site: Path, folder: Path) -> None:
    install(site, "other-weather", "[ckrr.sources]\nrain = other:rain\n[ckrr.clusters]\npool = other:pool\n")
    code, _, err = call("plan", "toy.toml", folder=folder, site=site)
    assert (code, err.count("\n")) == (2, 1)
    assert "toy.toml: source.function names 'rain'" in err
    assert "declared by my-weather and other-weather" in err
    (folder / "here.toml").write_text('kind = "pool"\n')
    code, _, err = call("plan", "toy.toml", "--cluster", "here.toml", folder=folder, site=site)
    assert (code, err.count("\n")) == (2, 1)
    assert "here.toml: kind names 'pool', which is declared by my-weather and other-weather" in err
    code, out, _ = call("list", folder=folder, site=site)
    assert code == 0
    assert "of the package other-weather: other:rain" in out


def test_a_study_of_a_package_s_source_on_a_package_s_cluster(site: Path, folder: Path) -> None:
    (folder / "here.toml").write_text('kind = "pool"\ncount = 1\n[plan]\nworkers = 1\nmemory = "1 GB"\n')
    code, out, err = call("run", "toy.toml", "--cluster", "here.toml", folder=folder, site=site)
    assert code == 0, err
    assert "toy: 24 replications in" in out
    cell = ("replay", "results/toy.zarr", "--n", "10", "--path", "0", "--draw", "0")
    code, _, err = call(*cell, folder=folder, site=site)
    assert code == 2
    assert "this would run the module of the source 'rain'; " in err
    assert "equal bit for bit" in call(*cell, "--trust", folder=folder, site=site)[1]
    (site / "weather.imported").unlink()
    assert call("status", "results/toy.zarr", folder=folder, site=site)[0] == 0
    assert not (site / "weather.imported").exists(), "reading runs no code of packages"
    code, _, err = call("run", "toy.toml", folder=folder, site=ROOT)
    assert code == 2
    assert "source.function must be one of gp, heaviside" in err


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rayn", "published, bad, gone, number, rain, 'package.module:name' or"),
        ("rayn", "(did you mean 'rain'?)"),
        ("gone", "source.function names 'snow', which 'weather' doesn't have"),
        ("number", "names 'number', which is neither a function nor a class"),
        ("bad", "the entry point 'bad' of my-weather"),
    ],
)
def test_mistakes_name_the_key(name: str, expected: str, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "weather", raising=False)
    with pytest.raises(ScenarioError) as caught:
        build_source({"function": name}, site)
    monkeypatch.delitem(sys.modules, "weather", raising=False)
    assert str(caught.value).startswith("source.function ")
    assert expected in str(caught.value)


def test_bundled_names_take_precedence(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(site)
    assert type(build_source({"function": "gp", "theta": 10.0}, site).source) is Synthetic


def test_list_shows_what_packages_bring(site: Path, folder: Path) -> None:
    code, out, _ = call("list", "--json", folder=folder, site=site)
    assert code == 0
    found = json.loads(out)
    assert list(found) == ["scenarios", "families", "sources", "clusters"]
    assert found["clusters"][-1] == {"name": "pool", "description": "weather:pool", "package": "my-weather"}
    assert found["families"][-1]["name"] == "forest"
    hidden = [one for one in found["sources"] if one["name"] == "gp"]
    assert [one["package"] for one in hidden] == [None, "my-weather"]
    assert "hidden: a bundled one has this name" in hidden[1]["description"]
    assert not (site / "weather.imported").exists()


def test_workers_must_know_the_same_name(site: Path) -> None:
    """What a name stands for, and the text of its module, are among what is compared."""
    names = list_user_modules("rain", ["krr"])
    assert names == ("ckrr.sources:rain",)
    assert list_user_modules("gp", ["tests.harness.toy:FAMILY"]) == ("tests.harness.toy",)
    assert list_user_modules("mine.py:f", ["forest", "own.py"]) == ("ckrr.families:forest",)
    assert environment_facts(names)["module ckrr.sources:rain"] == "not declared by any package"
    code = f"from harness.worker.compatibility import environment_facts as f; print(f({names!r}))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "'module ckrr.sources:rain': 'weather:rain " in done.stdout
