"""A source's file that was mended must give the numbers it gave, where it gave any: a few are computed again to see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from threadpoolctl import threadpool_limits

from harness.backends.base import Place
from harness.compute.study import Study
from harness.compute.unit import compute
from harness.core.errors import Mistake
from harness.core.schema import replication_variables
from harness.core.types import Block, Status, Unit, Values
from harness.scenario.load import Loaded
from harness.store import arrays, receipts
from harness.store.artifacts import provided
from harness.store.manifest import Record

_LOOKS = 4
"""So many replications, of the smallest n that has some."""


def check_unchanged(there: Place, record: Record, loaded: Loaded) -> None:
    """Refuses a file that gives other numbers than the store has."""
    source = provided(loaded.built.source, there)
    threads = int(loaded.fingerprint["blas_threads"])
    study = Study(record.extent, source, loaded.family, loaded.seeds, record.keep, threads)
    for unit in _settled(there, record):
        with threadpool_limits(threads):
            block = compute(study, unit)
        old = {v.name: arrays.read_unit(there.url, record, unit, v.name) for v in replication_variables(record.keep)}
        if not _same(block, old):
            where = f"n = {unit.n}, path {unit.paths.start}, draw {unit.draws.start}"
            names = ", ".join(loaded.built.files)
            raise Mistake(
                f"{there.url}: {names} gives other numbers than it gave ({where}): that is another study, not a mended "
                "one. Choose another place with --store"
            )


def _settled(there: Place, record: Record) -> Iterator[Unit]:
    """Some replications that have all their numbers, each as a unit of its own."""
    for n in sorted(record.extent.grid.n):
        rows, columns = record.groups[n].block
        found = 0
        for unit in record.units(n, record.extent):
            if not receipts.of_unit(there, unit):
                continue
            status = arrays.read_unit(there.url, record, unit, "status")
            fine = np.isin(status, [Status.OK, Status.EXCLUDED]).all(axis=(2, 3, 4, 5))
            for path, draw in zip(*np.nonzero(fine), strict=True):
                p, d = unit.paths[int(path)], unit.draws[int(draw)]
                yield Unit(n, p // rows, d // columns, range(p, p + 1), range(d, d + 1))
                found += 1
                if found == _LOOKS:
                    return
        if found:
            return


def _same(block: Block, old: Mapping[str, Values]) -> bool:
    """To a few digits: the store may be of another type of CPU, and another function is far off."""
    return all(
        np.allclose(np.asarray(block.values[name], float), np.asarray(values, float), rtol=1e-3, equal_nan=True)
        for name, values in old.items()
    )
