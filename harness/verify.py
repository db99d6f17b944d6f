"""Verify: reads every chunk that a receipt signs for, and names what is torn, flipped or missing.

A unit that is no good loses its receipt, so that the next run computes it again. Damage to anything else (metadata,
labels, the cube) is noted in the record, and the next run writes that anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from harness import preparing, store
from harness.extents import included
from harness.frame import damaged, unlike
from harness.nouns import Mistake, Status, Unit, Unreachable
from harness.place import Place, place
from harness.receipts import Receipt, listed, read
from harness.record import ROOT, Record, add_to_history, digest, load
from harness.settled import TORN
from harness.template import group_name
from harness.variables import replication_variables

_TOGETHER = 4
"""Units that are read at a time: a network makes one wait."""
_NEVER_NAN = ("coverage", "width_mean", "length_mean", "unbounded", "empty", "disconnected")


@dataclass(frozen=True)
class Torn:
    """A unit whose chunks aren't what its receipt says; or something else of a store that isn't as it should be."""

    unit: str
    what: str
    frame: bool = False
    """Whether it is no unit, nor prepared for one: metadata, a label, the cube."""


def verify(url: str) -> tuple[int, list[Torn]]:
    """How many units were read, and which of them are no good; those lose their receipts."""
    there = place(url)
    record = load(there)
    if record is None:
        raise Mistake(f"{url}: there is no store here")
    signed, torn = listed(there, record.extent.grid.n), list[Torn]()
    keys = damaged(there, record)
    sizes = [n for n in record.extent.grid.n if not any(_describes(key, n) for key in keys)]
    for n in sizes:
        torn += _torn(there, record, n, signed)
    for one in torn:
        there.delete(signed[one.unit].key)
    torn += _frame(there, record, keys, [n for n in sizes if not any(one.unit.startswith(f"n={n}/") for one in torn)])
    arrays = preparing.signed(there)
    return len(signed) + len(arrays), torn + _unprepared(there, arrays)


def _describes(key: str, n: int) -> bool:
    """Whether the units of an n can't be read without this key."""
    return key.startswith(f"{group_name(n)}/") and key.endswith(ROOT)


def _frame(there: Place, record: Record, keys: list[str], sizes: list[int]) -> list[Torn]:
    """What is wrong with metadata and labels, and with the cube where it can be told; noted for the next run."""
    found = [Torn(key, "isn't what the store's record says", frame=True) for key in keys]
    if not any(key.endswith(ROOT) for key in keys):
        what = "the cube isn't what the replications give at n={}"
        found += [Torn(name, what.format(n), frame=True) for n, name in unlike(there, record, sizes)]
    if found:
        add_to_history(there, {TORN: len(found)})
    return found


def _torn(there: Place, record: Record, n: int, signed: Mapping[str, Receipt]) -> list[Torn]:
    """Those of one n."""
    there_are = {v.name: _blocks(there, f"{group_name(n)}/{v.name}") for v in replication_variables(record.keep)}
    units = [unit for unit in record.units(n, record.extent) if unit.name in signed]
    with ThreadPoolExecutor(_TOGETHER) as pool:
        looks = pool.map(lambda unit: next(_wrong(there, record, unit, signed[unit.name], there_are), None), units)
        return [Torn(unit.name, wrong) for unit, wrong in zip(units, looks, strict=True) if wrong is not None]


def _blocks(there: Place, variable: str) -> set[tuple[str, ...]]:
    """The blocks of paths and draws of which a variable has a chunk."""
    return {tuple(name.split(".")[1:3]) for name in there.names(variable)}


def _unprepared(there: Place, names: list[str]) -> list[Torn]:
    """What was prepared and isn't as its receipt says; that loses its receipt, too."""
    found = [Torn(f"{preparing.FOLDER}/{name}", text) for name in names if (text := preparing.wrong(there, name))]
    for one in found:
        preparing.forget(there, one.unit.removeprefix(f"{preparing.FOLDER}/"))
    return found


def _wrong(
    there: Place, record: Record, unit: Unit, receipt: Receipt, there_are: Mapping[str, set[tuple[str, ...]]]
) -> Iterator[str]:
    """What is wrong with a unit, in words; nothing if it is good."""
    try:
        told = read(there, receipt)
    except Unreachable:
        raise
    except Mistake:
        told = {}
    if told.get("unit") != receipt.unit:
        yield "its receipt can't be read"
        return
    if not _is_mended(record) and told.get("fingerprint") != digest(record.fingerprint):
        yield "it is another study's"
        return
    values = {}
    block = (str(unit.path_block), str(unit.draw_block))
    for variable in replication_variables(record.keep):
        if block not in there_are[variable.name]:
            yield f"{variable.name} is missing"
            return
        try:
            values[variable.name] = store.read_unit(there.url, record, unit, variable.name)
        except Unreachable:
            raise
        except Exception as error:
            yield f"{variable.name} can't be read: {' '.join(str(error).split())}"
            return
    held = record.extents[receipt.generation]
    lengths = [len(axis) for axis in (held.grid.procedure, held.grid.gamma, held.grid.theta, held.grid.lam)]
    ends = max(0, held.paths - unit.paths.start), max(0, held.draws - unit.draws.start)
    here = tuple(slice(length) for length in (*ends, *lengths))
    status = values["status"][here]
    if (status[..., included(held, unit.n)] == Status.NOT_RUN).any():
        yield "status has parts that were never written"
    levels = len(held.grid.alpha)
    for name in _NEVER_NAN:
        if np.isnan(values[name][here][..., :levels][status == Status.OK]).any():
            yield f"{name} has parts that were never written"


def _is_mended(record: Record) -> bool:
    """Whether its source's code was changed meanwhile: then older receipts are of what was."""
    return any("mended" in entry for entry in record.history)
