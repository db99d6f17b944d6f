"""Check the limits of this machine (file descriptors, address space, semaphores) before a cluster is started.

Dask does not fail cleanly if it can't open a socket or start a thread: it may log endlessly, or hang.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
from contextlib import suppress
from math import inf
from pathlib import Path

from cluster.runtime.errors import DESCRIPTORS, StartError

_DESCRIPTORS, _HERE, ELSEWHERE = 32, 12, 4
"""File descriptors that a driver needs for itself, per worker on this machine, and per worker elsewhere."""
_USED = 16
"""Open descriptors to assume where the system doesn't tell their number."""
_ADDRESS_SPACE = 600 << 20
"""Bytes of address space that threads and libraries of a driver or worker take at the start."""


def has_room(workers: int, each: int = _HERE) -> bool:
    """Return whether this process may open enough files for `workers` workers with `each` descriptors per worker."""
    return _count_free_descriptors() >= _DESCRIPTORS + each * workers


def check_descriptors(workers: int, each: int = _HERE) -> None:
    """Raise `StartError` if this process may not open enough files for `workers` workers."""
    if not has_room(workers, each):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        needed = limit - _count_free_descriptors() + _DESCRIPTORS + each * workers
        raise StartError(f"{DESCRIPTORS}, which is {limit} and should be {needed:.0f} for {workers} workers")


def check_limits(workers: int) -> None:
    """Check that the limits of this machine allow `workers` workers.

    Raises
    ------
    cluster.StartError
        If they don't; the message names the limit.
    """
    check_descriptors(workers)
    if not has_address_space():
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        text = f"which is {limit >> 10} and should be {_compute_address_space() >> 10} or more"
        raise StartError(f"too little address space: see ulimit -v, {text}")
    _check_semaphores()


def _count_free_descriptors() -> float:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return inf
    used = _USED
    with suppress(OSError):
        used = len(os.listdir("/proc/self/fd"))
    return limit - used


def has_address_space() -> bool:
    """Return whether this process has the address space for the threads and libraries of a driver."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit == resource.RLIM_INFINITY or limit >= _compute_address_space()


def _compute_address_space() -> int:
    used = 0
    with suppress(OSError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return used + _ADDRESS_SPACE


def _check_semaphores() -> None:
    """Try to create a semaphore, which the queues between a driver and its workers need."""
    try:
        multiprocessing.get_context("fork").Lock()
    except OSError as error:
        raise StartError(f"no semaphore can be made: see /dev/shm ({error.strerror})") from None
