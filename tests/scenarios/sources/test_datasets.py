"""Registered data sets: the rows that their packages have, read without importing these."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scenarios.sources.datasets import make_dataset, read_dataset
from scenarios.sources.registry import DATASETS
from scenarios.sources.tables import scale_table
from tests.house import ROOT

PAGE = (ROOT / "docs/data.md").read_text()
LOADERS = {
    "abalone": "from sklego.datasets import load_abalone; frame = load_abalone(as_frame=True)",
    "auto-mpg": "from mlxtend.data import autompg_data; X, y = autompg_data(); frame = pd.DataFrame(X); frame['y'] = y",
    "diabetes": "from sklearn.datasets import load_diabetes; frame = load_diabetes(as_frame=True, scaled=False).frame",
    "diamonds": "from plotnine.data import diamonds; frame = diamonds",
    "engel": "from statsmodels.datasets import engel; frame = engel.load_pandas().data",
}
"""How the packages themselves load these data."""


def need(name: str) -> None:
    if find_spec(DATASETS[name].module) is None:
        pytest.skip(f"{name} is in {DATASETS[name].package}, of ckrr[data]")


@pytest.mark.parametrize("name", DATASETS)
def test_rows_are_those_of_the_package(name: str, tmp_path: Path) -> None:
    need(name)
    code = f"import pandas as pd; {LOADERS[name]}; frame.to_csv('theirs.csv', index=False)"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    theirs = pd.read_csv(tmp_path / "theirs.csv")
    if name == "auto-mpg":  # without names; the name of the car, a text, is NaN
        theirs = theirs.drop(columns="7").replace({"6": {1: "USA", 2: "Europe", 3: "Japan"}})
        theirs.columns = [*DATASETS[name].inputs, DATASETS[name].target]
    if name == "diabetes":
        theirs = theirs.rename(columns={"target": "progression"})
    entry = DATASETS[name]
    X = pd.concat(
        [
            pd.get_dummies(theirs[c], dtype=float) if theirs[c].dtype.kind not in "if" else theirs[c]
            for c in entry.inputs
        ],
        axis=1,
    ).to_numpy(dtype=float)
    y = theirs[entry.target].to_numpy(dtype=float)
    found = make_dataset(name, test_points=100, scale=False)
    assert len(y) == entry.rows == len(found.y)
    np.testing.assert_allclose(found.X, X, rtol=1e-15)
    np.testing.assert_allclose(found.y, y, rtol=1e-15)
    scaled = make_dataset(name, test_points=100)
    for array, wanted in zip((scaled.X, scaled.y), scale_table(found.X, found.y), strict=True):
        assert (array == wanted).all()


@pytest.mark.parametrize("name", DATASETS)
def test_entries_are_complete(name: str) -> None:
    entry = DATASETS[name]
    assert all((entry.text, entry.origin, entry.licence, entry.package, entry.inputs, entry.target))
    assert entry.text.endswith(".")
    assert "==" in entry.package
    package = entry.package.partition("==")[0]
    cells = (f"`{name}`", entry.rows, f"{len(entry.inputs)}: {', '.join(entry.inputs)}", entry.target)
    assert f"| {' | '.join(map(str, (*cells, entry.origin, entry.licence, package)))} |" in PAGE
    need(name)
    assert sha256(read_dataset(name)).hexdigest() == entry.sha256


def test_packages_are_not_imported() -> None:
    names = [name for name in DATASETS if find_spec(DATASETS[name].module)]
    modules = {DATASETS[name].module for name in names}
    code = f"import sys\nfrom scenarios import SOURCES\nfor n in {names}: SOURCES['dataset'](n, test_points=100)\n"
    code += f"print(sorted({modules | {'pandas', 'pyarrow'}!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_name() -> None:
    with pytest.raises(
        ValueError, match=r"^dataset must be one of abalone, .*, got 'abalon' \(did you mean 'abalone'\?\)$"
    ):
        make_dataset("abalon")


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels", None)  # as Python has it for a package that can't be imported
    read_dataset.cache_clear()
    with pytest.raises(ValueError, match=r"^dataset 'engel' is inside the package statsmodels, .* 'ckrr\[data\]'$"):
        make_dataset("engel")


@pytest.mark.parametrize("content", [None, b"", b'"income","foodexp"\n1,2\n', b"other\n1\n", b"\xff", b'a,"b'])
def test_a_package_with_other_rows(content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of this name that comes before the package."""
    file = tmp_path / "statsmodels/datasets/engel/engel.csv"
    file.parent.mkdir(parents=True)
    (tmp_path / "statsmodels/__init__.py").touch()
    if content is not None:
        file.write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "statsmodels", raising=False)
    read_dataset.cache_clear()
    expected = r"^dataset 'engel' must have the 235 rows of statsmodels==0.15.0, got others from statsmodels .* in .*"
    with pytest.raises(ValueError, match=rf"{expected}: run pip install 'statsmodels==0.15.0'$"):
        make_dataset("engel")


def test_a_copy_needs_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("engel")
    copy = tmp_path / "mine.csv"
    copy.write_bytes(read_dataset("engel"))
    whole = make_dataset("engel", test_points=100)
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    read_dataset.cache_clear()
    found = make_dataset("engel", test_points=100, file=str(copy))
    assert (found.X == whole.X).all()
    assert (found.y == whole.y).all()
    copy.write_bytes(copy.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"^file must be a copy of the data set 'engel', got .*: leave it out$"):
        make_dataset("engel", file=str(copy))
