"""Run the units of a study on a cluster: check its workers, prepare shared arrays, then compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from harness.core.errors import ClusterError
from harness.execution import clusters
from harness.execution.on_dask import executor
from harness.execution.on_dask.health import describe_scheduler
from harness.execution.prepare import Prepared
from harness.execution.tasks import Result, TaskQueue, list_preparations, list_study_modules, run_preparations
from harness.store.heartbeat import Heartbeat
from harness.worker import compatibility
from harness.worker.task import prepare_artifact, run_unit


def run_on_cluster(
    prepared: Prepared,
    client: Any,
    arguments: tuple[Any, ...],
    queue: TaskQueue,
    window: int | None,
    note: Callable[[str], None],
    presence: Heartbeat,
    stop: Callable[[], bool],
) -> Iterator[Result]:
    """Yield the results of units as they complete on a client's cluster, or on one that is started for them."""
    machine = prepared.machine
    with clusters.connect(prepared.cluster, machine, note) if client is None else nullcontext(client) as connected:
        presence.set_log_source(lambda: executor.fetch_worker_logs(connected))
        ours = _check_workers(prepared, connected, arguments, note)
        patience = None if prepared.cluster is None else prepared.cluster.patience
        terms = executor.RunOptions(window, machine.workers, note, patience, ours, stop)
        first = list_preparations(prepared)
        run_preparations(executor.run_dask(connected, prepare_artifact, arguments, first, terms), first, note)
        yield from executor.run_dask(connected, run_unit, arguments, queue, terms)


def _check_workers(
    prepared: Prepared, client: Any, arguments: tuple[Any, ...], note: Callable[[str], None]
) -> Mapping[str, str] | None:
    """Refuse workers that cannot compute this study, or would compute other numbers.

    Returns
    -------
    mapping or None
        Facts that workers which join later must match, too; None if the cluster file allows any versions.
    """
    names = list_study_modules(prepared)
    ours = compatibility.environment_facts(names)
    strict = prepared.cluster is None or prepared.cluster.versions == "same"
    try:
        seen = executor.inspect_cluster(client, compatibility.inspect_worker, (arguments[:3], names))
    except OSError as error:  # connection errors only: exceptions on workers are returned
        raise ClusterError(f"{describe_scheduler(client)} can't be reached ({type(error).__name__})") from None
    compatibility.check_cluster(ours, seen, strict, note)
    return ours if strict else None
