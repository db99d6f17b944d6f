"""Run and plan scenarios from Python, with exceptions where the command line has exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.errors import UserError
from harness.cube.reader import open_cube
from harness.execution import driver, prepare
from harness.execution.clusters import read_file
from harness.execution.facts import plan_to_dict
from harness.execution.graph.build import make_graph
from harness.execution.progress import NotebookBar, Progress, choose_progress
from harness.planning.plan_text import PlanFacts
from harness.scenario.load import load

if TYPE_CHECKING:
    import xarray as xr
    from dask.delayed import Delayed


def run(
    scenario: str | Path,
    store: str | Path | None = None,
    client: Any = None,
    workers: int | None = None,
    settings: str | Iterable[str] = (),
    progress: Progress | None = None,
    cluster: str | Path | None = None,
    accept_changed_source: bool = False,
    until: str | None = None,
    budget: int | None = None,
) -> xr.Dataset:
    """Compute the missing results of a scenario and return the cube.

    Parameters
    ----------
    scenario : str or Path
        Path of a .toml file, or name of a bundled scenario.
    store : str or Path, optional
        Where results are stored. Default: results/<name>.zarr.
    client : distributed.Client, optional
        A connected client. Default: workers of this machine, started for the run; a short study takes none.
    workers : int, optional
        Number of workers to start. Default: one per core.
    settings : iterable of str
        Overrides of the scenario, for example "grid.n=[25,50]".
    progress : Progress, optional
        Receives progress reports. Default: a progress bar on a terminal and in a notebook, plain lines elsewhere.
    cluster : str or Path, optional
        A cluster file, in place of `client` and `workers`.
    accept_changed_source : bool
        Whether to go on although a file of the source was edited: you vouch that it gives the same numbers.
    until : str, optional
        What to reach by adding paths, in place of the scenario's number: "verdict", "se=0.002" or "width=0.02".
    budget : int, optional
        Most paths, with `until`.

    Returns
    -------
    xarray.Dataset
        The cube, over procedure, gamma, theta, lam, n and alpha.

    Raises
    ------
    ckrr.study.UserError
        If the scenario or the store is invalid. The message lists every mistake, one per line.
    ckrr.study.ClusterError
        If the cluster died. Completed units are kept: the same call resumes the run.
    """
    _check_workers(workers)
    file = read_file(cluster, workers, client)
    prepared = prepare.prepare(
        load(str(scenario), _list_settings(settings), until, budget),
        _to_url(store),
        workers,
        cluster=file,
        client=client,
        accept_changed=accept_changed_source,
    )
    shown = progress or choose_progress()
    outcome = driver.run_prepared(prepared, shown, client)
    if isinstance(shown, NotebookBar):
        shown.show_outcome(outcome)
    return open_cube(outcome.url)


def graph(
    scenario: str | Path,
    store: str | Path | None = None,
    settings: str | Iterable[str] = (),
    client: Any = None,
    workers: int | None = None,
    accept_changed_source: bool = False,
) -> Delayed:
    """Return a scenario as a Dask graph that computes its missing results.

    This creates or grows the store, as `run` does, and computes nothing. Computing the graph, with any scheduler of
    Dask, writes the results and returns the URL of the store.

    Parameters
    ----------
    scenario, store, settings, accept_changed_source
        As in `run`.
    client : distributed.Client, optional
        A client whose workers to plan for; the graph can be computed anywhere.
    workers : int, optional
        Number of workers to plan for. Default: one per core of this machine.

    Returns
    -------
    dask.delayed.Delayed
        The graph. Units that have a receipt are left out.

    Raises
    ------
    ckrr.study.UserError
        If the scenario or the store is invalid, or the scenario has `until`.

    Examples
    --------
    >>> import dask, xarray
    >>> url, other = dask.compute(graph("my.toml"), delayed_work)                                  # doctest: +SKIP
    >>> cube = xarray.open_zarr(url)                                                               # doctest: +SKIP
    """
    _check_workers(workers)
    loaded = load(str(scenario), _list_settings(settings))
    prepared = prepare.prepare(loaded, _to_url(store), workers, client=client, accept_changed=accept_changed_source)
    return make_graph(prepared, client)


def plan(
    scenario: str | Path,
    store: str | Path | None = None,
    workers: int | None = None,
    settings: str | Iterable[str] = (),
    cluster: str | Path | None = None,
    until: str | None = None,
    budget: int | None = None,
) -> PlanFacts:
    """Return what a run would do and cost, as plain values, without writing anything.

    They are a dict that prints as the text of `ckrr plan`, and shows a table in a notebook.
    """
    _check_workers(workers)
    file = read_file(cluster, workers)
    return plan_to_dict(
        prepare.prepare(
            load(str(scenario), _list_settings(settings), until, budget), _to_url(store), workers, cluster=file
        )
    )


def _to_url(store: str | Path | None) -> str | None:
    return None if store is None else str(store)


def _list_settings(settings: str | Iterable[str]) -> Iterable[str]:
    """Return settings as a list; a string is one setting."""
    return [settings] if isinstance(settings, str) else settings


def _check_workers(workers: int | None) -> None:
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise UserError(f"workers must be a whole number of at least 1, got {workers!r}")
