"""Connect to the cluster that a cluster file describes, of any kind, and shut down at the end what was started."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from distributed import Client

from cluster.config.load import ClusterFileError
from cluster.config.spec import Address, ClusterFile, Custom, Local, ManagedClusterFile, Size, Slurm, Ssh
from cluster.kinds.custom import custom
from cluster.kinds.existing import ask_scheduler, existing
from cluster.kinds.local import local
from cluster.kinds.slurm import NEEDS_JOBQUEUE, slurm
from cluster.kinds.ssh import NEEDS_ASYNCSSH, ssh
from cluster.runtime.forkserver import start_fork_server
from cluster.runtime.limits import has_room
from cluster.runtime.private import scratch_directory
from cluster.runtime.scheduler import check_dashboard


def size_of(file: ClusterFile) -> Size:
    """Return the size of the cluster to plan for. Asks a scheduler that is running already; starts nothing."""
    return ask_scheduler(file) if isinstance(file, Address) else file.get_size()


def check_installed(file: ClusterFile) -> None:
    """Raise `ClusterFileError` if a package that the cluster needs is not installed.

    Check this before submitting: a driver that starts elsewhere would find out late.
    """
    if isinstance(file, Slurm) and file.python is None and find_spec("dask_jobqueue") is None:
        raise ClusterFileError(file.where, NEEDS_JOBQUEUE)
    if isinstance(file, Ssh) and find_spec("asyncssh") is None:
        raise ClusterFileError(file.where, NEEDS_ASYNCSSH)
    if isinstance(file, ManagedClusterFile):
        check_dashboard(file)


def warm_up(file: ClusterFile, preload: Sequence[str] = ()) -> None:
    """Start the fork server of a local cluster early, to hide how long it takes; do nothing for other kinds.

    Parameters
    ----------
    file : ClusterFile
        The cluster that will be connected to.
    preload : sequence of str
        Modules that workers will need.
    """
    if isinstance(file, Local) and file.workers != 1 and has_room(file.workers or 1):
        start_fork_server(preload)


@contextmanager
def connect(
    file: ClusterFile,
    workers: int,
    memory: float,
    note: Callable[[str], None] = lambda text: None,
    preload: Sequence[str] = (),
) -> Iterator[Client]:
    """Yield a client connected to the cluster that a file describes.

    Parameters
    ----------
    file : ClusterFile
        The cluster file, from `read`.
    workers : int
        Number of workers on this machine; the other kinds take it from the file.
    memory : float
        Bytes per worker on this machine; the other kinds take it from the file.
    note : callable
        Receives messages for the user, e.g. about what takes long.
    preload : sequence of str
        Modules to import in the fork server of workers on this machine.

    Yields
    ------
    distributed.Client

    Raises
    ------
    cluster.ClusterFileError
        If the cluster can't be started as the file describes it.
    cluster.StartError
        If it can't be started now, or fails while starting.
    """
    match file:
        case Local():
            with local(workers, memory, file, note, preload) as client:
                yield client
        case Address():
            with existing(file) as client:
                yield client
        case Slurm():
            with slurm(file, note) as client:
                yield client
        case Ssh():
            with ssh(file, note) as client:
                yield client
        case Custom():
            with scratch_directory(file.where), custom(file) as client:
                yield client
        case _:
            raise TypeError(f"a cluster file has one of the known kinds, got {type(file).__name__}")
