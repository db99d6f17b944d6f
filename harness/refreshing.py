"""Computing the cube anew from the replications. (To open it, `cube.py` needs xarray, a second to import.)"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from harness import store
from harness.nouns import Values
from harness.record import Record
from harness.summary import cube_at


class Unwanted(Exception):
    """Somebody doesn't want the cube any more that was being computed."""


def refresh(url: str, record: Record, sizes: Iterable[int], wanted: Callable[[], bool] = lambda: True) -> None:
    """Computes the cube anew at these n, from the replications, and writes it; `Unwanted` when it isn't any more."""
    for n in sizes:

        def read(name: str, where: tuple[Any, ...], n: int = n) -> Values:
            if not wanted():
                raise Unwanted
            return store.read(url, n, name, record.generation, where)

        values = cube_at(record, n, read)
        if not wanted():
            raise Unwanted
        store.write_cube(url, record.generation, record.extent.grid.n.index(n), values)
