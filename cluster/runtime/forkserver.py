"""Fork workers of this machine from one process that has imported what they need.

The process is Python's own fork server (`multiprocessing.forkserver`), with a single thread; it ends with the driver.
From a warm one two workers are up in 0.2 s, where new processes of Python take 0.7 s.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, util
from pathlib import Path

import dask

from cluster.runtime.private import make_directory
from cluster.runtime.settings import PRELOAD, block_sigint, set_environment, start_tracker

_METHOD = "forkserver"
_LOADED = ("DASK_", "MALLOC_", "MKL_", "OMP_", "OPENBLAS_", "PYTHON", "ZARR_")
"""How variables begin that are read once, when a process starts or imports something."""
_server: list[tuple[dict[str, str], list[str]]] = []
"""The environment and the path of modules that the fork server was started with, if it was."""


def start_fork_server(preload: Sequence[str] = ()) -> dict[str, str]:
    """Start the fork server if it doesn't run yet, and return the settings by which Dask forks workers from it.

    Parameters
    ----------
    preload : sequence of str
        Modules that it imports, when it starts.

    Returns
    -------
    dict
        Empty where there can't be a fork server, or where it would not be like one that is started now.
    """
    if sys.platform != "linux" or not _ensure_running(preload):
        return {}
    return {"distributed.worker.multiprocessing-method": _METHOD}


def _ensure_running(preload: Sequence[str]) -> bool:
    if not _server:
        if multiprocessing.get_start_method(allow_none=True) == _METHOD:  # the user has a fork server, for other work
            return False
        _server.append((dict(os.environ), list(sys.path)))
    then, path = _server[0]
    if path != sys.path or _is_other(then, os.environ):
        return False
    multiprocessing.get_context(_METHOD).set_forkserver_preload(["cluster.runtime.preload"])
    modules = os.pathsep.join(each or os.getcwd() for each in path)  # and not first of all the current directory
    usual = dask.config.get("distributed.nanny.pre-spawn-environ")  # threads of BLAS, say: a nanny would set them later
    names = {PRELOAD: ",".join(preload), "PYTHONPATH": modules, "PYTHONSAFEPATH": "1"}
    try:
        start_tracker()  # before, since it makes whoever starts it hear Ctrl-C again
        with set_environment({**usual, **names}), block_sigint(), _own_sockets():
            forkserver.ensure_running()
    except OSError:  # no place for its socket: the name of a directory for temporary files may be too long
        return False
    return True


_sockets: list[Path] = []
"""The directory of the fork server's socket, once it is made."""


@contextmanager
def _own_sockets() -> Iterator[None]:
    """Let Python make the directory of its sockets inside one of ours, which the next driver removes after a kill."""
    if not _sockets:
        _sockets.append(make_directory(Path(tempfile.gettempdir())))
        # after Python has removed its own, at exit
        util.Finalize(None, shutil.rmtree, (_sockets[0],), {"ignore_errors": True}, exitpriority=-1000)
    before, tempfile.tempdir = tempfile.tempdir, str(_sockets[0])
    try:
        yield
    finally:
        tempfile.tempdir = before


def _is_other(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether a process that has an environment can't get that of now: new values of most variables are passed on."""
    loaded = {name for name in {*then, *now} if name.startswith(_LOADED)}
    return not then.keys() <= now.keys() or any(then.get(name) != now.get(name) for name in loaded)


def make_environment(temporary: Path) -> dict[str, str]:
    """Return the variables of workers, who may be forked from a process that has more.

    Parameters
    ----------
    temporary : Path
        The directory for their temporary files: what a killed worker leaves there is removed with it.
    """
    return {"PYTHONPATH": "", "PYTHONSAFEPATH": "", PRELOAD: "", **os.environ, "TMPDIR": str(temporary)}
