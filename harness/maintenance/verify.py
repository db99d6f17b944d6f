"""Verify a store: read every chunk that has a receipt, and report those that are truncated, corrupt or missing.

A damaged unit loses its receipt, so that the next run computes it again. Damage to anything else (metadata, labels, the
cube) is noted in the manifest, and the next run writes it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.backends.base import Backend, open_backend
from harness.core.errors import StoreUnreachableError, UserError
from harness.core.extent import find_computed
from harness.core.schema.axes import CODES, REPLICATION_AXES, THETA_USES_LAM, USED_AXES
from harness.core.schema.cube import CUBE, CUBE_VERSION
from harness.core.schema.measures import COVERAGE_EXPECTED, list_variables
from harness.core.text import fold_whitespace
from harness.core.types import Status, Unit, Values
from harness.cube.aggregate import compute_cube
from harness.parsing.files import UnsafePathError
from harness.parsing.hashing import is_hash_of
from harness.store import arrays, artifacts
from harness.store.layout import get_group_name, make_template
from harness.store.manifest import COPY, FILES, LARGEST_FILE, ROOT, TORN, Manifest, hash_fingerprint
from harness.store.manifest_io import add_to_history, has_damaged_copy, load_manifest, save_manifest
from harness.store.receipts import Content, Receipt, list_receipts, parse_content
from harness.store.rounds import count_shown_paths

_CONCURRENT_UNITS = 4
"""Number of units read concurrently, to hide network latency."""
_NEVER_NAN = ("coverage", COVERAGE_EXPECTED, "width_mean", "length_mean", "unbounded", "empty", "disconnected")
"""Variables that have no NaN where the status is OK; a NaN there was never written."""


@dataclass(frozen=True)
class Damage:
    """A damaged unit, or damage to another part of a store."""

    unit: str
    what: str
    outside_units: bool = False
    """Whether the damage is to metadata, a label or the cube, rather than to a unit or a prepared array."""


def verify(url: str, note: Callable[[str], None] = lambda text: None) -> tuple[int, list[Damage]]:
    """Check all units, prepared arrays, metadata and the cube of a store, and remove the receipts of damaged ones.

    Parameters
    ----------
    url : str
        The store.
    note : callable
        Where to say what was restored.

    Returns
    -------
    count : int
        Number of units and prepared arrays that were checked.
    damage : list of Damage
        What is damaged.

    Raises
    ------
    UserError
        If there is no store, or it has receipts of another study.
    """
    backend = open_backend(url)
    manifest = load_manifest(backend)
    if manifest is None:
        raise UserError(f"{url}: there is no store here")
    signed, torn = list_receipts(backend, manifest.extent.grid.n), list[Damage]()
    told = _read_contents(backend, signed)
    _check_ours(backend, manifest, signed, told)  # before anything is written: a copy may be of another study
    if arrays.restore_root(backend):
        manifest = replace(manifest, root_is_lost=False)
        note(f"{ROOT} was lost or damaged: rebuilt from {COPY}")
    elif has_damaged_copy(backend, manifest):
        save_manifest(backend, manifest)
        note(f"{COPY}, the second copy of the manifest, was missing or damaged: rewritten from {ROOT}")
    keys = list_damaged_keys(backend, manifest)
    sizes = [n for n in manifest.extent.grid.n if not any(_is_metadata_of(key, n) for key in keys)]
    for n in sizes:
        torn += _find_damaged_units(backend, manifest, n, signed, told)
    for one in torn:
        backend.delete(signed[one.unit].key)
    torn += _find_damage_outside_units(
        backend, manifest, keys, [n for n in sizes if not any(one.unit.startswith(f"n={n}/") for one in torn)]
    )
    prepared = artifacts.list_signed(backend)
    return len(signed) + len(prepared), torn + _find_damaged_artifacts(backend, prepared)


def _read_contents(backend: Backend, signed: Mapping[str, Receipt]) -> dict[str, Content]:
    """Return the content of each receipt, by unit name; unreadable ones are omitted."""
    found: dict[str, Content] = {}
    try:
        raw = backend.get_many([one.key for one in signed.values()])
    except UnsafePathError:  # one of them is not a regular file: read each separately
        raw = [_read_if_regular(backend, one.key) for one in signed.values()]
    for (unit, receipt), data in zip(signed.items(), raw, strict=True):
        with suppress(UserError):
            found[unit] = parse_content(backend.url, receipt.key, data or b"")
    return found


def _read_if_regular(backend: Backend, key: str) -> bytes | None:
    try:
        return backend.get(key)
    except UnsafePathError:
        return None


def _check_ours(
    backend: Backend, manifest: Manifest, signed: Mapping[str, Receipt], told: Mapping[str, Content]
) -> None:
    """Raise UserError if a store has receipts of another study, whose results must not be discarded."""
    ours = hash_fingerprint(manifest.fingerprint)
    if any("mended" in entry for entry in manifest.history):  # older receipts have the fingerprint before mending
        return
    strange = [signed[unit].key for unit, content in told.items() if content.get("fingerprint", ours) != ours]
    if strange:
        what = f"{len(strange)} of {len(signed)} units are signed by another study"
        raise UserError(
            f"{backend.url}: {what} ({strange[0]}): nothing was changed; remove them by hand, or use a new store"
        )


def _is_metadata_of(key: str, n: int) -> bool:
    """Return whether a key is metadata without which the units of an n can't be read."""
    return key.startswith(f"{get_group_name(n)}/") and key.endswith(ROOT)


