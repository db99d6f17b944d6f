"""Small studies with the toy, and ways to run and compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import zarr

from harness.core.families import StudyFamily
from harness.core.types import Unit
from harness.cube.refresh import refresh
from harness.execution import driver, lifecycle, prepare
from harness.execution.progress import SilentProgress
from harness.scenario.load import Loaded, check
from harness.store.layout import get_group_name
from harness.store.manifest import Manifest, cache_key
from harness.worker.task import run_unit

ROOT = Path(__file__).parent.parent.parent


def only(family: Any) -> tuple[StudyFamily, ...]:
    """The families of a study that has one."""
    return (StudyFamily("only", family),)


def toy(**changes: Any) -> dict[str, Any]:
    """A scenario of the toy as a plain table; keys with two underscores are those of tables."""
    plain: dict[str, Any] = {
        "name": "toy",
        "seed": 5,
        "family": "tests.harness.toy:FAMILY",
        "source": {"function": "tests.harness.toy:Toy", "test_points": 10},
        "grid": {
            "gamma": [1.0, 0.25],
            "n": [10, 20],
            "theta": [1, 2.5, "best"],
            "lam": [0.1, 1],
            "alpha": [0.05, 0.10],
            "procedure": ["exact", "wide", "random", "split"],
        },
        "replications": {"paths": 7, "draws": 3},
    }
    for key, value in changes.items():
        *folders, last = key.split("__")
        here = plain
        for folder in folders:
            here = here[folder]
        here[last] = value
    return plain


def loaded(**changes: Any) -> Loaded:
    return check(toy(**changes), "toy.toml", ROOT)


def prepared(where: Path, retry: bool = False, **changes: Any) -> prepare.Prepared:
    """With a speed that makes several units of it."""
    return prepare.prepare(loaded(**changes), str(where), workers=2, speed=2e8, retry=retry)


def run_serially(where: Path, order: Iterable[int] | None = None, retry: bool = False, **changes: Any) -> Manifest:
    """The definition: a plain loop over the units."""
    return serially(prepared(where, retry, **changes), order)


def serially(study: prepare.Prepared, order: Iterable[int] | None = None) -> Manifest:
    """Any study, in this process."""
    record, url, units = lifecycle.begin_run(study), study.backend.url, study.plan.units
    for i in order or range(len(units)):
        run_unit(url, cache_key(record), record.generation, study.retry, units[i])
    refresh(url, record, record.extent.grid.n)
    return record


def run(where: Path, client: Any = None, window: int | None = None, **changes: Any) -> driver.Outcome:
    return driver.run_prepared(prepared(where, **changes), SilentProgress(), client, window)


def contents(where: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Every array of a store, by its path."""
    root = zarr.open_group(str(where), mode="r")
    return {name: np.asarray(each[...]) for name, each in root.members(max_depth=None) if isinstance(each, zarr.Array)}


def assert_identical(one: Path, other: Path) -> None:
    """Every result in every bit."""
    a, b = contents(one), contents(other)
    assert a.keys() == b.keys()
    assert any(name.startswith("replications/") for name in a)
    for name in a:
        same = a[name].tobytes() == b[name].tobytes() if a[name].dtype.kind in "fiu" else (a[name] == b[name]).all()
        assert same, f"{name} differs"


def replications(where: Path, n: int, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(zarr.open_array(str(where), path=f"{get_group_name(n)}/{name}", mode="r")[...])


def until(condition: Callable[[], bool]) -> None:
    """Waits for something to be true."""
    end = monotonic() + 60
    while not condition():
        assert monotonic() < end, "it takes too long"
        sleep(0.05)


def unit(n: int, paths: range, draws: range, path_block: int = 0, draw_block: int = 0) -> Unit:
    return Unit(n, path_block, draw_block, paths, draws)
