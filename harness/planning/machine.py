"""Measure the machine: speed, cores, memory and free disk space."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import psutil
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from harness.backends.address import is_url

_N, _TURNS = 500, 5
_CONTAINER_LIMITS = (
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory.high",
)
"""Files with the bytes that a container may use, by its kernel's versions 1 and 2 of control groups."""


def measure_flops(threads: int = 1) -> float:
    """Return the operations per second of a worker with `threads` threads: the best of a few Cholesky runs."""
    rng = np.random.default_rng(0)
    A = rng.random((_N, _N))
    R = np.asfortranarray(A @ A.T + _N * np.eye(_N))
    best = float("inf")
    with threadpool_limits(threads):
        for _ in range(_TURNS):
            start = perf_counter()
            lapack.dpotrf(R, lower=1)
            best = min(best, perf_counter() - start)
    return float(_N**3 / 3 / best)


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_total_memory() -> float:
    """Return the memory of this machine, or of its container, in bytes."""
    limits = [float(psutil.virtual_memory().total)]
    for path in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # there is no such file, or it says "max"
            limits.append(float(int(Path(path).read_text())))
    return min(each for each in limits if each > 0)


def get_free_disk(url: str) -> tuple[float, int]:
    """Return the free bytes where a store is or will be, and the block size of that file system.

    For a bucket they are inf and 1.
    """
    if is_url(url):
        return float("inf"), 1
    folder = Path(url).absolute()
    while not folder.exists():
        folder = folder.parent
    found = shutil.disk_usage(folder)
    return float(found.free), os.statvfs(folder).f_frsize if hasattr(os, "statvfs") else 4096


@dataclass(frozen=True)
class Machine:
    """Resources to compute with."""

    flops: float
    """Operations per second of one worker."""
    workers: int
    memory: float
    """Bytes that one worker may use."""
    disk: float = float("inf")
    """Bytes free where the store is."""
    lifetime: float = float("inf")
    """Guaranteed lifetime of a worker in seconds."""
    block: int = 4096
    """Block size in bytes of the file system where the store is."""
