"""Computing the cube anew from the replications. (To open it, `cube.py` needs xarray, a second to import.)

`python -m harness.cube.refresh PARENT URL GENERATION N…` does it beside a run, for the driver with that process number:
in the driver itself it would hold up the units, and leave its memory in pieces.
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

_NICE = 10
"""Units go first."""


def refresh(url: str, manifest: Manifest, sizes: Iterable[int], between: Callable[[], None] = lambda: None) -> None:
    """Computes the cube anew at these n, from the replications, and writes it.

    `between` is called now and then: it may wait, or raise if the cube isn't wanted any more.
    """
    for n in sizes:

        def read(name: str, where: tuple[Any, ...], n: int = n) -> Values:
            between()
            return arrays.read(url, n, name, manifest.generation, where, between, bounded=False)

        values = compute_cube(manifest, n, read)
        between()
        arrays.write_cube(url, manifest.generation, manifest.extent.grid.n.index(n), values)


def main(parent: str, url: str, generation: str, *sizes: str) -> int:
    """At these n, unless the store has grown since; 0 if that was done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, who ends this, too
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
