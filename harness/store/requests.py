"""Derive what the latest run of a store requested, and count the units that hold it.

Imports nothing heavy, so that `ckrr status` starts fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

from harness.core.extent import is_complete
from harness.core.types import Extent, Grid, Unit
from harness.store.manifest import Manifest

_DEFAULTS = {"alpha": [0.01, 0.05, 0.1, 0.25], "draws": 1, "gamma": [0.0]}
"""Defaults of a scenario file, as in `harness.scenario.spec`, which takes longer to import."""


def get_requested_extent(manifest: Manifest) -> Extent:
    """Return the extent that the latest run requested. The extent of the store may be larger."""
    grid, told = manifest.scenario["grid"], manifest.scenario["replications"]
    axes = {f.name: tuple(grid[f.name]) for f in fields(Grid)}
    paths = told["budget"]["paths"] if told.get("until") else told["paths"]
    return Extent(Grid(**axes), int(paths), int(told["draws"]), manifest.extent.exclude)


def is_different_scenario(told: Mapping[str, Any], manifest: Manifest) -> bool:
    """Return whether a scenario differs from that of the latest run in its seed, grid, paths or draws."""

    def values(part: Any, key: str) -> list[Any]:
        found = part.get(key, _DEFAULTS.get(key, [])) if isinstance(part, Mapping) else []
        if isinstance(found, Mapping):  # a dumped scenario has all keys, a file only some of them
            found = sorted((name, value) for name, value in found.items() if value not in (None, False))
        return list(found) if isinstance(found, list | tuple) else [] if found is None else [found]

    counts = ("paths", "draws", "until", "budget")
    pairs = [("grid", field.name) for field in fields(Grid)] + [("replications", key) for key in counts]
    here = manifest.scenario
    same = all(values(told.get(part), key) == values(here[part], key) for part, key in pairs)
    return not same or told.get("seed") != here["seed"]


def get_full_scenario(manifest: Manifest) -> dict[str, Any]:
    """Return the scenario of the latest run, enlarged to the whole extent of the store."""
    extent = manifest.extent
    return {
        **manifest.scenario,
        "family": _list_families(manifest),
        "grid": asdict(extent.grid),
        "replications": {**manifest.scenario["replications"], **_get_full_counts(manifest)},
        "exclude": [dict(rule) for rule in extent.exclude],
    }


def _list_families(manifest: Manifest) -> Any:
    """Return all families of a store as the key `family` of a scenario."""
    found: list[Any] = []
    for name, one in manifest.families.items():
        table = {"use": one.use, **({"name": name} if name != one.use else {}), **one.parameters}
        found.append(one.use if table == {"use": one.use} else table)
    only = found[0] if len(found) == 1 else None
    return only if isinstance(only, str) else found or manifest.scenario["family"]


def _get_full_counts(manifest: Manifest) -> dict[str, Any]:
    """Return the numbers of paths and draws of the whole extent, as keys of [replications]."""
    told, extent = manifest.scenario["replications"], manifest.extent
    if told.get("until"):
        return {"budget": {**told["budget"], "paths": extent.paths}, "draws": extent.draws}
    return {"paths": manifest.asked_paths or extent.paths, "draws": extent.draws}


def count_units(manifest: Manifest, n: int, asked: Extent) -> int:
    """Return the number of units at one n that hold the paths and draws of `asked`."""
    rows, columns = manifest.groups[n].block
    return -(-asked.paths // rows) * -(-asked.draws // columns)


def make_block_counter(manifest: Manifest, n: int, asked: Extent) -> Callable[[int], tuple[int, int] | None]:
    """Return a function that counts the blocks of paths and of draws that are complete if written at a generation.

    The function returns None if all blocks are complete. The result agrees with
    `harness.planning.plan.find_remaining_units`, but is computed without checking every cell of every unit.
    """
    rows, columns = manifest.groups[n].block
    cells = [is_complete(held, asked, Unit(n, 0, 0, range(0), range(0))) for held in manifest.extents]

    def blocks(generation: int) -> tuple[int, int] | None:
        if generation >= len(cells) or not cells[generation]:
            return 0, 0
        held = manifest.extents[generation]
        found = (
            _count_whole_blocks(held.paths, asked.paths, rows),
            _count_whole_blocks(held.draws, asked.draws, columns),
        )
        return None if found == (-(-held.paths // rows), -(-held.draws // columns)) else found

    return blocks


def _count_whole_blocks(held: int, asked: int, size: int) -> int:
    """Return the number of blocks that hold everything requested; the last one may be shorter than `size`.

    Examples
    --------
    >>> tuple(_count_whole_blocks(*each) for each in ((10, 10, 4), (9, 10, 4), (12, 10, 4), (12, 4, 4)))
    (3, 2, 3, 1)
    """
    return -(-asked // size) if held >= asked else held // size
