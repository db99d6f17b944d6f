"""Scenarios of real data: what they may leave out, what the store gets, and that workers need no package."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from harness.backends.base import open_backend
from harness.cli import main
from harness.core.errors import UserError
from harness.core.packaged import find_scenario_folder
from harness.execution import prepare
from harness.scenario.load import check, load
from harness.scenario.sources import build_source, unpack_source
from harness.store.manifest_io import load_manifest
from scenarios import read_dataset
from tests.harness.studies import serially

FEW: dict[str, Any] = {
    "name": "few",
    "seed": 3,
    "source": {"dataset": "diabetes", "test_points": 20},
    "grid": {"n": [10], "theta": [1], "lam": [0.1], "alpha": [0.1], "procedure": ["GPR-f", "RRCM-loo"]},
    "replications": {"paths": 3},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = str(tmp_path_factory.mktemp("data") / "few.zarr")
    serially(prepare.prepare(check(FEW, "few.toml", Path()), where, workers=1))
    return where


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python has it for a package that can't be imported."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    read_dataset.cache_clear()


def test_a_store_has_the_rows(store: str) -> None:
    manifest = load_manifest(open_backend(store))
    assert manifest is not None
    assert manifest.is_resampled
    assert manifest.extent.grid.gamma == (0.0,)
    assert manifest.scenario["source"] == {"function": "dataset", "dataset": "diabetes", "test_points": 20}
    assert manifest.fingerprint["source"] == {"function": "dataset", "dataset": "diabetes", "test_points": 20}
    assert (Path(store) / "files/diabetes.csv").read_bytes() == read_dataset("diabetes")


@pytest.mark.usefixtures("no_package")
def test_workers_and_replays_need_no_package(store: str) -> None:
    source = unpack_source(FEW["source"] | {"function": "dataset"}, {"diabetes.csv": _read(store)})
    assert source.dimension == 10
    done = CliRunner().invoke(main, ["replay", store, "--n", "10", "--path", "2"])
    assert (done.exit_code, done.output.startswith("equal bit for bit")) == (0, True), done.output


def _read(store: str) -> bytes:
    return (Path(store) / "files/diabetes.csv").read_bytes()


def test_rows_from_a_copy_and_from_the_package_are_one_study(tmp_path: Path) -> None:
    """A submitted driver finds the copy beside its scenario; another table of that name is left alone."""
    table = {"function": "dataset", "dataset": "diabetes"}
    plain = build_source(table, tmp_path)
    (tmp_path / "diabetes.csv").write_bytes(plain.files["diabetes.csv"])
    copied = build_source(table, tmp_path)
    (tmp_path / "diabetes.csv").write_text("a,y\n1,2\n")
    mine = build_source(table, tmp_path)
    assert plain.files == copied.files == mine.files
    assert plain.non_default == copied.non_default == mine.non_default == table
    for one in (copied, mine):
        assert np.array_equal(vars(one.source)["X"], vars(plain.source)["X"])


@pytest.mark.usefixtures("no_package")
def test_a_package_that_is_missing_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        check(FEW, "few.toml", tmp_path)
    text = "source.dataset 'diabetes' is inside the package scikit-learn, which isn't installed"
    assert str(caught.value) == f"few.toml: {text}: run pip install 'ckrr[data]'"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"dataset": "diabets"}, "source.dataset must be one of .*, got 'diabets' \\(did you mean 'diabetes'\\?\\)"),
        ({"dataset": "../diabetes"}, r"source.dataset must be one of .*, got '\.\./diabetes' \(did you .*\)"),
        ({"dataset": 3}, "source.dataset must be a string, got 3"),
        ({"dataset": ["diabetes"]}, "source.dataset must be a string, got .*"),
        ({"function": "dataset"}, "source.dataset is missing"),
        ({"dataset": "diabetes", "target": "age"}, "source.target is unknown.*"),
        ({"function": "heaviside", "dataset": "diabetes"}, "source.dataset is unknown.*"),
        (
            {"dataset": "diabetes", "test_points": 442},
            "source.test_points must be less than the 442 rows of the data .*",
        ),
        ({"dataset": "diabetes", "test_points": 435}, "grid.n.0. must be at most 7, got 10: .*"),
    ],
)
def test_mistakes(source: dict[str, Any], expected: str, tmp_path: Path) -> None:
    grid = {**FEW["grid"], "gamma": [0.0]}
    with pytest.raises(UserError, match=f"^few.toml: {expected}$"):
        check({**FEW, "source": source, "grid": grid}, "few.toml", tmp_path)


@pytest.mark.parametrize("source", [{"dataset": "diabetes"}, {"function": "table", "file": "t.csv", "test_points": 5}])
def test_noise_is_added_to_data_only_on_request(source: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i},{i % 7}\n" for i in range(40)))
    plain = {**FEW, "source": source}
    assert check(plain, "few.toml", tmp_path).extent.grid.gamma == (0.0,)
    asked = {**plain, "grid": {**FEW["grid"], "gamma": [0.5]}}
    assert check(asked, "few.toml", tmp_path).extent.grid.gamma == (0.5,)
    function = {**FEW, "source": {"function": "heaviside"}}
    with pytest.raises(UserError, match=r"^few.toml: grid.gamma is missing: the variance of the noise, such as .*$"):
        check(function, "few.toml", tmp_path)


def test_a_file_without_gamma_is_the_scenario_of_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ckrr status` compares them without the spec."""
    monkeypatch.chdir(tmp_path)
    Path("few.toml").write_text(
        'name = "few"\nseed = 3\n[source]\ndataset = "diabetes"\n[grid]\nn = [10]\ntheta = [1]\nlam = [0.1]\n'
        'procedure = ["GPR-f"]\n[replications]\npaths = 2\n'
    )
    serially(prepare.prepare(load("few.toml"), None, workers=1))
    same = CliRunner().invoke(main, ["status", "few.toml"]).output
    Path("few.toml").write_text(Path("few.toml").read_text().replace("n = [10]", "n = [10]\ngamma = [0.1]"))
    other = CliRunner().invoke(main, ["status", "few.toml"]).output
    assert len(other.splitlines()) == len(same.splitlines()) + 1


