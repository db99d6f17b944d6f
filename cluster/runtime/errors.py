"""Explain errors at the start of a cluster in one line that names the limit to check."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client

DESCRIPTORS = "too few file descriptors: see ulimit -n"
MEMORY = "too little memory or address space: see free -m and ulimit -v"
THREADS = "no more threads or processes can be started: see ulimit -u and ulimit -v"
_HINTS = {
    errno.EMFILE: DESCRIPTORS,
    errno.ENFILE: "too few file descriptors on this machine: see sysctl fs.file-max",
    errno.ENOMEM: MEMORY,
    errno.EAGAIN: THREADS,
}
_FROM_DASK = (OSError, EOFError, MemoryError, RuntimeError, AssertionError)
"""What `distributed` raises if it can't start a cluster: errors of the operating system, plain or inside a
`RuntimeError`, and its own assertions about processes that were killed meanwhile."""


class StartError(Exception):
    """A cluster can't be started, or failed while starting."""


@contextmanager
def dask_failures() -> Iterator[None]:
    """Raise `StartError` for exceptions of Dask calls that start a cluster. Wrap only calls of Dask in it."""
    try:
        yield
    except _FROM_DASK as error:
        raise StartError(f"the cluster can't be started: {explain(error)}") from None


@contextmanager
def connect_client(cluster: Any, is_default: bool = False) -> Iterator[Client]:
    """Connect a client to a cluster that has been started.

    Parameters
    ----------
    cluster : distributed.deploy.cluster.Cluster
        The cluster.
    is_default : bool
        Whether it becomes Dask's default client, which computes collections.
    """
    from distributed import Client

    with dask_failures():
        client = Client(cluster, set_as_default=is_default)
    with client:
        yield client


def explain(error: BaseException) -> str:
    """Return the cause of an exception as one line, with a hint if it is a known limit.

    Examples
    --------
    >>> explain(OSError(errno.EMFILE, "Too many open files"))
    'too few file descriptors: see ulimit -n'
    >>> explain(RuntimeError("Nanny failed to start."))
    'RuntimeError: Nanny failed to start.'
    """
    causes = list(_iter_causes(error))
    hints = [hint for each in causes if (hint := _find_hint(each)) is not None]
    return hints[-1] if hints else " ".join(f"{type(causes[-1]).__name__}: {causes[-1]}".split())[:300]


def _iter_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and the chain of its causes."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _find_hint(error: BaseException) -> str | None:
    if isinstance(error, MemoryError):
        return MEMORY
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return THREADS
    if isinstance(error, EOFError) or "failed to start worker process" in str(error):
        return "a worker ended while it started (was it killed?)"
    return _HINTS.get(error.errno or 0) if isinstance(error, OSError) else None
