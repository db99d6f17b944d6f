"""Reading the replications of a store, a slab at a time, and choosing cells of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import xarray as xr

from harness.backends.base import place
from harness.core.errors import Mistake
from harness.core.labels import axis_values, label
from harness.core.schema import CUBE_DIMS
from harness.core.text import nearest
from harness.core.types import FAILED, Bools, Status, Values
from harness.cube.aggregate import slabs
from harness.store import arrays
from harness.store.inventory import incomplete_units, is_damaged
from harness.store.locate import store_of
from harness.store.manifest import Record, version
from harness.store.manifest_io import load
from harness.store.receipts import FOLDER, listed

_KEPT = 8e6
"""Bytes of a variable that are kept for the next question; a report asks a hundred."""
Where = Mapping[str, Sequence[object]]
"""For some axes the values that are chosen."""


@dataclass(frozen=True)
class Slab:
    """Some cells at one n: places along procedure and θ; all of γ, λ and α."""

    n: int
    procedures: range
    thetas: range


@dataclass(frozen=True, eq=False)
class Runs:
    """The replications of a store."""

    url: str
    record: Record
    where: Where = field(default_factory=dict)

    def slabs(self) -> Iterator[Slab]:
        """All cells that are chosen, in pieces that fit into memory."""
        grid = self.record.extent.grid
        for n in sorted(self.chosen("n")):
            for procedures, thetas in slabs(self.record):
                names = {axis_values(grid, "procedure")[place] for place in procedures}
                values = {axis_values(grid, "theta")[place] for place in thetas}
                if names & set(self.chosen("procedure")) and values & set(self.chosen("theta")):
                    yield Slab(n, procedures, thetas)

    def chosen(self, axis: str) -> Sequence[Any]:
        """The values of an axis that are asked for."""
        return self.where.get(axis, axis_values(self.record.extent.grid, axis))

    def read(self, slab: Slab, variable: str) -> Values:
        """Over path, draw, procedure, γ, θ, λ and what else the variable has."""
        lengths = [len(axis_values(self.record.extent.grid, axis)) for axis in ("gamma", "lam", "alpha")]
        cells = prod(lengths) * len(slab.procedures) * len(slab.thetas)
        kept = 8 * self.record.extent.paths * self.record.extent.draws * cells <= _KEPT
        return (_read if kept else _read.__wrapped__)(
            self.url, self.record.generation, self._state(slab.n), slab, variable
        )

    def _state(self, n: int) -> int:
        """Another number as soon as a unit at this n is written, or another store is in this place."""
        return hash((version(self.record), frozenset(place(self.url).names(f"{FOLDER}/n={n}"))))

    def read_reference(self, slab: Slab, variable: str, procedure: str) -> Values:
        """The same for one procedure, whatever the slab has."""
        at = self.record.extent.grid.procedure.index(procedure)
        return self.read(Slab(slab.n, range(at, at + 1), slab.thetas), variable)

    def ok(self, slab: Slab) -> Bools:
        """Which replications have results: over path, draw, procedure, γ, θ and λ."""
        status = self.read(slab, "status")
        return np.asarray((status == Status.OK) & ~is_damaged(status, self.read(slab, "coverage"), self.record.extents))

    def failed(self, slab: Slab) -> Bools:
        """Which replications failed."""
        return np.isin(self.read(slab, "status"), FAILED)

    def array(self, made: Mapping[Slab, Values], fill: Any = np.nan) -> xr.DataArray:
        """Puts the results of slabs, over procedure, γ, θ, λ and α, to their places; sorted, only what is chosen."""
        grid = self.record.extent.grid
        lengths = [len(axis_values(grid, axis)) for axis in CUBE_DIMS]
        first = next(iter(made.values()))
        whole = np.full(lengths, fill, dtype=first.dtype)
        for slab, values in made.items():
            whole[_slice(slab.procedures), :, _slice(slab.thetas), :, grid.n.index(slab.n)] = values
        coords = {axis: (axis, _coordinate(axis_values(grid, axis))) for axis in CUBE_DIMS}
        found = xr.DataArray(whole, dims=CUBE_DIMS, coords=coords)
        return found.sel({axis: self.sorted(axis) for axis in CUBE_DIMS})

    def sorted(self, axis: str) -> list[Any]:
        """The chosen values in order: numbers by size, searches for θ last, procedures as they were written."""
        values = list(self.chosen(axis))
        if axis == "theta":
            return sorted(values, key=_theta_order)
        return values if axis == "procedure" else sorted(values)


def _slice(places: range) -> slice:
    return slice(places.start, places.stop)


def _theta_order(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text), ""
    except ValueError:
        return True, 0.0, text


def _coordinate(values: Sequence[object]) -> Values:
    return np.array(values, dtype=object if isinstance(values[0], str) else None)


@lru_cache(maxsize=32)
def _read(url: str, generation: int, state: int, slab: Slab, variable: str) -> Values:
    everything = slice(None)
    where: tuple[Any, ...] = (everything, everything, _slice(slab.procedures), everything, _slice(slab.thetas))
    return arrays.read(url, slab.n, variable, generation, where)


def runs(url: str, where: Where | None = None) -> Runs:
    """The replications of a store, or those of a slice of it. A scenario means its default store."""
    there = place(store_of(str(url)))
    record = load(there)
    assert record is not None, "or store_of would have said so"
    return Runs(there.url, record, {axis: _checked(record, axis, values) for axis, values in (where or {}).items()})


def _checked(record: Record, axis: str, values: object) -> Sequence[object]:
    """The values of an axis that are meant, as its coordinate has them."""
    if axis not in CUBE_DIMS:
        raise Mistake(f"there is no axis {axis!r}: it must be one of {', '.join(CUBE_DIMS)}{nearest(axis, CUBE_DIMS)}")
    known = {label(each): each for each in axis_values(record.extent.grid, axis)}
    asked = values if isinstance(values, list | tuple | np.ndarray) else [values]
    return [_known(axis, each, known) for each in asked]


def _known(axis: str, value: object, known: Mapping[str, object]) -> object:
    text = str(value)
    if text in known:
        return known[text]
    same = [each for name, each in known.items() if _number(name) == _number(text) is not None]
    if not same:
        raise Mistake(f"{axis}={text} isn't in the store: it has {', '.join(known)}{nearest(text, known)}")
    return same[0]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parse_where(texts: Sequence[str]) -> dict[str, list[str]]:
    """From the command line: "n=100,400,alpha=0.05" chooses two n and one α.

    Examples
    --------
    >>> parse_where(["n=100,400,alpha=0.05", "theta=ml"])
    {'n': ['100', '400'], 'alpha': ['0.05'], 'theta': ['ml']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        axis = ""
        for part in text.split(","):
            name, equals, value = part.partition("=")
            axis = name.strip() if equals else axis
            if not axis or not (value if equals else name).strip():
                raise Mistake(f"--where {text}: must be axis=value, as in n=100,400,alpha=0.05")
            found.setdefault(axis, []).append((value if equals else name).strip())
    return found


def count_damaged(url: str) -> int:
    """Return how many replications lack chunks that were written."""
    found = runs(url)
    there = place(found.url)
    signed = listed(there, found.record.extent.grid.n)
    lost = set(incomplete_units(there, found.record, signed))
    sizes = {unit.split("/")[0] for unit in lost}
    grids = (found.record.units(n, found.record.extent) for n in found.record.groups if f"n={n}" in sizes)
    return sum(len(unit) for units in grids for unit in units if unit.name in lost)


def damage_text(lost: int) -> str:
    """Say that replications are damaged, and what to do about it."""
    return f"{lost} replications are damaged, since chunks of them are missing: `ckrr run` computes them again"
