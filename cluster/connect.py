"""From a cluster file to a connected client, whatever the kind; at the end everything that was started is gone."""

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
    """What the planner may count on. A running scheduler is asked; nothing is started."""
    return ask_scheduler(file) if isinstance(file, Address) else file.get_size()


def check_installed(file: ClusterFile) -> None:
    """Refuses what can't start here for want of a package: a driver that is started elsewhere would find out late."""
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
    """A client of the cluster that a file describes.

    Parameters
    ----------
    file : what `read` gave
    workers, memory : how many workers, and the bytes of each, where that is for us to say (on this machine)
    note : where to say what takes long
    preload : modules that workers on this machine will need

    Raises
    ------
    cluster.ClusterFileError
        If the cluster can't be as the file says.
    cluster.StartError
        If it can't be started now, or ends while it starts.
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
