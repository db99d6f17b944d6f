"""Let scenarios study real data: name a registered data set, ship its rows, and leave out the noise."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.scenario.errors import Complaint, ScenarioError
from harness.store.manifest import RESAMPLED

DATASET = "dataset"
"""Name of the source of registered data sets, and of its parameter that has the name of one."""
FILE = "file"
"""Name of the parameter that holds the path of a source's data file."""


def name_source(plain: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a scenario in which a [source] table with `dataset` and without `function` names the source of data sets.

    Examples
    --------
    >>> name_source({"source": {"dataset": "diabetes"}})
    {'source': {'function': 'dataset', 'dataset': 'diabetes'}}
    """
    table = plain.get("source")
    if not isinstance(table, dict) or DATASET not in table or "function" in table:
        return plain
    return {**plain, "source": {"function": DATASET, **table}}


def check_gamma(plain: Mapping[str, Any]) -> Iterable[Complaint]:
    """Yield a complaint if there is no γ, unless the targets are data, which have noise of their own."""
    source, grid = plain.get("source"), plain.get("grid")
    is_data = isinstance(source, dict) and source.get("function") in RESAMPLED
    if isinstance(grid, dict) and "gamma" not in grid and not is_data:
        text = "is missing: the variance of the noise, such as gamma = [0.1]; a table or dataset needs none"
        yield Complaint("grid.gamma", text)


def read_dataset(given: dict[str, Any], folder: Path, files: dict[str, bytes]) -> None:
    """Find the rows of a data set: a copy in the folder, as in a store, or else those inside an installed package.

    Parameters
    ----------
    given : dict
        Parameters of the source; the path of a copy is added. The source itself reports a name that isn't registered.
    folder : Path
        Folder of the scenario file.
    files : dict
        Files that the source needs; rows from a package are added.
    """
    scenarios, name = importlib.import_module("scenarios"), given.get(DATASET)
    if not isinstance(name, str) or name not in scenarios.DATASETS:
        return
    copy = folder / f"{name}.csv"
    if scenarios.is_copy(scenarios.DATASETS[name], copy):
        given[FILE] = copy.name
        return
    try:
        files[copy.name] = scenarios.read_dataset(name)
    except ValueError as error:
        raise ScenarioError(Complaint("", f"source.{error}")) from None
