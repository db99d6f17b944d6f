"""Read the replications of a store slab by slab, and select cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import xarray as xr

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.extent import find_distinct, find_included, get_axis_lengths
from harness.core.labels import format_label, list_axis_values
from harness.core.schema.axes import QUANTILES
from harness.core.schema.cube import CUBE_DIMS
from harness.core.schema.measures import COVERAGE_EXPECTED, DIFFERENCES, DISTRIBUTION, list_variables
from harness.core.text import format_count, suggest_name
from harness.core.types import FAILED, INNER, Bools, Grid, Status, Values
from harness.cube.aggregate import iter_slabs
from harness.cube.caching import SizedCache
from harness.cube.levels import get_judged_measure
from harness.parsing.selections import Selection, parse_where
from harness.store import arrays
from harness.store.inventory import is_damaged, list_incomplete_units
from harness.store.locate import find_store
from harness.store.manifest import Manifest, cache_key
from harness.store.manifest_io import load_manifest
from harness.store.receipts import FOLDER, list_receipts
from harness.store.rounds import count_shown_paths

_USUAL_BYTES, _MOST_BYTES = 64e6, min(512e6, arrays.get_memory_limit() / 2)
"""Most bytes of variables that are kept in memory, usually and while a report is made."""
_VARIABLES: SizedCache[Values] = SizedCache(_USUAL_BYTES, lambda values: int(values.nbytes))
State = tuple[str, str, int, int, int]
"""Store, key of its manifest, n, number of paths, and hash of the names of the receipts and of the last run."""
Where = Mapping[str, Sequence[object]]
"""Values to select along some axes."""


@dataclass(frozen=True)
class Slab:
    """Cells at one n: index ranges along procedure and θ, and all of γ, λ and α."""

    n: int
    procedures: range
    thetas: range


@dataclass(frozen=True, eq=False)
class ReplicationReader:
    """Read the replications of a store, or of selected cells."""

    url: str
    manifest: Manifest
    where: Where = field(default_factory=dict)

    @cached_property
    def _paths(self) -> Mapping[int, int]:
        backend = open_backend(self.url)
        return {n: count_shown_paths(backend, self.manifest, n) for n in self.manifest.extent.grid.n}

    def count_paths(self, n: int) -> int:
        """Return the number of paths at one n that results are made from."""
        return self._paths[n]

    def get_path_range(self, sizes: Sequence[int] | None = None) -> tuple[int, int]:
        """Return the least and the largest number of paths that results at some n are made from: the selected ones."""
        counts = [self.count_paths(n) for n in sizes or self.select_values("n")]
        return min(counts), max(counts)

    def format_paths(self, sizes: Sequence[int] | None = None) -> str:
        """Format the number of paths, or the range of these over some n: by default the selected ones."""
        fewest, most = self.get_path_range(sizes)
        return format_count(most, "path") if fewest == most else f"{fewest} to {most} paths"

    def iter_slabs(self) -> Iterator[Slab]:
        """Yield slabs that fit into memory and together contain all selected cells."""
        grid = self.manifest.extent.grid
        for n in sorted(self.select_values("n")):
            for procedures, thetas in iter_slabs(self.manifest):
                names = {list_axis_values(grid, "procedure")[place] for place in procedures}
                values = {list_axis_values(grid, "theta")[place] for place in thetas}
                if names & set(self.select_values("procedure")) and values & set(self.select_values("theta")):
                    yield Slab(n, procedures, thetas)

    def select_values(self, axis: str) -> Sequence[Any]:
        """Return the selected values of an axis; all of them by default."""
        return self.where.get(axis, list_axis_values(self.manifest.extent.grid, axis))

    def read(self, slab: Slab, variable: str) -> Values:
        """Read a variable over path, draw, procedure, γ, θ, λ and its further axes, such as α.

        Raises
        ------
        UserError
            If the store doesn't have it, or it can't be read.
        """
        if variable not in {one.name for one in list_variables(self.manifest.keep)}:
            why = "its source doesn't know its noise, its scenario leaves it out, or it is of version 0.1"
            needed = variable if variable in DIFFERENCES else DISTRIBUTION
            why = why if variable == COVERAGE_EXPECTED else f'its scenario has no keep = ["{needed}"]'
            raise UserError(f"{self.url} has no {variable}: {why}")
        whole = self._find_whole_slab(slab.n)
        if whole is None:
            return self._read(slab, variable)
        found = _VARIABLES.get((self.get_state(slab.n), variable), lambda: _freeze(self._read(whole, variable)))
        if slab == whole:
            return found
        # a copy, since NumPy's sums depend on the strides of an array in the last bit
        return np.ascontiguousarray(found[:, :, _to_slice(slab.procedures), :, _to_slice(slab.thetas)])

    def _read(self, slab: Slab, variable: str) -> Values:
        everything = slice(None)
        cells = (_to_slice(slab.procedures), everything, _to_slice(slab.thetas))
        where: tuple[Any, ...] = (slice(0, self.count_paths(slab.n)), everything, *cells)
        return arrays.read(self.url, slab.n, variable, self.manifest.generation, where)

    def _find_whole_slab(self, n: int) -> Slab | None:
        """Return the slab of all cells at one n; None if not even one variable of it may be kept in memory."""
        extent = self.manifest.extent
        lengths = get_axis_lengths(extent.grid)
        cells = prod(lengths[axis] for axis in INNER)
        if 8 * len(QUANTILES) * extent.paths * extent.draws * cells > _VARIABLES.most:
            return None
        return Slab(n, range(lengths["procedure"]), range(lengths["theta"]))

    def get_state(self, n: int) -> State:
        """Return a cache key that differs if a unit at this n was written, or the store was replaced or grew.

        It is that of the first time that this reader was asked, so what is kept under it isn't older than the reader.
        """
        if n not in self._states:
            names = frozenset(open_backend(self.url).list_names(f"{FOLDER}/n={n}"))
            history = self.manifest.history  # a damaged unit that is computed again has the same receipt
            runs = len(history), repr(history[-1:])
            self._states[n] = self.url, self._key, n, self.count_paths(n), hash((names, runs))
        return self._states[n]

    @cached_property
    def _key(self) -> str:
        return cache_key(self.manifest)

    @cached_property
    def _states(self) -> dict[int, State]:
        return {}

    @property
    def judged(self) -> str:
        """Name of the coverage that verdicts and estimates are on: the expected one if the store has it."""
        return get_judged_measure(self.manifest)

    def read_reference(self, slab: Slab, variable: str, procedure: str) -> Values:
        """Read a variable of one procedure, at the n and θ of the slab."""
        at = self.manifest.extent.grid.procedure.index(procedure)
        return self.read(Slab(slab.n, range(at, at + 1), slab.thetas), variable)

    def is_ok(self, slab: Slab) -> Bools:
        """Return a mask of the replications with undamaged results, over path, draw, procedure, γ, θ and λ."""
        return _VARIABLES.get((self.get_state(slab.n), slab), lambda: _freeze(self._compute_ok(slab)))

    def _compute_ok(self, slab: Slab) -> Bools:
        status = self.read(slab, "status")
        return np.asarray(
            (status == Status.OK) & ~is_damaged(status, self.read(slab, "coverage"), self.manifest.extents)
        )

    def has_failed(self, slab: Slab) -> Bools:
        """Return a mask of the replications that failed, over path, draw, procedure, γ, θ and λ."""
        return np.isin(self.read(slab, "status"), FAILED)

    def find_included(self) -> xr.DataArray:
        """Return which of the selected cells the scenario doesn't exclude, in the order of `make_array`."""
        extent = self.manifest.extent
        masks = {n: np.repeat(find_included(extent, n)[..., None], len(extent.grid.alpha), -1) for n in extent.grid.n}
        return self.make_array(
            {slab: masks[slab.n][_to_slice(slab.procedures), :, _to_slice(slab.thetas)] for slab in self.iter_slabs()},
            False,
        )

    def find_distinct(self) -> xr.DataArray:
        """Return the cells of `find_included` without those that repeat a result.

        Cells that differ only in a θ or λ that their procedure doesn't use have the same result: the first one counts.
        """
        found = self.find_included().transpose(*CUBE_DIMS)
        grid = Grid(**{axis: tuple(found[axis].values.tolist()) for axis in CUBE_DIMS})
        return found.copy(data=find_distinct(found.to_numpy(), self.manifest.uses, grid))

    def make_array(self, made: Mapping[Slab, Values], fill: Any = np.nan) -> xr.DataArray:
        """Combine results of slabs to a labelled array of the selected cells, sorted along its axes.

        Parameters
        ----------
        made : mapping
            Slabs to their results, over procedure, γ, θ, λ and α.
        fill : scalar
            Value of cells that are in no slab.
        """
        return xr.DataArray(self.arrange(made, fill), dims=CUBE_DIMS, coords=self.coords)

    def arrange(self, made: Mapping[Slab, Values], fill: Any = np.nan) -> Values:
        """Combine results of slabs to an array with the axes of `coords`, as `make_array` does."""
        grid = self.manifest.extent.grid
        lengths = [len(list_axis_values(grid, axis)) for axis in CUBE_DIMS]
        whole = np.full(lengths, fill, dtype=next(iter(made.values())).dtype)
        for slab, values in made.items():
            whole[_to_slice(slab.procedures), :, _to_slice(slab.thetas), :, grid.n.index(slab.n)] = values
        return np.asarray(whole[np.ix_(*self._places.values())])

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Indices of the selected values along each axis, in the order of `sort_values`."""
        known = {axis: list_axis_values(self.manifest.extent.grid, axis) for axis in CUBE_DIMS}
        return {axis: [values.index(one) for one in self.sort_values(axis)] for axis, values in known.items()}

    @cached_property
    def coords(self) -> xr.Coordinates:
        """The selected cells: coordinates over all axes of the cube."""
        grid = self.manifest.extent.grid
        found = {axis: _make_coordinate(list_axis_values(grid, axis))[places] for axis, places in self._places.items()}
        return xr.Dataset(coords=found).coords

    def sort_values(self, axis: str) -> list[Any]:
        """Return the selected values of an axis: numbers sorted, searches for θ last, procedures in the given order."""
        values = list(self.select_values(axis))
        if axis == "theta":
            return sorted(values, key=_get_theta_sort_key)
        return values if axis == "procedure" else sorted(values)


def keep_variables() -> AbstractContextManager[None]:
    """Keep more variables in memory within a context that reads the same ones about a hundred times."""
    return _VARIABLES.widen(_MOST_BYTES)


def _to_slice(places: range) -> slice:
    return slice(places.start, places.stop)


def _get_theta_sort_key(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text), ""
    except ValueError:
        return True, 0.0, text


def _make_coordinate(values: Sequence[object]) -> Values:
    return np.array(values, dtype=object if isinstance(values[0], str) else None)


def _freeze(values: Values) -> Values:
    """Make an array read-only, because several callers get it."""
    values.flags.writeable = False
    return values


def open_reader(url: str, where: Selection | None = None) -> ReplicationReader:
    """Open the replications of a store for reading.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    where : mapping or str, optional
        Values to select along some axes; numbers may be given as text.

    Raises
    ------
    UserError
        If there is no such store, axis or value.
    """
    backend = open_backend(find_store(str(url)))
    manifest = load_manifest(backend)
    assert manifest is not None, "find_store raises if there is no manifest"
    arrays.forget_other_stores(backend.url, cache_key(manifest))
    asked = parse_where(where).items()
    return ReplicationReader(
        backend.url, manifest, {axis: [_resolve_value(manifest, axis, each) for each in some] for axis, some in asked}
    )


def _resolve_value(manifest: Manifest, axis: str, value: object) -> object:
    """Return the requested value of an axis as it is in its coordinate."""
    found = find_value(manifest, axis, value)
    if found is None:
        known = [format_label(each) for each in list_axis_values(manifest.extent.grid, axis)]
        raise UserError(
            f"{axis}={value} isn't in the store: it has {', '.join(known)}{suggest_name(str(value), known)}"
        )
    return found


def find_value(manifest: Manifest, axis: str, value: object) -> object | None:
    """Return the value of an axis whose label, or else whose number, equals that of `value`; None if there is none."""
    text, known = str(value), {format_label(each): each for each in list_axis_values(manifest.extent.grid, axis)}
    same = (each for name, each in known.items() if parse_number(name) == parse_number(text) is not None)
    return known[text] if text in known else next(same, None)


def parse_number(text: str) -> float | None:
    """Return the number that a label is; None if it isn't one."""
    try:
        return float(text)
    except ValueError:
        return None


def describe_condition(manifest: Manifest) -> str:
    """Say what errors are conditional on, for captions; empty if paths are independent samples."""
    return "errors are conditional on the rows of this one table" if manifest.is_resampled else ""


def count_damaged(url: str) -> int:
    """Return the number of replications in units that have a receipt but lack chunks."""
    found = open_reader(url)
    backend = open_backend(found.url)
    signed = list_receipts(backend, found.manifest.extent.grid.n)
    lost = set(list_incomplete_units(backend, found.manifest, signed))
    sizes = {unit.split("/")[0] for unit in lost}
    grids = (found.manifest.list_units(n, found.manifest.extent) for n in found.manifest.groups if f"n={n}" in sizes)
    return sum(len(unit) for units in grids for unit in units if unit.name in lost)


def format_damage(lost: int) -> str:
    """Format a note that replications are damaged, with the command that repairs them."""
    return f"{lost} replications are damaged, since chunks of them are missing: `ckrr run` computes them again"
