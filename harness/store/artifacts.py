"""Store the expensive, shared arrays that a source needs, computed once before the units of a study.

The array, `prepared/<name>.npy`, is written first, then its receipt, `prepared/<name>.json`. An array without a
matching receipt counts as missing, and the next run computes it again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from itertools import product
from math import prod
from typing import Any

import numpy as np

from harness.backends.base import Backend
from harness.core.environment import describe_machine
from harness.core.errors import UserError
from harness.core.protocols import Source, SupportsPreparation
from harness.core.text import fold_whitespace, get_timestamp
from harness.core.types import Array, Grid, Preparation
from harness.parsing.json import MalformedError, check_table, load_json

FOLDER = "prepared"
LARGEST_ARRAY = 4 << 30
"""Largest prepared array that is read, in bytes."""


def list_needed(source: Source, grid: Grid) -> list[Preparation]:
    """Return the arrays that a source needs for the data of a grid."""
    if not isinstance(source, SupportsPreparation):
        return []
    return [Preparation(name, *cost) for name, cost in source.preparations(vars(grid)).items()]


def list_missing(backend: Backend, asked: Iterable[Preparation]) -> list[Preparation]:
    """Return those of `asked` that have no array with a matching receipt in the store."""
    return [one for one in asked if why_invalid(backend, one.name) is not None]


def why_invalid(backend: Backend, name: str) -> str | None:
    """Return the reason why a prepared array can't be used, as text; None if it can."""
    found = _read_bytes(backend, name)
    return found if isinstance(found, str) else None


def _read_bytes(backend: Backend, name: str) -> bytes | str:
    """Return the bytes of an array if they match its receipt; otherwise the reason, as text."""
    told = read_receipt(backend, name)
    if told is None:
        return "is missing"
    data = backend.get(_make_key(name, "npy"), LARGEST_ARRAY)
    if data is None:
        return "its array is missing"
    return data if sha256(data).hexdigest() == told.get("sha256") else "doesn't match its receipt"


def write(backend: Backend, name: str, array: Array, seconds: float) -> None:
    """Write a prepared array, then its receipt."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    data = buffer.getvalue()
    backend.put(_make_key(name, "npy"), data)
    backend.put(_make_key(name, "json"), json.dumps(_make_receipt(name, array, data, seconds), indent=1).encode())


def read(backend: Backend, name: str) -> Array:
    """Read a prepared array, read-only; raise `UserError` if it doesn't match its receipt."""
    found = _read_bytes(backend, name)
    if isinstance(found, str):
        raise UserError(f"{backend.url}: {FOLDER}/{name} {found}: `ckrr run` prepares it again")
    array: Array = _parse_array(found, f"{backend.url}/{FOLDER}/{name}")
    array.flags.writeable = False
    return array


def _parse_array(data: bytes, where: str) -> Array:
    """Parse a numeric array in NumPy format, after checking that its header matches the size of the data."""
    stream = io.BytesIO(data)
    try:
        np.lib.format.read_magic(stream)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.kind not in "biufc" or prod(shape) * dtype.itemsize != len(data) - stream.tell():
            raise ValueError("its header doesn't describe a numeric array of this size")
        found: Array = np.load(io.BytesIO(data), allow_pickle=False)
    except ValueError as error:
        raise UserError(f"{where} can't be read ({fold_whitespace(error)}): `ckrr run` prepares it again") from None
    return found


def read_receipt(backend: Backend, name: str) -> Mapping[str, Any] | None:
    """Return the content of the receipt of an array; None if it is missing or can't be read."""
    try:
        return check_table(load_json(backend.get(_make_key(name, "json")) or b"null", name), name)
    except MalformedError:
        return None


def list_signed(backend: Backend) -> list[str]:
    """Return the names of all prepared arrays that have a receipt, in alphabetical order."""
    return sorted(name.removesuffix(".json") for name in backend.list_names(FOLDER) if name.endswith(".json"))


def invalidate(backend: Backend, name: str) -> None:
    """Delete the receipt of an array, so that the next run computes it again."""
    backend.delete(_make_key(name, "json"))


def check_same(places: Iterable[Backend]) -> None:
    """Raise `UserError` if stores have different prepared arrays of one name: their results can't be merged."""
    known: dict[str, object] = {}
    for backend in places:
        for name in list_signed(backend):
            hashed = (read_receipt(backend, name) or {}).get("sha256")
            if known.setdefault(name, hashed) != hashed:
                raise UserError(
                    f"{backend.url} has a different {FOLDER}/{name} than the stores before it (from another CPU?)"
                )


def copy(source: Backend, target: Backend) -> None:
    """Copy all prepared arrays to another store, each receipt after its array."""
    for name, ending in product(list_signed(source), ("npy", "json")):
        target.put(_make_key(name, ending), source.get(_make_key(name, ending), LARGEST_ARRAY) or b"")


def attach(source: Source, backend: Backend) -> Source:
    """Return the source with access to its prepared arrays in the store, each read once, on first use."""
    return (
        source.given(lru_cache(lambda name: read(backend, name))) if isinstance(source, SupportsPreparation) else source
    )


def _make_receipt(name: str, array: Array, data: bytes, seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "sha256": sha256(data).hexdigest(),
        "shape": list(array.shape),
        "seconds": round(seconds, 3),
        "written": get_timestamp(),
        **describe_machine(),
    }


def make_receipt_key(name: str) -> str:
    """Return the key of the receipt of an array."""
    return _make_key(name, "json")


def _make_key(name: str, ending: str) -> str:
    return f"{FOLDER}/{name}.{ending}"
