"""A study with everything that exports must tell apart, and its results as data frames, by xarray alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from harness.cube.refresh import refresh
from harness.store.arrays import open_array
from harness.store.layout import get_group_name
from tests.harness.studies import run_serially

AXES = ["procedure", "gamma", "theta", "lam", "n", "alpha"]
WORDS = {0: "ok", 1: "excluded", 2: "singular", 3: "error", 4: "not_a_number", 5: "memory", 6: "slow", 255: "not_run"}
VERDICTS = ["no_result", "invalid", "undecided", "borderline", "valid", "conservative"]
ABOUT = 'a jump with "quotes", é and\x07 a bell'


def make_store(where: Path) -> str:
    """Failures, an excluded cell, results at points; and growth, with half of the units at the new α and n."""
    changes: dict[str, Any] = {
        "description": ABOUT,
        "keep": ["pointwise", "bins"],
        "source": {"function": "tests.harness.toy:KnownToy", "test_points": 10},
        "grid__theta": [13, "best", 1],
        "grid__procedure": ["exact", "wide", "random"],
        "exclude": [{"n": [20], "procedure": ["random"], "theta": [1]}],
    }
    run_serially(where, **changes, grid__n=[20], grid__alpha=[0.1])
    study = run_serially(where, [0, 2, 4, 5], **changes, grid__n=[20, 10], grid__alpha=[0.1, 0.05])
    assert [len(study.list_units(n, study.extent)) for n in (10, 20)] == [4, 4]
    for n in (10, 20):  # the toy's regions are equally wide at all test points
        width = open_array(str(where), f"{get_group_name(n)}/width", study.generation)
        width[...] = np.asarray(width[...]) * [1, 2, 3]
    refresh(str(where), study, [10, 20])
    return str(where)


def make_cube_frame(store: str) -> pd.DataFrame:
    """The cube's cells that have been run."""
    cube = xr.open_zarr(store).load()
    frame = _widen(cube, AXES)
    frame["verdict"] = [VERDICTS[code] for code in frame["verdict"]]
    return frame[frame["failed"].notna()]


def make_replication_frame(store: str) -> pd.DataFrame:
    """The cells of replications that were run."""
    found = []
    for n in xr.open_zarr(store).n.values:
        runs = xr.open_zarr(store, group=f"replications/n={n}").drop_dims("point").load()
        runs = runs.assign_coords({dim: np.arange(runs.sizes[dim]) for dim in ("path", "draw")})
        frame = _widen(runs.expand_dims(n=[n]), [*AXES, "path", "draw"])
        frame["status"] = [WORDS[code] for code in frame["status"]]
        blank = (frame["status"] == "ok") & frame["coverage"].isna()
        found.append(frame[~frame["status"].isin(["not_run", "excluded"]) & ~blank])
    return pd.concat(found)


def _widen(data: xr.Dataset, axes: list[str]) -> pd.DataFrame:
    """A column for each quantile, and a row for all else."""
    for name in [name for name, one in data.data_vars.items() if "quantile" in one.dims]:
        for q, text in {0.05: "q05", 0.5: "q50", 0.95: "q95"}.items():
            base, se, _ = str(name).partition("_se")
            data[f"{base}_{text}{se}"] = data[name].sel(quantile=q, drop=True)
    data = data.drop_dims("quantile")
    return data.drop_vars([name for name in data.coords if str(name).endswith("_code")]).to_dataframe(axes)


def assert_same_rows(found: pd.DataFrame, expected: pd.DataFrame, axes: list[str]) -> None:
    """All rows and columns, every number in every bit."""
    assert len(found) == len(expected) > 0
    found = found.set_index(axes)
    assert found.index.is_unique
    expected = expected.reindex(found.index)
    assert set(expected.columns) <= set(found.columns)
    for name in expected.columns:
        ours, theirs = found[name].to_numpy(), expected[name].to_numpy()
        if theirs.dtype.kind == "f":
            assert np.array_equal(ours.astype(theirs.dtype), theirs, equal_nan=True), name
        else:
            assert (ours == theirs).all(), name


def read_csv(path: Path) -> pd.DataFrame:
    """As users do; θ is text in the store."""
    frame = pd.read_csv(path, dtype={"theta": str})
    singles = [name for name in frame if name.startswith(("width", "length", "interval", "distance"))]
    return frame.astype(dict.fromkeys(singles, np.float32)) if "path" in frame else frame
