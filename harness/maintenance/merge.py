"""Merging: stores of one study, made in two places, become one.

Where both have a number it must be the same in every bit: if it isn't, that is named and nothing is made.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from harness.backends.base import Place, place
from harness.core.errors import Mistake
from harness.core.extent import included, union
from harness.core.schema import Variable, replication_variables
from harness.core.text import timestamp
from harness.core.types import INNER, Block, Failure, Status, Unit, Values
from harness.cube.refresh import refresh
from harness.store import arrays, artifacts, receipts
from harness.store.layout import shape_of
from harness.store.manifest import FILES, LARGEST_FILE, Record, all_joined, joined
from harness.store.manifest_io import load
from harness.store.requests import everything
from harness.store.zarr_store import checked_store


@dataclass(frozen=True)
class _Part:
    """One of the stores that are merged."""

    there: Place
    record: Record
    failures: Sequence[tuple[int, Failure]]
    """Each with its n."""


def merge(urls: Sequence[str], target: str) -> tuple[int, int]:
    """Joins stores into a new one; how many units of it are complete, and how many there are in all.

    A unit of which only some cells are there is left out: an α, say, that one of the stores has and another one hasn't.
    """
    parts = [_part(url) for url in urls]
    there = place(target)
    if load(there) is not None:
        raise Mistake(f"{target} is there already: choose another name with -o")
    for part in parts[1:]:
        if part.record.fingerprint != parts[0].record.fingerprint:
            raise Mistake(f"{part.there.url} is of another study than {parts[0].there.url}: they can't be merged")
    record = _record(parts)
    units = [unit for n in record.extent.grid.n for unit in record.units(n, record.extent)]
    for unit in units:  # all are compared before anything is written
        _joined(record, parts, unit)
    artifacts.check_same([part.there for part in parts])
    arrays.publish(there, record, _files(parts[0]))
    for part in parts:
        artifacts.copy(part.there, there)
    done = sum(_write(there, record, _joined(record, parts, unit)) for unit in units)
    refresh(there.url, record, record.extent.grid.n)
    return done, len(units)


def _part(url: str) -> _Part:
    checked_store(url)  # before anything is made of what it claims
    there = place(url)
    record = load(there)
    if record is None:
        raise Mistake(f"{url}: there is no store here")
    return _Part(there, record, list(_failures(there, record)))


def _record(parts: Sequence[_Part]) -> Record:
    """Everything that any of them holds; each n is cut as in the first that has it."""
    extent = reduce(union, (part.record.extent for part in parts))
    groups = {n: group for part in reversed(parts) for n, group in part.record.groups.items()}
    now = timestamp()
    merged = {
        "start": now,
        "end": now,
        "host": platform.node(),
        "command": "merge of " + ", ".join(p.there.url for p in parts),
    }
    history = [entry for part in parts for entry in part.record.history]
    ordered = {n: groups[n] for n in extent.grid.n}
    levels = reduce(joined, (part.record.levels for part in parts))
    spared = reduce(all_joined, (part.record.spared for part in parts))
    first = replace(parts[0].record, extents=(extent,), history=(*history, merged), is_smoke=False)
    return replace(first, scenario=everything(first), groups=ordered, levels=levels, spared=spared)


def _files(part: _Part) -> dict[str, bytes]:
    names = part.record.fingerprint["files"]
    return {name: part.there.get(f"{FILES}/{name}", LARGEST_FILE) or b"" for name in names}


def _joined(record: Record, parts: Sequence[_Part], unit: Unit) -> Block:
    """A unit of the new store from what the old ones have of it."""
    variables = replication_variables(record.keep)
    values = {v.name: _blank(v, record, unit) for v in variables}
    failures: dict[tuple[object, ...], Failure] = {}
    for part in parts:
        if unit.n in part.record.groups and (found := _overlap(part.record, unit)) is not None:
            _add(values, part, unit, found, variables, record)
            failures |= {_key(one): one for n, one in part.failures if n == unit.n and _is_in(one, unit)}
    return Block(unit, values, list(failures.values()), {})


def _blank(variable: Variable, record: Record, unit: Unit) -> Values:
    _, _, *inner = shape_of(variable, record)
    return np.full((len(unit.paths), len(unit.draws), *inner), variable.fill, dtype=variable.dtype)


def _overlap(record: Record, unit: Unit) -> tuple[range, range] | None:
    """The paths and draws of a unit that a store has."""
    paths = range(unit.paths.start, min(unit.paths.stop, record.extent.paths))
    draws = range(unit.draws.start, min(unit.draws.stop, record.extent.draws))
    return (paths, draws) if paths and draws else None


def _add(
    values: dict[str, Values],
    part: _Part,
    unit: Unit,
    found: tuple[range, range],
    variables: Sequence[Variable],
    record: Record,
) -> None:
    """Puts what a store has of a unit to its place, and compares where something is already."""
    here = [list(range(len(each))) for each in found]
    where = tuple(slice(each.start, each.stop) for each in found)
    read = {v.name: arrays.read(part.there.url, unit.n, v.name, part.record.generation, where) for v in variables}
    ran = read["status"] == Status.OK
    before = values["status"][_places(variables[-1], part.record, record, here)] == Status.OK
    for variable in variables:
        places = _places(variable, part.record, record, here)
        old, new = values[variable.name][places], read[variable.name]
        if variable.dims[0] == "procedure":
            both, take = (_spread(mask, new) for mask in (ran & before, ~before & (read["status"] != Status.NOT_RUN)))
        else:
            both, take = (ran & before).any(axis=2), (ran & ~before).any(axis=2)
        if "alpha" in variable.dims or variable.name == "theta_hat":
            both = both & ~_nan(old) & ~_nan(new)
            take = take | (_nan(old) & ~_nan(new))
        if (both & (old != new)).any():
            what = f"{variable.name} of {unit.name}"
            raise Mistake(f"{part.there.url} has other numbers than the stores before it: {what}")
        values[variable.name][places] = np.where(take, new, old)


def _places(variable: Variable, old: Record, new: Record, here: list[list[int]]) -> tuple[Values, ...]:
    """Where the values of one store are in the arrays of another."""
    inner = []
    for dim, length in zip(variable.dims, shape_of(variable, old)[2:], strict=True):
        if dim in INNER:
            axis = getattr(new.extent.grid, dim)
            inner.append([axis.index(value) for value in getattr(old.extent.grid, dim)])
        else:
            inner.append(list(range(length)))
    return np.ix_(*here, *inner)


def _spread(mask: Values, like: Values) -> Values:
    return mask.reshape(*mask.shape, *(1,) * (like.ndim - mask.ndim))


def _nan(values: Values) -> Values:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)


def _failures(there: Place, record: Record) -> Iterator[tuple[int, Failure]]:
    """All of a store, each with its n."""
    some = [one for one in receipts.listed(there, record.extent.grid.n).values() if one.failed]
    for receipt, content in zip(some, receipts.read_all(there, some), strict=True):
        n = int(receipt.unit.partition("/")[0].removeprefix("n="))
        yield from ((n, Failure(**one)) for one in content["failures"])


def _is_in(one: Failure, unit: Unit) -> bool:
    """Whether it is of a replication of a unit, whatever unit it was in before."""
    return one.path in unit.paths and one.draw in unit.draws


def _key(one: Failure) -> tuple[object, ...]:
    return one.path, one.draw, one.gamma, one.theta, one.lam


def _write(there: Place, record: Record, block: Block) -> bool:
    """Writes a unit if it is complete; the others are computed by the next run."""
    status = block.values["status"][..., included(record.extent, block.unit.n)]
    levels = np.isnan(block.values["coverage"]).any(axis=-1) & (block.values["status"] == Status.OK)
    if (status == Status.NOT_RUN).any() or levels.any():
        return False
    arrays.write(there.url, record, block)
    return True