def _find_damage_outside_units(backend: Backend, manifest: Manifest, keys: list[str], sizes: list[int]) -> list[Damage]:
    """Return damage to metadata and labels, and to the cube where it can be checked; note it for the next run."""
    found = [Damage(key, "does not match the store's manifest", outside_units=True) for key in keys]
    if not any(key.endswith(ROOT) for key in keys) and manifest.cube_version == CUBE_VERSION:
        what = "the cube does not match the replications at n={}"
        found += [
            Damage(name, what.format(n), outside_units=True)
            for n, name in find_cube_mismatches(backend, manifest, sizes)
        ]
    if found:
        add_to_history(backend, {TORN: len(found)})
    return found


def _find_damaged_units(
    backend: Backend, manifest: Manifest, n: int, signed: Mapping[str, Receipt], told: Mapping[str, Content]
) -> list[Damage]:
    """Return the damaged units of one n."""
    there_are = {v.name: _list_blocks(backend, f"{get_group_name(n)}/{v.name}") for v in list_variables(manifest.keep)}
    units = [unit for unit in manifest.list_units(n, manifest.extent) if unit.name in signed]
    with ThreadPoolExecutor(_CONCURRENT_UNITS) as pool:
        looks = pool.map(
            lambda unit: next(
                _find_problems(backend, manifest, unit, signed[unit.name], told.get(unit.name, {}), there_are), None
            ),
            units,
        )
        return [Damage(unit.name, wrong) for unit, wrong in zip(units, looks, strict=True) if wrong is not None]


def _list_blocks(backend: Backend, variable: str) -> set[tuple[str, ...]]:
    """Return the blocks of paths and draws for which a variable has a chunk."""
    return {tuple(name.split(".")[1:3]) for name in backend.list_names(variable)}


def _find_damaged_artifacts(backend: Backend, names: list[str]) -> list[Damage]:
    """Return the prepared arrays that don't match their receipts, and remove these receipts."""
    found = [
        Damage(f"{artifacts.FOLDER}/{name}", text) for name in names if (text := artifacts.why_invalid(backend, name))
    ]
    for one in found:
        name = one.unit.removeprefix(f"{artifacts.FOLDER}/")
        if "sha256" in (
            artifacts.read_receipt(backend, name) or {}
        ):  # a receipt that can't be read counts as missing anyway
            artifacts.invalidate(backend, name)
    return found


def _find_problems(
    backend: Backend,
    manifest: Manifest,
    unit: Unit,
    receipt: Receipt,
    told: Content,
    there_are: Mapping[str, set[tuple[str, ...]]],
) -> Iterator[str]:
    """Yield descriptions of what is wrong with a unit; none if it is intact."""
    if told.get("unit") != receipt.unit:
        yield "its receipt can't be read"
        return
    if receipt.generation > manifest.generation:
        yield "its receipt is for an extent that the store doesn't have"
        return
    values = {}
    block = (str(unit.path_block), str(unit.draw_block))
    for variable in list_variables(manifest.keep):
        if block not in there_are[variable.name]:
            yield f"{variable.name} is missing"
            return
        try:
            values[variable.name] = arrays.read_unit(backend.url, manifest, unit, variable.name)
        except StoreUnreachableError:
            raise
        except Exception as error:
            yield f"{variable.name} can't be read: {fold_whitespace(error)}"
            return
    held = manifest.extents[receipt.generation]
    lengths = [len(axis) for axis in (held.grid.procedure, held.grid.gamma, held.grid.theta, held.grid.lam)]
    ends = max(0, held.paths - unit.paths.start), max(0, held.draws - unit.draws.start)
    here = tuple(slice(length) for length in (*ends, *lengths))
    computed = find_computed(held, unit.n)
    status = np.where(computed, values["status"][here], np.uint8(Status.EXCLUDED))  # others may be from older extents
    if (status == Status.NOT_RUN).any():
        yield "status has parts that were never written"
    levels = len(held.grid.alpha)
    for name in values.keys() & set(_NEVER_NAN):
        if np.isnan(values[name][here][..., :levels][status == Status.OK]).any():
            yield f"{name} has parts that were never written"


