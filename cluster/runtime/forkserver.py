"""Workers of this machine, forked from one process that has imported what they need."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from multiprocessing import forkserver
from pathlib import Path

import dask
import distributed.utils

from cluster.runtime.settings import deaf, start_tracker, variables

_FORKED = ["cluster.runtime.preload"]
"""What the process imports that workers are forked from."""
_LOADED = ("DASK_", "MALLOC_", "MKL_", "OMP_", "OPENBLAS_", "PYTHON", "ZARR_")
"""How variables begin that are read once, when a process starts or imports something."""
_server: list[tuple[dict[str, str], list[str]]] = []
"""The environment and the path of modules that this process was started with, if it was."""


def forked() -> dict[str, str]:
    """Settings of Dask by which workers on this machine are there in a tenth of a second, where they took two.

    The process that they are forked from is one of Python's own (`forkserver`), with a single thread; it ends with us.
    Where there can't be one, or it would not be like one that is started now, there are no such settings.
    """
    if sys.platform != "linux" or not _serves():
        return {}
    return {"distributed.worker.multiprocessing-method": "forkserver"}


def _serves() -> bool:
    if not _server:
        if forkserver._forkserver._forkserver_pid is not None:  # type: ignore[attr-defined] # it is somebody else's
            return False
        _server.append((dict(os.environ), list(sys.path)))
    then, path = _server[0]
    if path != sys.path or _is_other(then, os.environ):
        return False
    distributed.utils._forkserver_preload_set = True  # what Dask would import there is more, and not what we need
    forkserver.set_forkserver_preload(_FORKED)
    modules = os.pathsep.join(each or os.getcwd() for each in path)  # and not first of all the current directory
    usual = dask.config.get("distributed.nanny.pre-spawn-environ")  # threads of BLAS, say: a nanny would set them later
    try:
        start_tracker()  # before, since it makes whoever starts it hear Ctrl-C again
        with variables({**usual, "PYTHONPATH": modules, "PYTHONSAFEPATH": "1"}), deaf():
            forkserver.ensure_running()
    except OSError:  # no place for its socket: the name of a directory for temporary files may be too long
        return False
    return True


def _is_other(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether a process that has an environment can't get that of now: new values of most variables are passed on."""
    loaded = {name for name in {*then, *now} if name.startswith(_LOADED)}
    return not then.keys() <= now.keys() or any(then.get(name) != now.get(name) for name in loaded)


def environment(temporary: Path) -> dict[str, str]:
    """Return the variables of workers, who may be forked from a process that has more.

    Parameters
    ----------
    temporary : Path
        The directory for their temporary files: what a killed worker leaves there is removed with it.
    """
    return {"PYTHONPATH": "", "PYTHONSAFEPATH": "", **os.environ, "TMPDIR": str(temporary)}
