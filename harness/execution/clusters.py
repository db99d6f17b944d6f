"""Turn cluster files into machines to plan for and Dask clients to run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cluster
from harness.core.errors import ClusterError, UserError
from harness.core.plugins import CLUSTERS, find_plugin
from harness.planning.machine import Machine, count_cores, get_free_disk, get_total_memory, measure_flops
from harness.scenario.errors import from_pydantic, make_key_lookup, make_user_error

if TYPE_CHECKING:
    from cluster import ClusterFile, Size

_PRELOAD = ("harness.worker.task", "harness.families.krr")
"""Modules that the fork server imports for workers: the task itself, and the family that most studies use."""
_UNKNOWN_SPEED = 1e9
"""Operations per second to plan with where the speed cannot be measured; a run does not start there anyway."""


def read_file(path: str | Path | None, workers: int | None = None, client: Any = None) -> ClusterFile | None:
    """Read and validate a cluster file; return None without a path.

    Raises
    ------
    UserError
        If the file is invalid, or `workers` or a `client` is given as well.
    """
    if path is None:
        return None
    if workers is not None or client is not None:
        what = "workers" if workers is not None else "client"
        raise UserError(f"{path}: {what} and a cluster file exclude each other: give one of them")
    with _translate_errors():
        return cluster.read(path, _make_finder(str(path)))


def check_installed(file: ClusterFile | None) -> None:
    """Raise UserError if a package that the cluster file needs is not installed."""
    if file is not None:
        with _translate_errors():
            file.check_installed()


def warm_up(file: ClusterFile | None, workers: int | None) -> None:
    """Start the fork server early, to hide the start-up time of workers."""
    if file is None:
        cluster.warm_up(workers, _PRELOAD)
    else:
        file.warm_up(_PRELOAD)


def measure_machine(
    url: str, workers: int | None, speed: float | None, file: ClusterFile | None, client: Any = None
) -> Machine:
    """Return the workers, memory, speed and disk to plan for, as far as known before the cluster starts.

    Parameters
    ----------
    url : str
        The store, for the free disk space.
    workers : int, optional
        Workers on this machine. Default: one per core.
    speed : float, optional
        Operations per second of a worker. Default: measured on this machine.
    file : ClusterFile, optional
        The cluster file. Default: workers on this machine.
    client : distributed.Client, optional
        A client whose current workers count instead.
    """
    with _translate_errors():
        size = _get_size(workers, file, client)
    count = size.workers or max(1, count_cores() // size.threads)
    each = size.memory or 0.9 * get_total_memory() / count
    free, block = get_free_disk(url)
    return Machine(speed or _measure_speed(size.threads), count, each, free, size.lifetime, block)


def _get_size(workers: int | None, file: ClusterFile | None, client: Any) -> Size:
    """Return the size of the cluster, as far as it is known before it starts."""
    if client is not None:
        return cluster.size_of_client(client, 1 if file is None else file.threads)
    return cluster.Size(workers) if file is None else file.get_size()


def start_process(target: Callable[..., None], arguments: tuple[Any, ...]) -> BaseProcess:
    """Start a process that computes units of a short study."""
    with _translate_errors():
        return cluster.start_process(target, arguments, _PRELOAD)


def _measure_speed(threads: int) -> float:
    """Measure the speed of this machine, unless it lacks address space: BLAS would then hang."""
    return measure_flops(threads) if cluster.has_address_space() else _UNKNOWN_SPEED


def snapshot(path: str | Path) -> dict[str, str]:
    """Return a cluster file to be stored: its text, its path, and the folder that paths in it are relative to."""
    with _translate_errors():
        return {"text": cluster.read_text(path), "where": str(path), "folder": str(Path(path).absolute().parent)}


def restore(file: Mapping[str, str]) -> ClusterFile:
    """Parse a cluster file stored by `snapshot`."""
    with _translate_errors():
        return cluster.parse(file["text"], file["where"], Path(file["folder"]), _make_finder(file["where"]))


def _make_finder(where: str) -> Callable[[str], str | None]:
    """Return a function that finds the kinds of clusters that installed packages declare; errors name the file."""

    def find(name: str) -> str | None:
        try:
            return find_plugin(CLUSTERS, name)
        except UserError as error:
            raise UserError(f"{where}: kind names {error}") from None

    return find


@contextmanager
def connect(file: ClusterFile | None, counted: Machine, note: Callable[[str], None]) -> Iterator[Any]:
    """Start or reach the cluster and yield a connected client; shut down at the end."""
    options = cluster.StartOptions(counted.workers, counted.memory, note, _PRELOAD)
    with _translate_errors(), (file or cluster.Local()).connect(options) as client:
        yield client


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise `UserError` for an invalid cluster file, and `ClusterError` for a cluster that cannot start."""
    try:
        yield
    except cluster.ClusterFileError as wrong:
        raise _make_user_error(wrong) from None
    except cluster.StartError as error:
        raise ClusterError(str(error)) from None


def _make_user_error(wrong: cluster.ClusterFileError) -> UserError:
    if isinstance(wrong.problem, str):
        return UserError(f"{wrong.where}: {wrong.problem}")
    return make_user_error(wrong.where, from_pydantic(wrong.problem, make_key_lookup(wrong.model)))
