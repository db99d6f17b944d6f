"""The calls from Python: exceptions in place of exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cube.reader import open_cube
from harness.execution import driver, prepare
from harness.execution.clusters import read_file
from harness.execution.facts import plan_to_dict
from harness.execution.progress import Progress, choose_progress
from harness.scenario.load import load

if TYPE_CHECKING:
    import xarray as xr


def run(
    scenario: str | Path,
    store: str | Path | None = None,
    client: Any = None,
    workers: int | None = None,
    settings: Iterable[str] = (),
    progress: Progress | None = None,
    cluster: str | Path | None = None,
) -> xr.Dataset:
    """Runs what is left of a scenario, and returns the cube.

    Parameters
    ----------
    scenario : path of a .toml file, or name of a packaged one
    store : where results go; results/<name>.zarr if not told
    client : a connected `distributed.Client`; without one, workers are started on this machine for the while
    workers : how many of them; one a core if not told
    settings : overrides, as "grid.n=[25,50]"
    progress : what to tell progress to; a bar on a terminal, lines elsewhere, if not told
    cluster : a cluster file, in place of a client and workers

    Raises
    ------
    harness.core.errors.UserError
        If the scenario or the store can't be right: every mistake, one a line.
    harness.ClusterError
        If the cluster died. What is done is kept: run again to go on.
    """
    file = read_file(cluster, workers, client)
    prepared = prepare.prepare(load(str(scenario), settings), _to_url(store), workers, cluster=file, client=client)
    return open_cube(driver.run_prepared(prepared, progress or choose_progress(), client).url)


def plan(
    scenario: str | Path,
    store: str | Path | None = None,
    workers: int | None = None,
    settings: Iterable[str] = (),
    cluster: str | Path | None = None,
) -> dict[str, Any]:
    """What a run would do and cost, as plain values; nothing is written."""
    file = read_file(cluster, workers)
    return plan_to_dict(prepare.prepare(load(str(scenario), settings), _to_url(store), workers, cluster=file))


def _to_url(store: str | Path | None) -> str | None:
    return None if store is None else str(store)
