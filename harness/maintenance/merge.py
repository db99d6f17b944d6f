"""Merge stores of one study, computed separately, into a new store.

Results that several stores have must be bitwise identical. Otherwise the difference is reported and nothing is written.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from harness.backends.base import Backend, open_backend
from harness.compute.resume import spread_results
from harness.core.errors import UserError
from harness.core.extent import find_computed, find_included, union
from harness.core.families import FamilyRecord, check_version, find_theta_owner, list_placeholder_rules
from harness.core.schema.cube import CUBE_VERSION
from harness.core.schema.measures import FOUND, SCALE_HAT, Variable, list_variables
from harness.core.text import get_timestamp
from harness.core.types import FAILED, INNER, Block, Extent, Failure, Status, Unit, Values
from harness.cube.refresh import refresh
from harness.cube.rounds import iter_rounds
from harness.scenario.families import FAMILIES, get_numerics_version
from harness.store import arrays, artifacts, receipts
from harness.store.layout import get_shape
from harness.store.manifest import FILES, LARGEST_FILE, Manifest, merge_holdout_levels, merge_levels, split_fingerprint
from harness.store.manifest_io import load_manifest
from harness.store.receipts import list_receipts
from harness.store.requests import get_full_scenario
from harness.store.rounds import get_target, write_round
from harness.store.zarr_store import open_checked_store


@dataclass(frozen=True)
class _InputStore:
    """A store to merge."""

    backend: Backend
    manifest: Manifest
    failures: Sequence[tuple[int, Failure]]
    """Failures, each with its n."""


def merge_stores(urls: Sequence[str], target: str) -> tuple[int, int]:
    """Merge stores into a new one.

    Units with missing cells are left out, for example if only one of the stores has some α; the next run computes them.

    Parameters
    ----------
    urls : sequence of str
        The stores to merge; all must have the same fingerprint.
    target : str
        Where to write the new store.

    Returns
    -------
    complete, total : int
        Number of complete units, and number of all units, of the new store.

    Raises
    ------
    UserError
        If the target exists, or the stores belong to different studies or have different results.
    """
    parts = [_open_input(url) for url in urls]
    backend = open_backend(target)
    if load_manifest(backend) is not None:
        raise UserError(f"{target} already exists: choose another name with -o")
    for part in parts[1:]:
        _check_owners(parts[0], part)
        if not _is_same_study(part, parts[0]):
            raise UserError(f"{part.backend.url} holds another study than {parts[0].backend.url}: they can't be merged")
    manifest = _merge_manifests(parts)
    units = [unit for n in manifest.extent.grid.n for unit in manifest.list_units(n, manifest.extent)]
    for unit in units:  # all are compared before anything is written
        _merge_unit(manifest, parts, unit)
    artifacts.check_same([part.backend for part in parts])
    arrays.publish(backend, manifest, {name: data for part in parts for name, data in _read_files(part).items()})
    for part in parts:
        artifacts.copy(part.backend, backend)
    done = sum(_write(backend, manifest, _merge_unit(manifest, parts, unit)) for unit in units)
    if get_target(manifest) is not None:
        _write_rounds(backend, manifest)
    refresh(backend.url, manifest, manifest.extent.grid.n)
    return done, len(units)


def _write_rounds(backend: Backend, manifest: Manifest) -> None:
    """Write what follows from the merged paths of a study that runs until it is decided."""
    signed = list_receipts(backend, manifest.extent.grid.n)
    for n in manifest.extent.grid.n:
        units = manifest.list_units(n, manifest.extent)
        prefix = next((unit.paths.start for unit in units if unit.name not in signed), manifest.extent.paths)

        def read(name: str, where: tuple[Any, ...], n: int = n) -> Values:
            return arrays.read(backend.url, n, name, manifest.generation, where)

        for one in iter_rounds(manifest, n, read, prefix):
            write_round(backend, one)


def _open_input(url: str) -> _InputStore:
    open_checked_store(url)  # before using anything that its metadata claim
    backend = open_backend(url)
    manifest = load_manifest(backend)
    if manifest is None:
        raise UserError(f"{url}: there is no store here")
    for name, record in manifest.families.items():
        if record.use in FAMILIES and isinstance(record.version, int):  # others are compared with one another
            check_version(url, name, record, get_numerics_version())
    return _InputStore(backend, manifest, list(_iter_failures(backend, manifest)))


def _is_same_study(one: _InputStore, other: _InputStore) -> bool:
    """Return whether two stores are of one study: files count by their bytes, which version 0.1 hashed otherwise.

    They may have different families, but a family that both have must be the same. One may keep what its searches
    found, and the other not have those searches.
    """
    ours, theirs = (
        {
            **split_fingerprint(part.manifest.fingerprint)[0],
            "files": _read_files(part, part.manifest.fingerprint),
            "keep": sorted({*part.manifest.keep} - {*FOUND}),
        }
        for part in (one, other)
    )
    held = other.manifest.families
    same = (each.is_same(held.get(name, each)) for name, each in one.manifest.families.items())
    return ours == theirs and all(same)


def _check_owners(one: _InputStore, other: _InputStore) -> None:
    """Raise UserError if a procedure belongs to one family in a store, and to another one in the other store."""
    owners = {label: name for name, each in one.manifest.families.items() for label in each.procedures}
    for name, each in other.manifest.families.items():
        for label in each.procedures:
            if owners.get(label, name) != name:
                what = f"{label} is of family {owners[label]!r} in {one.backend.url} and of {name!r} in"
                raise UserError(f"{what} {other.backend.url}: they can't be merged")


def _merge_manifests(parts: Sequence[_InputStore]) -> Manifest:
    """Return the manifest of the union; each n has the blocks of the first store that has it."""
    extents = _merge_extents([part.manifest.extents for part in parts])
    extent = extents[-1]
    groups = {n: group for part in reversed(parts) for n, group in part.manifest.groups.items()}
    now = get_timestamp()
    merged = {
        "start": now,
        "end": now,
        "host": platform.node(),
        "command": "merge of " + ", ".join(p.backend.url for p in parts),
    }
    history = [entry for part in parts for entry in part.manifest.history]
    ordered = {n: groups[n] for n in extent.grid.n}
    families = reduce(_merge_families, (part.manifest.families for part in parts))
    extents = (*extents[:-1], _adapt_extent(extent, families, parts))
    levels = reduce(merge_levels, (part.manifest.exact_levels for part in parts))
    spared = reduce(merge_holdout_levels, (part.manifest.holdout_levels for part in parts))
    first = replace(parts[0].manifest, extents=extents, history=(*history, merged), is_smoke=False)
    rounds = any(part.manifest.had_rounds for part in parts)
    fixed = max(part.manifest.asked_paths for part in parts) if rounds else 0
    first = replace(first, cube_version=CUBE_VERSION, had_rounds=rounds, fixed_paths=fixed)
    first = replace(first, families=families, groups=ordered, exact_levels=levels, holdout_levels=spared)
    kept = [{*part.manifest.keep} for part in parts]
    keep = tuple(name for name in first.keep if all(name in each for each in kept))
    first = replace(first, keep=keep, fingerprint={**first.fingerprint, "keep": sorted(keep)})
    first = replace(first, dimension=first.dimension if SCALE_HAT.name in keep else 0)
    return replace(first, scenario=get_full_scenario(first))


def _adapt_extent(extent: Extent, families: Mapping[str, FamilyRecord], parts: Sequence[_InputStore]) -> Extent:
    """Return the merged extent, without what no store can have: see `harness.execution.prepare`."""
    rules = list(extent.exclude)
    rules += [rule for rule in list_placeholder_rules(families, extent.grid, extent.grid) if rule not in rules]
    left_out = {label for part in parts for label in part.manifest.extent.left_out}
    return replace(extent, exclude=tuple(rules), left_out=tuple(x for x in extent.grid.procedure if x in left_out))


def _merge_families(some: Mapping[str, FamilyRecord], others: Mapping[str, FamilyRecord]) -> Mapping[str, FamilyRecord]:
    return {**some, **{name: some[name].extend(one) if name in some else one for name, one in others.items()}}


def _merge_extents(each: Sequence[Sequence[Extent]]) -> tuple[Extent, ...]:
    """Return the extents of the union: how the stores grew stays known, because verdicts depend on it.

    A store that has no growth of some number is taken as it was last.
    """
    found: list[Extent] = []
    for growth in range(max(map(len, each))):
        both = reduce(union, [*found[-1:], *(some[min(growth, len(some) - 1)] for some in each)])
        found += [both] if [both] != found[-1:] else []
    return tuple(found)


def _read_files(part: _InputStore, of: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """Return the files that a store keeps: all of them, or those that a fingerprint lists."""
    names = part.manifest.files if of is None else of["files"]
    return {name: part.backend.get(f"{FILES}/{name}", LARGEST_FILE) or b"" for name in names}


def _merge_unit(manifest: Manifest, parts: Sequence[_InputStore], unit: Unit) -> Block:
    """Assemble a unit of the new store from the results of the old ones."""
    variables = list_variables(manifest.keep)
    values = {v.name: _allocate_values(v, manifest, unit) for v in variables}
    failures: dict[tuple[object, ...], Failure] = {}
    for part in parts:
        if unit.n in part.manifest.groups and (found := _find_overlap(part.manifest, unit)) is not None:
            _add_values(values, part, unit, found, variables, manifest)
            failures |= {one.key: one for n, one in part.failures if n == unit.n and _is_in(one, unit)}
    status, included = values["status"], find_included(manifest.extent, unit.n)
    status[...] = np.where(~included & (status == Status.NOT_RUN), np.uint8(Status.EXCLUDED), status)
    spread_results(values, manifest.uses, manifest.extent, unit.n)
    return Block(unit, values, list(failures.values()), {})


def _allocate_values(variable: Variable, manifest: Manifest, unit: Unit) -> Values:
    _, _, *inner = get_shape(variable, manifest)
    return np.full((len(unit.paths), len(unit.draws), *inner), variable.fill, dtype=variable.dtype)


def _find_overlap(manifest: Manifest, unit: Unit) -> tuple[range, range] | None:
    """Return the paths and draws of a unit that a store has, or None if it has none."""
    paths = range(unit.paths.start, min(unit.paths.stop, manifest.extent.paths))
    draws = range(unit.draws.start, min(unit.draws.stop, manifest.extent.draws))
    return (paths, draws) if paths and draws else None


def _add_values(
    values: dict[str, Values],
    part: _InputStore,
    unit: Unit,
    found: tuple[range, range],
    variables: Sequence[Variable],
    manifest: Manifest,
) -> None:
    """Copy a store's results of a unit into `values`; raise UserError if they differ from those already there."""
    here = [list(range(len(each))) for each in found]
    where = tuple(slice(each.start, each.stop) for each in found)
    read = {v.name: arrays.read(part.backend.url, unit.n, v.name, part.manifest.generation, where) for v in variables}
    ran, has = read["status"] == Status.OK, np.isin(read["status"], (Status.OK, *FAILED))
    owners = [find_theta_owner(each.families) for each in (part.manifest, manifest)]
    before = values["status"][_find_indices(variables[-1], part.manifest, manifest, here)] == Status.OK
    for variable in variables:
        if variable.name in FOUND and owners[0] != owners[1]:
            continue  # that of another family
        places = _find_indices(variable, part.manifest, manifest, here)
        old, new = values[variable.name][places], read[variable.name]
        if variable.dims[0] == "procedure":
            both, take = (_broadcast_mask(mask, new) for mask in (ran & before, ~before & has))
        else:
            both = _broadcast_mask((ran & before).any(axis=2), new)
            take = _is_nan(old)  # a store may have no procedure that uses θ
        both = both & ~_is_nan(old) & ~_is_nan(new)
        take = take | (_is_nan(old) & ~_is_nan(new))
        if (both & (old != new)).any():
            what = f"{variable.name} of {unit.name}"
            raise UserError(f"{part.backend.url} has different results than the stores before it: {what}")
        values[variable.name][places] = np.where(take, new, old)


