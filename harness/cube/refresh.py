"""Recompute the cube from the replications.

The driver (with the process id PARENT) runs `python -m harness.cube.refresh PARENT URL GENERATION N…` during a run: in
its own process the reduction would delay units and fragment memory. Opening the cube is in `harness.cube.reader`, which
imports xarray and so takes a second.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable
from typing import Any

from harness.backends.base import open_backend
from harness.core.processes import die_with_parent, limit_garbage_collection
from harness.core.types import Values
from harness.cube.aggregate import compute_cube
from harness.store import arrays
from harness.store.manifest import Manifest
from harness.store.manifest_io import load_manifest
from harness.store.rounds import count_shown_paths

_NICE = 10
"""Increment of the niceness, so that units take precedence."""


def refresh(url: str, manifest: Manifest, sizes: Iterable[int], between: Callable[[], None] = lambda: None) -> None:
    """Recompute the cube at some n from the replications, and write it.

    Parameters
    ----------
    url : str
        URL of the store.
    manifest : Manifest
        The store's manifest.
    sizes : iterable of int
        The n to recompute.
    between : callable
        Called now and then. It may wait, or raise to cancel.
    """
    backend = open_backend(url)
    for n in sizes:

        def read(name: str, where: tuple[Any, ...], n: int = n) -> Values:
            between()
            return arrays.read(url, n, name, manifest.generation, where, between, bounded=False)

        values = compute_cube(manifest, n, read, count_shown_paths(backend, manifest, n))
        between()
        arrays.write_cube(url, manifest.generation, manifest.extent.grid.n.index(n), values)


def main(parent: str, url: str, generation: str, *sizes: str) -> int:
    """Recompute the cube at some n in a process of its own, and return its exit code.

    Returns
    -------
    int
        0 if the cube was written, 1 if the store has been removed or has grown since GENERATION.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver handles Ctrl-C, and ends this process
    die_with_parent(int(parent))
    if hasattr(os, "nice"):
        os.nice(_NICE)
    manifest = load_manifest(open_backend(url))
    if manifest is None or manifest.generation != int(generation):
        return 1
    refresh(url, manifest, map(int, sizes))
    return 0


if __name__ == "__main__":
    limit_garbage_collection()
    sys.exit(main(*sys.argv[1:]))
