"""The wiring: cluster files become machines to plan for, and clients to run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cluster
from cluster import ClusterFile
from harness.core.errors import ClusterError, UserError
from harness.planning.machine import Machine, count_cores, get_free_disk, get_total_memory, measure_flops
from harness.scenario.errors import from_pydantic, make_key_lookup, make_user_error

_PRELOAD = ("harness.worker.task", "harness.families.krr")
"""What every worker imports, and the procedures that nearly all need."""
_UNKNOWN_SPEED = 1e9
"""Operations a second, to plan with where it can't be measured: a run will not start there."""


def read_file(path: str | Path | None, workers: int | None = None, client: Any = None) -> ClusterFile | None:
    """A cluster file, checked; None without one. It alone says what to run on."""
    if path is None:
        return None
    if workers is not None or client is not None:
        what = "workers" if workers is not None else "client"
        raise UserError(f"{path}: {what} and a cluster file are two ways to say what to run on: give one of them")
    with _translate_errors():
        return cluster.read(path)


def check_installed(file: ClusterFile | None) -> None:
    """Refuses a cluster file that needs a package which isn't here."""
    if file is not None:
        with _translate_errors():
            cluster.check_installed(file)


def warm_up(file: ClusterFile | None, workers: int | None) -> None:
    """Start early what takes long to start and does no harm: a cluster will be wanted soon, if all goes well."""
    cluster.warm_up(file or cluster.Local(workers=workers), _PRELOAD)


def measure_machine(
    url: str, workers: int | None, speed: float | None, file: ClusterFile | None, client: Any = None
) -> Machine:
    """What there is to compute with, as far as it can be known before it starts; what a client has, if there is one."""
    described = file or cluster.Local(workers=workers)
    with _translate_errors():
        size = cluster.size_of(described) if client is None else cluster.size_of_client(client, described.threads)
    count = size.workers or max(1, count_cores() // size.threads)
    each = size.memory or 0.9 * get_total_memory() / count
    free, block = get_free_disk(url)
    return Machine(speed or _measure_speed(size.threads), count, each, free, size.lifetime, block)


def _measure_speed(threads: int) -> float:
    """Measure how fast this machine is; where it has too little address space, BLAS would wait for it without end."""
    return measure_flops(threads) if cluster.has_address_space() else _UNKNOWN_SPEED


def snapshot(path: str | Path) -> dict[str, str]:
    """A cluster file as it is kept for later: its text, where it was, and the folder that its paths are relative to."""
    with _translate_errors():
        return {"text": cluster.read_text(path), "where": str(path), "folder": str(Path(path).absolute().parent)}


def restore(file: Mapping[str, str]) -> ClusterFile:
    """A cluster file that was kept."""
    with _translate_errors():
        return cluster.parse(file["text"], file["where"], Path(file["folder"]))


@contextmanager
def connect(file: ClusterFile | None, counted: Machine, note: Callable[[str], None]) -> Iterator[Any]:
    """A client of the cluster, while it is needed."""
    with (
        _translate_errors(),
        cluster.connect(file or cluster.Local(), counted.workers, counted.memory, note, _PRELOAD) as client,
    ):
        yield client


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise what is wrong with a cluster file as the user's `Mistake`, and a cluster that can't start as `Broken`."""
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