def _has_hash(backend: Backend, key: str, hashed: str) -> bool:
    data = backend.get(key, LARGEST_FILE)
    return data is not None and is_hash_of(hashed, key, data)


def list_damaged_keys(backend: Backend, manifest: Manifest) -> list[str]:
    """Return the keys of metadata, labels and source files that don't match the manifest."""
    files = {f"{FILES}/{name}": hashed for name, hashed in manifest.files.items()}
    wrong = [key for key, hashed in files.items() if not _has_hash(backend, key, hashed)]
    return wrong + [
        key
        for key, data in make_template(manifest).items()
        if not _is_equivalent(key, backend.get(key), data, manifest.cube_version < CUBE_VERSION)
    ]


def _is_equivalent(key: str, found: bytes | None, meant: bytes, is_older: bool) -> bool:
    """Return whether stored metadata equal the expected ones.

    JSON may be formatted differently. Attributes of the root are ignored, because they are the manifest itself. A store
    whose cube has an older version may lack arrays of it, and has other attributes.
    """
    if is_older and found is None and _is_newer(key):
        return True
    if found == meant or found is None or not key.endswith(ROOT):
        return found == meant
    try:
        one, other = json.loads(found), json.loads(meant)
        if is_older:
            _drop_newer(one, other)
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    for each in (one, other) if key == ROOT or is_older else ():
        each["attributes"] = None
    return bool(one == other)


def _drop_newer(found: dict[str, Any], meant: dict[str, Any]) -> None:
    """Make consolidated metadata comparable with those of an older version: without its missing arrays, attributes."""
    if "consolidated_metadata" in meant:
        old, new = (each["consolidated_metadata"]["metadata"] for each in (found, meant))
        for name in filter(_is_newer, set(new) - set(old)):
            del new[name]
        for node in (*old.values(), *new.values()):
            node["attributes"] = None


_NEWER_IN_ROOT = {*USED_AXES, THETA_USES_LAM, *CODES, *(one.name for one in CUBE)}
_NEWER_IN_GROUPS = {*CODES, *REPLICATION_AXES}


def _is_newer(key: str) -> bool:
    """Return whether a key belongs to an array that stores whose cube has an older version may lack."""
    first, *others = key.split("/")
    if first != "replications":
        return first in _NEWER_IN_ROOT
    return len(others) > 1 and others[1] in _NEWER_IN_GROUPS


def find_cube_mismatches(backend: Backend, manifest: Manifest, sizes: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield n and name of each cube variable that can't be read or doesn't match the replications."""
    for n in sizes:
        for name, values in _compute_expected_cube(backend, manifest, n).items():
            if not _has_expected_values(backend.url, manifest, n, name, values):
                yield n, name


def _compute_expected_cube(backend: Backend, manifest: Manifest, n: int) -> Mapping[str, Values]:
    """Compute the cube at an n from the replications.

    The result is empty if a chunk can't be read: it has no receipt, so its unit is still to be computed.
    """
    try:
        paths = count_shown_paths(backend, manifest, n)
        return compute_cube(
            manifest, n, lambda name, where: arrays.read(backend.url, n, name, manifest.generation, where), paths
        )
    except StoreUnreachableError:
        raise
    except Exception:
        return {}


def _has_expected_values(url: str, manifest: Manifest, n: int, name: str, meant: Values) -> bool:
    where = manifest.extent.grid.n.index(n)
    try:
        found = arrays.open_array(url, name, manifest.generation)[:, :, :, :, where]
    except Exception:
        return False
    return np.array_equal(np.asarray(found), meant, equal_nan=True) or not manifest.has_ended
