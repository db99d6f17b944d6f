"""Fork local workers from one process that has imported the modules they need.

The process is Python's fork server (`multiprocessing.forkserver`), with a single thread; it ends with the driver.
From a warm fork server two workers start in 0.2 s; new Python processes take 0.7 s.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from multiprocessing import forkserver, util
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import dask

from cluster.runtime.children import (
    MALLOC,
    PRELOAD,
    block_sigint,
    hide_main,
    run_child,
    set_environment,
    start_tracker,
)
from cluster.runtime.errors import StartError, explain
from cluster.runtime.limits import check_descriptors, has_room
from cluster.runtime.private import hold_directory, make_directory

_METHOD = "forkserver"
_LOADED = ("DASK_", "MALLOC_", "MKL_", "OMP_", "OPENBLAS_", "PYTHON", "ZARR_")
"""Prefixes of environment variables that are read once, when a process starts or imports a module."""
_ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1)
"""Dask's defaults of what a nanny sets before it starts a worker, which would be too late here. The user's variables
come first; these are repeated here since Dask itself may not be loaded yet."""
_server: list[tuple[dict[str, str], list[str]]] = []
"""Environment and `sys.path` that the fork server was started with; empty before it is started."""


def start_fork_server(preload: Sequence[str] = ()) -> dict[str, str]:
    """Start the fork server if it isn't running yet, and return the settings with which Dask forks workers from it.

    Parameters
    ----------
    preload : sequence of str
        Modules that it imports when it starts.

    Returns
    -------
    dict
        Empty where a fork server isn't possible, or if the environment has changed since it was started.
    """
    if sys.platform != "linux" or not _ensure_running(preload):
        return {}
    return {"distributed.worker.multiprocessing-method": _METHOD}


def warm_up(workers: int | None, preload: Sequence[str]) -> None:
    """Start the fork server early, to hide how long it takes, unless one worker or too few files make it useless."""
    if workers != 1 and has_room(workers or 1):
        start_fork_server(preload)


def start_process(target: Callable[..., None], arguments: tuple[Any, ...], preload: Sequence[str] = ()) -> BaseProcess:
    """Start a process on this machine as local workers are started, but without Dask.

    It has the current environment, ends with this process, and Ctrl-C doesn't reach it.

    Parameters
    ----------
    target : callable
        Function that the process calls.
    arguments : tuple
        Its arguments.
    preload : sequence of str
        Modules to import in the fork server, if it has to be started.

    Raises
    ------
    cluster.StartError
        If it can't be started.
    """
    check_descriptors(1)
    can_fork = bool(start_fork_server(preload))
    context = multiprocessing.get_context(_METHOD if can_fork else "spawn")
    words = ({**_make_variables(), **os.environ}, target, arguments)
    process: BaseProcess = context.Process(target=run_child, args=words, daemon=True)  # type: ignore[attr-defined]
    # The fork server's children block SIGINT as it does. Blocking it here, too, would make Ctrl-C wait for the server.
    with hide_main(), nullcontext() if can_fork else _start_apart():
        try:
            process.start()
        except (OSError, EOFError) as error:
            raise StartError(f"a process can't be started: {explain(error)}") from None
    return process


@contextmanager
def _start_apart() -> Iterator[None]:
    """Start new processes with the variables that libraries read once, and without Ctrl-C."""
    with set_environment(_make_variables()), block_sigint():
        yield


def _make_variables() -> dict[str, str]:
    """Return the environment variables that libraries read once, as Dask sets them for local workers."""
    usual = {**_ENVIRONMENT, **dask.config.get("distributed.nanny.pre-spawn-environ", {}), **MALLOC}
    return {name: os.environ.get(name, str(value)) for name, value in usual.items()}


def _ensure_running(preload: Sequence[str]) -> bool:
    if not _server:
        if multiprocessing.get_start_method(allow_none=True) == _METHOD:  # the user's own fork server, for other work
            return False
        _server.append((dict(os.environ), list(sys.path)))
    then, path = _server[0]
    if path != sys.path or _is_other(then, os.environ):
        return False
    multiprocessing.get_context(_METHOD).set_forkserver_preload(["cluster.runtime.preload"])
    modules = os.pathsep.join(each or os.getcwd() for each in path)  # without the current directory in front
    names = {PRELOAD: ",".join(preload), "PYTHONPATH": modules, "PYTHONSAFEPATH": "1"}
    try:
        start_tracker()  # first, since starting it unblocks SIGINT in the calling thread
        with set_environment({**_make_variables(), **names}), block_sigint(), _own_sockets():
            forkserver.ensure_running()
    except (OSError, StartError):  # its socket can't be created: the path of the temporary directory may be too long
        return False
    return True


_sockets: list[Path] = []
"""Directory of the fork server's socket, once created."""


@contextmanager
def _own_sockets() -> Iterator[None]:
    """Make Python create its socket directory inside a private one, which the next driver removes after a kill."""
    if not _sockets:
        _sockets.append(make_directory(Path(tempfile.gettempdir())))
        hold_directory(_sockets[0])
        util.Finalize(None, remove_sockets, exitpriority=-1000)  # after Python has removed its own directory
    before, tempfile.tempdir = tempfile.tempdir, str(_sockets[0])
    try:
        yield
    finally:
        tempfile.tempdir = before


def remove_sockets() -> None:
    """Remove the directory of the fork server's socket, at exit; needed only where Python doesn't exit regularly."""
    for path in _sockets:
        shutil.rmtree(path, ignore_errors=True)


def _is_other(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether processes forked from an old environment cannot be given the current one.

    Most variables are passed on to workers. Not so those that are read only once, and those that were unset since.
    """
    loaded = {name for name in {*then, *now} if name.startswith(_LOADED)}
    return not then.keys() <= now.keys() or any(then.get(name) != now.get(name) for name in loaded)


def make_environment(temporary: Path) -> dict[str, str]:
    """Return the environment of workers, with the variables that are only meant for the fork server emptied.

    Parameters
    ----------
    temporary : Path
        Directory for temporary files: files left by a killed worker are removed with it.
    """
    return {"PYTHONPATH": "", "PYTHONSAFEPATH": "", PRELOAD: "", **os.environ, "TMPDIR": str(temporary)}