def test_reports_name_the_data_set(store: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["report", store, "-o", str(tmp_path / "few.html")])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "few.html").read_text()
    assert "a registered data set: each replication splits its rows" in text
    assert "dataset = diabetes" in text
    assert "No noise is added." in text
    assert "a custom source" not in text


def choose_block(text: str, block: int) -> str:
    """The template as somebody edits it who follows its words: one block kept and uncommented, the others deleted."""
    head, *blocks = re.split(r"(?m)^# Block \d: .*\n", text)
    return head + re.sub(r"(?m)^# ", "", blocks[block - 1]) if block > 1 else head + blocks[0]


@pytest.mark.parametrize(("block", "gamma"), [(1, (1e-6, 1e-1)), (2, (0.0,)), (3, (0.0,))])
def test_blocks_of_the_template(block: int, gamma: tuple[float, ...], tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x,y\n" + "".join(f"{i},{i % 7}\n" for i in range(240)))
    text = choose_block((find_scenario_folder() / "new.txt").read_text(), block)
    (tmp_path / "my.toml").write_text(text)
    loaded = load(str(tmp_path / "my.toml"))
    assert loaded.extent.grid.gamma == gamma
    assert loaded.scenario.source.get("function") == ("gp", "table", "dataset")[block - 1]


def test_two_blocks_of_the_template_are_refused(tmp_path: Path) -> None:
    """So that nobody keeps the noise of the first by oversight."""
    whole = (find_scenario_folder() / "new.txt").read_text()
    (tmp_path / "my.toml").write_text(re.sub(r"(?m)^# (\[source\]|function|file|target|scale)", r"\1", whole))
    with pytest.raises(UserError, match="is not TOML"):
        load(str(tmp_path / "my.toml"))
