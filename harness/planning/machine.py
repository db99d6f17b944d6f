"""The probe: one constant of this machine, and one small sample of the source, before any work starts."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from harness.backends.address import is_url

_N, _TURNS = 500, 5


def measure_flops(threads: int = 1) -> float:
    """Operations a second of a worker with so many threads, in a factorisation: the best of a few turns."""
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
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_total_memory() -> float:
    """Bytes that this machine, or the container around us, has."""
    from distributed.system import MEMORY_LIMIT

    return float(MEMORY_LIMIT)


def get_free_disk(url: str) -> tuple[float, int]:
    """Bytes free where a store is or will be, and bytes of a block there; inf and 1 for a bucket."""
    if is_url(url):
        return float("inf"), 1
    backend = Path(url).absolute()
    while not backend.exists():
        backend = backend.parent
    found = shutil.disk_usage(backend)
    return float(found.free), os.statvfs(backend).f_frsize if hasattr(os, "statvfs") else 4096


@dataclass(frozen=True)
class Machine:
    """What there is to compute with."""

    flops: float
    """Operations a second of one worker."""
    workers: int
    memory: float
    """Bytes that one worker may use."""
    disk: float = float("inf")
    """Bytes free where the store is."""
    lifetime: float = float("inf")
    """Seconds that a worker surely lives."""
    block: int = 4096
    """Bytes of a block of the file system where the store is."""
