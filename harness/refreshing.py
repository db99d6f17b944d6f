"""Computing the cube anew from the replications. (To open it, `cube.py` needs xarray, a second to import.)"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from harness import store
from harness.nouns import Values
from harness.record import Record
from harness.summary import cube_at


def refresh(url: str, record: Record, sizes: Iterable[int], between: Callable[[], None] = lambda: None) -> None:
    """Computes the cube anew at these n, from the replications, and writes it.

    `between` is called now and then: it may wait, or raise if the cube isn't wanted any more.
    """
    for n in sizes:

        def read(name: str, where: tuple[Any, ...], n: int = n) -> Values:
            between()
            return store.read(url, n, name, record.generation, where, between)

        values = cube_at(record, n, read)
        between()
        store.write_cube(url, record.generation, record.extent.grid.n.index(n), values)
