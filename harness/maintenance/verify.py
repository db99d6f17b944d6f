"""Verify: reads every chunk that a receipt signs for, and names what is torn, flipped or missing.

A unit that is no good loses its receipt, so that the next run computes it again. Damage to anything else (metadata,
labels, the cube) is noted in the record, and the next run writes that anew.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from harness.backends.base import Place, place
from harness.core.errors import Mistake, Unreachable
from harness.core.extent import included
from harness.core.hashing import is_hash_of
from harness.core.schema import replication_variables
from harness.core.text import one_line
from harness.core.types import Status, Unit, Values
from harness.cube.aggregate import cube_at
from harness.parsing.files import UnsafePath
from harness.store import arrays, artifacts
from harness.store.layout import group_name, template
from harness.store.manifest import FILES, LARGEST_FILE, ROOT, TORN, Record, digest
from harness.store.manifest_io import add_to_history, load
from harness.store.receipts import Content, Receipt, listed, parse_content

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
    arrays.restore(there)
    record = load(there)
    if record is None:
        raise Mistake(f"{url}: there is no store here")
    signed, torn = listed(there, record.extent.grid.n), list[Torn]()
    told = _contents(there, signed)
    _check_ours(there, record, signed, told)
    keys = damaged(there, record)
    sizes = [n for n in record.extent.grid.n if not any(_describes(key, n) for key in keys)]
    for n in sizes:
        torn += _torn(there, record, n, signed, told)
    for one in torn:
        there.delete(signed[one.unit].key)
    torn += _frame(there, record, keys, [n for n in sizes if not any(one.unit.startswith(f"n={n}/") for one in torn)])
    prepared = artifacts.signed(there)
    return len(signed) + len(prepared), torn + _unprepared(there, prepared)


def _contents(there: Place, signed: Mapping[str, Receipt]) -> dict[str, Content]:
    """What stands in each receipt; nothing for one that can't be read."""
    found: dict[str, Content] = {}
    try:
        raw = there.gets([one.key for one in signed.values()])
    except UnsafePath:  # one of them is no file: each by itself
        raw = [_regular(there, one.key) for one in signed.values()]
    for (unit, receipt), data in zip(signed.items(), raw, strict=True):
        with suppress(Mistake):
            found[unit] = parse_content(there.url, receipt.key, data or b"")
    return found


def _regular(there: Place, key: str) -> bytes | None:
    try:
        return there.get(key)
    except UnsafePath:
        return None


def _check_ours(there: Place, record: Record, signed: Mapping[str, Receipt], told: Mapping[str, Content]) -> None:
    """Refuse a store that holds another study's receipts: its numbers aren't ours to give up."""
    ours = digest(record.fingerprint)
    if any("mended" in entry for entry in record.history):  # older receipts are of what the source was
        return
    strange = [signed[unit].key for unit, content in told.items() if content.get("fingerprint", ours) != ours]
    if strange:
        what = f"{len(strange)} of {len(signed)} units are signed by another study"
        raise Mistake(f"{there.url}: {what} ({strange[0]}): nothing was changed; take them out by hand, or run anew")


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


def _torn(
    there: Place, record: Record, n: int, signed: Mapping[str, Receipt], told: Mapping[str, Content]
) -> list[Torn]:
    """Those of one n."""
    there_are = {v.name: _blocks(there, f"{group_name(n)}/{v.name}") for v in replication_variables(record.keep)}
    units = [unit for unit in record.units(n, record.extent) if unit.name in signed]
    with ThreadPoolExecutor(_TOGETHER) as pool:
        looks = pool.map(
            lambda unit: next(_wrong(there, record, unit, signed[unit.name], told.get(unit.name, {}), there_are), None),
            units,
        )
        return [Torn(unit.name, wrong) for unit, wrong in zip(units, looks, strict=True) if wrong is not None]


def _blocks(there: Place, variable: str) -> set[tuple[str, ...]]:
    """The blocks of paths and draws of which a variable has a chunk."""
    return {tuple(name.split(".")[1:3]) for name in there.names(variable)}


def _unprepared(there: Place, names: list[str]) -> list[Torn]:
    """What was prepared and isn't as its receipt says; that loses its receipt, too."""
    found = [Torn(f"{artifacts.FOLDER}/{name}", text) for name in names if (text := artifacts.wrong(there, name))]
    for one in found:
        name = one.unit.removeprefix(f"{artifacts.FOLDER}/")
        if "sha256" in (artifacts.receipt(there, name) or {}):  # ours; what can't be read counts as missing anyway
            artifacts.forget(there, name)
    return found


def _wrong(
    there: Place,
    record: Record,
    unit: Unit,
    receipt: Receipt,
    told: Content,
    there_are: Mapping[str, set[tuple[str, ...]]],
) -> Iterator[str]:
    """What is wrong with a unit, in words; nothing if it is good."""
    if told.get("unit") != receipt.unit:
        yield "its receipt can't be read"
        return
    if receipt.generation > record.generation:
        yield "its receipt is of an extent that the store doesn't have"
        return
    values = {}
    block = (str(unit.path_block), str(unit.draw_block))
    for variable in replication_variables(record.keep):
        if block not in there_are[variable.name]:
            yield f"{variable.name} is missing"
            return
        try:
            values[variable.name] = arrays.read_unit(there.url, record, unit, variable.name)
        except Unreachable:
            raise
        except Exception as error:
            yield f"{variable.name} can't be read: {one_line(error)}"
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


def damaged(there: Place, record: Record) -> list[str]:
    """The keys of metadata, labels and the source's files that aren't as the record says."""
    files = {f"{FILES}/{name}": hashed for name, hashed in record.fingerprint["files"].items()}
    wrong = [key for key, hashed in files.items() if not is_hash_of(hashed, key, there.get(key, LARGEST_FILE) or b"")]
    return wrong + [key for key, data in template(record).items() if not _alike(key, there.get(key), data)]


def _alike(key: str, found: bytes | None, meant: bytes) -> bool:
    """Metadata may be spelled in another way, and the root's attributes are the record itself."""
    if found == meant or found is None or not key.endswith(ROOT):
        return found == meant
    try:
        one, other = json.loads(found), json.loads(meant)
    except ValueError:
        return False
    for each in (one, other) if key == ROOT else ():
        each["attributes"] = None
    return bool(one == other)


def unlike(there: Place, record: Record, sizes: Collection[int]) -> Iterator[tuple[int, str]]:
    """At each of these n the variables of the cube that can't be read, or aren't what the replications give."""
    for n in sizes:
        for name, values in _meant(there, record, n).items():
            if not _reads(there.url, record, n, name, values):
                yield n, name


def _meant(there: Place, record: Record, n: int) -> Mapping[str, Values]:
    """The cube at an n; nothing if a chunk can't be read that no receipt signs for: its unit is yet to be computed."""
    try:
        return cube_at(record, n, lambda name, where: arrays.read(there.url, n, name, record.generation, where))
    except Unreachable:
        raise
    except Exception:
        return {}


def _reads(url: str, record: Record, n: int, name: str, meant: Values) -> bool:
    where = record.extent.grid.n.index(n)
    try:
        found = arrays.array(url, name, record.generation)[:, :, :, :, where]
    except Exception:
        return False
    return np.array_equal(np.asarray(found), meant, equal_nan=True) or not record.has_ended