def _find_indices(variable: Variable, old: Manifest, new: Manifest, here: list[list[int]]) -> tuple[Values, ...]:
    """Return the indices of one store's values in the arrays of another."""
    inner = []
    for dim, length in zip(variable.dims, get_shape(variable, old)[2:], strict=True):
        if dim in INNER:
            axis = getattr(new.extent.grid, dim)
            inner.append([axis.index(value) for value in getattr(old.extent.grid, dim)])
        else:
            inner.append(list(range(length)))
    return np.ix_(*here, *inner)


def _broadcast_mask(mask: Values, like: Values) -> Values:
    return mask.reshape(*mask.shape, *(1,) * (like.ndim - mask.ndim))


def _is_nan(values: Values) -> Values:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)


def _iter_failures(backend: Backend, manifest: Manifest) -> Iterator[tuple[int, Failure]]:
    """Yield all failures of a store, each with its n."""
    some = [one for one in receipts.list_receipts(backend, manifest.extent.grid.n).values() if one.failed]
    for receipt, content in zip(some, receipts.read_all(backend, some), strict=True):
        n = int(receipt.unit.partition("/")[0].removeprefix("n="))
        yield from ((n, Failure(**one)) for one in content["failures"])


def _is_in(one: Failure, unit: Unit) -> bool:
    """Return whether a failure belongs to a replication of a unit; it may come from a unit cut differently."""
    return one.path in unit.paths and one.draw in unit.draws


def _write(backend: Backend, manifest: Manifest, block: Block) -> bool:
    """Write a unit and return True if it is complete; the next run computes the others."""
    status = block.values["status"][..., find_computed(manifest.extent, block.unit.n)]
    levels = np.isnan(block.values["coverage"]).any(axis=-1) & (block.values["status"] == Status.OK)
    if (status == Status.NOT_RUN).any() or levels.any():
        return False
    arrays.write_unit(backend.url, manifest, block)
    return True
